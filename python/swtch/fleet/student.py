"""Student's t distribution, which Python's own library does not have."""

from __future__ import annotations

import math

_ENOUGH = 1e-12
_MOST_TERMS = 500


def two_sided_point(confidence: float, df: float) -> float:
    """The t between whose negative and itself this share of the distribution lies.

    >>> round(two_sided_point(0.95, 10), 3), round(two_sided_point(0.9975, 3), 2)
    (2.228, 9.46)
    """
    low, high = 0.0, 1.0
    while _outside(high, df) > 1 - confidence and high < 1e12:
        high *= 2
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if _outside(middle, df) > 1 - confidence else (low, middle)
    return high


def _outside(t: float, df: float) -> float:
    return _incomplete_beta(df / 2, 0.5, df / (df + t * t))


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised, by Lentz's continued fraction (Numerical Recipes, section 6.4)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = d
    for m in range(1, _MOST_TERMS):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + numerator * d)
            c = 1 + numerator / c
            found *= c * d
        if abs(c * d - 1) < _ENOUGH:
            break
    return front * found / a
