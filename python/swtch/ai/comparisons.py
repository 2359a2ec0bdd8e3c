"""Which of several comparisons of settings are decided: rank-sum tests, corrected for their number. Pure; statistics from the native half."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .. import _native
from .objective import THROUGHPUT, Objective
from .summarise import ENOUGH_RUNS, Summary

LEVEL = 0.05
"""The chance that a study of identical settings reports any difference, over all its comparisons."""


@dataclass(frozen=True)
class Test:
    """One of several comparisons."""

    p_value: float
    """Of the two-sided rank-sum test: exact, of the runs' figures."""
    p_adjusted: float
    """The same after Holm's correction for the number of comparisons."""
    comparisons: int
    """That number."""

    __test__ = False  # Not one of pytest's.

    @property
    def passed(self) -> bool:
        """Whether the two settings differ."""
        return self.p_adjusted <= LEVEL

    def __str__(self) -> str:
        return f"p = {self.p_adjusted:.2g} after Holm's correction for {of(self.comparisons)}, level {100 * LEVEL:.0f} %"


def of(comparisons: int) -> str:
    """That many comparisons, in words."""
    return f"{comparisons} comparison{'s' if comparisons != 1 else ''}"


def comparable(one: Summary, objective: Objective = THROUGHPUT) -> bool:
    """Whether a summary may be compared: of enough runs, none of which was disturbed."""
    return one.disturbed == 0 and len(one.samples.get(objective.figure, ())) >= ENOUGH_RUNS


def tests(pairs: Sequence[tuple[Summary, Summary]], objective: Objective = THROUGHPUT) -> list[Test]:
    """The tests of all pairs of one study, in their order."""
    name = objective.figure
    bare, adjusted = _native.rank_tests([(one.samples[name], other.samples[name]) for one, other in pairs])
    return [Test(p, corrected, len(pairs)) for p, corrected in zip(bare, adjusted)]


def repeats_needed(comparisons: int) -> int:
    """The number of runs of each setting with which a comparison can pass, whatever the others show.

    >>> repeats_needed(1), repeats_needed(6), repeats_needed(16)
    (4, 5, 6)
    """
    runs = ENOUGH_RUNS
    while comparisons * 2 / math.comb(2 * runs, runs) > LEVEL:
        runs += 1
    return runs
