"""Which tier is cheapest, and which meets a latency target: whole sentences, each with what it rests on. Pure."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _native
from .._text import capitalised, duration, figure
from .figures import TARGET_QUANTILE, look, of_difference, of_money, quantile
from .rows import Cell, cheapest, paired
from .tier_sets import UNTHROTTLED

CONFIDENCE = 0.8
"""A sentence about a target has at least this confidence, and says it."""
FEWEST_FOR_TARGET = 16
"""Invocations from which on there is that much: 0.9^16 is below 20 %."""
_Z = 0.842
"""Of a normal distribution, 80 % are below this many standard deviations above its mean."""
LEVEL = 0.05
"""The chance that a study of equal tiers, or of equal functions, reports any difference."""
_FEWEST = 5
"""Pairs of invocations that an interval of 90 % takes: with fewer, tiers cannot be distinguished."""
_AS_GIVEN = 6
"""Digits of a requested time: it is shown as it was typed."""


def advise(
    cells: Sequence[Cell], target_ns: float | None, fee_usd: float | None = None
) -> list[dict[str, Any]]:
    """The `advice` of `swtch/faas-tiers/3`: for each work the cheapest tier and, with a target, the cheapest that meets it.

    fee_usd: for the requests of a million invocations, which is in their bills.
    """
    found = []
    for work_ms in dict.fromkeys(cell.work_ms for cell in cells):
        same = [cell for cell in cells if cell.work_ms == work_ms and cell.tier != UNTHROTTLED]
        found += [one for one in (_cheapest(same, fee_usd), _meets(same, target_ns)) if one is not None]
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


def _cheapest(same: Sequence[Cell], fee_usd: float | None) -> dict[str, Any] | None:
    best = cheapest(same)
    if best is None or len([cell for cell in same if cell.cost_usd]) < 2:
        return None
    cost = look(list(best.cost_usd.values()))
    assert cost is not None
    others: list[dict[str, Any]] = []
    for cell in same:
        more = of_money(look(paired(cell.cost_usd, best.cost_usd, lambda one, other: one - other)))
        if cell is not best and not cell.failed and more is not None:
            others.append({"tier": cell.tier, "more_usd": more})
    told = _told_apart(same)
    as_cheap = [
        one["tier"]
        for one in others
        if of_difference(one["more_usd"])[1] <= 0 or not told[frozenset((best.tier, one["tier"]))]
    ]
    text = f"{of_work(best.work_ms)} costs least at {best.tier}: {money(cost['mean'])} a million invocations"
    if cost["mean_ci_low"] is not None:
        text += f" ({money(cost['mean_ci_low'])} to {money(cost['mean_ci_high'])})"
    text += f", {money(fee_usd / 1e6)} of it for requests" if fee_usd else ", requests not included"
    n = len(best.cost_usd)
    # A tier that may be as cheap gets no figure of how much dearer it is.
    told_apart = [cell for cell in same if cell.cost_usd and cell is not best and cell.tier not in as_cheap]
    dearest = max(told_apart, key=lambda cell: sum(cell.cost_usd.values()) / len(cell.cost_usd), default=None)
    if dearest is not None and n >= _FEWEST:
        worst = sum(dearest.cost_usd.values()) / len(dearest.cost_usd)
        text += f"; {dearest.tier} costs {figure(worst / cost['mean'], 2)} times as much"
    if n < _FEWEST:
        text += f"; seen {'once' if n == 1 else f'{n} times'}, too few to distinguish tiers"
    elif as_cheap:
        text += f"; not distinguishable from it: {', '.join(as_cheap)}"
    evidence = {"cost_usd": cost, "others": others, "n": n}
    return _advice("cheapest", text, best.work_ms, best.tier, evidence)


def _told_apart(same: Sequence[Cell]) -> dict[frozenset[str], bool]:
    """Which pairs of tiers have bills that differ, round by round, after Holm's correction for all pairs.

    The cheapest of equal tiers is one by chance: a test of it alone against the others would find a difference too often.
    """
    pairs = list(itertools.combinations([cell for cell in same if cell.cost_usd], 2))
    lists = [paired(one.cost_usd, other.cost_usd, lambda a, b: a - b) for one, other in pairs]
    _, adjusted = _native.sign_flip_tests(lists)
    return {frozenset((one.tier, other.tier)): p <= LEVEL for (one, other), p in zip(pairs, adjusted)}


def _meets(same: Sequence[Cell], target_ns: float | None) -> dict[str, Any] | None:
    """The cheapest tier that meets a target. A tier meets or misses it with a confidence of at least 80 %, and the sentence has it."""
    judged = [(cell, _bound(cell, target_ns or 0.0)) for cell in same if cell.latency_ns]
    if target_ns is None or not judged:
        return None
    meeting, missing, undecided = [], [], []
    for cell, bound in judged:
        if cell.failed or bound["confidence_misses"] >= CONFIDENCE:
            missing.append((cell, bound))
        elif bound["confidence_meets"] >= CONFIDENCE:
            meeting.append((cell, bound))
        else:
            undecided.append((cell, bound))
    work, limit = of_work(judged[0][0].work_ms), duration(target_ns, _AS_GIVEN)
    needed = {cell.tier: _needed(cell, target_ns) for cell, _ in undecided}
    evidence: dict[str, Any] = {
        "target_ns": target_ns,
        "meeting": [cell.tier for cell, _ in meeting],
        "undecided": needed,
    }
    if meeting:
        cell, bound = min(meeting, key=lambda one: _mean_cost(one[0]))
        names = [other.tier for other, _ in meeting]
        cheapest_of = f", the cheapest of {', '.join(names)}" if len(names) > 1 and cell.cost_usd else ""
        text = f"{work} is done within {limit} at {cell.tier}{cheapest_of}: {_said(bound, target_ns)}"
        cheaper = {tier: n for tier, n in needed.items() if _is_cheaper(tier, cell, same)}
        text += f"; {_cannot_decide(cheaper)}" if cheaper else ""
        return _advice("meets target", text, cell.work_ms, cell.tier, {**evidence, **bound})
    if undecided:
        cell, bound = min(undecided, key=lambda one: float(one[1]["p90_ns"]))
        text = f"cannot decide whether any tier has {work} done within {limit}: {_cannot_decide(needed)}; the fastest of them is {cell.tier}: {_said(bound)}"
        return _advice("meets target", text, cell.work_ms, None, {**evidence, **bound})
    cell, bound = min(missing, key=lambda one: float(one[1]["p90_ns"]))
    text = f"no tier has {work} done within {limit}; the fastest is {cell.tier}: {_said(bound, target_ns)}"
    return _advice("meets target", text, cell.work_ms, None, {**evidence, **bound})


def two_ways(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tiers in which some invocations fit into the quota and others do not: no single latency describes them."""
    found = []
    for row in rows:
        if not row["modes"]:
            continue
        fast, slow = row["modes"]
        text = (
            f"{of_work(row['work_ms'])} has two latencies at {row['tier']}: {duration(fast['latency_ns']['median'])} where it fits "
            f"into the quota ({100 * fast['share']:.0f} % of invocations), and {duration(slow['latency_ns']['median'])} where it does not"
        )
        evidence = {"modes": row["modes"], "n": row["n"]}
        found.append(_advice("two latencies", text, row["work_ms"], row["tier"], evidence))
    return found


