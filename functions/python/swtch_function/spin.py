"""Processes that spin and note when they did not run: the interpreter's lock lets only one thread of a process spin.

A spinner reads its CPU clock again and again. That makes the kernel charge it at once (kernel/sched/core.c: `task_sched_runtime`). So a
quota stops it when it is used up and not a tick later. A yield would do so too, but gives the CPU away where others wait for it.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .affinity import cpus_allowed, pin
from .processes import Child

Interval = Sequence[int]
"""One running interval: when it began and ended in ns, and the CPU time that was charged for it."""
Intervals = Sequence[Interval]
"""Of one spinner, in order."""

GAP_NS = 200_000
"""A shorter gap is an interrupt, and counts as running."""
CHARGE_NS = 100_000
"""How often a spinner makes the kernel charge it."""
MOST_INTERVALS = 20_000
"""Of all spinners; with more of them spinning ends early."""
_START_NS = 5_000_000
"""For all to be there before they begin."""


@dataclass(frozen=True)
class Spun:
    """What spinners saw."""

    intervals: list[Intervals]
    """When each ran, with the CPU time that was charged; times from the beginning of spinning."""
    span_ns: int
    """How long it took."""
    cpu_ns: int
    """CPU time of all."""


def spin(
    spinners: int, span_ns: int, pinned: bool, charge: Callable[[], object] = time.thread_time_ns
) -> Spun:
    """Spins in this many processes for this long.

    pinned: each on a CPU of its own when they are as many as the CPUs. charge: what makes the kernel charge a spinner.
    """
    allowed = cpus_allowed()
    cpus = allowed if pinned and spinners == len(allowed) > 1 else [None] * spinners
    begin_ns, most = time.monotonic_ns() + _START_NS, MOST_INTERVALS // spinners
    with contextlib.ExitStack() as stack:
        children = []
        for cpu in cpus:
            child = Child(lambda cpu=cpu: _spin(begin_ns, begin_ns + span_ns, cpu, charge, most))  # type: ignore[misc]
            stack.callback(child.end)
            children.append(child)
        seen = [child.result() for child in children]
    return Spun(seen, span_ns, sum(cpu_ns for each in seen for _, _, cpu_ns in each))


def _spin(
    begin_ns: int, end_ns: int, cpu: int | None, charge: Callable[[], object], most: int
) -> list[list[int]]:
    """In a process of its own: intervals [start, end, CPU time] from the beginning."""
    if cpu is not None:
        pin(cpu)
    now, cpu_now, parent = time.monotonic_ns, time.thread_time_ns, os.getppid()
    intervals: list[list[int]] = []
    while now() < begin_ns:
        pass
    start_ns = last_ns = now()
    start_cpu_ns = cpu_now()
    charge_ns = last_ns + CHARGE_NS
    while last_ns < end_ns and len(intervals) < most:
        time_ns = now()
        if time_ns - last_ns >= GAP_NS:
            at_cpu_ns = cpu_now()
            intervals.append([start_ns - begin_ns, last_ns - begin_ns, at_cpu_ns - start_cpu_ns])
            start_ns, start_cpu_ns = time_ns, at_cpu_ns
        last_ns = time_ns
        if time_ns >= charge_ns:
            charge()
            if os.getppid() != parent:
                # No reader waits for what was seen.
                break
            charge_ns = time_ns + CHARGE_NS
    intervals.append([start_ns - begin_ns, last_ns - begin_ns, cpu_now() - start_cpu_ns])
    return intervals
