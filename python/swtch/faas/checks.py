"""What must hold in every study of tiers: figures that cannot be true are refused before anything is printed. Pure.

`crates/faas/src/checks.rs` makes the same checks of what it reads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .._checks import Checks

_TICK_NS = 10_000_000
"""Two clocks of the kernel may be apart by a tick on each CPU: the longest there is."""
_CLOSE = 1e-6
"""What sums of the same figures may differ by."""


def check(study: Mapping[str, Any]) -> None:
    """Raises `Refused` for a study with a figure that cannot be true."""
    checks = Checks()
    cpus = max(1, len(study["host"].get("cpus") or []))
    deployed = study["function"]["deployed"]
    stopped_ns = max((_longest_stop_ns(tier) for tier in study["tiers"]), default=0)
    for one in study["invocations"]:
        if one["outcome"] == "complete":
            _invocation(checks, one, None if deployed else cpus, stopped_ns)
    for row in study["rows"]:
        _row(checks, row, study["invocations"])
    _same_work(checks, study["invocations"])
    _same_work(checks, [row for row in study["rows"] if row["n"]])
    checks.finish()


def _invocation(checks: Checks, one: Mapping[str, Any], cpus: int | None, stopped_ns: int) -> None:
    where = f"{one['tier']}, round {one['repeat']}"
    latency_ns, own_ns, group = one["latency_ns"], one["function_cpu_ns"], one["group"] or {}
    checks.require(latency_ns > 0, "invocations.latency_ns", f"{latency_ns} at {where}")
    work = (one["response"] or {}).get("work")
    if one["iterations"] is not None and work is not None:
        what = f"what was asked for at {where}"
        checks.equal("invocations.response.work.iterations", work["iterations"], one["iterations"], what)
    for name in ("periods", "periods_throttled", "throttled_ns", "cpu_ns"):
        value = group.get(name)
        if value is not None:
            checks.require(
                value >= 0, f"invocations.group.{name}", f"{value} at {where}: the counter went backwards"
            )
    if cpus is None:
        return
    slack_ns = cpus * _TICK_NS
    bound_ns = cpus * latency_ns + slack_ns
    # A function of one's own may end children here that ran before.
    if own_ns is not None and one["iterations"] is not None:
        checks.at_most(
            "invocations.function_cpu_ns", own_ns, bound_ns, f"the latency times {cpus} CPUs at {where}"
        )
        if group.get("cpu_ns") is not None:
            bound = group["cpu_ns"] * 1.01 + slack_ns
            checks.at_most(
                "invocations.function_cpu_ns", own_ns, bound, f"the CPU time of its cgroup at {where}"
            )
    if group.get("throttled_ns") is not None:
        bound = bound_ns + cpus * stopped_ns
        checks.at_most(
            "invocations.group.throttled_ns",
            group["throttled_ns"],
            bound,
            f"the latency times {cpus} CPUs at {where}",
        )
    if group.get("periods") is not None and group.get("periods_throttled") is not None:
        checks.at_most(
            "invocations.group.periods_throttled",
            group["periods_throttled"],
            # The kernel reads the two one after the other.
            group["periods"] + 1,
            f"the periods at {where}",
        )


def _longest_stop_ns(tier: Mapping[str, Any]) -> int:
    """How long a stop that began before an invocation may last into it: a quota that was exceeded by a tick is paid back in later periods."""
    if not tier["period_us"] or not tier["quota_us"]:
        return 0
    return int(tier["period_us"] * 1000 * (2 + math.ceil(_TICK_NS / (tier["quota_us"] * 1000))))


def _row(checks: Checks, row: Mapping[str, Any], invocations: Sequence[Mapping[str, Any]]) -> None:
    where = f"of {row['work_ms']:g} ms at {row['tier']}"
    for name, estimate in _estimates(row):
        values = [estimate[key] for key in ("low", "median", "high")]
        checks.require(all(map(math.isfinite, values)), f"rows.{name}", f"{values} {where}")
        checks.require(
            values == sorted(values),
            f"rows.{name}",
            f"median {values[1]:.6g} is not within {values[0]:.6g} to {values[2]:.6g} {where}",
        )
        checks.at_most(f"rows.{name}.n", estimate["n"], row["n"], f"the invocations {where}")
    latency, share = row["latency_ns"], row["throttled_periods_share"]
    if latency is not None:
        ordered = [latency["median"], row["p90_ns"], row["p99_ns"]]
        checks.require(
            ordered == sorted(ordered), "rows.p90_ns", f"median, p90 and p99 are {ordered} {where}"
        )
        warm = _warm(row, invocations)
        if warm:
            checks.equal("rows.n", row["n"], len(warm), f"the number of invocations {where}")
            mean = sum(warm) / len(warm)
            close = math.isclose(latency["mean"], mean, rel_tol=_CLOSE)
            checks.require(
                close,
                "rows.latency_ns.mean",
                f"{latency['mean']:.9g} is not that of the invocations, {mean:.9g}, {where}",
            )
    if share is not None:
        checks.at_most("rows.throttled_periods_share", share["high"], 1, f"all periods {where}")
    cost, free, extra = row["cost_usd"], row["cost_unthrottled_usd"], row["extra_usd"]
    if cost and free and extra and extra["usd"]["n"] == cost["n"] == free["n"]:
        difference = cost["mean"] - free["mean"]
        close = math.isclose(extra["usd"]["mean"], difference, rel_tol=_CLOSE, abs_tol=_CLOSE * cost["mean"])
        checks.require(
            close,
            "rows.extra_usd",
            f"{extra['usd']['mean']:.6g} is not the difference of both bills, {difference:.6g}, {where}",
        )
    if extra:
        checks.require(
            extra["usd"]["n"] < 2 or extra["usd"]["high"] >= 0,
            "rows.extra_usd",
            f"throttling saves {-extra['usd']['high']:.6g} {where}",
        )


def _warm(row: Mapping[str, Any], invocations: Sequence[Mapping[str, Any]]) -> list[int]:
    """Latencies of the invocations that a row is of. Measurements have the work 0, as a function's own has: those have none of it."""
    of = [
        one
        for one in invocations
        if (one["tier"], one["work_ms"], one["outcome"]) == (row["tier"], row["work_ms"], "complete")
        and not _measured(one)
    ]
    warm = [one["latency_ns"] for one in of if not one["cold"]]
    return warm or [one["latency_ns"] for one in of]


def _measured(one: Mapping[str, Any]) -> bool:
    asked = (one["response"] or {}).get("request") or {}
    return bool(asked.get("methods") or asked.get("spin_ms"))


def _estimates(row: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    names = (
        "latency_ns",
        "cpu_ns",
        "overhead_cpu_ns",
        "throttled_cpu_ns",
        "throttled_periods_share",
        "slowdown",
        "cost_usd",
    )
    return [(name, row[name]) for name in names if row[name] is not None]


def _same_work(checks: Checks, compared: Sequence[Mapping[str, Any]]) -> None:
    """What is compared did the same: one number of iterations for each work."""
    first: dict[float, Mapping[str, Any]] = {}
    for one in compared:
        if not one["work_ms"]:
            # A function that brings its own work, or a measurement.
            continue
        same = first.setdefault(one["work_ms"], one)
        reason = (
            f"{one['work_ms']:g} ms of work is {_count(same['iterations'])} at {same['tier']} "
            f"and {_count(one['iterations'])} at {one['tier']}: they cannot be compared"
        )
        checks.require(one["iterations"] == same["iterations"] is not None, "iterations", reason)


def _count(iterations: int | None) -> str:
    return "an unknown number of iterations" if iterations is None else f"{iterations:,} iterations"
