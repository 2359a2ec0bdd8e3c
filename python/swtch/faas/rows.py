"""From invocations to rows: each tier and work with its figures. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .figures import Estimate, estimate, look, of_difference, of_money, quantile, short
from .journal import Line
from .plan import NO_WORK_MS, QUOTA, SWITCHES, WORK, Plan
from .price import Price
from .tier_sets import UNTHROTTLED, Tier


@dataclass
class Cell:
    """One tier at one amount of work."""

    tier: str
    work_ms: float
    latency_ns: dict[int, float] = field(default_factory=dict)
    """By round, of those that are complete and warm."""
    billed_ns: dict[int, float] = field(default_factory=dict)
    """What a platform would bill, likewise."""
    cpu_ns: dict[int, float] = field(default_factory=dict)
    """CPU time of the function itself, likewise."""
    overhead_ns: dict[int, float] = field(default_factory=dict)
    """CPU time that was used in the cgroup besides."""
    throttled_ns: list[float] = field(default_factory=list)
    """Time that the quota stopped it, summed over CPUs."""
    stopped: list[float] = field(default_factory=list)
    """The share of its periods in which the quota stopped it."""
    voluntary: dict[int, float] = field(default_factory=dict)
    """By round, how often its tasks waited of themselves, of those that were counted."""
    involuntary: dict[int, float] = field(default_factory=dict)
    """Likewise how often the kernel took the CPU from them, as a quota does."""
    counted_by: str | None = None
    """What counted them: `getrusage` inside, or `proc` from outside."""
    stops: dict[int, bool] = field(default_factory=dict)
    """By round, whether the quota stopped it."""
    iterations: int | None = None
    """Of the work; `None` where a function brings its own."""
    failed: int = 0
    """How many are not complete."""
    cost_usd: dict[int, float] = field(default_factory=dict)
    """By round; empty without a price."""


def cells(plan: Plan, lines: Sequence[Line], price: Price | None) -> list[Cell]:
    """All cells that have an invocation, in the order of the plan."""
    places = {place: number for number, place in enumerate(plan.places())}
    found: dict[tuple[str, float], Cell] = {}
    works = [line for line in lines if line["purpose"] == WORK]
    # A cold start is another question; where all are cold, it is the only answer there is.
    warm_known = {(line["tier"], line["work_ms"]) for line in works if _complete(line) and not line["cold"]}
    for line in works:
        key = (line["tier"], line["work_ms"])
        cell = found.setdefault(key, Cell(*key))
        if not _complete(line):
            cell.failed += 1
            continue
        if line["cold"] and key in warm_known:
            continue
        cell.latency_ns[line["repeat"]] = line["latency_ns"]
        cell.billed_ns[line["repeat"]] = billed_ns(plan, line)
        cell.iterations = line.get("iterations")
        _count(cell, line)
    for cell in found.values():
        cost = cost_of(plan, price, cell.tier)
        if cost is not None:
            cell.cost_usd = {repeat: cost(ns) for repeat, ns in cell.billed_ns.items()}
    return sorted(found.values(), key=lambda cell: (cell.work_ms, places.get(cell.tier, len(places))))


def _count(cell: Cell, line: Line) -> None:
    """What the cgroup and the function counted of an invocation."""
    group, own_ns = line["group"] or {}, line.get("function_cpu_ns")
    if own_ns is not None:
        cell.cpu_ns[line["repeat"]] = own_ns
        if group.get("cpu_ns") is not None:
            # Two clocks of the kernel may differ by a little.
            cell.overhead_ns[line["repeat"]] = max(0, group["cpu_ns"] - own_ns)
    switched = line.get("switches")
    if switched is not None:
        cell.voluntary[line["repeat"]] = switched["voluntary"]
        cell.involuntary[line["repeat"]] = switched["involuntary"]
        cell.counted_by = switched["counted_by"]
    if group.get("throttled_ns") is not None:
        cell.stops[line["repeat"]] = group["throttled_ns"] > 0
        cell.throttled_ns.append(group["throttled_ns"])
    if group.get("periods") is not None and group.get("periods_throttled") is not None:
        # Where no period ended, none stopped it. The kernel reads the two one after the other, so that one may end between.
        cell.stopped.append(min(1.0, group["periods_throttled"] / max(1, group["periods"])))


def billed_ns(plan: Plan, line: Line) -> float:
    """The time that a platform would bill. Of a deployed function it is the time by its own clock, for the way to it is not billed."""
    wall_ns = ((line["response"] or {}).get("usage") or {}).get("wall_ns")
    return float(line["latency_ns"] if plan.local or wall_ns is None else wall_ns)


def cost_of(plan: Plan, price: Price | None, tier_name: str) -> Callable[[float], float] | None:
    """From a time to its price at a tier; `None` without a price."""
    tier = _tier(plan, tier_name)
    if price is None or tier is None or tier.memory_mb is None:
        return None
    memory_mb, cpus = tier.memory_mb, tier.cpus
    if cpus is None and (price.usd_per_vcpu_second or price.usd_per_ghz_second):
        return None
    return lambda ns: price.cost_usd(ns, memory_mb, cpus or 0.0)


def cheapest(of: Sequence[Cell]) -> Cell | None:
    """Of the same work, the tier that costs least: by the mean, since a bill is a sum. Tiers with failures do not count."""
    priced = [cell for cell in of if cell.cost_usd and not cell.failed]
    return min(priced, key=lambda cell: sum(cell.cost_usd.values()) / len(cell.cost_usd), default=None)


def rows(plan: Plan, lines: Sequence[Line], price: Price | None) -> list[dict[str, Any]]:
    """The rows of `swtch/faas-tiers/3`. Rows of the same work have the same iterations, or `comparable` says why not."""
    found = cells(plan, lines, price)
    switches = _switches(plan, lines)
    return [
        _row(plan, cell, found, price, switches.get((cell.tier, cell.work_ms or NO_WORK_MS)))
        for cell in found
    ]


def _row(
    plan: Plan, cell: Cell, all_cells: Sequence[Cell], price: Price | None, switch: Any
) -> dict[str, Any]:
    same = [one for one in all_cells if one.work_ms == cell.work_ms]
    free = next((one for one in same if one.tier == UNTHROTTLED), None)
    least = cheapest(same)
    seen = look(list(cell.latency_ns.values()))
    cost = cost_of(plan, price, cell.tier)
    unthrottled: dict[int, float] = {}
    if cost is not None and free is not None:
        unthrottled = {repeat: cost(ns) for repeat, ns in free.billed_ns.items()}
    extra = of_money(look(paired(cell.cost_usd, unthrottled, lambda one, other: one - other)))
    over = None
    if least is not None and least is not cell:
        over = of_money(look(paired(cell.cost_usd, least.cost_usd, lambda one, other: one - other)))
    return {
        "tier": cell.tier,
        "work_ms": cell.work_ms,
        "iterations": cell.iterations,
        "n": len(cell.latency_ns),
        "failed": cell.failed,
        "latency_ns": short(seen),
        "p90_ns": None if seen is None else quantile(seen, 0.9)["value"],
        "p99_ns": None if seen is None else quantile(seen, 0.99)["value"],
        "switch_ns": switch,
        "cpu_ns": estimate(list(cell.cpu_ns.values())),
        "overhead_cpu_ns": estimate(list(cell.overhead_ns.values())),
        "throttled_cpu_ns": estimate(cell.throttled_ns),
        "throttled_periods_share": estimate(cell.stopped),
        "own_switches": own_switches(plan, cell, switch, price),
        "modes": modes(cell) if cell.tier != UNTHROTTLED else None,
        "slowdown": None if free is None or free is cell else estimate(slowdown(cell, free)),
        "cost_usd": of_money(look(list(cell.cost_usd.values()))),
        "request_usd": None if price is None or not cell.cost_usd else price.request_usd,
        "free_per_month": _free_per_month(plan, cell, price),
        "cost_unthrottled_usd": of_money(look(list(unthrottled.values()))),
        "extra_usd": None if disturbed(extra) else _against("the same work unthrottled at this tier", extra),
        "extra_cheapest": None if least is None else _against(f"the same work at {least.tier}", over),
    }


def _free_per_month(plan: Plan, cell: Cell, price: Price | None) -> int | None:
    """How many such invocations a month's free allowance pays; `None` without one, or without a price."""
    tier = _tier(plan, cell.tier)
    if price is None or tier is None or tier.memory_mb is None or not cell.cost_usd:
        return None
    mean_ns = sum(map(price.billed_ms, cell.billed_ns.values())) / len(cell.billed_ns) * 1e6
    return price.free_invocations(mean_ns, tier.memory_mb, tier.cpus or 0.0)


