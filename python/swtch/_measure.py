"""The measurement."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from . import _native
from ._documents import from_document
from ._errors import Interrupted, UsageError
from ._profile import Profile


def measure(
    quick: bool = False,
    full: bool = False,
    *,
    methods: str | Iterable[str] | None = None,
    sizes: int | str | Iterable[int | str] | None = None,
    strides: int | str | Iterable[int | str] | None = None,
    accesses: str | Iterable[str] | None = None,
    placements: str | Iterable[str] | None = None,
    classes: str | Iterable[str] | None = None,
    precision: float | None = None,
    time_limit: float | None = None,
    max_array: int | str | None = None,
    seed: int | None = None,
    progress: Callable[[float, float, str], object] | None = None,
) -> Profile:
    """Measures what a context switch costs on this machine and returns its Profile.

    Takes up to 90 s; `quick` up to 10 s and 100 MB, `full` up to 15 min. Other Python threads keep running. Their
    work on the measured CPUs disturbs the figures and is flagged in them. What is left out, or `None`, is
    what the preset has.

    methods: how the tasks hand over, such as `pipe`; `swtch measure --help` lists the methods.
    sizes: array sizes of the total cost, in bytes or as text: `65536`, `"64K"`, `["64K", "1M"]`.
    strides: steps between the elements touched, in bytes or as text; multiples of 8.
    accesses: `read`, `write`, `read-modify-write`.
    placements: `same-cpu`, `smt-sibling`, `shared-l2`, `shared-l3`, `same-package`, `other-package`, `other-core-kind`,
        `unpinned`. One that this machine has not is listed, with the reason, in `Profile.unavailable`.
    classes: scheduling classes, `normal` and `fifo`.
    precision: a figure is done when the half-width of its 95 % interval is below this fraction of its median, e.g. 0.01.
    time_limit: seconds after which whatever is left is given up, at least 0.5.
    max_array: the largest array of the sweep, in bytes or as text.
    seed: of the random order of conditions; drawn from the time when left out.
    progress: called before each of the many short launches. It receives the fraction done (0 to 1), the seconds until
        the time limit, and what is measured next. What it raises ends the measurement and reaches the caller.

    Raises `UsageError` for a wish that cannot be met and `MeasureError` when nothing could be measured. Ctrl-C raises
    `Interrupted`, a `KeyboardInterrupt`, within a fraction of a second. Its `profile` holds what was complete.

    >>> profile = swtch.measure(methods="pipe", placements="same-cpu", time_limit=2)
    >>> {row.method for row in profile.direct}
    {'pipe'}
    """
    if quick and full:
        raise UsageError("quick and full exclude each other; give one of them")
    overrides = {
        "preset": "quick" if quick else "full" if full else "default",
        "methods": _listed(methods),
        "sizes": _listed(sizes),
        "strides": _listed(strides),
        "accesses": _listed(accesses),
        "placements": _listed(placements),
        "classes": _listed(classes),
        "precision": precision,
        "time_limit_s": time_limit,
        "max_array": max_array,
        "seed": seed,
    }
    documents, stopped_by = _native.measure(overrides, progress)
    profile = None
    if documents is not None:
        document, batches = documents
        profile = from_document(Profile, json.loads(document), _batches=batches)
    if isinstance(stopped_by, KeyboardInterrupt):
        raise Interrupted(profile) from None
    if stopped_by is not None:
        raise stopped_by
    # Without an exception there are always documents: the native function raises when nothing could be measured.
    assert profile is not None
    return profile


def _listed(wish: Any) -> list[Any] | None:
    """One value, several, or as the command line has them: `pipe,futex`."""
    if isinstance(wish, str):
        return wish.split(",")
    return wish if wish is None else list(wish) if isinstance(wish, Iterable) else [wish]
