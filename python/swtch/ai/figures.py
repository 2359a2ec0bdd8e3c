"""Figures from numbers: quantiles, medians with intervals, ratios. Pure; statistics from the native half."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from .. import _native


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


def estimate(values: Sequence[float]) -> Estimate | None:
    """The median with the narrowest symmetric pair of order statistics that holds it with 95 %, or the range where there
    are too few. `None` for no values.

    >>> estimate([3.0, 1.0, 2.0])
    Estimate(median=2.0, ci_low=1.0, ci_high=3.0, confidence=0.75)
    """
    found = _native.median(values)
    return None if found is None else Estimate(*found)


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
    found = dict(zip(("p50", "p90", "p99", "max"), _native.quantiles(latencies_ns, (0.5, 0.9, 0.99, 1))))
    return {**found, "mean": sum(latencies_ns) / len(latencies_ns)}


def per(count: float | None, of: float | None) -> float | None:
    """A quotient; `None` when either is unknown or there is nothing to divide by."""
    return None if count is None or not of else count / of
