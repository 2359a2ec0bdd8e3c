"""Several functions of the user's in one study: which of them is faster, in which tier, and how sure that is. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _native
from .._text import figure
from .advice import LEVEL, of_work
from .figures import estimate
from .rows import Cell, paired

FASTER, SLOWER, EQUAL, FEW = "faster", "slower", "not distinguishable", "too few rounds"


def compare(
    name: str, cells: Sequence[Cell], against: str, others: Sequence[Cell], tests: int
) -> list[dict[str, Any]]:
    """The `comparisons` of a document, without their correction: of a function with another one, round by round, for each tier and work.

    tests: how many comparisons the study has, which decides how many rounds are too few.
    """
    found = []
    for cell in cells:
        other = next((one for one in others if (one.tier, one.work_ms) == (cell.tier, cell.work_ms)), None)
        if other is None:
            continue
        ratios = paired(other.latency_ns, cell.latency_ns, lambda one, another: one / another)
        if ratios:
            found.append(
                {
                    "tier": cell.tier,
                    "work_ms": cell.work_ms,
                    "function": name,
                    "against": against,
                    "times_as_fast": estimate(ratios),
                    "p_value": sign_test(ratios),
                    "enough": 2.0 ** (1 - len(ratios)) * tests <= LEVEL,
                }
            )
    return found


def corrected(comparisons: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """With `p_adjusted`, after Holm's correction for all comparisons of a study, and the verdict."""
    adjusted = _native.holm([one["p_value"] for one in comparisons])
    found = []
    for one, p_adjusted in zip(comparisons, adjusted):
        verdict = EQUAL if one["enough"] else FEW
        if p_adjusted <= LEVEL:
            verdict = FASTER if one["times_as_fast"]["median"] > 1 else SLOWER
        known = {key: value for key, value in one.items() if key != "enough"}
        found.append({**known, "p_adjusted": p_adjusted, "verdict": verdict})
    return found


def sign_test(ratios: Sequence[float]) -> float:
    """The two-sided p-value of the sign test that the median is 1: the interval of a median by order statistics is its inversion.

    >>> sign_test([1.1] * 6), sign_test([1.1, 0.9])
    (0.03125, 1.0)
    """
    above, below = sum(one > 1 for one in ratios), sum(one < 1 for one in ratios)
    n, fewer = above + below, min(above, below)
    return float(min(1.0, 2 * sum(math.comb(n, k) for k in range(fewer + 1)) / 2**n))


def sentences(comparisons: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """An entry of `advice` for each function and work: in which tiers it is faster, slower, or neither."""
    found = []
    keys = dict.fromkeys((one["function"], one["against"], one["work_ms"]) for one in comparisons)
    for function, against, work_ms in keys:
        same = [one for one in comparisons if (one["function"], one["work_ms"]) == (function, work_ms)]
        parts = [_told(one) for one in same if one["verdict"] in (FASTER, SLOWER)]
        for verdict, words in ((EQUAL, "no difference found"), (FEW, "too few rounds to tell")):
            tiers = [one["tier"] for one in same if one["verdict"] == verdict]
            if tiers:
                parts.append(f"{words} at {_listed(tiers)}")
        work = f", {of_work(work_ms)}" if work_ms else ""
        found.append(
            {
                "what": "variant",
                "text": f"Compared with {against}, {function}{work}: {'; '.join(parts)}.",
                "work_ms": work_ms,
                "tier": None,
                "evidence": {"level": LEVEL, "comparisons": len(comparisons)},
            }
        )
    return found


def _told(one: Mapping[str, Any]) -> str:
    ratio = one["times_as_fast"]
    low, high = ratio["ci_low"], ratio["ci_high"]
    middle = ratio["median"]
    if one["verdict"] == SLOWER:
        middle, low, high = 1 / middle, 1 / high, 1 / low
        return f"takes {figure(middle)} times as long at {one['tier']} ({figure(low)} to {figure(high)})"
    return f"{figure(middle)} times as fast at {one['tier']} ({figure(low)} to {figure(high)})"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
