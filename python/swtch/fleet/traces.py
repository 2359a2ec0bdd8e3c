"""Directories of Traces: each is a row of its machine and of every service in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import CommandError, ProfileError, TraceError
from . import names, store

if TYPE_CHECKING:
    from .._trace import Trace

PROFILE = "profile.json"
"""The machine's Profile, beside its Traces."""


def directories(source: Path) -> list[Path]:
    """The Traces below a directory, in order; itself, if it is one."""
    if (source / "header.json").exists():
        return [source]
    return sorted(path.parent for path in source.rglob("header.json") if path.parent.suffix == ".swtch")


def machine_of(trace: Path, source: Path) -> str:
    """A Trace is of the machine that its directory is named after; directly in the source, of that of its own name."""
    if trace == source or trace.parent == source:
        return trace.stem
    return trace.parent.name


def read(source: Path, step_s: int, gains: store.Gains) -> dict[str, list[str]]:
    """Adds what all Traces say; returns them by machine. Raises `CommandError`."""
    from .._trace import Trace

    found: dict[str, list[str]] = {}
    for path in directories(source):
        machine = machine_of(path, source)
        try:
            _add(Trace.load(path), machine, step_s, gains, _profile(path))
        except (TraceError, ProfileError, OSError) as error:
            raise CommandError(f"{path} cannot be used: {error}") from None
        found.setdefault(machine, []).append(str(path))
    return found


def _profile(trace: Path) -> Path | None:
    beside = trace.parent / PROFILE
    return beside if beside.exists() else None


def _add(trace: Trace, machine: str, step_s: int, gains: store.Gains, profile: Path | None) -> None:
    header = trace.header
    began = header["provenance"]["started_unix_ns"] / 1e9
    at = began - began % step_s
    seconds = header["duration_ns"] / 1e9
    groups = {row["path"]: row for row in trace.cgroups.rows()}
    totals = {"switches": 0.0, "involuntary": 0.0, "run_seconds": 0.0, "wait_seconds": 0.0}
    services: dict[str, dict[str, float]] = {}
    for task in trace.tasks.rows():
        if not task["in_scope"]:
            continue
        path = task["cgroup"]
        name = task["comm"] if path in (None, "", "/") else names.service(_labels(groups.get(path)), path)
        gained = {
            "switches": float(task["voluntary"] + task["involuntary"]),
            "run_seconds": task["run_ns"] / 1e9,
        }
        row = services.setdefault(name, {"switches": 0.0, "run_seconds": 0.0})
        for column, value in gained.items():
            row[column] += value
            totals[column] += value
        totals["involuntary"] += task["involuntary"]
        totals["wait_seconds"] += task["wait_ns"] / 1e9
    for name, row in services.items():
        gains.service(at, machine, name, None, **row)
    gains.machine(at, machine, seconds=seconds, **totals, **_time(header), **_cost(trace, profile))
    gains.machines[at, machine]["cpus"] = len(header["host"]["cpus"])


def _labels(row: dict[str, Any] | None) -> dict[str, str]:
    return {} if row is None else {name: value for name, value in row.items() if isinstance(value, str)}


def _time(header: dict[str, Any]) -> dict[str, float]:
    """The time of all CPUs, and what was stolen of it."""
    cpu = header["totals"]["cpu_ns"] or {}
    known = [value for value in cpu.values() if value is not None]
    found = {"cpu_seconds": sum(known) / 1e9} if known else {}
    if cpu.get("steal") is not None:
        found["steal_seconds"] = cpu["steal"] / 1e9
    return found


def _cost(trace: Trace, profile: Path | None) -> dict[str, float]:
    """What the switches cost: by the machine's Profile, or else at least what was measured in place.

    This machine's Profile is of no use for another's Trace, so none is taken but the one that lies beside it.
    """
    direct = trace.totals.switch_cost_ns
    found = {} if direct is None else {"direct_seconds": direct / 1e9}
    if profile is None:
        return found if direct is None else {**found, "cost_low_seconds": direct / 1e9}
    bill = trace.bill(profile)
    for bound in ("low", "high"):
        parts = [getattr(one, bound) for one in (bill.direct_ns, bill.indirect_ns) if one is not None]
        if parts:
            found[f"cost_{bound}_seconds"] = sum(parts) / 1e9
    return found
