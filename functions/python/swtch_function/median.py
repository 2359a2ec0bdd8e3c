"""The median and how well it is known: enough to know when to stop. The statistics of an answer are made where it is read (`crates/faas`)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

LEAST = 6
"""With fewer values no pair of order statistics holds the median with 95 %."""


def median(values: Sequence[float]) -> float:
    """Of at least one value."""
    return float(statistics.median(values))


def relative_half_width(values: Sequence[float]) -> float:
    """The wider side of the median's 95 % interval, relative to the median; ranks by the normal approximation (Conover 1999, 3.2).

    >>> relative_half_width([10.0] * 6), relative_half_width([10.0] * 5)
    (0.0, inf)
    """
    ordered = sorted(values)
    n, middle = len(ordered), median(ordered)
    if n < LEAST or not middle:
        return math.inf
    rank = max(1, math.floor((n - 1.96 * math.sqrt(n)) / 2))
    return max(ordered[n - rank] - middle, middle - ordered[rank - 1]) / abs(middle)
