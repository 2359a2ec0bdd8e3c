"""Invocations that are not made one after the other: an open loop at a rate, and several at once.

In an open loop each request is due at its time, whatever became of the earlier ones. Its latency is from that time, not from when it could be
sent, so that waiting behind slow ones is in it (G. Tene, "How not to measure latency": no coordinated omission). Without a rate each of the
callers sends its next request when it has its answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .invoke import Reply

_AHEAD_S = 0.01
"""The first request is due so long after the callers have started."""


@dataclass(frozen=True)
class Answered:
    """An invocation under load."""

    reply: Reply
    """Its latency is from when the request was due."""
    waited_ns: int
    """Of that, until it was sent."""


def run(callers: Sequence[Callable[[], Reply]], requests: int, rate_per_s: float | None) -> list[Answered]:
    """Makes that many invocations, as many at once as there are callers; returns them in the order in which they were due.

    rate_per_s: of an open loop; `None` for callers that wait for their answers only.
    """
    found: list[Answered | None] = [None] * requests
    lock, taken = threading.Lock(), 0
    begins_ns = time.monotonic_ns() + round(_AHEAD_S * 1e9)
    failure: list[BaseException] = []

    def call(caller: Callable[[], Reply]) -> None:
        nonlocal taken
        try:
            while not failure:
                with lock:
                    number, taken = taken, taken + 1
                if number >= requests:
                    return
                due_ns = begins_ns if rate_per_s is None else begins_ns + round(number / rate_per_s * 1e9)
                if (early_ns := due_ns - time.monotonic_ns()) > 0:
                    time.sleep(early_ns / 1e9)
                sent_ns = time.monotonic_ns()
                reply = caller()
                waited_ns = 0 if rate_per_s is None else max(0, sent_ns - due_ns)
                found[number] = Answered(replace(reply, latency_ns=reply.latency_ns + waited_ns), waited_ns)
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
