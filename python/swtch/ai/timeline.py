"""What the switches of a Trace say about the time inside inferences: which tasks ran, and which waited for a CPU. Pure.

The share of latency that is run-queue wait, for workloads of several threads. At every moment R of the workload's threads run and W are
ready without a CPU. With enough CPUs all R + W would make progress; W / (W + R) of the workload's progress is then lost to the run queue.
The share is the mean of W / (W + R) over the time inside inferences (0 where no thread is ready). It assumes that ready threads are equally
useful. Without that assumption there are bounds. `low` is the share of time in which a thread waits and none runs (nothing goes on). `high`
is the share in which any thread waits (removing the wait cannot win more). A thread that spins counts as one that runs: spinning hides
waiting from this share, and shows as CPU time.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .._trace import Trace


class Switch(NamedTuple):
    """A row of the table `switches`, as far as it is needed; times in nanoseconds since the Trace began."""

    at_ns: int
    prev_tid: int
    next_tid: int
    runnable: bool
    """Whether the thread that left was still ready: an involuntary switch."""
    waited_ns: int | None
    """How long the thread that came had been ready; `None` when that was not seen."""


def switches(trace: Trace) -> list[Switch]:
    """The switches of a Trace in order of time. Raises `TraceError` when it has none."""
    columns: Any = trace.switches
    runnable = (state == "runnable" for state in columns["prev_state"])
    rows = zip(columns["at_ns"], columns["prev_tid"], columns["next_tid"], runnable, columns["waited_ns"])
    return [Switch(*row) for row in rows]


@dataclass(frozen=True)
class Activity:
    """What a workload's threads did in a window."""

    voluntary: int
    """Switches in which one of them gave the CPU up."""
    involuntary: int
    """Switches in which one of them was taken off it."""
    run_ns: int
    """Time on CPUs, all threads together."""
    wait_ns: int
    """Time ready without a CPU, all threads together."""
    wait_share: float | None
    """The share of latency that is run-queue wait; `None` without inferences."""
    wait_share_low: float | None
    """Time in which a thread waited and none ran."""
    wait_share_high: float | None
    """Time in which a thread waited."""


Interval = tuple[int, int]
"""Begin and end in nanoseconds, the end not in it."""


def activity(
    switches: Iterable[Switch],
    running: Iterable[int],
    tids: frozenset[int],
    spans: Sequence[Interval],
    end_ns: int,
) -> Activity:
    """What the threads did from the beginning of the first span to the end of the last.

    switches: in the order of their times. running: threads that ran, whether or not they had a switch. tids: the
    workload's threads. spans: its inferences; they may overlap. end_ns: when the Trace ends.

    >>> alone = activity([Switch(10, 0, 7, False, 5), Switch(30, 7, 0, False, None)], (), frozenset([7]), [(0, 40)], 40)
    >>> (alone.voluntary, alone.run_ns, alone.wait_ns, alone.wait_share)
    (1, 20, 5, 0.125)
    """
    merged = union(spans)
    window = (merged[0][0], merged[-1][1]) if merged else (0, 0)
    voluntary = involuntary = 0
    ran: list[Interval] = []
    waited: list[Interval] = []
    since: dict[int, int] = {}
    seen: set[int] = set()
    preempted: dict[int, int] = {}
    for one in switches:
        prev, following = one.prev_tid, one.next_tid
        if prev in tids:
            # One that was not seen coming had been there from the beginning.
            if prev in since or prev not in seen:
                ran.append((since.pop(prev, 0), one.at_ns))
            seen.add(prev)
            inside = window[0] <= one.at_ns < window[1]
            if one.runnable:
                preempted[prev] = one.at_ns
                involuntary += inside
            else:
                voluntary += inside
        if following in tids:
            since[following] = one.at_ns
            seen.add(following)
            taken_off = preempted.pop(following, None)
            if one.waited_ns is not None:
                waited.append((one.at_ns - one.waited_ns, one.at_ns))
            elif taken_off is not None:
                waited.append((taken_off, one.at_ns))
    # A switch may be later than the end that the caller gives; no interval ends before it begins.
    ran += [(begin, max(begin, end_ns)) for begin in since.values()]
    ran += [(0, end_ns) for _ in (set(running) & tids) - seen]
    waited += [(begin, max(begin, end_ns)) for begin in preempted.values()]
    shares = _shares(ran, waited, merged)
    return Activity(voluntary, involuntary, _within(ran, [window]), _within(waited, [window]), *shares)


def union(spans: Iterable[Interval]) -> list[Interval]:
    """The same time without overlaps, in order.

    >>> union([(5, 9), (0, 2), (1, 3)])
    [(0, 3), (5, 9)]
    """
    merged: list[Interval] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _within(intervals: Iterable[Interval], windows: Sequence[Interval]) -> int:
    return sum(max(0, min(end, high) - max(begin, low)) for begin, end in intervals for low, high in windows)


def _shares(
    ran: Sequence[Interval], waited: Sequence[Interval], spans: Sequence[Interval]
) -> tuple[float | None, float | None, float | None]:
    """The mean of W / (W + R), the share with W > 0 and R = 0, and the share with W > 0, over the spans."""
    total = sum(end - begin for begin, end in spans)
    if total <= 0:
        return None, None, None
    steps: list[tuple[int, int, int]] = []
    for begin, end in ran:
        steps += [(begin, 1, 0), (end, -1, 0)]
    for begin, end in waited:
        steps += [(begin, 0, 1), (end, 0, -1)]
    steps.sort()
    begins = [begin for begin, _ in spans]
    mean = stalled = waiting = 0.0
    runs = waits = before = 0
    for at_ns, more_runs, more_waits in steps:
        if waits > 0 and at_ns > before:
            length = _covered(spans, begins, before, at_ns)
            mean += length * waits / (waits + runs)
            waiting += length
            stalled += length if runs == 0 else 0
        runs, waits, before = runs + more_runs, waits + more_waits, at_ns
    return mean / total, stalled / total, waiting / total


def _covered(spans: Sequence[Interval], begins: Sequence[int], low: int, high: int) -> int:
    """How much of the time from `low` to `high` lies in the spans, which do not overlap and are in order."""
    index = max(0, bisect.bisect_right(begins, low) - 1)
    covered = 0
    while index < len(spans) and spans[index][0] < high:
        covered += max(0, min(spans[index][1], high) - max(spans[index][0], low))
        index += 1
    return covered
