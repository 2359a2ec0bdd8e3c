"""Values on the package's command lines: lists, times, counts. A wrong value is wrong usage, exit status 2."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from . import _native
from ._errors import UsageError

T = TypeVar("T")

MOST_S = 86_400.0
"""A day."""
MOST_THREADS = 4096
MOST_RATE = 10_000.0
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):\s*(.*)")
"""A name as RFC 9110 has it, and a value without line ends."""


def seconds(text: str) -> float:
    """A time: `10s`, `500ms`, `2m`, or seconds.

    >>> seconds("500ms"), seconds("2m"), seconds("1.5")
    (0.5, 120.0, 1.5)
    """
    try:
        value = _native.seconds_of(text)
    except UsageError:
        value = 0.0
    if not 0 < value <= MOST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time above 0 and up to a day, such as 10s, 500ms or 2m"
        )
    return value


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MOST_THREADS and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to {MOST_THREADS}")
    return int(text)


def counts(text: str) -> tuple[int, ...]:
    """`1,2,4`."""
    return each(text, count)


def add_study(add: Callable[..., Any], directory: str) -> None:
    """The options about a study's directory and what is printed of it.

    directory: its name by default.
    """
    add(
        "-o",
        "--out",
        type=Path,
        metavar="DIR",
        help=f"the study's directory [default: {directory}, or the first free {directory}-N]",
    )
    add("--name", metavar="NAME", help="the machine's name in the study [default: the directory's name]")
    add("--json", action="store_true", help="print the study as JSON")


def rate(text: str) -> float:
    """Requests a second: `20`, `0.5`, `20/s`.

    >>> rate("0.5"), rate("20/s")
    (0.5, 20.0)
    """
    try:
        found = float(text.removesuffix("/s"))
    except ValueError:
        found = 0.0
    if not 0 < found <= MOST_RATE:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of requests a second, above 0 and up to {MOST_RATE:g}"
        )
    return found


def header(text: str) -> tuple[str, str]:
    """`Name: value`.

    >>> header("X-Key: a:b")
    ('X-Key', 'a:b')
    """
    found = _HEADER.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a header, such as 'X-Key: value'")
    return found[1], found[2].strip()


def one_of(names: Sequence[str]) -> Callable[[str], str]:
    """One of these names."""

    def one(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(names)}")
        return text

    return one


def each(text: str, one: Callable[[str], T]) -> tuple[T, ...]:
    """The parts of a list, each once."""
    return tuple(dict.fromkeys(one(part.strip()) for part in text.split(",")))
