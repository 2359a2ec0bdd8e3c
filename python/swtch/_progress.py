"""A line on a terminal that says how far something is."""

from __future__ import annotations

import shutil
import sys
import time
from typing import TextIO

_AFTER_S = 2.0
"""What is over sooner needs no line."""


class Progress:
    """Draws on a terminal, once more than two seconds have passed; elsewhere nothing."""

    def __init__(self, out: TextIO = sys.stderr) -> None:
        self._out = out
        self._drawn = 0
        self._started = time.monotonic()
        self._on = out.isatty()

    def show(self, text: str) -> None:
        """Replaces what was there."""
        if not self._on or time.monotonic() - self._started < _AFTER_S:
            return
        width = shutil.get_terminal_size().columns - 1
        shown = text[:width]
        self._out.write(f"\r{shown}{' ' * max(0, self._drawn - len(shown))}")
        self._out.flush()
        self._drawn = len(shown)

    def clear(self) -> None:
        """Takes it off the terminal."""
        if self._drawn:
            self._out.write(f"\r{' ' * self._drawn}\r")
            self._out.flush()
            self._drawn = 0


def left(seconds: float) -> str:
    """A time, roughly.

    >>> left(40), left(200)
    ('40 s', '3 min')
    """
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
