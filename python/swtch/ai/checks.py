"""Figures of a study that cannot be true. Pure; the same checks as `crates/study/src/check.rs` makes when a study is read.

They are made before anything is written, printed or drawn (`docs/ai.md`, "What is checked").
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._checks import Checks

ROUNDING = 1e-6
"""How far a quotient may be from its parts, relative to the larger one."""
_PERIODS_NS = 200_000_000
"""A quota may be used up at both ends of a window: two periods of 100 ms."""

Row = Mapping[str, Any]


def of_run(run: Row) -> Checks:
    """The checks of a run; none are made of one that did not end well."""
    checks = Checks(ROUNDING)
    _run(checks, run)
    return checks


def of_study(study: Mapping[str, Any]) -> Checks:
    """The checks of a study and of its runs."""
    checks = Checks(ROUNDING)
    for run in study["runs"]:
        _run(checks, run)
    ended = [run for run in study["runs"] if run["outcome"] == "complete"]
    for summary in study["summaries"]:
        _summary(checks, summary, ended)
    for advice in study["advice"]:
        name = f"advice for {advice['workload']['slug']}"
        _interval(checks, f"{name}: ratio", advice["ratio"])
        evidence = advice["evidence"]
        checks.equal(f"{name}: disturbed", evidence["disturbed"], 0, "no disturbed run")
        checks.ordered(f"{name}: p_value", (evidence["p_value"], evidence["p_adjusted"], evidence["level"]))
    best = (study.get("tuned") or {}).get("best")
    if best is not None:
        checks.equal("tuned.best: disturbed", best["disturbed"], 0, "no disturbed run")
    overhead = study["recording_overhead"]
    if overhead is not None:
        _interval(checks, "recording_overhead.throughput_ratio", overhead["throughput_ratio"])
        _interval(checks, "recording_overhead.cpu_ratio", overhead["cpu_ratio"])
        checks.share("recording_overhead.recorder_cpu_share", overhead["recorder_cpu_share"])
    return checks


def _run(checks: Checks, run: Row) -> None:
    if run["outcome"] != "complete":
        return
    name = str(run["id"])
    _latency(checks, name, run)
    _switches(checks, name, run)
    bounds = run["wait_share_bounds"] or {}
    for key in ("low", "high"):
        checks.share(f"{name}: wait_share_bounds.{key}", bounds.get(key))
    checks.share(f"{name}: wait_share_of_latency", run["wait_share_of_latency"])
    checks.ordered(
        f"{name}: wait_share_bounds", (bounds.get("low"), run["wait_share_of_latency"], bounds.get("high"))
    )
    _cpu(checks, name, run)
    _over_time(checks, name, run)


def _latency(checks: Checks, name: str, run: Row) -> None:
    latency, duration_ns, inferences = run["latency_ns"], run["duration_ns"], run["inferences"]
    checks.finite(f"{name}: images_per_second", run["images_per_second"])
    if latency is None:
        return
    for key, value in latency.items():
        checks.finite(f"{name}: latency_ns.{key}", value)
    checks.ordered(f"{name}: latency_ns", (latency[key] for key in ("p50", "p90", "p99", "max")))
    checks.at_most(f"{name}: latency_ns.mean", latency["mean"], latency["max"], "the largest latency")
    checks.at_most(f"{name}: latency_ns.max", latency["max"], duration_ns, "the measured phase in ns")
    if inferences is not None and duration_ns is not None and run["concurrency"] is not None:
        checks.at_most(
            f"{name}: inferences",
            inferences * latency["mean"],
            duration_ns * run["concurrency"],
            "the measured phase times the inferences at once, in ns",
        )


def _switches(checks: Checks, name: str, run: Row) -> None:
    for kind in ("voluntary", "involuntary"):
        count = (run["switches"] or {}).get(kind)
        each, rate = (run["per_inference"] or {}).get(kind), (run["per_second"] or {}).get(kind)
        checks.finite(f"{name}: switches.{kind}", count)
        if each is not None and run["inferences"]:
            checks.equal(
                f"{name}: per_inference.{kind}", each * run["inferences"], count, "the switches counted"
            )
        if rate is not None and run["duration_ns"]:
            checks.equal(
                f"{name}: per_second.{kind}", rate * run["duration_ns"] / 1e9, count, "the switches counted"
            )


def _cpu(checks: Checks, name: str, run: Row) -> None:
    """That the parts of the CPUs' time add up."""
    cpu = run["cpu"]
    if cpu is None:
        return
    checks.share(f"{name}: cpu.utilisation", cpu["utilisation"])
    capacity_ns, tolerance_ns = cpu["window_ns"] * cpu["cpu_count"], cpu["tolerance_ns"]
    whole = f"the window times {cpu['cpu_count']} CPUs in ns, with {tolerance_ns / 1e6:.0f} ms allowed"
    for key in ("own_ns", "measuring_ns", "foreign_ns", "idle_ns", "steal_ns"):
        checks.finite(f"{name}: cpu.{key}", cpu[key])
        checks.at_most(f"{name}: cpu.{key}", cpu[key], capacity_ns + tolerance_ns, whole)
    parts = [cpu[key] for key in ("own_ns", "foreign_ns", "idle_ns", "steal_ns")]
    if None not in parts:
        total_ns = sum(parts) + (cpu["measuring_ns"] or 0)
        checks.require(
            abs(total_ns - capacity_ns) <= tolerance_ns,
            f"{name}: cpu",
            f"own, others', idle and stolen time are {total_ns} ns together, not {whole}: {capacity_ns}",
        )
    quota = run["settings"]["cpu_quota"]
    if quota is not None:
        bound_ns = quota * (cpu["window_ns"] + _PERIODS_NS) + tolerance_ns
        checks.at_most(f"{name}: cpu.own_ns", cpu["own_ns"], bound_ns, "the quota's time in ns")
    each = (run["per_inference"] or {}).get("cpu_ns")
    if each is not None and run["inferences"]:
        checks.equal(f"{name}: per_inference.cpu_ns", each * run["inferences"], cpu["own_ns"], "cpu.own_ns")


