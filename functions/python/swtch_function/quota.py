"""The CPU quota and its period, from when spinners ran. Pure.

The kernel's bandwidth control (kernel/sched/fair.c: `distribute_cfs_runtime`, `throttle_cfs_rq`) stops a group when its quota is used up, and lets it
go on when a timer refills the quota. So the gaps of a spinner that end together with a period tell the period; what all spinners ran from
one refill to the next is the quota. Gaps in which others had the CPU end anywhere, and are neither.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Stretches = Sequence["tuple[int, int]"]
"""When one spinner ran: beginnings and ends in ns, in order."""

GAP_NS = 200_000
"""A shorter gap is an interrupt, and counts as running."""
SHORTEST_PERIOD_NS = 10_000_000
"""Below it a quota cannot be told from taking turns with another program at the kernel's tick."""
_FEWEST = 4
"""Ends on a grid, before it is believed."""
_HEAVIEST = 64
"""So many of the longest gaps tell the period."""
_PEAK = 0.85
"""Of the best period's strength, that a longer one must have."""
_ALIGNED = 0.7
"""The share of the gaps' weight that must end on the grid."""
_COVERED = 0.5
"""The share of periods that must end inside a gap."""


@dataclass(frozen=True)
class Gap:
    """A stretch in which a spinner did not run."""

    start_ns: int
    end_ns: int

    @property
    def length_ns(self) -> int:
        """How long."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Inferred:
    """What the gaps tell."""

    period_ns: float | None
    """`None` where no gaps are of a quota; then `why` says so."""
    quota_ns: float | None
    """Running time of all spinners in a period."""
    cpus: float
    """Quota by period; without one the CPUs received."""
    throttled_ns: int
    """Lengths of the gaps of the quota, summed over spinners."""
    gaps: int
    """How many these are."""
    periods: int
    """From the first to the last of their ends."""
    why: str | None
    """Why there is no quota, in one line."""


@dataclass(frozen=True)
class _Grid:
    """Times that are a whole number of periods apart."""

    first_ns: float
    period_ns: float

    def number(self, time_ns: float) -> int:
        return round((time_ns - self.first_ns) / self.period_ns)

    def after(self, time_ns: float) -> float:
        """How long after the nearest of the grid's times; negative before it."""
        return time_ns - self.first_ns - self.number(time_ns) * self.period_ns


def infer(spinners: Sequence[Stretches]) -> Inferred:
    """The quota and its period, of spinners that wanted all the time they could get.

    >>> quarter = [(100_000_000 * k, 100_000_000 * k + 25_000_000) for k in range(10)]
    >>> found = infer([quarter])
    >>> round(found.period_ns), round(found.quota_ns), found.cpus
    (100000000, 25000000, 0.25)
    """
    merged = [_without_short_gaps(stretches) for stretches in spinners]
    gaps = [
        [Gap(before[1], after[0]) for before, after in zip(stretches, stretches[1:])] for stretches in merged
    ]
    grid = _grid([gap for each in gaps for gap in each])
    if grid is None:
        return _unthrottled(merged, "no gaps end together with any period: nothing was throttled")
    throttles = [[gap for gap in each if _is_throttle(gap, grid)] for each in gaps]
    ends = [grid.number(gap.end_ns) for each in throttles for gap in each]
    first, last = min(ends), max(ends)
    covered = {
        number
        for each in throttles
        for gap in each
        for number in range(_number_after(grid, gap.start_ns), grid.number(gap.end_ns) + 1)
    }
    valid = [number for number in range(first + 1, last + 1) if number in covered]
    if len(valid) < _COVERED * (last - first) or last - first < _FEWEST - 1:
        return _unthrottled(merged, "too few periods end in a gap: hardly anything was throttled")
    quota = sum(_running(stretches, grid, valid) for stretches in merged) / len(valid)
    return Inferred(
        grid.period_ns,
        quota,
        quota / grid.period_ns,
        sum(gap.length_ns for each in throttles for gap in each),
        sum(map(len, throttles)),
        last - first,
        None,
    )


def _unthrottled(spinners: Sequence[Stretches], why: str) -> Inferred:
    begin = min((stretches[0][0] for stretches in spinners if stretches), default=0)
    end = max((stretches[-1][1] for stretches in spinners if stretches), default=0)
    ran = sum(end - start for stretches in spinners for start, end in stretches)
    return Inferred(None, None, ran / (end - begin) if end > begin else 0.0, 0, 0, 0, why)


