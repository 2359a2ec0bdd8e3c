"""Where the tables come from: a Prometheus, OTLP/JSON, Traces, or a directory that `swtch fleet import` wrote."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import CommandError
from .._options import header
from . import deploys, otlp, prometheus, store, traces

if TYPE_CHECKING:
    import duckdb

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
MOST_S = 5 * 365 * 86_400


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options about reading."""
    add = parser.add_argument
    add(
        "--since",
        type=span,
        default=span("14d"),
        metavar="TIME",
        help="how long back, from a Prometheus, e.g. 12h, 30d [default: 14d]",
    )
    add(
        "--until",
        type=moment,
        metavar="TIME",
        help="where that ends, e.g. 2026-11-20T12:00:00Z [default: now]",
    )
    add(
        "--step",
        type=span,
        default=store.HOUR_S,
        metavar="TIME",
        help="length of a row, at least two scrapes [default: 1h]",
    )
    add(
        "--machine-label",
        default="instance",
        metavar="LABEL",
        help="label that names a machine [default: instance]",
    )
    add(
        "--type-label",
        default="instance_type",
        metavar="LABEL",
        help="label with a machine's type of instance [default: instance_type]",
    )
    add(
        "--service-label",
        metavar="LABEL",
        help="label of swtch_cgroup_info that names the service [default: by pod, container or unit]",
    )
    add(
        "--header",
        type=header,
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="header of requests to a Prometheus, such as Authorization; may be given several times",
    )
    add("--timeout", type=span, default=120, metavar="TIME", help="longest time for an answer of a Prometheus [default: 120s]")  # fmt: skip


def span(text: str) -> int:
    """A time in whole seconds: `30d`, `12h`, `90s`.

    >>> span("30d"), span("2h"), span("15s")
    (2592000, 7200, 15)
    """
    found = re.fullmatch(r"(\d{1,9})\s*([a-z]+)", text)
    value = int(found[1]) * _UNITS.get(found[2], 0) if found else 0
    if not 0 < value <= MOST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time from 1s to 5 years, such as 90s, 12h or 30d"
        )
    return value


def moment(text: str) -> float:
    """A time as ISO 8601 has it."""
    try:
        return deploys.instant(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time such as 2026-11-20 or 2026-11-20T12:00:00Z"
        ) from None


def is_data(source: str) -> bool:
    """Whether it is a directory of tables."""
    return (Path(source) / store.HEADER).exists()


def bring(
    database: duckdb.DuckDBPyConnection,
    source: str,
    directory: Path,
    options: argparse.Namespace,
    show: Callable[[str], None],
) -> dict[str, Any]:
    """Writes a source's tables into a directory; returns what to report of it. Raises `CommandError`."""
    if source.startswith(("http://", "https://")):
        store.begin(directory, options.step)
        end = time.time() if options.until is None else options.until
        server = prometheus.Server(
            source, options.machine_label, options.type_label, options.service_label, dict(options.header), options.timeout
        )  # fmt: skip
        rows, kept = prometheus.fetch(
            database, server, directory, end - options.since, end, options.step, show
        )
        return {"rows": rows, "windows_kept": kept}
    path = Path(source)
    gains = store.Gains()
    if not path.exists():
        raise CommandError(
            f"there is no {source}; give the address of a Prometheus, OTLP/JSON files, or a directory of Traces"
        )
    found: dict[str, Any] = {}
    if path.is_file() or any(path.glob("*.jsonl")):
        paths = [path] if path.is_file() else sorted(path.glob("*.jsonl"))
        found["counters_restarted"] = otlp.read(paths, options.step, gains)
    else:
        found["traces"] = traces.read(path, options.step, gains)
        if not found["traces"]:
            raise CommandError(
                f"{source} holds neither NAME.swtch, *.jsonl nor what 'swtch fleet import' writes; give a directory that does"
            )
    store.begin(directory, options.step)
    # Named after the source, so that the same source replaces its rows.
    part = re.sub(r"[^A-Za-z0-9]+", "-", str(path.resolve())).strip("-")[-100:]
    return {**found, "rows": store.write(database, directory, part, gains)}
