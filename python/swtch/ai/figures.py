"""Figures from numbers: quantiles, medians with intervals, ratios. Pure; the standard library only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

CONFIDENCE = 0.95
"""Of intervals, where there are values enough for it."""


@dataclass(frozen=True)
class Estimate:
    """A median with an interval that needs no assumption about the distribution."""

    median: float
    """The median."""
    ci_low: float
    """The lower end of its interval."""
    ci_high: float
    """The upper end."""
    confidence: float
    """How likely such an interval holds the median; below 0.95 with fewer than 6 values, 0 with one."""

    def to_document(self) -> dict[str, Any]:
        """As `swtch/study/2` has it."""
        return asdict(self)

    def below(self, other: Estimate) -> bool:
        """Whether this interval ends before the other begins."""
        return self.ci_high < other.ci_low


def quantile(ordered: Sequence[float], p: float) -> float:
    """The quantile of numbers in order, interpolated between neighbours (type 7 of Hyndman and Fan, 1996).

    >>> quantile([1, 2, 4], 0.75)
    3.0
    """
    if not ordered:
        raise ValueError("a quantile of nothing")
    place = p * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (place - low))


def estimate(values: Sequence[float]) -> Estimate | None:
    """The median with the narrowest symmetric pair of order statistics that holds it with 95 %, or the range where there
    are too few (David and Nagaraja, Order Statistics, 2003, section 7.1). `None` for no values.

    >>> estimate([3.0, 1.0, 2.0])
    Estimate(median=2.0, ci_low=1.0, ci_high=3.0, confidence=0.75)
    """
    if not values:
        return None
    ordered = sorted(values)
    n = len(ordered)
    rank = _rank(n)
    confidence = _coverage(n, rank)
    return Estimate(quantile(ordered, 0.5), ordered[rank - 1], ordered[n - rank], confidence)


def ratio(of: Estimate, to: Estimate) -> Estimate | None:
    """`of` divided by `to`, with the interval of the extremes of both; `None` when `to` may be 0.

    The interval holds the ratio at least when both intervals hold their medians; the confidence says that.
    """
    if to.ci_low <= 0 or to.median <= 0:
        return None
    both = max(0.0, of.confidence + to.confidence - 1)
    return Estimate(of.median / to.median, of.ci_low / to.ci_high, of.ci_high / to.ci_low, both)


def latency(latencies_ns: Sequence[int]) -> dict[str, float] | None:
    """The distribution of latencies, as `latency_ns` of `swtch/study/2`; `None` for none."""
    if not latencies_ns:
        return None
    ordered = sorted(latencies_ns)
    found = {f"p{round(100 * p)}": quantile(ordered, p) for p in (0.5, 0.9, 0.99)}
    return {**found, "max": float(ordered[-1]), "mean": sum(ordered) / len(ordered)}


def per(count: float | None, of: float | None) -> float | None:
    """A quotient; `None` when either is unknown or there is nothing to divide by."""
    return None if count is None or not of else count / of


def _rank(n: int) -> int:
    """Which order statistic from either end the interval ends at."""
    rank = 1
    while 2 * (rank + 1) <= n and _coverage(n, rank + 1) >= CONFIDENCE:
        rank += 1
    return rank


def _coverage(n: int, rank: int) -> float:
    """How likely the median lies between the order statistics `rank` and `n + 1 - rank`."""
    tail = sum(math.comb(n, k) for k in range(rank)) / float(2**n)
    return max(0.0, 1 - 2 * tail)