def disturbed(extra: Estimate) -> bool:
    """Whether throttling would save money: no quota makes the same work faster, so other programs had the CPUs."""
    return extra is not None and extra["n"] > 1 and min(extra["ci_high"], of_difference(extra)[2]) < 0


def slowdown(cell: Cell, free: Cell) -> list[float]:
    """How many times longer than unthrottled, round by round."""
    return paired(cell.latency_ns, free.latency_ns, lambda one, other: one / other)


def paired(
    of: Mapping[int, float], to: Mapping[int, float], combine: Callable[[float, float], float]
) -> list[float]:
    """`combine` of the two values of each round that has both: a disturbance of a round affects both of them."""
    return [combine(of[repeat], to[repeat]) for repeat in sorted(of) if to.get(repeat)]


def own_switches(plan: Plan, cell: Cell, switch: Any, price: Price | None) -> dict[str, Any] | None:
    """What the function's own switches take; `None` where they were not counted, and for the project's handler, which measures beside its work.

    Their time is that of as many switches as the handler measured in the tier, each with its read and write.
    """
    if not cell.voluntary or plan.kind == "handler":
        return None
    voluntary, involuntary = (estimate(list(of.values())) for of in (cell.voluntary, cell.involuntary))
    assert voluntary is not None and involuntary is not None
    each = (switch or {}).get("median") or {}
    time_ns = None if not each else (voluntary["median"] + involuntary["median"]) * each["median"]
    tier = _tier(plan, cell.tier)
    usd = None
    if time_ns is not None and cell.cost_usd and price is not None and tier is not None:
        usd = time_ns / 1e9 * price.usd_per_second(tier.memory_mb or 0, tier.cpus or 0.0)
    return {
        "voluntary": voluntary,
        "involuntary": involuntary,
        "counted_by": cell.counted_by,
        "time_ns": time_ns,
        "usd": usd,
    }


