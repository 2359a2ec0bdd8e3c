"""The CPU quota and its period, from when spinners ran. Pure.

The kernel's bandwidth control (kernel/sched/fair.c: `distribute_cfs_runtime`, `throttle_cfs_rq`) stops a group when its quota is used up.
It lets the group go on when a timer refills the quota. So the gaps of a spinner that end together with a period show the period. The time
that all spinners ran from one refill to the next is the quota. Gaps in which others had the CPU end anywhere, and are neither.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

Interval = Sequence[int]
"""One running interval: when it began and ended in ns, and, where known, the CPU time that was charged for it."""
Intervals = Sequence[Interval]
"""Of one spinner, in order."""

GAP_NS = 200_000
"""A shorter gap is an interrupt, and counts as running."""
SHORTEST_PERIOD_NS = 10_000_000
"""Below it a quota cannot be distinguished from taking turns with another program at the kernel's tick."""
_FEWEST = 4
"""Ends on a grid, before it is believed."""
_HEAVIEST = 64
"""The number of longest gaps that show the period."""
_PEAK = 0.85
"""Of the best period's strength, that a longer one must have."""
_LATE_NS = 4_500_000
"""Where others have the CPU at the refill, a spinner may come back this much later: a tick."""
_BY_CHANCE = 1e-4
"""How likely unrelated gaps may look like those of a quota."""
_SHARE = 0.6
"""Of the gaps' lengths that must end on the grid, or of the periods whose running time must be the same."""
_COVERED = 0.5
"""The share of periods that must end inside a gap."""
_USUAL_PERIODS_NS = (20_000_000, 100_000_000)
"""Tried where gaps of others hide the period: the kernel's default, and what some platforms take."""
_SAME = 0.01
"""Running times that differ by no more are the same; or by what is charged late, if that is more."""
_CHARGED_LATE_NS = 150_000
"""Of each spinner: between two looks at its CPU clock, and what belongs to that."""
_MOST_ALIGNED = 0.9
"""Of the gaps' lengths that must end on the grid where running times differ: without looks at the CPU clock they do, by ticks."""
_NEARLY_ALL = 0.7
"""Of the periods that must have the same running time, before others are left out."""
_APART = 0.25
"""Of the middle running time: what is further from it is left out then."""
_IDLE = 0.05
"""Share of the periods: if more have no running time, the quota is the cause."""
_MOST = 0.9
"""Of the CPUs of all spinners, that a quota may be which only the same running times tell."""
_SMALLEST_NS = 900_000
"""The kernel takes no quota below 1 ms (kernel/sched/core.c: `min_cfs_quota_period`); the inferred quota may be a little less than the one that is set."""
_NEAR = 0.02
"""As well as quotas are inferred."""
_KEPT_NS = 5_000_000
"""What a CPU may run beyond its quota once, however long one looks: a slice that it holds (`sched_cfs_bandwidth_slice`), or a tick that is owed."""
_NO_PERIOD = "no gaps end together with the periods of a quota: nothing was throttled that long"


@dataclass(frozen=True)
class Gap:
    """A interval in which a spinner did not run."""

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
    """`None` where no gaps come from a quota, or they contradict one; then `why` has the reason."""
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
    """Times of refills, a whole number of periods apart."""

    first_ns: float
    period_ns: float

    def number(self, time_ns: float) -> int:
        """Of the refill that a time is soonest after."""
        return math.floor((time_ns - self.first_ns + self.early_ns) / self.period_ns)

    def after_ns(self, time_ns: float) -> float:
        """How long after that refill."""
        return time_ns - self.first_ns - self.number(time_ns) * self.period_ns

    @property
    def early_ns(self) -> float:
        """A time this much before a refill counts as the refill."""
        return max(300_000.0, self.period_ns / 100)

    @property
    def late_ns(self) -> float:
        """So much after it."""
        return max(self.early_ns, min(_LATE_NS, self.period_ns / 4))

    def has(self, gap: Gap) -> bool:
        """Whether a gap ends with a refill."""
        return self.after_ns(gap.end_ns) <= self.late_ns

    def ended_by(self, gap: Gap) -> range:
        """The refills within a gap that ends with one: the periods before them had used their quota up."""
        last = self.number(gap.end_ns)
        return range(min(last, math.ceil((gap.start_ns - self.first_ns) / self.period_ns)), last + 1)


