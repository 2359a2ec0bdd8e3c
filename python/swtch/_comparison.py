"""Two Profiles side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _tables
from ._documents import to_document

if TYPE_CHECKING:
    import pandas
    import pyarrow


@dataclass(frozen=True)
class Change:
    """One figure that both Profiles have."""

    what: str
    """Which figure."""
    old_ns: float
    """Its median then, ns."""
    new_ns: float
    """Its median now, ns."""
    ratio: float | None
    """Now over then, from the medians of each fresh process; `None` with fewer than three processes on a side."""
    ratio_low: float | None
    """Lower end of the ratio's 95 % interval."""
    ratio_high: float | None
    """Upper end of it."""
    larger_than_noise: bool | None
    """Whether the change is larger than the noise between processes; `None` when that cannot be said."""


@dataclass(frozen=True)
class Comparison:
    """Two Profiles set side by side."""

    changes: tuple[Change, ...]
    """The figures both have."""
    only_old: tuple[str, ...]
    """Figures that only the old one has."""
    only_new: tuple[str, ...]
    """Figures that only the new one has."""
    circumstances: tuple[str, ...]
    """What differs between the machines or their settings: a difference here may explain every change above."""

    def to_dict(self) -> dict[str, Any]:
        """The comparison as dicts, lists and plain values, as `swtch measure --compare OLD --json` prints it."""
        return dict(to_document(self))

    def to_arrow(self) -> pyarrow.Table:
        """The changes as an Arrow table, one row a figure. Needs `pip install 'swtch[arrow]'`."""
        return _tables.arrow(Change, self.changes)

    def to_pandas(self) -> pandas.DataFrame:
        """The changes as a DataFrame, one row a figure. Needs `pip install 'swtch[pandas]'`."""
        _tables.import_pandas()  # First, as its extra brings pyarrow too.
        return _tables.pandas_from_arrow(self.to_arrow())
