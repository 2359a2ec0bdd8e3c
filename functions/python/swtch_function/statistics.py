"""Medians with intervals, normality and autocorrelation, as the project's `crates/stats` has them. Pure.

The golden vectors in `functions/vectors/statistics.json` hold both to the same figures.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

CONFIDENCE = 0.95
"""Of intervals, where there are values enough for it."""
NORMAL_P = 0.05
"""From which significance on a sample may be normal."""
LARGEST_NORMALITY_N = 5000
"""Royston's approximations hold up to this many values."""
_NORMAL = statistics.NormalDist()


@dataclass(frozen=True)
class Estimate:
    """A sample in a few figures."""

    median: float
    low: float
    """Of the interval of the median."""
    high: float
    confidence: float
    """0.95; with fewer than 6 values how likely their range holds the median."""
    mean: float
    minimum: float
    cov: float | None
    """The coefficient of variation."""
    n: int

    @property
    def relative_half_width(self) -> float:
        """The wider side of the interval by the median; infinite when that is 0."""
        wider = max(self.high - self.median, self.median - self.low)
        return wider / abs(self.median) if self.median else math.inf

    def to_document(self) -> dict[str, Any]:
        """As `swtch/faas/1` has it."""
        return asdict(self)


def estimate(values: Sequence[float]) -> Estimate | None:
    """`None` for no values.

    >>> estimate([3.0, 1.0, 2.0]).confidence
    0.75
    """
    if not values:
        return None
    ordered = sorted(values)
    n = len(ordered)
    ranks = median_ranks(n)
    confidence = CONFIDENCE if ranks else 1 - 2.0 ** (1 - n)
    low, high = (ordered[ranks[0] - 1], ordered[ranks[1] - 1]) if ranks else (ordered[0], ordered[-1])
    mean = sum(ordered) / n
    return Estimate(
        statistics.median(ordered), low, high, confidence, mean, ordered[0], _cov(ordered, mean), n
    )


def median_ranks(n: int) -> tuple[int, int] | None:
    """The narrowest symmetric pair of order statistics that holds the median with 95 %, counted from 1; `None` below 6 values.

    Conover, Practical Nonparametric Statistics, 1999, section 3.2.

    >>> median_ranks(200), median_ranks(5)
    ((86, 115), None)
    """
    # The middle weight is 1, so that nothing underflows where it matters, whatever n.
    top = (n - 1) // 2
    weight = 1.0 if n % 2 else (n / 2) / (n / 2 + 1)
    weights = []
    for k in range(top, -1, -1):
        weights.append(weight)
        weight *= k / (n - k + 1)
    centre = 0.0 if n % 2 else 1.0
    total = centre + 2 * sum(weights)
    inside = centre
    for k, weight in zip(range(top, 0, -1), weights):
        inside += 2 * weight
        if inside / total >= CONFIDENCE - 1e-12:
            return k, n + 1 - k
    return None


def lag1(values: Sequence[float]) -> float | None:
    """The correlation of each value with the next; `None` below 3 values or when all are equal (Box and Jenkins 1970, 2.1.5)."""
    if len(values) < 3 or min(values) == max(values):
        return None
    mean = sum(values) / len(values)
    total = sum((value - mean) ** 2 for value in values)
    shared = sum((one - mean) * (other - mean) for one, other in zip(values, values[1:]))
    return shared / total if total > 0 else None


def shapiro_wilk(values: Sequence[float]) -> tuple[float, float] | None:
    """W and its significance: Royston, Remark AS R94, Applied Statistics 44 (1995). `None` below 3 values or when all are equal.

    Above 5000 values they are thinned evenly.
    """
    ordered = sorted(values)
    if len(ordered) > LARGEST_NORMALITY_N:
        last = len(ordered) - 1
        ordered = [ordered[i * last // (LARGEST_NORMALITY_N - 1)] for i in range(LARGEST_NORMALITY_N)]
    n = len(ordered)
    if n < 3 or not ordered[-1] > ordered[0]:
        return None
    left = _one_minus_w(ordered, _upper_weights(n))
    return 1 - left, _significance(left, n)


def _cov(values: Sequence[float], mean: float) -> float | None:
    n = len(values)
    if n < 2 or mean == 0:
        return None
    squares = sum((value - mean) ** 2 for value in values)
    drift = sum(value - mean for value in values)
    return math.sqrt(max(0.0, squares - drift * drift / n) / (n - 1)) / abs(mean)


def _upper_weights(n: int) -> list[float]:
    """The largest value's first; the lower half has the same with the other sign (Royston 1992, equations 2 to 4)."""
    if n == 3:
        return [math.sqrt(0.5)]
    scores = [-_NORMAL.inv_cdf((rank - 0.375) / (n + 0.25)) for rank in range(1, n // 2 + 1)]
    squares = 2 * sum(score * score for score in scores)
    u = 1 / math.sqrt(n)
    norm = math.sqrt(squares)
    largest = scores[0] / norm + _polynomial((0.0, 0.221157, -0.147981, -2.07119, 4.434685, -2.706056), u)
    if n <= 5:
        scale = math.sqrt((squares - 2 * scores[0] ** 2) / (1 - 2 * largest**2))
        return [largest, *(score / scale for score in scores[1:])]
    second = scores[1] / norm + _polynomial((0.0, 0.042981, -0.293762, -1.752461, 5.682633, -3.582633), u)
    scale = math.sqrt((squares - 2 * (scores[0] ** 2 + scores[1] ** 2)) / (1 - 2 * (largest**2 + second**2)))
    return [largest, second, *(score / scale for score in scores[2:])]


def _one_minus_w(ordered: Sequence[float], upper: Sequence[float]) -> float:
    """Not by subtracting W from 1, which would lose the digits that decide for large samples."""
    n = len(ordered)
    spread = ordered[-1] - ordered[0]
    middle = [0.0] * (n - 2 * len(upper))
    weights = [*(-weight for weight in upper), *middle, *reversed(upper)]
    scaled = [value / spread for value in ordered]
    centre = sum(scaled) / n
    xx = sum((value - centre) ** 2 for value in scaled)
    aa = sum(weight * weight for weight in weights)
    ax = sum(weight * (value - centre) for weight, value in zip(weights, scaled))
    product = math.sqrt(xx * aa)
    return min(1.0, max(0.0, (product - ax) * (product + ax) / (xx * aa)))


def _significance(left: float, n: int) -> float:
    """Royston 1995, section 2: exact for 3 values, else a log-normal approximation of 1 - W."""
    if n == 3:
        return min(1.0, max(0.0, 6 / math.pi * (math.asin(math.sqrt(1 - left)) - math.pi / 3)))
    if left == 0:
        return 1.0
    log = math.log(left)
    if n <= 11:
        bound = _polynomial((-2.273, 0.459), n)
        if log >= bound:
            return 0.0
        y = -math.log(bound - log)
        mean = _polynomial((0.544, -0.39978, 0.025054, -6.714e-4), n)
        deviation = math.exp(_polynomial((1.3822, -0.77857, 0.062767, -0.0020322), n))
    else:
        size = math.log(n)
        y = log
        mean = _polynomial((-1.5861, -0.31082, -0.083751, 0.0038915), size)
        deviation = math.exp(_polynomial((-0.4803, -0.082676, 0.0030302), size))
    return 0.5 * math.erfc((y - mean) / deviation / math.sqrt(2))


def _polynomial(coefficients: Sequence[float], x: float) -> float:
    """Coefficients from the constant term up."""
    total = 0.0
    for coefficient in reversed(coefficients):
        total = total * x + coefficient
    return total
