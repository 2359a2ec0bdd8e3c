"""Shares of fast cores on asymmetric machines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._documents import from_document, to_document

Policy = Literal[
    "max-fair",
    "max-perf",
    "min-fair",
    "similar-min-fair",
    "uni-fair",
    "r-fair",
    "guaranteed",
    "scaled-load",
    "equal-speedup",
    "equal-slowdown",
]
"""How fast cores are shared."""


@dataclass(frozen=True, repr=False)
class Shares:
    """The share of the fast cores that each application gets, and what that achieves."""

    schema: str
    """Always `swtch/shares/1`."""
    policy: str
    """The policy."""
    fast: int
    """Fast cores."""
    slow: int
    """Slow cores."""
    speedups: tuple[float, ...]
    """Speed of each application on a fast core over that on a slow one."""
    shares: tuple[float, ...]
    """Of its own CPU time, what each application spends on fast cores."""
    performance: tuple[float, ...]
    """What each achieves, relative to max-fair."""
    required: tuple[float, ...]
    """The share that the guarantee takes for each; all 0 where the policy has none."""
    throughput: float
    """Mean performance."""
    min_fairness: float
    """Least performance."""
    uniformity: float
    """1 less the coefficient of variation of the performances."""
    mix: float | None
    """The part of the throughput allocation in its mix with max-fair; of `uni-fair` and `guaranteed`."""
    sequence: str | None
    """The first intervals, `P` for max-perf and `f` for max-fair; of `guaranteed`."""
    weights: tuple[float, ...] | None
    """The weight of each application, where weights or threads were given."""
    threads: tuple[int, ...] | None
    """The threads of each application, likewise."""
    cpus: tuple[float, ...] | None
    """The CPU time that each is entitled to, in cores, likewise."""
    equal_shares: tuple[float, ...] | None
    """The share that each is entitled to, likewise."""

    def __repr__(self) -> str:
        return f"<swtch.Shares: {self.policy}, throughput {self.throughput:.3g}, min-fairness {self.min_fairness:.3g}>"

    def to_dict(self) -> dict[str, Any]:
        """The document that `swtch shares --json` prints, as dicts, lists and plain values."""
        return dict(to_document(self))


def shares(
    fast: int,
    slow: int,
    speedups: Iterable[float],
    policy: Policy = "min-fair",
    *,
    min_fairness: float | None = None,
    similarity: float | None = None,
    published: bool | None = None,
    uniformity: float | None = None,
    r: float | None = None,
    variant: Literal["greedy", "mix"] | None = None,
    threshold: float | None = None,
    intervals: int = 20,
    ddof: Literal[0, 1] = 1,
    weights: Iterable[float] | None = None,
    threads: Iterable[int] | None = None,
) -> Shares:
    """Shares out the fast cores of a machine among applications that always could run.

    fast, slow: how many cores there are of each kind.
    speedups: of each application, its speed on a fast core over that on a slow one; below 1 counts as 1.
    min_fairness: what each keeps of its performance under max-fair (`min-fair`, `similar-min-fair`: 0.85; `uni-fair`: 0).
    similarity, published: speedups that differ by less than `similarity` (0.2) are similar; as published, sharing alike among
        them may break the guarantee (`similar-min-fair`).
    uniformity: the least uniformity, 0.85 (`uni-fair`).
    r, variant: the part that is shared alike, 0.5, and how the rest is handed out (`r-fair`).
    threshold, intervals: the least uniformity, 0.85, and how many first intervals are worked out (`guaranteed`).
    ddof: whether deviations are divided by n (0, as the published controller does) or by n - 1 (1, as the published figures).
    weights: the weight of each application, which its threads share; without them an application weighs as much as it has threads. CPU
        time goes by weight. `max-fair` then is what each is entitled to by its weight, and performance is relative to that.
    threads: how many threads each application has, 1 without them; each uses one core at most.

    Raises `UsageError` for what cannot be shared.

    >>> found = swtch.shares(1, 2, [3, 2.9, 1.5], min_fairness=0.85)
    >>> [round(share, 6) for share in found.shares]
    [0.795614, 0.204386, 0.0]
    """
    asking = {
        "fast": fast,
        "slow": slow,
        "speedups": list(speedups),
        "policy": policy,
        "min_fairness": min_fairness,
        "similarity": similarity,
        "published": published,
        "uniformity": uniformity,
        "r": r,
        "variant": variant,
        "threshold": threshold,
        "intervals": intervals,
        "ddof": ddof,
        "weights": None if weights is None else list(weights),
        "threads": None if threads is None else list(threads),
    }
    return from_document(Shares, json.loads(_native.shares(asking)))
