"""What `swtch ai tune` makes best: throughput, the 99th percentile of latency, or CPU time. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .figures import Estimate, ratio


@dataclass(frozen=True)
class Objective:
    """A figure of a run that is to be as large or as small as possible."""

    name: str
    """On the command line."""
    figure: str
    """Its name in `summarise.FIGURES`."""
    smaller: bool
    """Whether less is better."""
    best: str
    """What the best settings are called."""
    unit: str
    """What stands behind a figure of it."""
    scale: float
    """What a figure is divided by before it is printed."""
    better: str
    """What better settings give; `{}` is how many times better they are."""
    default: str
    """How the default compares with the best; `{}` likewise."""

    def shown(self, of: Estimate, runs: int) -> str:
        """A figure with its interval and the number of runs behind it."""
        median, low, high = (value / self.scale for value in (of.median, of.ci_low, of.ci_high))
        return f"{median:.3g} {self.unit} ({low:.3g} to {high:.3g}, {runs} runs)"

    def gain(self, before: Estimate, after: Estimate) -> Estimate | None:
        """How many times better the second is; `None` when a figure may be 0."""
        return ratio(before, after) if self.smaller else ratio(after, before)


THROUGHPUT = Objective(
    "throughput",
    "images_per_second",
    False,
    "Fastest setting tried",
    "a second",
    1.0,
    "{:.1f} x the throughput",
    "{:.2f} x the default",
)
P99 = Objective(
    "p99",
    "latency_p99_ns",
    True,
    "Setting with the lowest p99 tried",
    "ms p99",
    1e6,
    "a p99 {:.1f} times shorter",
    "{:.2f} times shorter than the default",
)
COST = Objective(
    "cost",
    "cpu_ns_per_inference",
    True,
    "Cheapest setting tried",
    "ms of CPU time an inference",
    1e6,
    "{:.1f} times less CPU time an inference",
    "{:.2f} times less than the default",
)
OBJECTIVES: Mapping[str, Objective] = {one.name: one for one in (THROUGHPUT, P99, COST)}
"""By their names on the command line."""
