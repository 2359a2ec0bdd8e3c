"""Files of OTLP/JSON with metrics, as the file exporter of an OpenTelemetry collector writes them: a line a message, or one document.

`swtch.*` metrics have the names of `docs/metrics.md` with dots, and their labels as attributes. Of other programs `process.context_switches` and
`process.cpu.time` are taken, by `service.name`. Cumulative sums are differenced; one that falls began anew, and counts from zero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import CommandError
from . import names, store

_DELTA = (1, "AGGREGATION_TEMPORALITY_DELTA")
LONGEST_GAP_S = 900.0
"""Between two messages of a machine; a longer time was not observed."""

_SERVICE_COLUMNS = {
    "swtch_cgroup_context_switches": "switches",
    "swtch_cgroup_run": "run_seconds",
    "process_context_switches": "switches",
    "process_cpu_time": "run_seconds",
}
_MACHINE_COLUMNS = {
    "swtch_observed": ("seconds", None),
    "swtch_context_switches": ("switches", {"kind": ("voluntary", "involuntary")}),
    "swtch_run": ("run_seconds", None),
    "swtch_wait": ("wait_seconds", None),
    "swtch_cpu": ("cpu_seconds", None),
    "swtch_switch_cost": ("direct_seconds", None),
}


@dataclass
class _State:
    """What a later message is compared with."""

    values: dict[Any, tuple[float, int]] = field(default_factory=dict)
    """Value and start of a cumulative series."""
    labels: dict[tuple[str, str], Mapping[str, str]] = field(default_factory=dict)
    last: dict[str, float] = field(default_factory=dict)
    """Time of a machine's last message."""
    resets: int = 0
    points: int = 0


def read(paths: list[Path], step_s: int, gains: store.Gains) -> int:
    """Adds what the files say; returns how many counters began anew. Raises `CommandError`."""
    state = _State()
    for path in paths:
        for place, message in _messages(path):
            try:
                for resource in message["resourceMetrics"]:
                    _resource(resource, state, step_s, gains)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise CommandError(
                    f"{path}:{place}: not metrics of OTLP/JSON ({type(error).__name__}: {error}); export them with the collector's file exporter, format json"
                ) from None
    if not state.points:
        raise CommandError(
            f"{paths[0]} has no swtch.* metric and no process.context_switches; export those of 'swtch serve'"
        )
    return state.resets


def _messages(path: Path) -> Iterator[tuple[int, Any]]:
    try:
        with path.open(encoding="utf-8") as file:
            first = file.readline()
            try:
                begin = json.loads(first) if first.strip() else None
            except ValueError:
                begin = None
            if begin is None:
                yield 1, json.loads(first + file.read())
                return
            yield 1, begin
            for number, line in enumerate(file, 2):
                if line.strip():
                    yield number, json.loads(line)
    except OSError as error:
        raise CommandError(f"cannot read {path} ({error.strerror}); check the path") from None
    except ValueError as error:
        raise CommandError(
            f"{path} is not OTLP/JSON: {error}; the collector's file exporter writes it"
        ) from None


def _resource(resource: Any, state: _State, step_s: int, gains: store.Gains) -> None:
    about = _attributes(resource.get("resource", {}))
    machine = (
        about.get("host.name") or about.get("k8s.node.name") or about.get("service.instance.id") or "unknown"
    )
    version = about.get("service.version") or about.get("container.image.tags")
    metrics = [
        one
        for scope in resource.get("scopeMetrics", ())
        for one in scope.get("metrics", ())
        # Single processes of swtch are in its sums of cgroups already.
        if scope.get("scope", {}).get("name") != "swtch" or not _plain(one["name"]).startswith("process_")
    ]
    for metric in metrics:
        if _plain(metric["name"]) == "swtch_cgroup_info":
            for point in _points_of(metric):
                labels = _attributes(point)
                state.labels[machine, labels.get("cgroup", "")] = labels
    for metric in metrics:
        name = _plain(metric["name"])
        delta = metric.get("sum", metric.get("histogram", {})).get("aggregationTemporality") in _DELTA
        for point in _points_of(metric):
            labels = _attributes(point)
            at = int(point["timeUnixNano"]) / 1e9
            begin = at - at % step_s
            if name in _SERVICE_COLUMNS or name in _MACHINE_COLUMNS or name == "swtch_switch_cost_estimate":
                state.points += 1
                key = (
                    machine,
                    about.get("service.name"),
                    about.get("process.pid"),
                    name,
                    tuple(sorted(labels.items())),
                )
                gained = _gained(state, key, point, delta)
                _observe(state, machine, at, begin, gains, by_time=name.startswith("process_"))
                if gained is not None:
                    _take(name, labels, about, machine, version, begin, gained, state, gains)