def infer(spinners: Sequence[Intervals]) -> Inferred:
    """The quota and its period, of spinners that wanted all the time they could get.

    >>> quarter = [(100_000_000 * k, 100_000_000 * k + 25_000_000) for k in range(10)]
    >>> found = infer([quarter])
    >>> round(found.period_ns), round(found.quota_ns), found.cpus
    (100000000, 25000000, 0.25)
    """
    merged = [_without_short_gaps(intervals) for intervals in spinners]
    told = _told(merged)
    if told is None:
        return _none(merged, _NO_PERIOD)
    found, ran_ns = told
    why = _why_not(found, ran_ns, len(spinners))
    return found if why is None else _none(merged, why)


def _told(merged: Sequence[Sequence[tuple[int, int, int]]]) -> tuple[Inferred, float] | None:
    """What the gaps tell, whether a quota can be so or not, and what ran in all of its periods."""
    gaps = [Gap(before[1], after[0]) for each in merged for before, after in zip(each, each[1:])]
    # A gap of others is shorter than those of a quota, or it does not matter which it is.
    least_ns = _typical_length_ns(gaps) / 4
    heavy = [gap for gap in gaps if gap.length_ns >= least_ns]
    longest = sorted(sorted(heavy, key=lambda gap: -gap.length_ns)[:_HEAVIEST], key=lambda gap: gap.end_ns)
    strongest = _strongest_period(longest) if len(longest) >= _FEWEST else None
    if strongest is None:
        return None
    grid = _fitted(longest, strongest)
    if grid is not None and _more_than_chance(longest, grid):
        found = _quota(merged, heavy, grid, _NEARLY_ALL)
        if found is None and _aligned_share(longest, grid) >= _MOST_ALIGNED:
            found = _quota(merged, heavy, grid, 0.0)
        if found is not None:
            return found
    # With many others the gaps alone do not tell it, but that the same time ran in every period does.
    for period in _USUAL_PERIODS_NS:
        grid = _fitted(longest, period)
        if grid is not None and abs(grid.period_ns / period - 1) <= _SAME:
            found = _quota(merged, heavy, grid, _SHARE)
            if (
                found is not None
                and found[0].cpus <= _MOST * len(merged)
                and _is_idle_before_refills(merged, grid, found[0].cpus)
            ):
                return found
    return None


def _is_idle_before_refills(
    spinners: Sequence[Sequence[tuple[int, int, int]]], grid: _Grid, cpus: float
) -> bool:
    """Whether less runs in the last fifth of periods than in the others: else the period may be a fifth of that."""
    span_ns = max(each[-1][1] for each in spinners if each) - grid.first_ns
    fifths = _Grid(grid.first_ns, grid.period_ns / 5)
    ran_ns = _ran_ns(spinners, fifths, 0, 5 * int(span_ns / grid.period_ns))
    last = [ran for number, ran in ran_ns.items() if number % 5 == 0]
    return bool(last) and statistics.fmean(last) < cpus * fifths.period_ns / 2


def _aligned_share(gaps: Sequence[Gap], grid: _Grid) -> float:
    """Of the gaps' lengths, those of gaps that end with a refill."""
    return sum(gap.length_ns for gap in gaps if grid.has(gap)) / sum(gap.length_ns for gap in gaps)


def _more_than_chance(gaps: Sequence[Gap], grid: _Grid) -> bool:
    """Whether gaps end on a grid that would not if it were nothing to them."""
    by_chance = min(1.0, (grid.early_ns + grid.late_ns) / grid.period_ns)
    # Two ends decide where the grid lies; the others are a test of it.
    tail = _tail(len(gaps) - 2, sum(map(grid.has, gaps)) - 2, by_chance)
    return _aligned_share(gaps, grid) >= _SHARE and tail < _BY_CHANCE


