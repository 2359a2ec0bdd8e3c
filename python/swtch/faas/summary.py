"""A study of tiers as text, for a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _native
from .._text import capitalised, table
from . import cold
from .advice import money, of_work
from .figures import estimate, of_difference

_HEADER = (
    "tier",
    "n",
    "latency ms",
    "p90",
    "slow-down",
    "throttled CPU ms",
    "periods %",
    "$/million",
    "extra",
    "against",
)
_INSIDE = ("inside", "CPU ms", "measuring CPU ms", "switch ns", "mean")
_HANDLER = ("swtch's own handler, in the same tiers", "switch ns", "mean")

_OWN = ("own switches", "voluntary", "involuntary", "at most µs", "$/million", "extra by throttling")

_NOTHING_USD = 1e-13
"""Rounding: sums of equal prices differ by this little, and prices never do."""


def text(study: Mapping[str, Any], compared: bool = True) -> str:
    """Everything that a person wants to know after a study.

    compared: with the sentences about variants, which one of several studies has before all others.
    """
    # What can explain the figures comes before them.
    lines = [one["text"] for one in study["advice"] if compared or one["what"] != "variant"]
    lines += [*_load(study), *_disturbed(study)]
    for work_ms in dict.fromkeys(row["work_ms"] for row in study["rows"]):
        same = [row for row in study["rows"] if row["work_ms"] == work_ms]
        lines += [*([""] if lines else []), f"{capitalised(of_work(work_ms))}:"]
        lines += table(_HEADER, [_row(row) for row in same], 1)
        lines += _inside(study, same)
    lines += _free(study)
    lines += cold.text(study["cold_starts"])
    lines += _speed(study)
    lines += _quotas(study["quota_check"])
    lines += _failures(study)
    lines += [f"not available: {row['what']}: {row['why']}" for row in study["unavailable"]]
    return "\n".join(lines) + "\n"


def _load(study: Mapping[str, Any]) -> list[str]:
    """How invocations were made, where that was not one after the other."""
    load = study["load"]
    if load is None:
        return []
    several = f"{load['concurrency']} at a time"
    where = "in one instance" if load["instances"] == 1 else "each with an instance of its own"
    if load["rate_per_s"] is None:
        return [f"Closed loop: {several}, {where}."]
    return [
        f"Open loop: {load['rate_per_s']:g} requests a second, at most {several}, {where}; latency is from when a request was due."
    ]


def _row(row: Mapping[str, Any]) -> list[str]:
    throttled, stopped = row["throttled_cpu_ns"], row["throttled_periods_share"]
    extra, over = row["extra_usd"], row["extra_cheapest"]
    return [
        row["tier"],
        f"{row['n']}" + (f" (+{row['failed']} failed)" if row["failed"] else ""),
        _interval(row["latency_ns"], 1e6),
        _figure(None if row["p90_ns"] is None else row["p90_ns"] / 1e6),
        _interval(row["slowdown"], 1),
        _figure(None if throttled is None else throttled["median"] / 1e6),
        _figure(None if stopped is None else 100 * stopped["median"]),
        "n/a" if row["cost_usd"] is None else money(row["cost_usd"]["mean"]),
        "n/a" if extra is None else _difference(extra["usd"]),
        "n/a" if over is None else f"{_difference(over['usd'])} {over['against'].rpartition(' at ')[2]}",
    ]


def _inside(study: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """What was counted inside of the tiers: the function's CPU time, and apart from it what measuring took there."""
    own = study["function"]["kind"] == "own"
    lines = []
    if any(row["cpu_ns"] is not None for row in rows):
        cells = [
            [
                row["tier"],
                _interval(row["cpu_ns"], 1e6),
                _interval(row["overhead_cpu_ns"], 1e6),
                *([] if own else _switch(row)),
            ]
            for row in rows
        ]
        lines += ["", *table(_INSIDE[:3] if own else _INSIDE, cells, 1)]
    elif not own and any(row["switch_ns"] for row in rows):
        lines += ["", *table((_INSIDE[0], *_INSIDE[3:]), [[row["tier"], *_switch(row)] for row in rows], 1)]
    lines += _own_switches(rows)
    if own and any(row["switch_ns"] for row in rows):
        # The function was not asked for switches: the project's handler made them.
        lines += ["", *table(_HANDLER, [[row["tier"], *_switch(row)] for row in rows], 1)]
    return lines


