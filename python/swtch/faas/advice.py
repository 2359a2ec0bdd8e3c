"""Which tier is cheapest, and which meets a latency target: whole sentences, each with what it rests on. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._text import capitalised, duration, figure
from .figures import TARGET_QUANTILE, estimate, look, quantile
from .rows import Cell, cheapest, paired
from .tier_sets import UNTHROTTLED

_PERCENT = round(100 * TARGET_QUANTILE)
_FEWEST = 5
"""Pairs of invocations that an interval of 90 % takes: with fewer, tiers cannot be told apart."""
_AS_GIVEN = 6
"""Digits of what was asked for: it is said as it was typed."""


def advise(cells: Sequence[Cell], target_ns: float | None) -> list[dict[str, Any]]:
    """The `advice` of `swtch/faas-tiers/1`: for each work the cheapest tier and, with a target, the cheapest that meets it."""
    found = []
    for work_ms in dict.fromkeys(cell.work_ms for cell in cells):
        same = [cell for cell in cells if cell.work_ms == work_ms and cell.tier != UNTHROTTLED]
        found += [one for one in (_cheapest(same), _meets(same, target_ns)) if one is not None]
    return found


def money(usd: float) -> str:
    """Of a million invocations: one costs too little to be read.

    >>> money(9.25e-7), money(2.5e-5)
    ('$0.925', '$25')
    """
    return f"${figure(usd * 1e6)}" if usd * 1e6 < 100 else f"${usd * 1e6:,.0f}"


def of_work(work_ms: float) -> str:
    """How a work is called.

    >>> of_work(10), of_work(1500), of_work(0)
    ('10 ms of work', '1.5 s of work', 'the function')
    """
    return f"{duration(work_ms * 1e6, _AS_GIVEN)} of work" if work_ms else "the function"


def _cheapest(same: Sequence[Cell]) -> dict[str, Any] | None:
    best = cheapest(same)
    if best is None or len([cell for cell in same if cell.cost_usd]) < 2:
        return None
    cost = look(list(best.cost_usd.values()))
    assert cost is not None
    others: list[dict[str, Any]] = []
    for cell in same:
        more = estimate(paired(cell.cost_usd, best.cost_usd, lambda one, other: one - other))
        if cell is not best and not cell.failed and more is not None:
            others.append({"tier": cell.tier, "more_usd": more})
    as_cheap = [one["tier"] for one in others if one["more_usd"]["low"] <= 0]
    text = f"{of_work(best.work_ms)} costs least at {best.tier}: {money(cost['mean'])} a million invocations"
    if cost["mean_low"] is not None:
        text += f" ({money(cost['mean_low'])} to {money(cost['mean_high'])})"
    dearest = max(
        (cell for cell in same if cell.cost_usd),
        key=lambda cell: sum(cell.cost_usd.values()) / len(cell.cost_usd),
    )
    if dearest is not best:
        worst = sum(dearest.cost_usd.values()) / len(dearest.cost_usd)
        text += f"; {dearest.tier} costs {figure(worst / cost['mean'], 2)} times as much"
    n = len(best.cost_usd)
    if n < _FEWEST:
        text += f"; seen {'once' if n == 1 else f'{n} times'}, too seldom to tell tiers apart"
    elif as_cheap:
        text += f"; not distinguishable from it: {', '.join(as_cheap)}"
    evidence = {"cost_usd": cost, "others": others, "n": n}
    return _advice("cheapest", text, best.work_ms, best.tier, evidence)


def _meets(same: Sequence[Cell], target_ns: float | None) -> dict[str, Any] | None:
    if target_ns is None:
        return None
    judged = [(cell, _bound(cell)) for cell in same if cell.latency_ns]
    meeting = [
        (cell, bound) for cell, bound in judged if not cell.failed and bound["at_most_ns"] <= target_ns
    ]
    if not judged:
        return None
    work_ms = judged[0][0].work_ms
    limit = duration(target_ns, _AS_GIVEN)
    if not meeting:
        cell, bound = min(judged, key=lambda one: float(one[1]["p90_ns"]))
        text = (
            f"no tier has {of_work(work_ms)} done within {limit}; the fastest is {cell.tier}: {_said(bound)}"
        )
        evidence = {"target_ns": target_ns, "meeting": [], **bound}
        return _advice("meets target", text, work_ms, None, evidence)

    def place(one: tuple[Cell, dict[str, Any]]) -> float:
        costs = list(one[0].cost_usd.values())
        # Without prices the first, which is the smallest.
        return sum(costs) / len(costs) if costs else 0.0

    cell, bound = min(meeting, key=place)
    names = [other.tier for other, _ in meeting]
    cheapest_of = f", the cheapest of {', '.join(names)}" if len(names) > 1 and cell.cost_usd else ""
    text = f"{of_work(work_ms)} is done within {limit} at {cell.tier}{cheapest_of}: {_said(bound)}"
    evidence = {"target_ns": target_ns, "meeting": names, **bound}
    return _advice("meets target", text, work_ms, cell.tier, evidence)


def _bound(cell: Cell) -> dict[str, Any]:
    """What nine of ten invocations take at most, as surely as their number allows."""
    seen = look(list(cell.latency_ns.values()))
    assert seen is not None
    p90 = quantile(seen, TARGET_QUANTILE)
    n = len(cell.latency_ns)
    if p90["high"] is not None:
        return {"p90_ns": p90["value"], "at_most_ns": p90["high"], "confidence": seen["confidence"], "n": n}
    # Too few for an upper end: all of them stand for it, with what that is worth.
    confidence = 1 - TARGET_QUANTILE**n
    return {
        "p90_ns": p90["value"],
        "at_most_ns": max(cell.latency_ns.values()),
        "confidence": confidence,
        "n": n,
    }


def _advice(
    what: str, text: str, work_ms: float, tier: str | None, evidence: dict[str, Any]
) -> dict[str, Any]:
    """An entry of the document; its text as a sentence."""
    return {
        "what": what,
        "text": f"{capitalised(text)}.",
        "work_ms": work_ms,
        "tier": tier,
        "evidence": evidence,
    }


def _said(bound: dict[str, Any]) -> str:
    return (
        f"{_PERCENT} % of invocations take at most {duration(bound['at_most_ns'])} "
        f"({bound['n']} seen, confidence {100 * bound['confidence']:.0f} %)"
    )