def _quota(
    spinners: Sequence[Sequence[tuple[int, int, int]]], gaps: Sequence[Gap], grid: _Grid, least_alike: float
) -> tuple[Inferred, float] | None:
    """The running time of the periods that end in a gap; `None` where these are few, or others ran longer than a quota lets them. Also what
    ran in all periods.

    least_alike: the share of these periods in which it must be the same.
    """
    throttles = [gap for gap in gaps if grid.has(gap)]
    if not throttles:
        return None
    ends = [grid.number(gap.end_ns) for gap in throttles]
    first, last = min(ends), max(ends)
    used_up = {number for gap in throttles for number in grid.ended_by(gap) if number > first}
    if last - first < _FEWEST - 1 or len(used_up) < _COVERED * (last - first):
        return None
    ran_ns = _ran_ns(spinners, grid, first, last)
    odd_ns = sum(ran for number, ran in ran_ns.items() if number % 2)
    total_ns = sum(ran_ns.values())
    if min(odd_ns, total_ns - odd_ns) < _IDLE * total_ns:
        # Nothing runs in every other period: it is half of one.
        start = 0 if odd_ns > total_ns / 2 else 1
        twice = _Grid(grid.first_ns + start * grid.period_ns, 2 * grid.period_ns)
        return _quota(spinners, gaps, twice, least_alike)
    # Where the quota before was not used up, some of it may have stayed with a CPU.
    whole = [ran_ns[number] for number in used_up if number - 1 in used_up or number - 1 == first]
    if len(whole) < _FEWEST - 1:
        return None
    middle_ns = statistics.median(whole)
    slack_ns = max(_SAME * middle_ns, _CHARGED_LATE_NS * len(spinners))
    alike = [ran for ran in whole if abs(ran - middle_ns) <= slack_ns]
    if len(alike) < least_alike * len(whole):
        return None
    # Many periods in which nothing ran owe that to those before: all count.
    paid_back = whole.count(0.0) > _IDLE * len(whole)
    if len(alike) >= _NEARLY_ALL * len(whole) and not paid_back:
        # Else a period that others took a large part of is not one of the quota, though a gap of theirs ended it. Where one
        # refill was seen late, its two neighbours look wrong.
        quota_ns = statistics.fmean(ran for ran in whole if abs(ran - middle_ns) <= _APART * middle_ns)
    else:
        quota_ns = statistics.fmean(alike if least_alike else whole)
    most_ns = sorted(ran_ns.values())[-1 - len(ran_ns) // 10]
    if most_ns > quota_ns * 1.05 + len(spinners) * _LATE_NS:
        return None
    throttled_ns = sum(gap.length_ns for gap in throttles)
    cpus = quota_ns / grid.period_ns
    found = Inferred(grid.period_ns, quota_ns, cpus, throttled_ns, len(throttles), last - first, None)
    return found, total_ns


def _why_not(found: Inferred, ran_ns: float, spinners: int) -> str | None:
    """Why what gaps tell can be no quota of the kernel's; `None` where it can. The same in every language.

    ran_ns: running time of all spinners over these periods, those that did not use the quota up too. A quota holds for each of them: what a CPU
    runs beyond it once, it owes.
    """
    assert found.period_ns is not None and found.quota_ns is not None, "a candidate has both"
    period_ms, quota_ms = found.period_ns / 1e6, found.quota_ns / 1e6
    said = f"gaps end together every {period_ms:.3f} ms, but a quota of {quota_ms:.3f} ms"
    if found.quota_ns < _SMALLEST_NS:
        return f"{said} is below the kernel's smallest, 1 ms: other programs had the CPU"
    if ran_ns > (1 + _NEAR) * found.quota_ns * found.periods + _KEPT_NS * spinners:
        ran_ms = ran_ns / found.periods / 1e6
        return f"{said} would not have let {ran_ms:.3f} ms run in each: other programs had the CPU"
    return None


def _none(spinners: Sequence[Sequence[tuple[int, int, int]]], why: str) -> Inferred:
    """No quota; the CPUs received."""
    begin = min((each[0][0] for each in spinners if each), default=0)
    end = max((each[-1][1] for each in spinners if each), default=0)
    ran = sum(ran for each in spinners for _, _, ran in each)
    return Inferred(None, None, ran / (end - begin) if end > begin else 0.0, 0, 0, 0, why)


def _without_short_gaps(intervals: Intervals) -> list[tuple[int, int, int]]:
    """Beginnings, ends and running times."""
    found: list[tuple[int, int, int]] = []
    for start, end, *charged in intervals:
        ran = charged[0] if charged else end - start
        if found and start - found[-1][1] < GAP_NS:
            joined_ns = 0 if charged else start - found[-1][1]
            found[-1] = (found[-1][0], end, found[-1][2] + joined_ns + ran)
        else:
            found.append((start, end, ran))
    return found


def _typical_length_ns(gaps: Sequence[Gap]) -> float:
    """The median of lengths, each weighing what it is long."""
    lengths = sorted(gap.length_ns for gap in gaps)
    half = sum(lengths) / 2
    so_far = 0
    for length in lengths:
        so_far += length
        if so_far >= half:
            return length
    return 0.0


def _strongest_period(gaps: Sequence[Gap]) -> float | None:
    """By the periodogram of the ends: a period's divisors are as strong as itself, so the longest strong one is taken."""
    span = gaps[-1].end_ns - gaps[0].end_ns
    weights = [float(gap.length_ns) ** 2 for gap in gaps]
    times = [gap.end_ns - gaps[0].end_ns for gap in gaps]
    # A peak is as wide as 1 / span: four points on each.
    steps = range(6, int(4 * span / SHORTEST_PERIOD_NS) + 1)
    strengths = []
    for step in steps:
        angle = 2 * math.pi * step / (4 * span)
        real = sum(weight * math.cos(angle * time) for weight, time in zip(weights, times))
        imaginary = sum(weight * math.sin(angle * time) for weight, time in zip(weights, times))
        strengths.append(math.hypot(real, imaginary))
    if not strengths:
        return None
    enough = _PEAK * max(strengths)
    place = next(place for place, strength in enumerate(strengths) if strength >= enough)
    while place + 1 < len(strengths) and strengths[place + 1] > strengths[place]:
        place += 1
    return 4 * span / steps[place]


def _fitted(gaps: Sequence[Gap], period_ns: float) -> _Grid | None:
    """The grid of about that period that the most gaps end with, long ones above all; its period by least squares."""
    span = gaps[-1].end_ns - gaps[0].end_ns
    # The strongest frequency is known to a quarter of its peak's width.
    trials = [period_ns * (1 + trial / 10 * period_ns / (4 * span)) for trial in range(-10, 11)]
    grid = max((_densest(gaps, trial) for trial in trials), key=lambda found: found[0])[1]
    for _ in range(2):
        near = [(grid.number(gap.end_ns), gap) for gap in gaps if grid.has(gap)]
        if len({number for number, _ in near}) < _FEWEST:
            return None
        total = sum(gap.length_ns for _, gap in near)
        mean_number = sum(gap.length_ns * number for number, gap in near) / total
        mean_end = sum(gap.length_ns * gap.end_ns for _, gap in near) / total
        across = sum(gap.length_ns * (number - mean_number) ** 2 for number, gap in near)
        along = sum(gap.length_ns * (number - mean_number) * (gap.end_ns - mean_end) for number, gap in near)
        grid = _densest(gaps, along / across)[1]
    return grid


def _densest(gaps: Sequence[Gap], period_ns: float) -> tuple[float, _Grid]:
    """Of the grids with that period the one that most gaps end with, and the lengths of those."""
    first = gaps[0].end_ns
    phases = sorted(((gap.end_ns - first) % period_ns, gap.length_ns) for gap in gaps)
    window = _Grid(first, period_ns).late_ns
    best, inside, upper = (0.0, phases[0][0]), 0, 0
    for lower, (phase, length) in enumerate(phases):
        while upper < lower + len(phases):
            round_again, place = divmod(upper, len(phases))
            if phases[place][0] + round_again * period_ns > phase + window:
                break
            inside += phases[place][1]
            upper += 1
        best = max(best, (float(inside), phase))
        inside -= length
    return best[0], _Grid(first + best[1], period_ns)


def _tail(n: int, least: int, p: float) -> float:
    """How likely at least k of n independent things happen."""
    return sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(0, least), n + 1))


def _ran_ns(
    spinners: Sequence[Sequence[tuple[int, int, int]]], grid: _Grid, first: int, last: int
) -> dict[int, float]:
    """How long spinners ran in each period between two refills, by the number of the refill that it ends with."""
    ran_ns = dict.fromkeys(range(first + 1, last + 1), 0.0)
    for start, end, ran in (interval for each in spinners for interval in each):
        number = math.floor((start - grid.first_ns) / grid.period_ns) + 1
        begin = float(start)
        while begin < end:
            until = min(grid.first_ns + number * grid.period_ns, float(end))
            if number in ran_ns and until > begin:
                ran_ns[number] += (until - begin) * ran / (end - start)
            begin, number = max(until, begin), number + 1
    return ran_ns
