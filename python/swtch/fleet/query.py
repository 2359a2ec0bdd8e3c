"""What is asked of the tables: sums by DuckDB, so that rows never become objects."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import CommandError
from . import store

if TYPE_CHECKING:
    import duckdb

Columns = dict[str, Any]
"""Arrays of numpy by the name of their column."""
LEAST_S, LEAST_OF_STEP = 1.0, 0.1
"""A row that saw less than either says too little: one is for steps of hours, which a Trace or a restart leaves short, the other for steps of seconds."""


@dataclass
class Rows:
    """How much there is."""

    rows: int
    machines: int
    services: int
    steps: int
    first_s: float
    last_s: float
    rejected: int
    """Rows with a figure below zero or none: a counter that went back, or a step that was hardly observed."""


def plain(values: Any) -> Any:
    """A column of numbers without the mask of absent values, which are not a number then."""
    import numpy as np

    return np.ma.filled(np.ma.asarray(values).astype(float), np.nan)


def open_tables(database: duckdb.DuckDBPyConnection, directories: list[Path], step_s: int) -> None:
    """Makes the views `services` (rows that can be used), `all_services` and `machines`. Raises `CommandError` for files with other columns."""
    import duckdb

    for table, columns in store.TABLES.items():
        files = [path for directory in directories for path in sorted(directory.glob(f"{table}-*.parquet"))]
        if not files:
            raise CommandError(
                f"{directories[0]} has no {table}-*.parquet; 'swtch fleet import SOURCE -o DIR' writes them"
            )
        names = ", ".join(f"'{store.quoted(path)}'" for path in files)
        selected = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in columns)
        try:
            for path in files:
                found = database.execute(
                    f"DESCRIBE SELECT * FROM read_parquet('{store.quoted(path)}')"
                ).fetchall()
                missing = {name for name, _ in columns} - {row[0] for row in found}
                if missing:
                    raise CommandError(
                        f"{path} has no column {min(missing)}; it is not what 'swtch fleet import' writes"
                    )
            view = "all_services" if table == "services" else "machines"
            database.execute(
                f"CREATE OR REPLACE VIEW {view} AS SELECT {selected} FROM read_parquet([{names}])"
            )
            database.execute(f"SELECT * FROM {view} LIMIT 1")
        except duckdb.Error as error:
            raise CommandError(
                f"a {table}-*.parquet of {directories[0]} cannot be read: {str(error).splitlines()[0]}; import it again"
            ) from None
    database.execute(f"""CREATE OR REPLACE VIEW services AS SELECT * FROM all_services
        WHERE {_usable(step_s)}""")


def _usable(step_s: int) -> str:
    return f"(switches >= 0 AND run_seconds >= 0 AND seconds >= {min(LEAST_S, LEAST_OF_STEP * step_s)})"


def size(database: duckdb.DuckDBPyConnection, step_s: int) -> Rows:
    """Counts what is there. Raises `CommandError` when there is nothing to ask about."""
    row = database.execute(f"""SELECT count(*), count(DISTINCT machine), count(DISTINCT service), count(DISTINCT began),
        epoch(min(began)), epoch(max(began)), count(*) FILTER (WHERE NOT coalesce({_usable(step_s)}, false)) FROM all_services""").fetchone()
    assert row is not None
    if row[0] == row[6]:
        raise CommandError(
            "no row can be used: "
            + (
                f"all {row[0]} have a counter that went back or were hardly observed"
                if row[0]
                else "the tables are empty"
            )
            + "; import a longer time, or look at what the source has"
        )
    return Rows(*row)


def series(database: duckdb.DuckDBPyConnection) -> Columns:
    """Switches and CPU time by service, step and version."""
    found: Columns = database.execute("""SELECT service, epoch(began) AS began, coalesce(version, '') AS version,
        sum(switches) AS switches, sum(run_seconds) AS run FROM services GROUP BY ALL""").fetchnumpy()
    return found


def pairs(database: duckdb.DuckDBPyConnection, eras: list[tuple[str, float, float, float]]) -> Columns:
    """Sums by service, machine and era: 1 before the last release, 2 after it, 0 otherwise.

    eras: service, and in seconds where the time before begins and ends and where that after begins.
    """
    database.execute(
        "CREATE OR REPLACE TEMP TABLE eras (service VARCHAR, since TIMESTAMP, until TIMESTAMP, after TIMESTAMP)"
    )
    if eras:
        database.executemany(
            "INSERT INTO eras VALUES (?, make_timestamp(?), make_timestamp(?), make_timestamp(?))",
            [(service, *(int(one * 1e6) for one in times)) for service, *times in eras],
        )
    found: Columns = database.execute("""SELECT service, machine,
        CASE WHEN began >= since AND began < until THEN 1 WHEN began >= after THEN 2 ELSE 0 END AS era,
        sum(switches) AS switches, sum(run_seconds) AS run, sum(switches / seconds) AS rates, count(*) AS steps
        FROM services LEFT JOIN eras USING (service) GROUP BY ALL""").fetchnumpy()
    return found


def machines(database: duckdb.DuckDBPyConnection) -> Columns:
    """Sums by machine."""
    sums = ", ".join(
        f"sum({name}) FILTER (WHERE {name} >= 0) AS {name}"
        for name, kind in store.MACHINES
        if kind == "DOUBLE"
    )
    # A cost belongs to the switches of the steps that have one.
    found: Columns = database.execute(f"""SELECT machine, coalesce(max(instance_type), '') AS instance_type, max(cpus) AS cpus, {sums},
        sum(switches) FILTER (WHERE cost_low_seconds >= 0 AND switches >= 0) AS switches_low,
        sum(switches) FILTER (WHERE cost_high_seconds >= 0 AND switches >= 0) AS switches_high,
        sum(switches) FILTER (WHERE direct_seconds >= 0 AND switches >= 0) AS switches_direct,
        epoch(max(began)) AS last FROM machines GROUP BY machine ORDER BY machine""").fetchnumpy()
    return found
