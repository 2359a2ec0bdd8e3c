"""Many simulations at once: all combinations of machines, workloads, policies and seeds."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, overload

from . import _native, _tables
from ._growing_sweep import GrowingSweep

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


@overload
def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = ...,
    part: tuple[int, int] = ...,
    jobs: int | None = ...,
    on: None = ...,
    options: Sequence[str] = ...,
) -> Sweep: ...


@overload
def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = ...,
    part: tuple[int, int] = ...,
    jobs: int | None = ...,
    on: str,
    options: Sequence[str] = ...,
) -> GrowingSweep: ...


def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    profile: str | os.PathLike[str] | None = None,
    part: tuple[int, int] = (1, 1),
    jobs: int | None = None,
    on: str | None = None,
    options: Sequence[str] = (),
) -> Sweep | GrowingSweep:
    """Runs a sweep and writes its table. Runs of an earlier call are not repeated.

    file: the sweep, TOML: `machines`, `workloads` or `grid`, `policies`, `seeds`. Paths in it count from its directory.
    out: the table. Until it is complete, finished runs are kept in `OUT.runs`.
    profile: a Profile's file, from which the costs are taken where the sweep names none.
    part: the first of two is `(1, 2)`: machines share a sweep so, each with an `out` of its own.
    jobs: runs at once; as many as there are CPUs when not given.
    on: where workers run, as `swtch sweep run --on` takes it: "here", "dask", "dask://ADDRESS", "slurm", "slurm:PARTITION". `out` is then
        a directory that all workers see, the call returns at once, and what it returns has the table as it grows. Needs the program swtch.
    options: further options of `swtch sweep run`, such as `["--workers", "20"]`.

    Raises `UsageError` for what cannot be swept, or when another sweep's table is at `out`. After Ctrl-C the same call goes on from there.
    Other Python threads keep running.
    """
    if on is not None:
        if part != (1, 1):
            raise _native.UsageError("part is for a sweep without on: workers share one directory")
        return GrowingSweep._start(Path(file), Path(out), on, profile, jobs, options)
    if options:
        raise _native.UsageError("options are those of 'swtch sweep run'; expected on as well")
    first, parts = part
    if not 1 <= first <= parts:
        raise _native.UsageError(f"part is {part}; expected (1, 1), or one of several such as (2, 3)")
    if jobs is not None and jobs < 1:
        raise _native.UsageError(f"jobs is {jobs}; expected at least 1")
    runs, run_now, failures = _native.sweep(file, out, profile, part, jobs)
    return Sweep(Path(out), runs, run_now, tuple(failures))
