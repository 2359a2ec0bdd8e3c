"""The document `swtch/faas-tiers/3`: a directory with `tiers.json` and the journal of its invocations (`docs/schemas/faas-tiers-3.json`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _native
from .._checks import refuse
from .._errors import CommandError
from .._files import replace
from . import cold, variants
from .advice import advise, two_ways
from .hints import hints
from .journal import Line
from .plan import COLD, QUOTA, SWITCHES, WORK, Plan
from .price import Price
from .rows import cells, cost_of, quota_check, rows
from .runner import limits_of

SCHEMA = "swtch/faas-tiers/3"
PREVIOUS_SCHEMA = "swtch/faas-tiers/2"
"""Read too: its intervals were `low` and `high`."""
OLD_SCHEMA = "swtch/faas-tiers/1"
FILE = "tiers.json"
REFUSED = "tiers.refused.json"
"""Where a study is kept whose figures cannot be true."""
DEFAULT_DIRECTORY = "faas-tiers"
_INVOCATION = (
    "tier", "work_ms", "iterations", "repeat", "outcome", "why", "started_at", "latency_ns", "function_cpu_ns", "switches", "waited_ns", "retries", "cold", "response", "group",
)  # fmt: skip


def document(
    plan: Plan,
    subject: str,
    lines: Sequence[Line],
    facts: Mapping[str, Any],
    price: Price | None,
    target_ns: float | None,
    unavailable: Sequence[Mapping[str, str]],
    comparisons: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The study of one function.

    comparisons: of it with the first function of the study (`variants`).
    facts: `provenance`, `host`, `machine_name`, `versions` of tiers' cgroups, and `calibrations` by function.
    """
    own = lines_of(plan, subject, lines)
    of_rows = rows(plan, own, price)
    return {
        "schema": SCHEMA,
        "provenance": dict(facts["provenance"]),
        "host": dict(facts["host"]),
        "machine_name": facts["machine_name"],
        "function": {
            "kind": plan.kind,
            "language": _language(plan, subject, own),
            "name": plan.own(subject).name if plan.functions else plan.name,
            "called": plan.own(subject).what if plan.functions else None,
            "deployed": plan.kind == "url",
        },
        "load": _load(plan),
        "calibration": facts.get("calibrations", {}).get(subject),
        "tier_set": {
            "name": plan.tier_set,
            "source": plan.tier_source,
            "period_source": plan.period_source if plan.local else None,
            "dated": plan.dated,
        },
        "tiers": [_tier(plan, place, facts["versions"], price) for place in range(len(plan.tiers))],
        "invocations": [_invocation(plan, line) for line in own if _told(plan, line)],
        "rows": of_rows,
        "cold_starts": cold.rows(plan, own, price),
        "quota_check": quota_check(plan, own),
        "comparisons": [dict(one) for one in comparisons],
        "advice": [
            *variants.sentences(comparisons),
            *advise(cells(plan, own, price), target_ns, _fee(price)),
            *two_ways(of_rows),
            *hints(plan, own),
        ],
        "unavailable": [dict(row) for row in unavailable] + _missing(plan, own, price),
    }


def lines_of(plan: Plan, subject: str, lines: Sequence[Line]) -> list[Line]:
    """The invocations of a function, and what the project's handler measured in its tiers."""
    shared = plan.kind == "own"
    return [
        line
        for line in lines
        if line["subject"] == subject or (shared and line["purpose"] not in (WORK, COLD))
    ]


def _load(plan: Plan) -> dict[str, Any] | None:
    if not plan.under_load:
        return None
    one_for_all = plan.kind == "url" or any(one.over_http for one in plan.functions)
    return {
        "rate_per_s": plan.rate_per_s,
        "concurrency": plan.concurrency,
        "requests_per_round": plan.requests_per_round,
        "instances": 1 if one_for_all else plan.concurrency,
    }


def _fee(price: Price | None) -> float | None:
    return None if price is None else price.usd_per_million_requests


def write(directory: Path, study: Mapping[str, Any], name: str = FILE) -> Path:
    """Writes `tiers.json`, whole or not at all; returns where it is."""
    path = directory / name
    replace(path, json.dumps(study, indent=1, allow_nan=False) + "\n")
    return path


def read(path: Path) -> dict[str, Any]:
    """The study in a directory, or in its file. Raises `CommandError` for another file."""
    place = path / FILE if path.is_dir() else path
    try:
        found = json.loads(place.read_text())
    except OSError as error:
        raise CommandError(
            f"there is no study {place} ({error.strerror}); `swtch faas tiers` writes one"
        ) from None
    except ValueError as error:
        raise CommandError(f"{place} is not JSON ({error}); was it cut off?") from None
    if isinstance(found, dict) and found.get("schema") == OLD_SCHEMA:
        raise CommandError(
            f"{place} is from an older swtch, whose tiers did different amounts of work; run the study again"
        )
    if isinstance(found, dict) and found.get("schema") == PREVIOUS_SCHEMA:
        found = _renewed(found)
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise CommandError(f"{place} is not a study of tiers")
    refuse(_native.check_tiers, found)
    return found