def _without_short_gaps(stretches: Stretches) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in stretches:
        if found and start - found[-1][1] < GAP_NS:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def _grid(gaps: Sequence[Gap]) -> _Grid | None:
    """The longest period whose multiples most gaps end at, long ones above all."""
    heaviest = sorted(sorted(gaps, key=lambda gap: -gap.length_ns)[:_HEAVIEST], key=lambda gap: gap.end_ns)
    if len(heaviest) < _FEWEST:
        return None
    period = _strongest_period(heaviest)
    if period is None:
        return None
    return _fitted(heaviest, period)


def _strongest_period(gaps: Sequence[Gap]) -> float | None:
    """By the periodogram of the ends: a period's divisors are as strong as itself, so the longest strong one is taken."""
    span = gaps[-1].end_ns - gaps[0].end_ns
    weights = [float(gap.length_ns) ** 2 for gap in gaps]
    total = sum(weights)
    times = [gap.end_ns - gaps[0].end_ns for gap in gaps]
    # A peak is as wide as 1 / span: four points on each.
    steps = range(6, int(4 * span / SHORTEST_PERIOD_NS) + 3)
    strengths = []
    for step in steps:
        angle = 2 * math.pi * step / (4 * span)
        real = sum(weight * math.cos(angle * time) for weight, time in zip(weights, times))
        imaginary = sum(weight * math.sin(angle * time) for weight, time in zip(weights, times))
        strengths.append(math.hypot(real, imaginary) / total)
    if not strengths:
        return None
    enough = _PEAK * max(strengths)
    place = next(place for place, strength in enumerate(strengths) if strength >= enough)
    while place + 1 < len(strengths) and strengths[place + 1] > strengths[place]:
        place += 1
    return 4 * span / steps[place]


def _fitted(gaps: Sequence[Gap], period_ns: float) -> _Grid | None:
    """The line through the ends that are on the grid, by least squares with the gaps' weights; `None` when most are not."""
    grid = _Grid(max(gaps, key=lambda gap: gap.length_ns).end_ns, period_ns)
    for tolerance in (period_ns / 4, period_ns / 10, _tolerance_ns(period_ns), _tolerance_ns(period_ns)):
        near = [gap for gap in gaps if abs(grid.after(gap.end_ns)) <= tolerance]
        numbers = [grid.number(gap.end_ns) for gap in near]
        if len(set(numbers)) < _FEWEST:
            return None
        weights = [float(gap.length_ns) ** 2 for gap in near]
        total = sum(weights)
        mean_number = sum(weight * number for weight, number in zip(weights, numbers)) / total
        mean_end = sum(weight * gap.end_ns for weight, gap in zip(weights, near)) / total
        across = sum(weight * (number - mean_number) ** 2 for weight, number in zip(weights, numbers))
        along = sum(
            weight * (number - mean_number) * (gap.end_ns - mean_end)
            for weight, number, gap in zip(weights, numbers, near)
        )
        slope = along / across
        grid = _Grid(mean_end - mean_number * slope, slope)
    aligned = sum(float(gap.length_ns) ** 2 for gap in gaps if _is_throttle(gap, grid))
    return grid if aligned >= _ALIGNED * sum(float(gap.length_ns) ** 2 for gap in gaps) else None


def _tolerance_ns(period_ns: float) -> float:
    """How far from the grid a refill may be seen: a late timer."""
    return max(300_000.0, period_ns / 100)


def _is_throttle(gap: Gap, grid: _Grid) -> bool:
    """Whether it ends with a period, or so little after it that somebody else had the CPU just then."""
    after = grid.after(gap.end_ns)
    tolerance = _tolerance_ns(grid.period_ns)
    return -tolerance <= after <= max(tolerance, gap.length_ns / 10)


def _number_after(grid: _Grid, time_ns: float) -> int:
    return math.ceil((time_ns - grid.first_ns) / grid.period_ns)


def _running(stretches: Stretches, grid: _Grid, numbers: Sequence[int]) -> float:
    """How long a spinner ran in the periods that end at these numbers of the grid."""
    wanted = set(numbers)
    ran = 0.0
    for start, end in stretches:
        number = math.floor((start - grid.first_ns) / grid.period_ns) + 1
        begin = float(start)
        while begin < end:
            boundary = grid.first_ns + number * grid.period_ns
            until = min(boundary, float(end))
            if number in wanted:
                ran += until - begin
            begin, number = max(until, begin), number + 1
    return ran
