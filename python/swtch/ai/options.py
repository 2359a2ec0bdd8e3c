"""Settings on the command line of `swtch ai`. A wrong value is wrong usage, exit status 2."""

from __future__ import annotations

import argparse

from .. import _native
from .._errors import UsageError
from .._options import MOST_THREADS, each
from .settings import cpus_of


def switch(text: str) -> bool:
    """`on` or `off`."""
    if text not in ("on", "off"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither on nor off")
    return text == "on"


def switches(text: str) -> tuple[bool, ...]:
    """`on,off`."""
    return each(text, switch)


def price(text: str) -> str:
    """What a vCPU costs: `0.05/vcpu-hour`."""
    try:
        _native.price(text)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


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
            f"{text!r} is not a quota: give none, or a number of CPUs from 0.01 on, such as 1.5"
        )
    return value


def quotas(text: str) -> tuple[float | None, ...]:
    """`none,1.5`."""
    return each(text, quota)


def pin(text: str) -> str:
    """`none`, `spread`, `compact`, or CPUs."""
    if text in ("none", "spread", "compact"):
        return text
    try:
        cpus_of(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a way to pin: give none, spread, compact, or a list of CPUs such as 0+2-3"
        ) from None
    return text


def pins(text: str) -> tuple[str, ...]:
    """`none,spread,0+2-3`: in a list of lists, the parts of a list of CPUs are joined by `+`."""
    return each(text, lambda part: pin(part.replace("+", ",")))
