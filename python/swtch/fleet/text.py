"""The answer for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .. import _native
from .._text import figure, table
from .answer import machines, spread

_LINKED = "  "


def text(document: Mapping[str, Any], top: int) -> str:
    """The answer, the services that pay most, those that got worse, and the odd machines."""
    lines = [document["answer"], ""]
    services = document["services"]
    lines += service_table(services[:top])
    if len(services) > top:
        lines.append(f"and {len(services) - top} more services; --top {len(services)} shows them")
    moved = changed(services)
    if moved:
        lines += ["", "Changed with their last release:"]
        lines += release_table(moved)
    if document["outliers"]:
        lines += ["", "Odd machines:"]
        lines += [
            f"{_LINKED}{one['machine']}: {one['metric']}: {one['why']}" for one in document["outliers"][:top]
        ]
        if len(document["outliers"]) > top:
            lines.append(f"{_LINKED}and {len(document['outliers']) - top} more; --json has all")
    lines += ["", basis(document)]
    return "\n".join(lines + document["notes"]) + "\n"


def changed(services: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that are worse or better since their last release, the worst first."""
    found = [one for one in services if (one["since_release"] or {}).get("verdict") in ("worse", "better")]
    return sorted(found, key=lambda one: -float(one["since_release"]["ratio"]))


def basis(document: Mapping[str, Any]) -> str:
    """What the answer rests on."""
    prices = document["prices"]
    price = (
        f"{prices['usd_per_vcpu_hour']:g} USD a vCPU and hour"
        if prices["usd_per_vcpu_hour"] is not None
        else f"price list {prices['name']} of {prices['dated']}"
    )
    return (
        f"{document['from']} to {document['to']}, {machines(document['machines'])}, {document['rows']:,} rows of "
        f"{document['step_seconds']} s; {price}; a month has {_native.MONTH_HOURS:g} hours"
    )


def service_table(services: Sequence[Mapping[str, Any]]) -> list[str]:
    """What each pays."""
    return table(SERVICE_HEADER, service_rows(services), 1)


SERVICE_HEADER = ["service", "machines", "switches/s", "CPU %", "$/month", "since its last release"]


def service_rows(services: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Its cells."""
    return [
        [
            one["service"],
            f"{one['machines']:,}",
            figure(one["switches_per_second"]),
            spread(one["cpu_share"], "{}", "", 100) or "n/a",
            spread(one["usd_per_month"], "{}", "", 1) or "n/a",
            since(one["since_release"]),
        ]
        for one in services
    ]


def since(release: Mapping[str, Any] | None) -> str:
    """A cell about the last release."""
    if release is None:
        return "no release known"
    if release["ratio"] is None:
        return "unclear"
    return f"{release['verdict']}, {interval(release)}"


def interval(release: Mapping[str, Any]) -> str:
    """The ratio with its interval."""
    return f"{release['ratio']:.2f} times ({release['ci_low']:.2f} to {release['ci_high']:.2f})"


RELEASE_HEADER = [
    "service",
    "verdict",
    "switches per CPU second",
    "version",
    "released",
    "changed",
    "days",
    "machines",
]


def release_rows(services: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Evidence, a row a service."""
    rows = []
    for one in services:
        release = one["since_release"]
        paired = release["machines_up"] + release["machines_down"]
        rows.append(
            [
                one["service"],
                release["verdict"],
                interval(release),
                release["version"] or "n/a",
                release["released"],
                release["changed"] or "n/a",
                f"{release['days_before']} before, {release['days_after']} after",
                f"{release['machines_up']} of {paired} up",
            ]
        )
    return rows


def release_table(services: Sequence[Mapping[str, Any]]) -> list[str]:
    """The evidence as lines."""
    return [_LINKED + line for line in table(RELEASE_HEADER, release_rows(services), 2)]