def _over_time(checks: Checks, name: str, run: Row) -> None:
    over_time = run["over_time"]
    if over_time is None:
        return
    lengths = {key: len(values) for key, values in over_time.items()}
    checks.require(
        len(set(lengths.values())) == 1, f"{name}: over_time", f"lists differ in length: {lengths}"
    )
    at_ms: Sequence[float] = over_time["at_ms"]
    checks.require(
        all(one < other for one, other in zip(at_ms, at_ms[1:])),
        f"{name}: over_time.at_ms",
        "times go backwards",
    )
    for peak, key in (("threads_peak", "threads"), ("processes_peak", "processes")):
        checks.at_most(f"{name}: over_time.{key}", max(over_time[key], default=None), run[peak], peak)
    for key in ("cpu_utilisation", "switches_per_s", "interrupts_per_s"):
        for value in over_time[key]:
            checks.finite(f"{name}: over_time.{key}", value)


def _summary(checks: Checks, summary: Row, ended: Sequence[Row]) -> None:
    name = f"summary of {summary['workload']['slug']}"
    of_it = [
        run
        for run in ended
        if run["workload"]["slug"] == summary["workload"]["slug"] and run["settings"] == summary["settings"]
    ]
    checks.at_most(f"{name}: runs", summary["runs"], len(of_it), "the complete runs of it")
    checks.at_most(f"{name}: disturbed", summary["disturbed"], summary["runs"], "its runs")
    marked = sum(run["disturbed"] is not None for run in of_it)
    checks.at_most(f"{name}: disturbed", summary["disturbed"], marked, "the disturbed runs of it")
    for key, value in summary.items():
        if isinstance(value, Mapping) and "ci_low" in value:
            _interval(checks, f"{name}: {key}", value)
    speed, speeds = summary["images_per_second"], [run["images_per_second"] for run in of_it]
    known = [value for value in speeds if value is not None]
    if speed is not None and known:
        checks.ordered(
            f"{name}: images_per_second", (min(known), speed["ci_low"], speed["ci_high"], max(known))
        )
    p50, p99 = summary["latency_p50_ns"], summary["latency_p99_ns"]
    checks.ordered(f"{name}: latency", (one["median"] for one in (p50, p99) if one is not None))


def _interval(checks: Checks, figure: str, of: Mapping[str, Any] | None) -> None:
    if of is None:
        return
    for key in ("ci_low", "median", "ci_high"):
        checks.finite(f"{figure}.{key}", of[key])
    checks.ordered(figure, (of["ci_low"], of["median"], of["ci_high"]))
    checks.share(f"{figure}.confidence", of.get("confidence"))
