"""What differs between two sides: Traces, Profiles or studies."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from . import _native, _tables
from ._documents import from_document, to_document
from ._profile import Profile
from ._trace import Trace

if TYPE_CHECKING:
    import pandas
    import pyarrow


Comparable = Union[Trace, Profile, str, "os.PathLike[str]"]
"""One recording, Profile or study: the object, or its path."""


@dataclass(frozen=True)
class Change:
    """How a figure differs between two sides."""

    metric: str
    """The figure, such as `switches` or `switches.rate`."""
    unit: str
    """The unit of `old` and `new`: `ns`, `count`, `ratio`, `per-second`, `share` or `ns-per-ns`."""
    old: float
    """Median of the old runs."""
    new: float
    """Median of the new runs."""
    ratio: float | None
    """`new` over `old`; `None` where `old` is or may be 0."""
    ci_low: float | None
    """Lower end of the ratio's 95 % interval; `None` without repeats."""
    ci_high: float | None
    """Upper end of it."""
    p_holm: float | None
    """Probability of such a difference between like runs, corrected for the number of figures by Holm's method."""
    verdict: str
    """`worse`, `better`, `same`, when the whole interval is within the least change that matters, mostly 5 %, or `unclear`, when the runs do not
    decide."""
    reason: str | None
    """Why it says nothing."""


@dataclass(frozen=True)
class Difference:
    """How a figure of a task, a pair of tasks or a function differs."""

    task: str
    """The program: tasks by name, as their numbers differ between runs."""
    peer: str | None
    """The other program: the one that preempted, woke or ran in front."""
    function: str | None
    """The function in which the task was switched away from, where both sides have stacks."""
    metric: str
    """The figure."""
    unit: str
    """Its unit, as in `Change`."""
    old: float
    """Median of the old runs."""
    new: float
    """Median of the new runs."""
    difference: float
    """`new` less `old`."""
    ci_low: float | None
    """Lower end of the 95 % interval of the difference; `None` without repeats."""
    ci_high: float | None
    """Upper end of it."""
    share: float
    """The difference as a share of the larger side's sum of this figure."""


@dataclass(frozen=True)
class DiffSide:
    """One side."""

    files: tuple[str, ...]
    """Its files; empty for Profiles of this process."""
    runs: int
    """Its runs."""
    duration_ns: int | None
    """Length of the median recording; `None` for Profiles and studies."""
    caveats: tuple[dict[str, Any], ...]
    """What a reader has to know of its Profiles before the figures."""


@dataclass(frozen=True)
class LimitResult:
    """Whether a limit holds."""

    limit: str
    """As it was written."""
    holds: bool
    """Whether it holds."""
    change: Change | None
    """The figure that it was compared with; None where the limit is a verdict."""


@dataclass(frozen=True, repr=False)
class Diff:
    """What differs between two sides."""

    schema: str
    """Always `swtch/diff/1`."""
    verdict: str
    """The verdict of the figures that decide: `worse`, `better`, `same` or `unclear`."""
    answer: str
    """The verdict in a sentence."""
    amounts_per: str | None
    """What amounts are given for: `second` of what goes on, `run` of what ends; `None` for Profiles and studies."""
    old: DiffSide
    """The old side."""
    new: DiffSide
    """The new side."""
    changes: tuple[Change, ...]
    """The figures that both sides have, those that decide first."""
    who: tuple[Difference, ...]
    """Tasks, pairs of tasks and functions whose figures differ, those that explain most first."""
    circumstances: tuple[str, ...]
    """What else differs: machines, kernels, commands, settings. It may explain every change."""
    notes: tuple[str, ...]
    """What limits the figures."""
    limits: tuple[LimitResult, ...]
    """The limits of `fail_if`."""

    def __repr__(self) -> str:
        return f"<swtch.Diff: {self.answer}>"

    @property
    def fails(self) -> bool:
        """Whether a limit holds."""
        return any(limit.holds for limit in self.limits)

    def to_dict(self) -> dict[str, Any]:
        """The document as dicts, lists and plain values, as `swtch diff --json` prints it."""
        return dict(to_document(self))

    def to_arrow(self) -> pyarrow.Table:
        """The changes as an Arrow table, one row a figure. Needs `pip install 'swtch[arrow]'`."""
        return _tables.arrow(Change, self.changes)

    def to_pandas(self) -> pandas.DataFrame:
        """The changes as a DataFrame, one row a figure. Needs `pip install 'swtch[pandas]'`."""
        _tables.import_pandas()  # First, as its extra brings pyarrow too.
        return _tables.pandas_from_arrow(self.to_arrow())


def diff(
    old: Comparable | Sequence[Comparable],
    new: Comparable | Sequence[Comparable],
    *,
    fail_if: Sequence[str] = (),
) -> Diff:
    """What differs between two sides, as `swtch diff` says it: `swtch.diff("before.swtch", "after.swtch")`.

    Each side is a `Trace`, a `Profile` or a path, or a sequence of them: repeats, without which the verdict of Traces is `unclear`. All are of
    one kind. `fail_if` are limits of Traces such as `"switches > +5%"`, or verdicts such as `"worse"`; `Diff.fails` says whether one holds.

    Raises `UsageError` when the sides cannot be compared or a limit cannot be decided, `OSError`, `TraceError` and `ProfileError` as `Trace.load`
    and `Profile.load` do.
    """
    before, after = _side(old), _side(new)
    if any(isinstance(one, Profile) for one in [*before, *after]):
        profiles = [[_profile(one).to_json() for one in side] for side in (before, after)]
        document = _native.diff_profiles(profiles[0], profiles[1], list(fail_if))
    else:
        paths = [[_path(one) for one in side if not isinstance(one, Profile)] for side in (before, after)]
        document = _native.diff(paths[0], paths[1], list(fail_if))
    return from_document(Diff, json.loads(document))


def _side(given: Comparable | Sequence[Comparable]) -> list[Comparable]:
    side = [given] if isinstance(given, (Trace, Profile, str, os.PathLike)) else list(given)
    if not side:
        raise _native.UsageError("a side is empty; give at least one Trace, Profile or path of each")
    return side


def _profile(one: Comparable) -> Profile:
    if isinstance(one, Trace):
        raise _native.UsageError("Traces and Profiles cannot be compared with each other; give one kind")
    return one if isinstance(one, Profile) else Profile.load(one)


def _path(one: Trace | str | os.PathLike[str]) -> Path:
    return one.directory if isinstance(one, Trace) else Path(one)
