"""Where the CPUs' time went between two looks: the workload, the measuring, others, idle, stolen. Pure.

All parts are of one window and of the same CPUs, and add up to its length times the CPUs. Own and measuring time are of the scheduler's
clocks, which leave stolen time out. Idle and stolen time are of `/proc/stat`. The window is of `CLOCK_MONOTONIC`. Others are what is left:
other programs, interrupts, and the kernel's own work. The busy ticks of `/proc/stat` are not taken. A kernel that samples them misses
whatever runs between two ticks (on one machine 15 % of all time).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

TOLERANCE = 0.01
"""How far the parts may miss the whole, as a share of it: no clock holds the time of switching itself."""
TICKS = 4
"""And in ticks of `/proc/stat` for each CPU. Idle, waiting and stolen time are cut to whole ticks, and own time is as old as the last
one."""
_LEAST_TOLD = 0.5
"""`/proc/stat` must account for this share of the CPUs' time; in some containers it does not count."""


@dataclass(frozen=True)
class Sample:
    """One look. CPU times are sums over the CPUs that the workload may use, in nanoseconds, since some beginning."""

    at_ns: int
    """When, by `CLOCK_MONOTONIC`: the middle of the look."""
    threads: int = 0
    """Threads of the workload."""
    processes: int = 0
    """Its processes."""
    clocks_ns: Mapping[int, int] = field(default_factory=dict)
    """CPU time of each of its living processes."""
    group_ns: int | None = None
    """CPU time of its cgroup, ended processes included; `None` where that is not counted."""
    measuring_ns: int | None = None
    """CPU time of the recorder and of this process; `None` where they may be on other CPUs than the workload's."""
    busy_ns: int = 0
    """CPU time in use by the kernel's ticks."""
    idle_ns: int = 0
    """Idle, also while waiting for a disk."""
    steal_ns: int = 0
    """Taken by a hypervisor."""
    cpus: int = 0
    """CPUs that `/proc/stat` had a line of."""
    interrupts: int = 0
    """Hardware interrupts of the machine since it was started."""
    took_ns: int = 0
    """How long the look took: its parts are at most so far apart."""


@dataclass(frozen=True)
class Account:
    """What the CPUs did in a window. What is `None` has its reason in `why`."""

    window_ns: int
    """Length."""
    cpu_count: int
    """CPUs."""
    own_ns: int | None
    """Of the workload."""
    measuring_ns: int | None
    """Of the recorder and of `swtch ai`; `None`: among the others'."""
    foreign_ns: int | None
    """Of others."""
    idle_ns: int | None
    """Of nothing."""
    steal_ns: int | None
    """Of a hypervisor."""
    tolerance_ns: int
    """How far the sum may be from the window times the CPUs."""
    why: str | None = None
    """Why something is missing."""

    def to_document(self) -> dict[str, Any]:
        """As `swtch/study/2` has it."""
        document = asdict(self)
        del document["why"]
        return document

    @property
    def capacity_ns(self) -> int:
        """The time of all CPUs."""
        return self.window_ns * self.cpu_count


def tolerance_ns(window_ns: int, cpu_count: int, took_ns: int = 0) -> int:
    """How far the parts of a window may miss the whole. took_ns: of the looks at both ends."""
    ticks_ns = TICKS * tick_ns() * cpu_count
    return round(TOLERANCE * window_ns * cpu_count) + ticks_ns + took_ns * cpu_count


def account(first: Sample, last: Sample, cpu_count: int) -> Account:
    """Where the CPUs' time went between two looks.

    >>> before = Sample(0, group_ns=0, measuring_ns=0, cpus=2)
    >>> after = Sample(10**9, group_ns=10**9, measuring_ns=10**7, idle_ns=6 * 10**8, busy_ns=14 * 10**8, cpus=2)
    >>> found = account(before, after, 2)
    >>> (found.own_ns, found.foreign_ns, found.why)
    (1000000000, 390000000, None)
    """
    window_ns = last.at_ns - first.at_ns
    tolerance = tolerance_ns(window_ns, cpu_count, first.took_ns + last.took_ns)
    own_ns = _own(first, last)
    measuring_ns = _difference(first.measuring_ns, last.measuring_ns)
    idle_ns, steal_ns = last.idle_ns - first.idle_ns, last.steal_ns - first.steal_ns
    capacity_ns = window_ns * cpu_count
    told_ns = last.busy_ns - first.busy_ns + idle_ns + steal_ns
    why = None
    if {first.cpus, last.cpus} != {cpu_count}:
        why = f"/proc/stat has {last.cpus} of the {cpu_count} CPUs"
    elif window_ns <= 0 or min(idle_ns, steal_ns, told_ns) < 0:
        why = "the kernel's counters of CPU time went backwards"
    elif told_ns < _LEAST_TOLD * capacity_ns:
        why = f"/proc/stat accounts for {100 * told_ns / capacity_ns:.0f} % of the CPUs' time; in some containers it is not the machine's"
    if why is not None:
        return Account(window_ns, cpu_count, own_ns, measuring_ns, None, None, None, tolerance, why)
    if own_ns is None:
        why = "a process of the workload ended while it was measured, and no cgroup counted its CPU time"
        return Account(window_ns, cpu_count, None, measuring_ns, None, idle_ns, steal_ns, tolerance, why)
    foreign_ns = capacity_ns - idle_ns - steal_ns - own_ns - (measuring_ns or 0)
    if foreign_ns < -tolerance:
        why = (
            f"the parts add up to {100 * (1 - foreign_ns / capacity_ns):.0f} % of the CPUs' time: "
            "a hypervisor also takes CPUs that the kernel counts as idle"
        )
        return Account(window_ns, cpu_count, own_ns, measuring_ns, None, None, steal_ns, tolerance, why)
    return Account(
        window_ns, cpu_count, own_ns, measuring_ns, max(0, foreign_ns), idle_ns, steal_ns, tolerance
    )


def between(samples: Sequence[Sample], begin_ns: int, end_ns: int) -> tuple[Sample, Sample] | None:
    """The looks at both ends of an interval: the last before its beginning, and the one that is nearest to its end; `None` without two."""
    if len(samples) < 2:
        return None
    first = max((one for one in samples[:-1] if one.at_ns <= begin_ns), key=_at, default=samples[0])
    later = [one for one in samples if one.at_ns > first.at_ns]
    if not later:
        return None
    return first, min(later, key=lambda one: abs(one.at_ns - end_ns))


def tick_ns() -> int:
    """What `/proc/stat` counts in."""
    return 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def _at(one: Sample) -> int:
    return one.at_ns


def _own(first: Sample, last: Sample) -> int | None:
    """Of the group where it is counted; else of the processes, if all of them still run."""
    of_group = _difference(first.group_ns, last.group_ns)
    if of_group is not None:
        return of_group
    if not first.clocks_ns or not set(first.clocks_ns) <= set(last.clocks_ns):
        return None
    return sum(last.clocks_ns.values()) - sum(first.clocks_ns.values())


def _difference(before: int | None, after: int | None) -> int | None:
    return None if before is None or after is None or after < before else after - before
