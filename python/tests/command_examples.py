"""The commands that help texts and documents show, for the tests that run each of them."""

from __future__ import annotations

import importlib
import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = [page for name in ("tutorials", "howto") for page in sorted((ROOT / "docs" / name).glob("*.md"))]


def examples(text: str, program: str) -> list[str]:
    """The commands of a text: lines that begin with the program, or `$` and it, less the remark after two blanks."""
    lines = (line.strip().removeprefix("$ ") for line in text.splitlines())
    return [line.split("  ")[0].strip() for line in lines if line.startswith(f"{program} ")]


def helps(parser: ArgumentParser) -> Iterator[str]:
    """The help texts of a command and of all its own."""
    yield parser.format_help()
    for action in parser._subparsers._group_actions:
        for one in action.choices.values():
            yield one.format_help()


def all_examples(program: str, parser: ArgumentParser, documents: Iterable[Path], at_least: int) -> list[str]:
    """Those of the help texts and of documents, each once; there must be this many, or they were not found."""
    texts = [*helps(parser), *(path.read_text() for path in documents)]
    found = {example for text in texts for example in examples(text, program)}
    assert len(found) >= at_least
    return sorted(found)


def installed(name: str) -> object:
    """What an installed program of that name runs (`pyproject.toml`)."""
    entry = re.search(rf'^{name} = "([\w.]+):(\w+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert entry is not None
    return getattr(importlib.import_module(entry[1]), entry[2])