def modes(cell: Cell) -> list[dict[str, Any]] | None:
    """The two latencies of a tier whose quota a part of the invocations fits into; `None` where there is one.

    The latencies are split where that leaves least variance of their logarithms. Both parts have a tenth of the invocations at least,
    and three; the slower one takes half as long again, the gap between them is half of that, and the quota stopped more of it.
    """
    rounds = sorted(cell.latency_ns, key=lambda repeat: cell.latency_ns[repeat])
    fewest = max(3, math.ceil(len(rounds) / 10))
    if len(rounds) < 2 * fewest or len(cell.stops) < len(rounds):
        return None
    logs = [math.log(max(1.0, cell.latency_ns[repeat])) for repeat in rounds]
    at = min(range(1, len(logs)), key=lambda place: _scatter(logs[:place]) + _scatter(logs[place:]))
    fast, slow = rounds[:at], rounds[at:]
    if min(len(fast), len(slow)) < fewest:
        return None
    middles = [estimate([cell.latency_ns[repeat] for repeat in part]) for part in (fast, slow)]
    assert middles[0] is not None and middles[1] is not None
    apart_ns = middles[1]["median"] - middles[0]["median"]
    gap_ns = cell.latency_ns[slow[0]] - cell.latency_ns[fast[-1]]
    stopped = [sum(cell.stops[repeat] for repeat in part) / len(part) for part in (fast, slow)]
    if apart_ns < middles[0]["median"] / 2 or gap_ns < apart_ns / 2 or stopped[1] <= stopped[0]:
        return None
    return [
        {"latency_ns": middle, "share": len(part) / len(rounds), "stopped_share": share}
        for middle, part, share in zip(middles, (fast, slow), stopped)
    ]