def _take(
    name: str,
    labels: Mapping[str, str],
    about: Mapping[str, str],
    machine: str,
    version: str | None,
    begin: float,
    gained: float,
    state: _State,
    gains: store.Gains,
) -> None:
    if name.startswith("process_"):
        service = about.get("service.name") or about.get("process.executable.name") or "unknown"
        gains.service(begin, machine, service, version, **{_SERVICE_COLUMNS[name]: gained})
        if name == "process_context_switches":
            gains.machine(begin, machine, switches=gained)
    elif name in _SERVICE_COLUMNS:
        cgroup = labels.get("cgroup", "")
        info = state.labels.get((machine, cgroup)) or _names(labels)
        tagged = info.get("version") or (names.tag(info["image"]) if info.get("image") else version)
        gains.service(begin, machine, names.service(info, cgroup), tagged, **{_SERVICE_COLUMNS[name]: gained})
    elif name == "swtch_switch_cost_estimate":
        if labels.get("bound") in ("low", "high"):
            gains.machine(begin, machine, **{f"cost_{labels['bound']}_seconds": gained})
    else:
        column, only = _MACHINE_COLUMNS[name]
        if all(labels.get(label) in values for label, values in (only or {}).items()):
            gains.machine(begin, machine, **{column: gained})
        if name == "swtch_context_switches" and labels.get("kind") == "involuntary":
            gains.machine(begin, machine, involuntary=gained)
        if name == "swtch_cpu" and labels.get("mode") == "steal":
            gains.machine(begin, machine, steal_seconds=gained)


def _names(labels: Mapping[str, str]) -> dict[str, str]:
    """What a point of `swtch serve --otlp` says of its cgroup, by the names of `swtch_cgroup_info`."""
    known = {
        "name": "swtch.cgroup.name",
        "namespace": "k8s.namespace.name",
        "pod": "k8s.pod.name",
        "container": "k8s.container.name",
    }
    return {name: labels[attribute] for name, attribute in known.items() if labels.get(attribute)}


def _gained(state: _State, key: Any, point: Mapping[str, Any], delta: bool) -> float | None:
    """Since the series' last point; nothing for its first."""
    value = float(
        point["sum"] if "sum" in point else point["asInt"] if "asInt" in point else point["asDouble"]
    )
    if delta:
        return value
    start = int(point.get("startTimeUnixNano") or 0)
    before = state.values.get(key)
    state.values[key] = (value, start)
    if before is None:
        return None
    if value < before[0] or start > before[1]:
        state.resets += 1
        return value
    return value - before[0]


def _observe(
    state: _State, machine: str, at: float, begin: float, gains: store.Gains, *, by_time: bool
) -> None:
    """Counts the time between messages as observed, where no metric says how much was."""
    if not by_time:
        return
    gap = at - state.last.get(machine, at)
    if gap >= 0:
        state.last[machine] = at
    if 0 < gap <= LONGEST_GAP_S:
        gains.machine(begin, machine, seconds=gap)


def _points_of(metric: Mapping[str, Any]) -> list[Any]:
    kind: Mapping[str, Any] = next(
        (metric[one] for one in ("sum", "gauge", "histogram") if one in metric), {}
    )
    points: list[Any] = kind.get("dataPoints", [])
    return points


def _attributes(of: Mapping[str, Any]) -> dict[str, str]:
    return {one["key"]: _value(one["value"]) for one in of.get("attributes", ())}


def _value(value: Mapping[str, Any]) -> str:
    inner = next(iter(value.values()), "")
    if isinstance(inner, dict):
        values = inner.get("values", [])
        return _value(values[0]) if values else ""
    return str(inner)


def _plain(name: str) -> str:
    """`swtch.cgroup.run` for any of `swtch_cgroup_run_seconds_total`, `swtch.cgroup.run_seconds`."""
    return re.sub(r"(_seconds)?(_total)?$", "", name.replace(".", "_"))
