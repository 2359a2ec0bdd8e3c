"""Values on the command line of `swtch faas`. A wrong value is wrong usage, exit status 2."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence

from .. import _cgroup as cgroup
from .._options import each, seconds

MOST_WORK_MS = 900_000.0
"""As the handlers take it."""
"""What asks takes longer between two requests."""


def works(text: str) -> tuple[float, ...]:
    """`2ms,10ms,1s`, in milliseconds.

    >>> works("2ms,1s")
    (2.0, 1000.0)
    """
    return each(text, _work)


def period(text: str) -> int:
    """A period of quotas, in microseconds."""
    found_us = round(seconds(text) * 1e6)
    if not cgroup.SMALLEST_QUOTA_US <= found_us <= cgroup.LONGEST_PERIOD_US:
        raise argparse.ArgumentTypeError(f"{text!r} is not a period that the kernel takes, 1ms to 1s")
    return found_us


def burst(text: str) -> int:
    """A burst of quotas, in microseconds; 0 is none."""
    return 0 if text.strip() == "0" else round(seconds(text) * 1e6)


def starts(text: str) -> int:
    """A number of starts; 0 is none."""
    if not (text.isascii() and text.isdigit() and len(text) < 4):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of starts, 0 to 999")
    return int(text)


def names(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """A list of those."""

    def one(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {', '.join(known)}")
        return text

    return lambda text: each(text, one)


def name_and_url(text: str) -> tuple[str | None, str]:
    """`NAME=URL`, or a URL.

    >>> name_and_url("128MB=http://x/?a=b"), name_and_url("http://x/?a=b")
    (('128MB', 'http://x/?a=b'), (None, 'http://x/?a=b'))
    """
    found = re.match(r"([^:/?=]+)=(.*)", text)
    return (found[1], found[2]) if found else (None, text)


def url_path(text: str) -> str:
    """Where a server is asked, with a slash at its beginning."""
    if not re.fullmatch(r"/[!-~]*", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a path such as /predict")
    return text


def memory_mb(text: str) -> int:
    """A number of megabytes."""
    if not (text.isascii() and text.isdigit() and len(text) < 9 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of MB from 1 on")
    return int(text)


def _work(text: str) -> float:
    found_ms = round(seconds(text) * 1e3, 3)
    if found_ms > MOST_WORK_MS:
        raise argparse.ArgumentTypeError(
            f"{text!r} is more than the {MOST_WORK_MS / 1e3:g} s that a handler works"
        )
    return found_ms
