"""Documents with figures that cannot be true, refused before anything of them is written or printed; the native half checks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from ._errors import CommandError


class Refused(CommandError):
    """A document is refused because figures in it cannot be true; the text is one line."""


def refuse(check: Callable[[str], list[tuple[str, str]]], document: Mapping[str, Any]) -> None:
    """Raises `Refused` with the first figure that `check` finds, and with how many more there are."""
    try:
        text = json.dumps(document, allow_nan=False)
    except ValueError:
        raise Refused("the document: a figure in it is not a finite number") from None
    found = check(text)
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        raise Refused(f"{found[0][0]}: {found[0][1]}{more}")
