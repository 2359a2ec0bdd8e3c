"""Calls that are not made one after the other: an open loop at a rate, and several at once.

In an open loop each call is due at its time, whatever became of the earlier ones. Its latency is from that time, not from when it could be
made, so that waiting behind slow ones is in it (G. Tene, "How not to measure latency": no coordinated omission). Without a rate each of the
callers makes its next call when it has its answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

_AHEAD_S = 0.02
"""The first call is due this long after the callers have started."""


@dataclass(frozen=True)
class Made(Generic[T]):
    """A call; times by `CLOCK_MONOTONIC`."""

    answer: T
    """What it returned."""
    due_ns: int
    """When it was to be made; without a rate, when it was made."""
    made_ns: int
    """When it was made."""
    ended_ns: int
    """When it returned."""


def make(callers: Sequence[Callable[[], T]], calls: int, rate_per_s: float | None) -> list[Made[T]]:
    """Makes that many calls, as many at once as there are callers; returns them in the order in which they were due.

    rate_per_s: of an open loop; `None` for callers that wait for their answers only. What a call raises ends all, and is raised.
    """
    found: list[Made[T] | None] = [None] * calls
    lock, taken = threading.Lock(), 0
    begins_ns = time.monotonic_ns() + round(_AHEAD_S * 1e9)
    failure: list[BaseException] = []

    def call(caller: Callable[[], T]) -> None:
        nonlocal taken
        try:
            while not failure:
                with lock:
                    number, taken = taken, taken + 1
                if number >= calls:
                    return
                due_ns = begins_ns if rate_per_s is None else begins_ns + round(number / rate_per_s * 1e9)
                if (early_ns := due_ns - time.monotonic_ns()) > 0:
                    time.sleep(early_ns / 1e9)
                made_ns = time.monotonic_ns()
                answer = caller()
                found[number] = Made(
                    answer, made_ns if rate_per_s is None else due_ns, made_ns, time.monotonic_ns()
                )
        except BaseException as error:
            failure.append(error)

    threads = [threading.Thread(target=call, args=(caller,), daemon=True) for caller in callers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failure:
        raise failure[0]
    return [one for one in found if one is not None]
