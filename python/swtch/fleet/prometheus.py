"""What a Prometheus knows of the machines that `swtch serve` watches, by its HTTP API, a window of time after the other."""

from __future__ import annotations

import http.client
import json
import math
import re
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import CommandError
from . import names, store

if TYPE_CHECKING:
    import duckdb

STEPS_A_WINDOW = 6
"""Few enough that the rows of 1,000 machines with 200 cgroups each fit into memory."""
_TOO_MUCH = re.compile("too many samples|maximum resolution|timed out|timeout", re.IGNORECASE)
_LABEL = re.compile(r"^[a-zA-Z_][a-zA-Z0-9_]*$")

_MACHINE_SUMS = {
    "seconds": "swtch_observed_seconds_total",
    "switches": 'swtch_context_switches_total{kind!="from_idle"}',
    "involuntary": 'swtch_context_switches_total{kind="involuntary"}',
    "run_seconds": "swtch_run_seconds_total",
    "wait_seconds": "swtch_wait_seconds_total",
    "steal_seconds": 'swtch_cpu_seconds_total{mode="steal"}',
    "cpu_seconds": "swtch_cpu_seconds_total",
    "direct_seconds": "swtch_switch_cost_seconds_sum",
    "cost_low_seconds": 'swtch_switch_cost_estimate_seconds_total{bound="low"}',
    "cost_high_seconds": 'swtch_switch_cost_estimate_seconds_total{bound="high"}',
}


@dataclass(frozen=True)
class Server:
    """A Prometheus, and the labels that name things there."""

    url: str
    machine_label: str = "instance"
    type_label: str = "instance_type"
    service_label: str | None = None
    """The label of `swtch_cgroup_info` that names the service; by its names of containers and units without it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0

    def __post_init__(self) -> None:
        for label in (self.machine_label, self.type_label, self.service_label):
            if label is not None and not _LABEL.match(label):
                raise CommandError(f"{label!r} is not the name of a label; give letters, digits and _")

    def get(self, path: str, **words: str) -> Any:
        """The `data` of an answer. Raises `CommandError`, or `_TooMuch`."""
        url = f"{self.url.rstrip('/')}/api/v1/{path}?{urllib.parse.urlencode(words)}"
        try:
            request = urllib.request.Request(url, headers=dict(self.headers))
            with _OPENER.open(request, timeout=self.timeout_s) as answer:
                document = json.load(answer)
        except urllib.error.HTTPError as error:
            why = _said(error)
            if error.code in (422, 503) and _TOO_MUCH.search(why):
                raise _TooMuch(why) from None
            raise CommandError(
                f"{self.url} refused the query: {error.code}: {why}; {_remedy(error.code)}"
            ) from None
        except TimeoutError:
            raise _TooMuch(f"no answer within {self.timeout_s:g} s") from None
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", None) or error
            if isinstance(cause, TimeoutError):
                raise _TooMuch(f"no answer within {self.timeout_s:g} s") from None
            raise CommandError(
                f"no answer from {self.url}: {cause}; check the address, and that Prometheus runs there"
            ) from None
        except ValueError:
            document = None
        if not isinstance(document, dict) or document.get("status") != "success" or "data" not in document:
            raise CommandError(
                f"{self.url} does not answer as Prometheus does; give the address of its API, such as http://127.0.0.1:9090"
            )
        return document["data"]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect is an error: it would take the headers, and a token in them, to another server."""

    def redirect_request(self, *about: Any) -> None:
        """Follows none."""


_OPENER = urllib.request.build_opener(_NoRedirect)


class _TooMuch(Exception):
    """The server cannot answer for this much time at once."""


def fetch(
    database: duckdb.DuckDBPyConnection,
    server: Server,
    directory: Path,
    begin_s: float,
    end_s: float,
    step_s: int,
    show: Callable[[str], None],
) -> tuple[int, int]:
    """Writes a part for each window of time; those that are there, whole, stay. Returns how many rows were written, and windows kept.

    Raises `CommandError` where there is nothing.
    """
    width = STEPS_A_WINDOW * step_s
    first, last = math.floor(begin_s / width), math.ceil(end_s / width)
    rows = kept = 0
    for number in range(first, last):
        start, end = number * width, min((number + 1) * width, math.floor(end_s / step_s) * step_s)
        if end <= start:
            continue
        part = time.strftime("%Y%m%dT%H%M%S", time.gmtime(start))
        if store.has(directory, part):
            kept += 1
            continue
        show(f"{part}: window {number - first + 1} of {last - first}, {rows:,} rows")
        gains = store.Gains()
        _window(server, gains, start, end, step_s)
        whole = end == start + width
        if gains.services:
            rows += store.write(database, directory, part if whole else f"{part}-partial", gains)
        if whole:
            for table in store.TABLES:
                (directory / f"{table}-{part}-partial.parquet").unlink(missing_ok=True)
    if not rows and not kept:
        raise CommandError(
            f"{server.url} has no swtch_cgroup_context_switches_total in this time; scrape 'swtch serve' with it, or give a longer --since or --step"
        )
    return rows, kept


