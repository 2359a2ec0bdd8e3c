"""Two Profiles side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from . import _tables
from ._documents import to_document

if TYPE_CHECKING:
    import pandas
    import pyarrow


Verdict = Literal["slower", "faster", "perhaps-slower", "perhaps-faster", "no-difference", "cannot-decide"]
"""What a comparison says of one figure."""


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
    """`new_ns` over `old_ns`; `None` where `verdict` is `"cannot-decide"`."""
    ratio_low: float | None
    """Lower end of the ratio's 95 % interval; positive."""
    ratio_high: float | None
    """Upper end of it."""
    p_holm: float | None
    """Probability of so large a difference between two runs that measure the same, corrected for the number of figures by
    Holm's method."""
    verdict: Verdict
    """`slower` and `faster`: the interval excludes 1, after the correction too. `perhaps-slower` and `perhaps-faster`: only
    before the correction. `no-difference`: it contains 1. `cannot-decide`: there is no interval."""
    reason: str | None
    """Why nothing can be decided."""


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        changed = sum(one.verdict in ("slower", "faster") for one in self.changes)
        return f"<swtch.Comparison: {changed} of {len(self.changes)} figures changed>"

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
