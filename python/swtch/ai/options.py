"""What is typed on the command line: lists, times, sizes. Everything wrong is wrong usage, exit status 2."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeVar

from .errors import AiError
from .settings import cpus_of

T = TypeVar("T")

_UNITS_S = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
MOST_S = 86_400.0
"""A day."""
MOST_THREADS = 4096


class WrongUsage(AiError):
    """A wish that cannot be meant; exit status 2."""


def seconds(text: str) -> float:
    """A time: `10s`, `500ms`, `2m`, or seconds.

    >>> seconds("500ms"), seconds("2m"), seconds("1.5")
    (0.5, 120.0, 1.5)
    """
    unit = next((unit for unit in _UNITS_S if text.endswith(unit)), "")
    try:
        value = float(text[: len(text) - len(unit)]) * _UNITS_S.get(unit, 1.0)
    except ValueError:
        value = 0.0
    if not 0 < value <= MOST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no time above 0 and up to a day, such as 10s, 500ms or 2m"
        )
    return value


def count(text: str) -> int:
    """A whole number from 1 on."""
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= MOST_THREADS and len(text) < 10):
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 to {MOST_THREADS}")
    return int(text)


def counts(text: str) -> tuple[int, ...]:
    """`1,2,4`."""
    return _each(text, count)


def switch(text: str) -> bool:
    """`on` or `off`."""
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither on nor off")
    return text == "on"


def switches(text: str) -> tuple[bool, ...]:
    """`on,off`."""
    return _each(text, switch)


def quota(text: str) -> float | None:
    """`none`, or CPUs worth of time: `1.5`."""
    if text == "none":
        return None
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= MOST_THREADS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no quota: none, or CPUs worth of time from 0.01 on, such as 1.5"
        )
    return value


def quotas(text: str) -> tuple[float | None, ...]:
    """`none,1.5`."""
    return _each(text, quota)


def pin(text: str) -> str:
    """`none`, `spread`, `compact`, or CPUs."""
    if text in ("none", "spread", "compact"):
        return text
    try:
        cpus_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is none of none, spread and compact, and no list of CPUs such as 0+2-3"
        ) from None
    return text


def pins(text: str) -> tuple[str, ...]:
    """`none,spread,0+2-3`: in a list of lists, the parts of a list of CPUs are joined by `+`."""
    return _each(text, lambda part: pin(part.replace("+", ",")))


def _each(text: str, one: Callable[[str], T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(one(part.strip()) for part in text.split(",")))