def _scatter(values: Sequence[float]) -> float:
    middle = sum(values) / len(values)
    return sum((value - middle) ** 2 for value in values)


def quota_check(plan: Plan, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The quotas that spinning threads inferred, next to those that the cgroups had."""
    found = []
    for tier in plan.tiers:
        looks = [
            line
            for line in lines
            if line["purpose"] == QUOTA and line["tier"] == tier.name and _complete(line)
        ]
        inferred = [one for line in looks if (one := _inferred(line)) is not None]
        if 2 * len(inferred) < len(looks):
            # A quota that most looks do not see is chance: other programs make gaps too.
            inferred = []
        period = estimate([one["period_ns"] / 1e3 for one in inferred])
        quota = estimate([one["quota_ns"] / 1e3 for one in inferred])
        period_us, quota_us = (
            (plan.period_us, tier.quota_us(plan.period_us)) if plan.local else _platform(lines, tier)
        )
        found.append(
            {
                "tier": tier.name,
                "period_us": period_us,
                "quota_us": quota_us,
                "inferred_period_us": None if period is None else period["median"],
                "inferred_quota_us": None if quota is None else quota["median"],
                "error_period": _error(period, period_us),
                "error_quota": _error(quota, quota_us),
                "n": len(inferred),
            }
        )
    return found


def _inferred(line: Line) -> dict[str, Any] | None:
    inferred = (_throttling(line) or {}).get("inferred") or {}
    known = _complete(line) and inferred.get("period_ns") and inferred.get("quota_ns")
    return inferred if known else None


def _platform(lines: Sequence[Line], tier: Tier) -> tuple[int | None, int | None]:
    """A deployed function's own counters, where it can read them."""
    for line in lines:
        platform = (_throttling(line) or {}).get("platform") or {}
        if line["tier"] == tier.name and platform.get("period_ns") and platform.get("quota_ns"):
            return round(platform["period_ns"] / 1e3), round(platform["quota_ns"] / 1e3)
    return None, None


def _throttling(line: Line) -> dict[str, Any] | None:
    found: dict[str, Any] | None = (line["response"] or {}).get("throttling")
    return found


def _error(found: Estimate, true: int | None) -> float | None:
    return None if found is None or not true else float(found["median"] / true - 1)


def _switches(plan: Plan, lines: Sequence[Line]) -> dict[tuple[str, float], dict[str, Any]]:
    """What a switch costs in executions of each length: over invocations, their medians and their means."""
    seen: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for line in lines:
        if line["purpose"] == SWITCHES and _complete(line):
            for one in (line["response"] or {}).get("measurements", []):
                if one["method"] == "pipe" and one["gross_ns"] is not None:
                    seen.setdefault((line["tier"], line["work_ms"]), []).append(one["gross_ns"])
    return {
        key: {
            "method": "pipe",
            "measured_in": "swtch handler" if plan.kind == "own" else "the function",
            "median": estimate([one["median"] for one in found]),
            "mean": estimate([one["mean"] for one in found]),
        }
        for key, found in seen.items()
    }


def _against(what: str, usd: Estimate) -> dict[str, Any] | None:
    return None if usd is None else {"against": what, "usd": usd}


def _complete(line: Line) -> bool:
    return bool(line["outcome"] == "complete")


def _tier(plan: Plan, name: str) -> Tier | None:
    return next((tier for tier in plan.tiers if tier.name == name), None)
