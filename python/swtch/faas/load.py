"""Invocations under load: `_load` with replies. Their latencies are from when they were due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .. import _load
from .invoke import Reply


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
    found = []
    for one in _load.make(callers, requests, rate_per_s):
        waited_ns = max(0, one.made_ns - one.due_ns)
        found.append(Answered(replace(one.answer, latency_ns=one.answer.latency_ns + waited_ns), waited_ns))
    return found
