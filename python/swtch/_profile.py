"""The Profile: what a context switch costs on a machine."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native, _tables
from ._documents import from_document, to_document
from ._host import Host
from ._html import answer_and_table
from ._model import (
    Clock,
    Direct,
    Knee,
    Message,
    Noise,
    Provenance,
    Reference,
    References,
    Region,
    Ring,
    Total,
    Unavailable,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow

    from ._diff import Diff

TableName = Literal[
    "direct", "total", "ring", "regions", "knees", "messages", "references", "unavailable", "samples"
]
"""The tables of a Profile; `samples` are the batches behind the figures."""

ROWS: dict[str, type] = {
    "direct": Direct,
    "total": Total,
    "ring": Ring,
    "regions": Region,
    "knees": Knee,
    "messages": Message,
    "references": Reference,
    "unavailable": Unavailable,
}


@dataclass(frozen=True, repr=False)
class Profile:
    """What a context switch costs on one machine: every figure with its interval, its method and its circumstances.

    Measured by `swtch.measure`, read by `Profile.load`. Times are nanoseconds, sizes are bytes; what is not known is `None`.
    """

    schema: str
    """Always `swtch/profile/2`."""
    provenance: Provenance
    """How the figures came about."""
    host: Host
    """The machine."""
    clock: Clock
    """The clock the figures were taken with."""
    direct: tuple[Direct, ...]
    """Direct cost c1 by method, tasks, placement and class."""
    total: tuple[Total, ...]
    """Total cost c2 and indirect cost c2 - c1 by array size, stride and access."""
    ring: tuple[Ring, ...]
    """The ring of processes, as lmbench's `lat_ctx` has it."""
    regions: tuple[Region, ...]
    """The regions found in the curve of c2 over array size."""
    knees: tuple[Knee, ...]
    """Where the regions' borders agree with the caches the machine reports."""
    messages: tuple[Message, ...]
    """What a message through a pipe or a socket takes when no task has to be woken for it."""
    references: References
    """Other operations of the kernel, for scale."""
    noise: Noise
    """What disturbed the run."""
    unavailable: tuple[Unavailable, ...]
    """What could not be measured, and why."""
    samples: str | None
    """File name of the batches' raw samples (Parquet), in the directory of the Profile's file."""

    _batches: bytes | None = field(default=None, compare=False)
    """The samples of a Profile measured here, as a Parquet file."""
    _path: Path | None = field(default=None, compare=False)
    """The file this was read from."""

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Profile:
        """Reads a Profile that `swtch measure` or `save` wrote.

        Raises `OSError` (`FileNotFoundError` ...) when the file cannot be read and `ProfileError` when it is not a Profile of
        this version; the message names the file and the place.
        """
        return from_document(cls, json.loads(_native.load(path)), _path=Path(path))

    @classmethod
    def own(cls) -> Profile | None:
        """This machine's Profile, as `swtch measure` keeps it; `None` where there is none. Raises as `load`."""
        found = _native.own_profile()
        return None if found is None else from_document(cls, json.loads(found))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the Profile to `path` and its samples next to it as `NAME.samples.parquet`, each whole or not at all.
        A device or a pipe gets the Profile only.

        A Profile that was read without its samples (only the JSON was at hand) is written without. Raises `OSError` when the
        directory cannot be written to; the earlier files are then unchanged.
        """
        _native.save(self.to_json(), self._samples(), path)

    def to_dict(self) -> dict[str, Any]:
        """The Profile as dicts, lists and plain values, as in its file."""
        return dict(to_document(self))

    def to_json(self) -> str:
        """The Profile as a JSON text (`swtch/profile/2`)."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_arrow(self, table: TableName = "direct") -> pyarrow.Table:
        """One of the Profile's tables as an Arrow table: `direct`, `total`, `ring`, `regions`, `knees`, `messages`, `references`,
        `unavailable`, or `samples`, the batches behind the figures.

        An estimate becomes a column for each of its fields, e.g. `switch_cost_median_ns` and `switch_cost_cov`. Needs
        `pip install 'swtch[arrow]'`. Raises `UsageError` for an unknown table and `ProfileError` when there are no samples.
        """
        if table == "samples":
            return _tables.arrow_from_parquet(self._samples_or_why())
        if table not in ROWS:
            raise _native.UsageError(f"unknown table '{table}'; there are {', '.join(ROWS)}, samples")
        return _tables.arrow(ROWS[table], self._rows(table))

    def _rows(self, table: TableName) -> tuple[Any, ...]:
        if table != "references":
            return tuple(getattr(self, table))
        measured = {field.name: getattr(self.references, field.name) for field in fields(self.references)}
        return tuple(
            Reference(name.removesuffix("_ns"), value)
            for name, value in measured.items()
            if value is not None
        )

    def to_pandas(self, table: TableName = "direct") -> pandas.DataFrame:
        """One of the Profile's tables as a DataFrame: the tables and columns of `to_arrow`.

        Whole numbers are pandas' `Int64`, so that they stay whole where one is missing. Needs
        `pip install 'swtch[pandas]'`.
        """
        _tables.import_pandas()  # First, as its extra brings pyarrow too.
        return _tables.pandas_from_arrow(self.to_arrow(table))

    def compare(self, old: Profile) -> Diff:
        """What changed since `old`, and whether each change is larger than what one process and the next differ by: `swtch.diff(old, self)`."""
        from ._diff import diff  # It imports this module.

        return diff(old, self)

    def _samples(self) -> bytes | None:
        if self._batches is not None or self._path is None or self.samples is None:
            return self._batches
        try:
            # The name alone: a Profile from elsewhere must not choose a file outside its directory.
            return (self._path.parent / Path(self.samples).name).read_bytes()
        except FileNotFoundError:
            return None

    def _samples_or_why(self) -> bytes:
        samples = self._samples()
        if samples is not None:
            return samples
        if self._path is None or self.samples is None:
            raise _native.ProfileError(
                "this Profile has no samples; Profiles from swtch.measure and their saved files have them"
            )
        raise _native.ProfileError(
            f"{self._path} names its samples '{self.samples}', which are not next to it"
        )

    def __repr__(self) -> str:
        return f"<swtch.Profile: {self._answer()}>"

    def __str__(self) -> str:
        """What `swtch measure` prints."""
        return _native.summary(self.to_json())

    def _answer(self) -> str:
        return _native.summary(self.to_json()).split("\n\n", 1)[0].replace("\n", " ")

    def _repr_html_(self) -> str:
        """The answer and the direct costs, for a notebook."""
        heads = ("method", "tasks", "where", "class", "median", "95 % interval")
        return answer_and_table(self._answer(), heads, map(_cells, self.direct))

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Arrow's stream interface: the table `direct`. Needs `pip install 'swtch[arrow]'`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def _cells(row: Direct) -> tuple[str, ...]:
    cost = row.switch_cost_ns
    return (
        *(row.method, row.tasks, row.placement, row.class_),
        f"{cost.median:.0f} ns",
        f"{cost.ci_low:.0f} to {cost.ci_high:.0f} ns",
    )
