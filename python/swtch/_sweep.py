"""Many simulations at once: all combinations of machines, workloads, policies and seeds."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from . import _native, _tables

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Sweep:
    """The runs of a sweep, a row each, in a table on the disk."""

    path: Path
    """The table, Parquet."""
    runs: int
    """Runs in it."""
    run_now: int
    """Runs that this call made; an earlier call had made the others."""
    failures: tuple[str, ...]
    """What failed; such a run is a row too, with the reason in the column `error`."""

    def to_arrow(self) -> pyarrow.Table:
        """The table as Arrow. Needs `pip install 'swtch[arrow]'`."""
        return _tables.arrow_from_parquet(self.path.read_bytes())

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a data frame. Needs `pip install 'swtch[pandas]'`."""
        return _tables.pandas_from_arrow(self.to_arrow())


def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = None,
    part: tuple[int, int] = (1, 1),
    jobs: int | None = None,
) -> Sweep:
    """Runs a sweep and writes its table. Runs of an earlier call are not repeated.

    file: the sweep, TOML: `machines`, `workloads` or `grid`, `policies`, `seeds`. Paths in it count from its directory.
    out: the table. Until it is complete, finished runs are kept in `OUT.runs`.
    profile: a Profile's file, from which the costs are taken where the sweep names none.
    part: the first of two is `(1, 2)`: machines share a sweep so, each with an `out` of its own.
    jobs: runs at once; as many as there are CPUs when not given.

    Raises `UsageError` for what cannot be swept, or when another sweep's table is at `out`. After Ctrl-C the same call goes on from there.
    Other Python threads keep running.
    """
    first, parts = part
    if not 1 <= first <= parts:
        raise _native.UsageError(f"part is {part}; expected (1, 1), or one of several such as (2, 3)")
    if jobs is not None and jobs < 1:
        raise _native.UsageError(f"jobs is {jobs}; expected at least 1")
    runs, run_now, failures = _native.sweep(file, out, profile, part, jobs)
    return Sweep(Path(out), runs, run_now, tuple(failures))
