"""Links of Markdown pages: to another page of the book, to a picture, or to a file of the project's sources."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

SOURCES = "https://github.com/swtch-tools/swtch/blob/main/"
_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_FENCE = re.compile(r"^ *(`{3,}|~{3,})")


class LinkError(Exception):
    """A link to a file that does not exist."""


def rewritten(text: str, origin: str, pages: Mapping[str, str], root: Path) -> str:
    """The text of the page `origin` (its path in the project), its relative links as they are in the book."""
    here = Path(pages[origin]).parent
    lines, fence = [], None
    for number, line in enumerate(text.splitlines(), 1):
        mark = _FENCE.match(line)
        if mark and fence is None:
            fence = mark[1]
        elif mark and line.strip() == fence:
            fence = None
        elif fence is None:
            line = _LINK.sub(
                lambda link: f"]({_target(link['target'], origin, number, here, pages, root)})", line
            )
        lines.append(line)
    return "\n".join(lines) + "\n"


def _target(target: str, origin: str, number: int, here: Path, pages: Mapping[str, str], root: Path) -> str:
    path, _, anchor = target.partition("#")
    if "://" in target or target.startswith("mailto:") or not path:
        return target
    place = os.path.normpath(Path(origin).parent / path)
    anchor = f"#{anchor}" if anchor else ""
    if place in pages:
        return os.path.relpath(pages[place], here) + anchor
    if not (root / place).exists():
        raise LinkError(f"{origin}:{number}: the link to {target} is broken: there is no {place}")
    if place.startswith("docs/schemas/"):
        return f"{SOURCES}{place}"
    return f"{SOURCES}{place}{anchor}"