def _window(server: Server, gains: store.Gains, start: float, end: float, step_s: int) -> None:
    """One window; halved where the server cannot answer it at once."""
    try:
        mine = store.Gains()
        _read(server, mine, start, end, step_s)
        gains.services.update(mine.services)
        gains.machines.update(mine.machines)
    except _TooMuch as why:
        steps = round((end - start) / step_s)
        if steps <= 1:
            raise CommandError(
                f"{server.url} cannot answer for a single step of {step_s} s ({why}); give a shorter --step, or raise its --query.max-samples"
            ) from None
        middle = start + steps // 2 * step_s
        _window(server, gains, start, middle, step_s)
        _window(server, gains, middle, end, step_s)


def _read(server: Server, gains: store.Gains, start: float, end: float, step_s: int) -> None:
    machine, kind = server.machine_label, server.type_label

    def gained(metric: str, *labels: str) -> Iterator[tuple[Mapping[str, str], float, float]]:
        by = ", ".join(dict.fromkeys(labels))
        return _points(server, f"sum by ({by}) (increase({metric}[{step_s}s]))", start, end, step_s)

    cgroups = _cgroups(server, start, end)
    versions = _Versions(server, start, end, step_s)
    totals = (
        ("switches", "swtch_cgroup_context_switches_total"),
        ("run_seconds", "swtch_cgroup_run_seconds_total"),
    )
    for column, metric in totals:
        for labels, at, value in gained(metric, machine, "cgroup"):
            host, cgroup = labels.get(machine, ""), labels.get("cgroup", "")
            info = cgroups.get((host, cgroup), {})
            if cgroup == names.OTHER:
                service = names.OTHER
            else:
                service = info.get(server.service_label or "") or names.service(info, cgroup)
            gains.service(at, host, service, versions.of(info, at), **{column: value})
    for column, metric in _MACHINE_SUMS.items():
        for labels, at, value in gained(metric, machine, kind):
            host = labels.get(machine, "")
            gains.machine(at, host, **{column: value})
            if labels.get(kind):
                gains.machines[at, host]["instance_type"] = labels[kind]
    count = (
        f'count by ({machine}) (count by ({machine}, cpu) (swtch_cpu_context_switches_total{{from="task"}}))'
    )
    for labels, at, value in _points(server, count, start, end, step_s):
        row = gains.machines.get((at, labels.get(machine, "")))
        if row is not None:
            row["cpus"] = value
    # A step in which nothing was observed has no share of anything.
    for key in [key for key, row in gains.machines.items() if not row.get("seconds")]:
        del gains.machines[key]


def _points(
    server: Server, query: str, start: float, end: float, step_s: int
) -> Iterator[tuple[Mapping[str, str], float, float]]:
    """Labels, begin of the step and value. A range of the last step ends where the query is evaluated."""
    data = server.get(
        "query_range", query=query, start=f"{start + step_s:.3f}", end=f"{end:.3f}", step=f"{step_s}s"
    )
    for series in data.get("result", ()):
        for at, text in series["values"]:
            value = float(text)
            if math.isfinite(value):
                yield series["metric"], float(at) - step_s, value


def _cgroups(server: Server, start: float, end: float) -> dict[tuple[str, str], Mapping[str, str]]:
    """The labels of each machine's cgroups."""
    words = {"match[]": "swtch_cgroup_info", "start": f"{start:.3f}", "end": f"{end:.3f}"}
    return {
        (one.get(server.machine_label, ""), one.get("cgroup", "")): one
        for one in server.get("series", **words)
    }


class _Versions:
    """Which image a container has, by kube-state-metrics where Prometheus scrapes it, or by a label of the series."""

    def __init__(self, server: Server, start: float, end: float, step_s: int) -> None:
        query = "max by (namespace, pod, container, image) (kube_pod_container_info)"
        self._images: dict[tuple[str, str, str], str] = {}
        for labels, _, _ in _points(server, query, start, end, step_s):
            key = (labels.get("namespace", ""), labels.get("pod", ""), labels.get("container", ""))
            self._images[key] = names.tag(labels.get("image", ""))

    def of(self, info: Mapping[str, str], at: float) -> str | None:
        """A cgroup's version; a pod has the same image all its life."""
        if info.get("version"):
            return info["version"]
        if info.get("image"):
            return names.tag(info["image"])
        return self._images.get((info.get("namespace", ""), info.get("pod", ""), info.get("container", "")))


def _said(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.load(error)["error"])
    except (ValueError, KeyError, TypeError, OSError):
        return str(error.reason)


def _remedy(status: int) -> str:
    if status in (401, 403):
        return "give --header 'Authorization: Bearer TOKEN'"
    if 300 <= status < 400:
        return "give the address that it redirects to"
    if status == 404:
        return "give the address of its API, such as http://127.0.0.1:9090"
    return "look at what Prometheus logs"
