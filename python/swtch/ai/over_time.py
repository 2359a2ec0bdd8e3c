"""How a run went over time: `over_time` of `swtch/study/2`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._trace import Trace
from .account import Sample


def over_time(
    samples: Sequence[Sample], window: tuple[int, int], trace: Trace | None, cpu_time: float
) -> dict[str, Any]:
    """A value for each look of the sampler but the first, of the time since the one before.

    window: when the first inference began, which is time 0, and when the last ended. Looks after that are left out, because the workload
    then reports its figures and ends. CPU use and switches are from the Trace's intervals, and `None` where there is none.
    """
    begin_ns, end_ns = window
    alive = [one for one in samples if one.processes and one.at_ns <= end_ns]
    rows = _intervals(trace) if trace is not None else []
    pairs = list(zip(alive, alive[1:]))
    binned = [_between(rows, before.at_ns, after.at_ns) for before, after in pairs]
    return {
        "at_ms": [round((after.at_ns - begin_ns) / 1e6, 3) for _, after in pairs],
        "threads": [after.threads for _, after in pairs],
        "processes": [after.processes for _, after in pairs],
        "cpu_utilisation": [None if one is None else one[0] / cpu_time for one in binned],
        "switches_per_s": [None if one is None else one[1] for one in binned],
        "interrupts_per_s": [_interrupt_rate(before, after) for before, after in pairs],
    }


def _interrupt_rate(before: Sample, after: Sample) -> float:
    return (after.interrupts - before.interrupts) * 1e9 / max(1, after.at_ns - before.at_ns)


def _intervals(trace: Trace) -> list[tuple[int, int, int, int]]:
    """Middle and length of each interval of the Trace, by `CLOCK_MONOTONIC`, with CPU time and switches in it."""
    start_ns = trace.provenance.started_monotonic_ns
    rows: list[dict[str, Any]] = trace.table("intervals").rows()
    return [
        (
            start_ns + row["at_ns"] + row["length_ns"] // 2,
            row["length_ns"],
            row["run_ns"] or 0,
            (row["voluntary"] or 0) + (row["involuntary"] or 0),
        )
        for row in rows
        if row["cpu"] is None
    ]


def _between(rows: Sequence[tuple[int, int, int, int]], low: int, high: int) -> tuple[float, float] | None:
    """CPUs in use and switches a second in the intervals whose middle lies between the two."""
    inside = [row for row in rows if low <= row[0] < high]
    length_ns = sum(length for _, length, _, _ in inside)
    if length_ns == 0:
        return None
    return sum(row[2] for row in inside) / length_ns, sum(row[3] for row in inside) * 1e9 / length_ns
