"""Figures from numbers, by the native half: the same statistics as a Profile's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Optional

from .. import _native

Estimate = Optional[dict[str, Any]]
"""As `swtch/faas-tiers/3` has it; `None` for no values."""
TARGET_QUANTILE = 0.9
"""A tier meets a latency target when this share of its invocations does."""
_QUANTILES = (0.9, 0.99)
_KEYS = ("median", "ci_low", "ci_high", "confidence", "mean", "minimum", "cov", "n")
_RENAMED = {"low": "ci_low", "high": "ci_high", "mean_low": "mean_ci_low", "mean_high": "mean_ci_high"}


def look(values: Sequence[float]) -> Estimate:
    """Everything about some numbers: `estimate`, and quantiles and the mean with their intervals.

    >>> look([3, 1, 2])["confidence"]
    0.75
    """
    found: Estimate = json.loads(
        _native.estimate([float(value) for value in values], _QUANTILES),
        object_hook=lambda one: {_RENAMED.get(key, key): value for key, value in one.items()},
    )
    return found


def estimate(values: Sequence[float]) -> Estimate:
    """The median with its interval, the mean, and what else an Estimate has."""
    return short(look(values))


def short(found: Estimate) -> Estimate:
    """Its part that is an Estimate."""
    return None if found is None else {key: found[key] for key in _KEYS}


def of_money(found: Estimate) -> Estimate:
    """Its part that is an Estimate, with the interval of the mean: a bill is a sum."""
    return None if found is None else {key: found[key] for key in (*_KEYS, "mean_ci_low", "mean_ci_high")}


def of_difference(found: dict[str, Any]) -> tuple[float, float, float]:
    """A difference of bills with its interval, as it is printed and judged: of the mean, or with fewer than ten of the median."""
    if found.get("mean_ci_low") is not None:
        return found["mean"], found["mean_ci_low"], found["mean_ci_high"]
    return found["median"], found["ci_low"], found["ci_high"]


def quantile(found: dict[str, Any], q: float) -> dict[str, Any]:
    """A quantile with its interval: `value`, `ci_low`, `ci_high`; an end is `None` where there were too few values."""
    one: dict[str, Any] = next(one for one in found["quantiles"] if one["q"] == q)
    return one