def _own_switches(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The function's own switches in an invocation, beside what throttling added to the bill."""
    if not any(row["own_switches"] for row in rows):
        return []
    cells = []
    for row in rows:
        own, extra = row["own_switches"] or {}, row["extra_usd"]
        time_ns, usd = own.get("time_ns"), own.get("usd")
        cells.append(
            [
                row["tier"],
                _interval(own.get("voluntary"), 1),
                _interval(own.get("involuntary"), 1),
                _figure(None if time_ns is None else time_ns / 1e3),
                "n/a" if usd is None else money(usd),
                "n/a" if extra is None else _difference(extra["usd"]),
            ]
        )
    return ["", *table(_OWN, cells, 1)]


def _switch(row: Mapping[str, Any]) -> list[str]:
    switch = row["switch_ns"] or {}
    return [
        _figure((switch.get("median") or {}).get("median")),
        _figure((switch.get("mean") or {}).get("mean")),
    ]


def _speed(study: Mapping[str, Any]) -> list[str]:
    """The same iterations are the same work, and their CPU time is how fast the machine was."""
    calibration = study["calibration"]
    if calibration is None:
        return []
    per_ms = calibration["iterations_per_ms"]
    shares = [
        one["function_cpu_ns"] * per_ms / 1e6 / one["iterations"]
        for one in study["invocations"]
        if one["function_cpu_ns"] and one["iterations"] and one["tier"] == calibration["tier"]
        and one["outcome"] == "complete" and one["work_ms"] >= _native.LONG_MS
    ]  # fmt: skip
    said = [f"A millisecond of work is {per_ms:,.0f} iterations, in every tier and round."]
    speed = estimate(shares)
    if speed is not None:
        said.append(
            f"How fast the machine was: {calibration['tier']} they took {_interval(speed, 1)} ms of CPU time in the rounds."
        )
    return ["", *said]


def _free(study: Mapping[str, Any]) -> list[str]:
    """What a month's allowance pays at the cheapest tier of each work."""
    best = {(one["tier"], one["work_ms"]) for one in study["advice"] if one["what"] == "cheapest"}
    found = [
        f"In no bill: a month's free allowance, which pays {row['free_per_month']:,} invocations of {of_work(row['work_ms'])} at {row['tier']}."
        for row in study["rows"]
        if row["free_per_month"] is not None and (row["tier"], row["work_ms"]) in best
    ]
    return ["", *found] if found else []


def _difference(usd: dict[str, Any]) -> str:
    """A difference of two bills with its interval."""
    value, low, high = of_difference(usd)
    return _more(value) if usd["n"] == 1 else f"{_more(value)} ({_more(low)} to {_more(high)})"


def _more(usd: float) -> str:
    if abs(usd) < _NOTHING_USD:
        return "0"
    return f"-{money(-usd)}" if usd < 0 else f"+{money(usd)}"


def _quotas(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    seen = [check for check in checks if check["n"]]
    if not seen:
        return []
    header = ("quota", "set ms", "seen from inside", "error %", "period ms", "seen", "error %", "n")
    rows = [
        [
            check["tier"],
            _figure(None if check["quota_us"] is None else check["quota_us"] / 1e3),
            _figure(check["inferred_quota_us"] / 1e3),
            _error(check["error_quota"]),
            _figure(None if check["period_us"] is None else check["period_us"] / 1e3),
            _figure(check["inferred_period_us"] / 1e3),
            _error(check["error_period"]),
            str(check["n"]),
        ]
        for check in seen
    ]
    return ["", *table(header, rows, 1)]


def _disturbed(study: Mapping[str, Any]) -> list[str]:
    """That other programs had the CPUs: work that nothing throttles takes no longer than its CPU time on an idle machine."""
    share = _native.disturbed(json.dumps(study))
    if share is None:
        return []
    return [
        f"Unthrottled work waited for a CPU for {100 * share:.0f} % of its time: other programs used this machine, "
        "and latencies and slow-downs are worse than they are without."
    ]


def _failures(study: Mapping[str, Any]) -> list[str]:
    """Each reason once for a tier, with how often."""
    counts: dict[tuple[str, str, str], int] = {}
    for one in study["invocations"]:
        if one["outcome"] != "complete":
            key = (one["tier"], one["outcome"], one["why"])
            counts[key] = counts.get(key, 0) + 1
    return [f"{tier}: {count} {outcome}: {why}" for (tier, outcome, why), count in counts.items()]


def _interval(of: Mapping[str, Any] | None, unit: float) -> str:
    if of is None:
        return "n/a"
    if of["n"] == 1:
        # One value has no interval.
        return _figure(of["median"] / unit)
    return (
        f"{_figure(of['median'] / unit)} ({_figure(of['ci_low'] / unit)} to {_figure(of['ci_high'] / unit)})"
    )


def _error(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:+.1f}"


def _figure(value: float | None) -> str:
    if value is None:
        return "n/a"
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
