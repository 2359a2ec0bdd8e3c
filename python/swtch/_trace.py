"""The Trace: what ran where and when, recorded, imported or simulated."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from . import _native, _tables
from ._documents import from_document
from ._host import Host
from ._html import answer_and_table
from ._profile import Profile
from ._trace_model import (
    Bill,
    Lost,
    ProbedRefill,
    Reconciliation,
    RecorderCost,
    Sampled,
    Scope,
    TableFiles,
    Totals,
    TraceProvenance,
    Unavailable,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

TraceTable = Literal[
    "switches",
    "tasks",
    "cpus",
    "cgroups",
    "wakes",
    "preemptions",
    "waits",
    "interrupts",
    "interruptions",
    "intervals",
    "stacks",
    "histograms",
]
"""A table of a Trace."""
SHOWN = 8
"""Tasks that a notebook shows."""


class Table(Mapping[str, "list[Any]"]):
    """A table of a Trace, column by column: a mapping of the columns' names to lists, one value a row.

    `docs/formats.md` of the project says what each column is; `None` is unavailable. The table is read when it is first looked into.
    """

    def __init__(self, trace: Trace, name: str) -> None:
        self.name = name
        """Its name."""
        self._trace = trace

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        return self._trace._native.columns(self.name)

    def __getitem__(self, column: str) -> list[Any]:
        return self._columns[column]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def rows(self) -> list[dict[str, Any]]:
        """The table row by row, each a dict."""
        return [dict(zip(self, values)) for values in zip(*self.values())]

    def to_arrow(self) -> pyarrow.Table:
        """The table as Arrow. Needs `pip install 'swtch[arrow]'`."""
        return _tables.arrow_from_parquet(self._trace._native.parquet(self.name))

    def to_pandas(self) -> pandas.DataFrame:
        """The table as a DataFrame. Needs `pip install 'swtch[pandas]'`."""
        _tables.import_pandas()  # First, as its extra brings pyarrow too.
        return _tables.pandas_from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream interface: Polars, DuckDB and others take the table as it is. Needs `pip install 'swtch[arrow]'`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        rows = next((one.rows for one in self._trace.files if one.name == self.name), 0)
        return f"<swtch.Table: {self.name}, {rows} rows>"


class Trace:
    """What ran where and when: of a recording, another tool's file or a simulation.

    Written by `swtch.record` and `swtch.simulate`, read by `Trace.load`. Times are nanoseconds; what is not known is `None` and has its reason
    in `unavailable`.
    """

    def __init__(self, native: _native.Trace, keep: object = None) -> None:
        # An object that holds a Trace in a temporary directory holds the directory too.
        self._native, self._keep = native, keep
        header = json.loads(native.header())
        self.provenance = from_document(TraceProvenance, header["provenance"])
        """How it came about."""
        self.host = from_document(Host, header["host"])
        """The machine, real or simulated."""
        self.scope = from_document(Scope, header["scope"])
        """What was recorded."""
        self.exit_status: int | None = header["exit_status"]
        """Exit status of the command, 128 plus the number for a signal; `None` without one, or when it had not ended."""
        probed = header.get("probed")
        self.probed = None if probed is None else from_document(ProbedRefill, probed)
        """What `swtch probe` found for this command before; `None` where it has not been probed on this machine."""
        self.duration_ns: int = header["duration_ns"]
        """Length of the recording."""
        self.totals = from_document(Totals, header["totals"])
        """Sums over the whole run."""
        self.reconciliation = tuple(from_document(Reconciliation, one) for one in header["reconciliation"])
        """The recorder's counts next to the kernel's."""
        self.lost = tuple(from_document(Lost, one) for one in header["lost"])
        """Events that were lost; empty when none were."""
        self.sources: dict[str, str] = header["sources"]
        """Where each column came from, such as `tasks.wait_ns` from `bpf`."""
        sampled = header.get("sampled", {}).items()
        self.sampled = {figure: from_document(Sampled, one) for figure, one in sampled}
        """The figures that are estimates from windows of time, such as `totals.switch_cost_ns`; empty where every switch was seen."""
        self.recorder = from_document(RecorderCost, header["recorder"])
        """What recording itself took."""
        self.unavailable = tuple(from_document(Unavailable, one) for one in header["unavailable"])
        """What could not be recorded, and why."""
        self.files = tuple(from_document(TableFiles, one) for one in header["tables"])
        """The existing tables, and their Parquet files in the directory."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Trace:
        """Reads the Trace in a directory; its switches stay on the disk until they are asked for.

        Raises `OSError` (`FileNotFoundError` ...) when the directory cannot be read and `TraceError` when it is not a Trace of this version, is
        damaged, or has a figure that cannot be true.
        """
        return cls(_native.Trace.load(path))

    @property
    def directory(self) -> Path:
        """The directory that it is in. That of a recording without `out` is temporary, and goes with this object: `save` keeps it."""
        return Path(self._native.directory)

    @property
    def header(self) -> dict[str, Any]:
        """The header as in its file, `swtch/trace/3`."""
        return dict(json.loads(self._native.header()))

    def table(self, name: TraceTable) -> Table:
        """One of the tables; without rows where this Trace has none of that name.

        Raises `UsageError` for a name that no table has.
        """
        if name not in _TABLES:
            raise _native.UsageError(f"unknown table '{name}'; there are {', '.join(_TABLES)}")
        return Table(self, name)

    @property
    def tables(self) -> dict[str, Table]:
        """The existing tables, by name."""
        return {one.name: Table(self, one.name) for one in self.files}

    @property
    def switches(self) -> Table:
        """The switches, one by one, in the order of their times.

        Looking into it raises `TraceError` where single switches were not recorded.
        """
        return Table(self, "switches")

    @property
    def tasks(self) -> Table:
        """The tasks, and what each did and paid."""
        return Table(self, "tasks")

    @property
    def cpus(self) -> Table:
        """The CPUs."""
        return Table(self, "cpus")

    @property
    def cgroups(self) -> Table:
        """The cgroups, with their names."""
        return Table(self, "cgroups")

    @property
    def wakes(self) -> Table:
        """Wake-ups by pair of tasks, the most frequent first."""
        return Table(self, "wakes")

    @property
    def preemptions(self) -> Table:
        """Preemptions by pair of tasks, the most frequent first."""
        return Table(self, "preemptions")

    @property
    def waits(self) -> Table:
        """Waits of each task by what had the CPU meanwhile, the longest first."""
        return Table(self, "waits")

    @property
    def interrupts(self) -> Table:
        """Interrupts by line."""
        return Table(self, "interrupts")

    @property
    def interruptions(self) -> Table:
        """Time in interrupts, CPU by CPU and over time."""
        return Table(self, "interruptions")

    @property
    def stacks(self) -> Table:
        """Stacks of tasks that switched or woke others; empty without `stacks=True`."""
        return Table(self, "stacks")

    @property
    def intervals(self) -> Table:
        """The run over time."""
        return Table(self, "intervals")

    @property
    def histograms(self) -> Table:
        """Distributions of waits, slices and costs."""
        return Table(self, "histograms")

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream interface: the table `tasks`. Needs `pip install 'swtch[arrow]'`."""
        return self.tasks.__arrow_c_stream__(requested_schema)

    def bill(
        self,
        profile: Profile | str | os.PathLike[str] | None = None,
        *,
        price: str | None = None,
    ) -> Bill:
        """What the switches cost: the figures of `swtch report` and of `swtch record --json`.

        profile: a Profile, or its file, by which they are priced; this machine's, where it has one, when left out. Nothing is measured.
        price: money too, from what a vCPU costs, such as `"0.05/vcpu-hour"`.
        """
        if profile is not None and not isinstance(profile, Profile):
            profile = Profile.load(profile)
        document = self._native.bill(None if profile is None else profile.to_json(), price)
        return from_document(Bill, json.loads(document))

    @property
    def spans_file(self) -> Path:
        """The place of the spans that were recorded with this Trace: beside it. Without spans there is no file."""
        return self.directory.with_suffix(".spans.jsonl")

    def why(
        self,
        span: str | None = None,
        *,
        slowest: float = 0.01,
        spans: str | os.PathLike[str] | None = None,
    ) -> dict[str, Any]:
        """What made the slowest spans slow: the document of `swtch why --json`.

        span: the name of the spans; those whose slow ones took most time beyond the ordinary when left out.
        slowest: the share of them that counts as slow, 0 to 1.
        spans: the file of the spans; `spans_file` when left out.

        Raises `TraceError` where there are no spans or no single switches, and `UsageError` for a name that no span has.
        """
        file = self.spans_file if spans is None else Path(spans)
        return dict(json.loads(self._native.why(file, span, slowest)))

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Copies the Trace to a new directory, whole or not at all, and its spans beside it; returns where it is.

        Raises `FileExistsError` where something is, and `OSError` when it cannot be written.
        """
        target = Path(path).absolute()
        if os.path.lexists(target):
            raise FileExistsError(f"cannot write a Trace to {path}: it exists; choose another name")
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as beside:
            copied = shutil.copytree(self.directory, Path(beside) / target.name)
            os.rename(copied, target)
        if self.spans_file.exists():
            shutil.copy(self.spans_file, target.with_suffix(".spans.jsonl"))
        return target

    def __repr__(self) -> str:
        return f"<swtch.Trace: {self.answer}>"

    def __str__(self) -> str:
        """What `swtch record` prints."""
        return self._native.text()

    def _repr_html_(self) -> str:
        """The answer and the tasks with most switches, for a notebook."""
        rows = [row for row in self.tasks.rows() if row["in_scope"]]
        rows.sort(key=lambda row: -(row["voluntary"] + row["involuntary"]))
        heads = ("task", "tid", "CPU time ms", "voluntary", "involuntary", "waited ms")
        cells = (
            (
                *(row["comm"], row["tid"], f"{row['run_ns'] / 1e6:.1f}"),
                *(row["voluntary"], row["involuntary"], f"{row['wait_ns'] / 1e6:.1f}"),
            )
            for row in rows[:SHOWN]
        )
        return answer_and_table(self.answer, heads, cells)

    @property
    def answer(self) -> str:
        """The first line of what `swtch record` prints: what the switches cost."""
        return self._native.text().split("\n", 1)[0].rstrip(":")


_TABLES: tuple[str, ...] = get_args(TraceTable)