def _mean_cost(cell: Cell) -> float:
    """Without prices the first tier is the cheapest, which is the smallest."""
    costs = list(cell.cost_usd.values())
    return sum(costs) / len(costs) if costs else 0.0


def _is_cheaper(tier: str, than: Cell, same: Sequence[Cell]) -> bool:
    cell = next(one for one in same if one.tier == tier)
    return _mean_cost(cell) < _mean_cost(than)


def _cannot_decide(needed: Mapping[str, int | None]) -> str:
    """Of some tiers, and the number of invocations that would decide."""
    said = []
    for n in dict.fromkeys(needed.values()):
        tiers = ", ".join(tier for tier, one in needed.items() if one == n)
        many = "more invocations than can be estimated" if n is None else f"about {n:,} invocations"
        said.append(f"{tiers} (it takes {many})")
    return f"undecided: {', '.join(said)}"


def _needed(cell: Cell, target_ns: float) -> int | None:
    """About how many invocations would decide, were they as those that were seen; `None` where no number would.

    At least the number with which all of them within the target are enough; then by the normal interval of a share.
    """
    values = list(cell.latency_ns.values())
    within = sum(value <= target_ns for value in values) / len(values)
    apart = abs(within - TARGET_QUANTILE)
    if apart == 0:
        return None
    by_share = math.ceil(_Z**2 * TARGET_QUANTILE * (1 - TARGET_QUANTILE) / apart**2)
    return max(FEWEST_FOR_TARGET, by_share, len(values) + 1)


def _bound(cell: Cell, target_ns: float) -> dict[str, Any]:
    """The 90th percentile with its 95 % interval, an end of which is `None` where there were too few invocations for it. Also the
    confidence with which nine of ten invocations are within the target, and that with which fewer are.
    """
    seen = look(list(cell.latency_ns.values()))
    assert seen is not None
    p90 = quantile(seen, TARGET_QUANTILE)
    return {
        "p90_ns": p90["value"],
        "p90_ci_low_ns": p90["ci_low"],
        "p90_ci_high_ns": p90["ci_high"],
        "n": len(cell.latency_ns),
        **_confidence(sum(ns <= target_ns for ns in cell.latency_ns.values()), len(cell.latency_ns)),
    }


def _confidence(within: int, n: int) -> dict[str, float]:
    """By the binomial distribution: one less the chance to see as much, were the share exactly nine of ten.

    >>> f"{_confidence(16, 16)['confidence_meets']:.3f}", f"{_confidence(12, 16)['confidence_misses']:.3f}"
    ('0.815', '0.932')
    """
    q = TARGET_QUANTILE
    chances = [math.comb(n, seen) * q**seen * (1 - q) ** (n - seen) for seen in range(n + 1)]
    return {"confidence_meets": sum(chances[:within]), "confidence_misses": sum(chances[within + 1 :])}


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


def _said(bound: dict[str, Any], target_ns: float | None = None) -> str:
    """The same percentile as in the table, and how sure the sentence about a target is."""
    words = []
    if bound["p90_ci_high_ns"] is not None:
        words.append(f"at most {duration(bound['p90_ci_high_ns'])} at 95 %")
    if target_ns is not None and not (words and bound["p90_ci_high_ns"] <= target_ns):
        sure = max(bound["confidence_meets"], bound["confidence_misses"])
        # Never certain.
        words.append(f"{min(99.9, math.floor(1000 * sure) / 10):.3g} % confidence")
    words.append(f"{bound['n']} seen")
    return f"its p90 is {duration(bound['p90_ns'])} ({', '.join(words)})"