def _renewed(of: dict[str, Any]) -> dict[str, Any]:
    """A study of version 2 by the names of this one. Answers of handlers stay as they were; what it lacks is absent."""
    names = {"low": "ci_low", "high": "ci_high", "mean_low": "mean_ci_low", "mean_high": "mean_ci_high"}

    def renew(value: Any) -> Any:
        if isinstance(value, list):
            return [renew(one) for one in value]
        if not isinstance(value, dict):
            return value
        return {names.get(key, key): one if key == "response" else renew(one) for key, one in value.items()}

    found: dict[str, Any] = {**renew(of), "schema": SCHEMA}
    found |= {"cold_starts": [], "comparisons": [], "load": None}
    found["function"]["called"] = None
    found["tier_set"] |= {"period_source": None, "dated": None}
    for tier in found["tiers"]:
        tier["burst_us"] = None if tier["quota_us"] is None else 0
    fees = {tier["name"]: (tier["price"] or {}).get("usd_per_million_requests") for tier in found["tiers"]}
    for row in found["rows"]:
        fee = fees.get(row["tier"])
        row["request_usd"] = None if row["cost_usd"] is None or fee is None else fee / 1e6
        row |= {"free_per_month": None, "own_switches": None, "modes": None}
    for one in found["invocations"]:
        one |= {"retries": 0, "switches": None, "waited_ns": None}
        if one["group"] is not None:
            one["group"]["memory_bytes"] = None
    return found


def _language(plan: Plan, subject: str, lines: Sequence[Line]) -> str | None:
    if plan.kind == "handler":
        return subject
    if plan.functions:
        return plan.own(subject).language
    said = (line["response"]["handler"]["language"] for line in lines if line["response"])
    return next(said, None)


def _tier(plan: Plan, place: int, versions: Mapping[str, int | None], price: Price | None) -> dict[str, Any]:
    tier = plan.tiers[place]
    memory_bytes = limits_of(tier, plan.period_us, plan.memory_limited).memory_bytes
    priced = cost_of(plan, price, tier.name) is not None
    return {
        "name": tier.name,
        "memory_mb": tier.memory_mb,
        "cpus": tier.cpus,
        "quota_us": tier.quota_us(plan.period_us) if plan.local else None,
        "period_us": plan.period_us if plan.local else None,
        "burst_us": min(plan.burst_us, tier.quota_us(plan.period_us) or 0) if plan.local else None,
        "cgroup_version": versions.get(tier.name),
        "memory_limit_bytes": memory_bytes if plan.local else None,
        "price": price.to_document(tier.memory_mb or 0, tier.cpus or 0.0)
        if price is not None and priced
        else None,
    }


def _disturbed(plan: Plan, lines: Sequence[Line], price: Price | None) -> list[dict[str, str]]:
    """Tiers at which unthrottled work took longer than throttled work."""
    why = "unthrottled invocations took longer than those of the tier: other programs used the CPUs meanwhile"
    return [
        {"what": f"rows.extra_usd of {row['tier']}", "why": why}
        for row in rows(plan, lines, price)
        if row["extra_usd"] is None
        and row["cost_usd"] is not None
        and row["cost_unthrottled_usd"] is not None
    ]


def _retried(plan: Plan, lines: Sequence[Line]) -> list[dict[str, str]]:
    """Requests that had to be repeated: their latency is that of the last one."""
    found = []
    for place in plan.places():
        some = [line for line in lines if line["tier"] == place and line.get("retries")]
        if some:
            times = sum(line["retries"] for line in some)
            why = f"{times} retries in {len(some)} of them, the last one after: {some[-1].get('retried_why')}"
            found.append({"what": f"first answers of {place}", "why": why})
    return found


def _told(plan: Plan, line: Line) -> bool:
    """Whether the line belongs to the study's function. The handler's own measurements do not belong to the user's function."""
    return line["purpose"] == WORK or (plan.kind != "own" and line["purpose"] != COLD)


def _invocation(plan: Plan, line: Line) -> dict[str, Any]:
    told = {**{key: line.get(key) for key in _INVOCATION}, "retries": line.get("retries") or 0}
    return told if line["purpose"] == WORK else {**told, "work_ms": 0}


def _missing(plan: Plan, lines: Sequence[Line], price: Price | None) -> list[dict[str, str]]:
    found = []
    if price is None:
        found.append({"what": "rows.cost_usd", "why": "these tiers have no prices; give --price-table"})
    if not plan.local:
        found.append({"what": "cold_starts", "why": "a platform starts deployed functions when it likes"})
        found.append({"what": "rows.slowdown", "why": "deployed functions cannot be run unthrottled"})
    starts = cold.rows(plan, lines, price)
    if any(row["n"] and row["runtime_ns"] is None for row in starts):
        why = "the function does not say when its runtime was up: that time is in init_ns"
        found.append({"what": "cold_starts.runtime_ns", "why": why})
    if price is not None and price.usd_per_million_requests is None:
        found.append(
            {
                "what": "rows.cost_usd",
                "why": f"the fee for requests is not in the bills: {price.title} has no usd_per_million_requests",
            }
        )
    if plan.under_load:
        found.append(
            {
                "what": "rows.cpu_ns, rows.throttled_periods_share, rows.own_switches",
                "why": "under load they cannot be told apart by invocation",
            }
        )
    ended = sum(line["switches"]["ended"] for line in lines if line.get("switches"))
    if ended:
        why = f"{ended} threads ended within invocations, and what they switched is not in it"
        found.append({"what": "rows.own_switches", "why": why})
    found += _disturbed(plan, lines, price)
    found += _retried(plan, lines)
    for purpose, what in ((SWITCHES, "rows.switch_ns"), (QUOTA, "quota_check")):
        some = [line for line in lines if line["purpose"] == purpose]
        failed = [line for line in some if line["outcome"] != "complete"]
        if failed and len(failed) == len(some):
            found.append({"what": what, "why": str(failed[0]["why"])})
    for check in quota_check(plan, lines):
        if check["n"] == 0 and any(
            line["purpose"] == QUOTA and line["tier"] == check["tier"] for line in lines
        ):
            found.append(
                {"what": f"quota_check of {check['tier']}", "why": "most looks from inside found no quota"}
            )
    return found
