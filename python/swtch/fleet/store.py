"""The tables that a fleet is asked about: Parquet files in a directory, one row a step of time.

`services-PART.parquet` has what a service did on a machine, `machines-PART.parquet` what a machine did, and `fleet.json` the length of a step. Rows
hold what was gained in their step, never counters: they can be summed, and a restart of a counter is over before they are written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import CommandError
from .._files import replace

if TYPE_CHECKING:
    import duckdb

FORMAT = "swtch/fleet-data/1"
HEADER = "fleet.json"
HOUR_S = 3600

SERVICES = (
    ("began", "TIMESTAMP"),
    ("machine", "VARCHAR"),
    ("service", "VARCHAR"),
    ("version", "VARCHAR"),
    ("seconds", "DOUBLE"),
    ("switches", "DOUBLE"),
    ("run_seconds", "DOUBLE"),
)
"""Columns of a service on a machine: the step's begin (UTC), names, the version that ran (may be absent), time that was observed, switches, CPU time."""
MACHINES = (
    ("began", "TIMESTAMP"),
    ("machine", "VARCHAR"),
    ("instance_type", "VARCHAR"),
    ("cpus", "INTEGER"),
    ("seconds", "DOUBLE"),
    ("switches", "DOUBLE"),
    ("involuntary", "DOUBLE"),
    ("run_seconds", "DOUBLE"),
    ("wait_seconds", "DOUBLE"),
    ("steal_seconds", "DOUBLE"),
    ("cpu_seconds", "DOUBLE"),
    ("direct_seconds", "DOUBLE"),
    ("cost_low_seconds", "DOUBLE"),
    ("cost_high_seconds", "DOUBLE"),
)
"""Columns of a machine. Every figure may be absent: `direct_seconds` is the switches as measured in place, the costs are with refilled caches."""
TABLES = {"services": SERVICES, "machines": MACHINES}


@dataclass
class Gains:
    """Sums by step, machine and service, until they are written."""

    services: dict[tuple[float, str, str, str | None], dict[str, float]] = field(default_factory=dict)
    machines: dict[tuple[float, str], dict[str, Any]] = field(default_factory=dict)

    def service(self, at: float, machine: str, service: str, version: str | None, **gained: float) -> None:
        """Adds to a service's row."""
        _sum(self.services.setdefault((at, machine, service, version), {}), gained)

    def machine(self, at: float, machine: str, **gained: float) -> None:
        """Adds to a machine's row."""
        _sum(self.machines.setdefault((at, machine), {}), gained)

    def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """The rows of both tables. A service was observed while its machine was, where nothing else is known."""
        services, machines = [], []
        for (at, machine, name, version), row in self.services.items():
            seconds = row.get("seconds", self.machines.get((at, machine), {}).get("seconds"))
            services.append(
                (at, machine, name, version, seconds, row.get("switches", 0.0), row.get("run_seconds", 0.0))
            )
        for (at, machine), row in self.machines.items():
            machines.append((at, machine, *(row.get(column) for column, _ in MACHINES[2:])))
        return {"services": services, "machines": machines}


def _sum(row: dict[str, Any], gained: Mapping[str, float]) -> None:
    for name, value in gained.items():
        row[name] = row.get(name, 0.0) + value


def connect(memory: str = "1GB") -> duckdb.DuckDBPyConnection:
    """A database in memory, with a limit. Raises `CommandError` where DuckDB is not installed."""
    try:
        import duckdb
        import numpy  # noqa: F401
    except ImportError as error:
        raise CommandError(f"{error.name} is not installed; pip install 'swtch[fleet]'") from None
    database = duckdb.connect()
    database.execute(
        f"SET memory_limit = '{memory}'; SET preserve_insertion_order = false; SET TimeZone = 'UTC'"
    )
    return database


def begin(directory: Path, step_s: int) -> None:
    """Makes the directory and its header. Raises `CommandError` where it has data of another step."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot create {directory} ({error.strerror}); give another with --out") from None
    if (directory / HEADER).exists():
        there = step_of(directory)
        if there != step_s:
            raise CommandError(
                f"{directory} holds steps of {there} s, not of {step_s} s; give another directory, or --step {there}s"
            )
        return
    replace(directory / HEADER, json.dumps({"schema": FORMAT, "step_seconds": step_s}, indent=1) + "\n")


def step_of(directory: Path) -> int:
    """The length of a step, s. Raises `CommandError` for a directory that is not such data."""
    path = directory / HEADER
    try:
        header = json.loads(path.read_text())
        step = header["step_seconds"]
        if header["schema"] != FORMAT or not isinstance(step, int) or step <= 0:
            raise ValueError(f"it is not {FORMAT} with a step above 0")
    except OSError as error:
        raise CommandError(
            f"cannot read {path} ({error.strerror}); 'swtch fleet import' writes such a directory"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise CommandError(
            f"{path} cannot be used: {error}; 'swtch fleet import' writes such a file"
        ) from None
    return step


def has(directory: Path, part: str) -> bool:
    """Whether a part is there, whole."""
    return all((directory / f"{table}-{part}.parquet").exists() for table in TABLES)


def write(database: duckdb.DuckDBPyConnection, directory: Path, part: str, gains: Gains) -> int:
    """Writes a part; returns the number of its rows about services. Each file appears whole or not at all."""
    rows = gains.rows()
    for table, columns in TABLES.items():
        arrays = _arrays(columns, rows[table])
        casts = ", ".join(
            f"make_timestamp(CAST({name} * 1000000 AS BIGINT)) AS {name}"
            if kind == "TIMESTAMP"
            else f"CAST({name} AS {kind}) AS {name}"
            for name, kind in columns
        )
        database.register("gained", arrays)
        copy(
            database,
            f"SELECT {casts} FROM gained ORDER BY machine, began",
            directory / f"{table}-{part}.parquet",
        )
        database.unregister("gained")
    return len(rows["services"])


def copy(database: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Writes what a query gives as Parquet, beside its place and then renamed."""
    import duckdb

    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        database.execute(f"COPY ({query}) TO '{quoted(beside)}' (FORMAT parquet, COMPRESSION zstd)")
        os.replace(beside, path)
    except (OSError, duckdb.IOException) as error:
        beside.unlink(missing_ok=True)
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise CommandError(f"cannot write {path} ({why}); is the disk full or read-only?") from None


def quoted(path: Path) -> str:
    """A path inside a text of SQL."""
    return str(path).replace("'", "''")


def _arrays(columns: Sequence[tuple[str, str]], rows: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
    import numpy

    by_column = list(zip(*rows)) or [()] * len(columns)
    return {
        name: numpy.array(values, dtype=object if kind == "VARCHAR" else float)
        for (name, kind), values in zip(columns, by_column)
    }
