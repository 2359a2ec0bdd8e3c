"""The answer: which services pay most, which got worse since their last release, which machines are odd ones out."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _native
from .._errors import CommandError
from .._text import figure
from . import odd, query, releases, store
from .deploys import Deploys
from .price import PriceList

SCHEMA = "swtch/fleet/1"
MOST_MACHINES = 10
"""Machines that are listed of a service: those that switch most."""


@dataclass(frozen=True)
class Question:
    """What is asked."""

    prices: PriceList
    types: Mapping[str, str]
    """Types of machines that the data does not have."""
    deploys: Deploys | None
    memory: str = "1GB"


def ask(directories: list[Path], question: Question) -> dict[str, Any]:
    """The document `swtch/fleet/1`. Raises `CommandError`."""
    steps = {store.step_of(one) for one in directories}
    if len(steps) > 1:
        raise CommandError(
            f"the directories hold steps of different lengths ({', '.join(f'{one} s' for one in sorted(steps))}); import them with one --step"
        )
    step_s = steps.pop()
    database = store.connect(question.memory)
    query.open_tables(database, directories, step_s)
    size = query.size(database, step_s)
    machines = query.machines(database)
    courses = releases.courses(query.series(database))
    found = _releases(courses, question.deploys, step_s)
    changes = releases.compare(courses, found, step_s)
    pairs = query.pairs(database, [(one.service, one.since, one.until, one.after) for one in found])
    _agree(changes, pairs)
    costs = _Costs(machines, question)
    services = _services(pairs, costs, size.steps, changes)
    outliers = odd.find(machines, pairs)
    document = {
        "schema": SCHEMA,
        "answer": "",
        "from": _time(size.first_s),
        "to": _time(size.last_s + step_s),
        "step_seconds": step_s,
        "machines": size.machines,
        "rows": size.rows,
        "rejected_rows": size.rejected,
        "prices": question.prices.to_document(),
        "services": services,
        "outliers": [{"machine": one.machine, "metric": one.metric, "why": one.why} for one in outliers],
        "notes": _notes(size, costs, services, question, courses),
    }
    document["answer"] = sentence(document)
    return document


class _Costs:
    """What a switch costs on each machine: seconds, and USD for a second of CPU time."""

    def __init__(self, machines: query.Columns, question: Question) -> None:
        import numpy as np

        def column(name: str) -> Any:
            return query.plain(machines[name])

        self.names = machines["machine"].astype(str)
        with np.errstate(divide="ignore", invalid="ignore"):
            self.low = column("cost_low_seconds") / column("switches_low")
            self.high = column("cost_high_seconds") / column("switches_high")
            self.direct = np.nan_to_num(column("direct_seconds") / column("switches_direct"))
        kinds = [
            question.types.get(str(name)) or str(kind)
            for name, kind in zip(self.names, machines["instance_type"])
        ]
        prices = [question.prices.per_vcpu_hour(kind) for kind in kinds]
        self.usd = np.array([math.nan if one is None else one / 3600 for one in prices])
        self.unknown_types = sorted({kind for kind, one in zip(kinds, prices) if one is None})


def _releases(
    courses: Mapping[str, releases.Course], deploys: Deploys | None, step_s: int
) -> list[releases.Release]:
    found = []
    for service, course in courses.items():
        one = (
            releases.last_release(service, course, step_s)
            if deploys is None
            else releases.release_at(service, course, deploys.get(service, []), step_s)
        )
        if one is not None:
            found.append(one)
    return found


def _agree(changes: Mapping[str, releases.Change], pairs: query.Columns) -> None:
    """Counts the machines that have a service before and after, by the direction of their change."""
    import numpy as np

    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(pairs["switches"] / pairs["run"])
    era = np.asarray(pairs["era"])
    sides: list[dict[tuple[str, str], float]] = []
    for number in (1, 2):
        rows = (era == number) & np.isfinite(ratio)
        keys = zip(pairs["service"][rows].astype(str), pairs["machine"][rows].astype(str))
        sides.append(dict(zip(keys, ratio[rows].tolist())))
    before, after = sides
    counts: dict[str, list[int]] = {}
    for key, value in after.items():
        if key in before:
            counts.setdefault(key[0], [0, 0])[0 if value > before[key] else 1] += 1
    for service, change in changes.items():
        releases.agree(change, *counts.get(service, (0, 0)))


def _services(
    pairs: query.Columns, costs: _Costs, steps: int, changes: Mapping[str, releases.Change]
) -> list[dict[str, Any]]:
    import numpy as np

    names, service = np.unique(pairs["service"].astype(str), return_inverse=True)
    hosts, host = np.unique(pairs["machine"].astype(str), return_inverse=True)
    place = {name: number for number, name in enumerate(costs.names)}
    row = np.array([place.get(str(name), -1) for name in hosts])

    def by_host(values: Any) -> Any:
        return np.where(row >= 0, values[row], np.nan)[host] if values.size else np.full(host.size, np.nan)

    rates, switches, run = (np.asarray(pairs[name], dtype=float) for name in ("rates", "switches", "run"))
    usd, direct = by_host(costs.usd), np.nan_to_num(by_host(costs.direct))
    bounds = {}
    for bound, each in (("low", by_host(costs.low)), ("high", by_host(costs.high))):
        known = np.isfinite(each)
        cost = np.where(known, switches * each, 0.0)
        busy = np.where(known, run + switches * direct, 0.0)
        money = np.where(
            known & np.isfinite(usd), rates / steps * each * usd * 3600 * _native.MONTH_HOURS, 0.0
        )
        bounds[bound] = (
            np.bincount(service, cost),
            np.bincount(service, busy),
            np.bincount(service, money),
            np.bincount(service, known & np.isfinite(usd)),
        )
    rate = np.bincount(service, rates) / steps
    found = []
    for number, name in enumerate(names):
        mine = np.flatnonzero(service == number)
        share, month = {}, {}
        for bound, (cost, busy, money, priced) in bounds.items():
            share[bound] = float(cost[number] / busy[number]) if busy[number] > 0 else None
            month[bound] = float(money[number]) if priced[number] else None
        found.append(
            {
                "service": str(name),
                "machines": int(np.unique(host[mine]).size),
                "switches_per_second": float(rate[number]),
                "cpu_share": None if share["low"] is share["high"] is None else share,
                "usd_per_month": None if month["low"] is month["high"] is None else month,
                "since_release": _since(changes.get(str(name))),
                "busiest_machines": _busiest(hosts, host, rates / steps, mine),
            }
        )
    return sorted(found, key=lambda one: _rank(one))


def _rank(one: Mapping[str, Any]) -> tuple[float, float, float]:
    """The dearest first; where money is not known, that which switches most."""
    money = one["usd_per_month"] or {}
    return (-(money.get("high") or 0.0), -(money.get("low") or 0.0), -one["switches_per_second"])


def _busiest(hosts: Any, host: Any, rates: Any, rows: Any) -> list[dict[str, Any]]:
    import numpy as np

    of = np.bincount(host[rows], rates[rows])
    order = np.argsort(-of, kind="stable")[:MOST_MACHINES]
    return [
        {"machine": str(hosts[one]), "switches_per_second": float(of[one])} for one in order if of[one] > 0
    ]


def _since(change: releases.Change | None) -> dict[str, Any] | None:
    if change is None:
        return None
    return {
        "ratio": change.ratio,
        "ci_low": change.ci_low,
        "ci_high": change.ci_high,
        "verdict": change.verdict,
        "why": change.why or None,
        "version": change.release.version,
        "released": _time(change.release.at),
        "changed": None if change.changed_at is None else _time(change.changed_at),
        "days_before": change.days_before,
        "days_after": change.days_after,
        "machines_up": change.machines_up,
        "machines_down": change.machines_down,
    }


def _notes(
    size: query.Rows,
    costs: _Costs,
    services: list[dict[str, Any]],
    question: Question,
    courses: Mapping[str, releases.Course],
) -> list[str]:
    """What limits the answer, with the next step."""
    import numpy as np

    notes = []
    warning = question.prices.warning()
    if warning:
        notes.append(warning)
    if size.rejected:
        notes.append(
            f"{size.rejected:,} of {size.rows:,} rows were left out: a counter went back, or the step was hardly observed"
        )
    uncosted = int((~np.isfinite(costs.low)).sum())
    if uncosted:
        notes.append(
            f"{uncosted} of {size.machines} machines do not say what a switch costs, and are in no share and no bill; "
            "'swtch measure --quick' on each makes the Profile that 'swtch serve' prices by"
        )
    unpriced = int((~np.isfinite(costs.usd)).sum())
    if unpriced:
        kinds = ", ".join(one or "none known" for one in costs.unknown_types[:5])
        notes.append(
            f"{unpriced} of {size.machines} machines are of a type without a price ({kinds}) and in no bill; "
            "give --price 0.05/vcpu-hour, --machines FILE or --price-table FILE"
        )
    if not any(one["since_release"] for one in services):
        notes.append(
            "no release is known: no service has two versions, or a deployment, in this time; give --deploys FILE"
        )
    elif question.deploys is not None:
        strange = sorted(set(question.deploys) - set(courses))
        if strange:
            notes.append(
                f"{len(strange)} services of the deployments have no rows here, such as {strange[0]!r}; compare the names"
            )
    if size.machines < odd.LEAST_MACHINES:
        notes.append(f"odd machines are looked for among {odd.LEAST_MACHINES} or more")
    return notes


def sentence(document: Mapping[str, Any]) -> str:
    """The answer in one line."""
    services = document["services"]
    first = services[0]
    money = spread(first["usd_per_month"], "${}", " a month", 1)
    share = spread(first["cpu_share"], "{} %", " of its CPU time", 100)
    price = " and ".join(part for part in (share, money) if part)
    rate = f"{figure(first['switches_per_second'])} switches a second"
    pays = f"{first['service']} pays most for context switches: {price or rate}"
    if not price:
        pays = f"{first['service']} switches most: {rate}"
    compared = [one for one in services if one["since_release"] and one["since_release"]["ratio"]]
    worse = [one["service"] for one in compared if one["since_release"]["verdict"] == "worse"]
    odd_ones = list(dict.fromkeys(one["machine"] for one in document["outliers"]))
    since = (
        f"{len(worse)} of {len(compared)} services got worse with their last release{names(worse)}"
        if compared
        else "no release could be compared"
    )
    found = f"{len(odd_ones)} of {machines(document['machines'])} {'is an odd one' if len(odd_ones) == 1 else 'are odd ones'} out{names(odd_ones)}"
    return f"{pays}; {since}; {found}"


def machines(count: int) -> str:
    """A number of them.

    >>> machines(1), machines(1000)
    ('1 machine', '1,000 machines')
    """
    return f"{count:,} machine{'' if count == 1 else 's'}"


def names(of: list[str], most: int = 3) -> str:
    """Some names in parentheses.

    >>> names(["a", "b"]), names(["a", "b", "c", "d"]), names([])
    (' (a, b)', ' (a, b, c and 1 more)', '')
    """
    more = f" and {len(of) - most} more" if len(of) > most else ""
    return f" ({', '.join(of[:most])}{more})" if of else ""


def spread(bounds: Mapping[str, float | None] | None, unit: str, after: str, scale: float) -> str:
    """From low to high, in words; empty when neither is known.

    >>> spread({"low": 0.012, "high": 0.04}, "{} %", "", 100), spread({"low": 3.0, "high": None}, "${}", " a month", 1)
    ('1.2 to 4 %', 'at least $3 a month')
    """
    if bounds is None:
        return ""
    low, high = (
        None if bounds[one] is None else figure(scale * (bounds[one] or 0.0)) for one in ("low", "high")
    )
    if low is None or high is None:
        word, value = ("at most", high) if low is None else ("at least", low)
        return f"{word} {unit.format(value)}{after}"
    if low == high:
        return f"{unit.format(low)}{after}"
    if unit.startswith("{}"):
        return f"{low} to {unit.format(high)}{after}"
    return f"{unit.format(low)} to {unit.format(high)}{after}"


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
