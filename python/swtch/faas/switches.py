"""How often the tasks of a cgroup were switched out, by kind, read from outside of it: the function spends nothing of its quota on that."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from .. import _cgroup as cgroup

Counts = dict[int, tuple[int, int]]
"""Voluntary and involuntary switches of each thread, by its number."""


def counts(group: cgroup.Group) -> Counts:
    """Of every thread that is in the group now."""
    found: Counts = {}
    for pid in group.processes():
        # A process or a thread may end meanwhile.
        with contextlib.suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError, ValueError):
                    found[int(task)] = _of(f"/proc/{pid}/task/{task}/status")
    return found


def between(before: Counts, after: Counts) -> dict[str, Any] | None:
    """What was counted between two readings. Threads that ended in between are not in it, and then `ended` is not 0."""
    if not after:
        return None
    voluntary = involuntary = 0
    for task, (now_voluntary, now_involuntary) in after.items():
        then = before.get(task, (0, 0))
        voluntary += now_voluntary - then[0]
        involuntary += now_involuntary - then[1]
    return {
        "voluntary": voluntary,
        "involuntary": involuntary,
        "counted_by": "proc",
        "ended": sum(task not in after for task in before),
    }


def of_usage(usage: Any) -> dict[str, Any] | None:
    """What a function counted of itself, with the threads that ended; `None` where its language cannot."""
    if not isinstance(usage, dict) or usage.get("voluntary") is None or usage.get("involuntary") is None:
        return None
    return {
        "voluntary": int(usage["voluntary"]),
        "involuntary": int(usage["involuntary"]),
        "counted_by": "getrusage",
        "ended": 0,
    }


def _of(path: str) -> tuple[int, int]:
    with open(path, "rb") as file:
        rows = dict(line.split(b":", 1) for line in file if line.startswith((b"voluntary", b"nonvoluntary")))
    return int(rows[b"voluntary_ctxt_switches"]), int(rows[b"nonvoluntary_ctxt_switches"])
