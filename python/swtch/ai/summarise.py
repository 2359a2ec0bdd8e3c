"""From runs to summaries: each workload under each of its settings, with intervals over repeats. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .figures import Estimate, estimate
from .settings import Settings, from_document

ENOUGH_RUNS = 3
"""With this many undisturbed runs the disturbed ones are left out."""

FIGURES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "images_per_second": lambda run: run["images_per_second"],
    "latency_p50_ns": lambda run: (run["latency_ns"] or {}).get("p50"),
    "latency_p99_ns": lambda run: (run["latency_ns"] or {}).get("p99"),
    "voluntary_per_inference": lambda run: run["per_inference"]["voluntary"],
    "involuntary_per_inference": lambda run: run["per_inference"]["involuntary"],
    "interrupts_per_inference": lambda run: run["per_inference"]["interrupts"],
    "cpu_ns_per_inference": lambda run: run["per_inference"]["cpu_ns"],
    "wait_share_of_latency": lambda run: run["wait_share_of_latency"],
}
"""The figures to summarise, and their places in a run."""


@dataclass(frozen=True)
class Summary:
    """A workload under some settings."""

    workload: Mapping[str, Any]
    """As the runs have it."""
    settings: Settings
    """How it ran."""
    runs: int
    """Number of runs behind the figures."""
    disturbed: int
    """How many of those others disturbed."""
    figures: Mapping[str, Estimate | None] = field(default_factory=dict)
    """By the names in `FIGURES`; `None` for what no run has."""
    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    """The figures of each run behind them, by the names in `FIGURES`; of those runs that have one."""
    interference: str = ""
    """The disturbances of those runs, in words; empty without one."""

    @property
    def switches(self) -> float | None:
        """Voluntary and involuntary switches an inference, medians."""
        voluntary, involuntary = (
            self.figures["voluntary_per_inference"],
            self.figures["involuntary_per_inference"],
        )
        return None if voluntary is None or involuntary is None else voluntary.median + involuntary.median

    def to_document(self) -> dict[str, Any]:
        """As `swtch/study/2` has it."""
        figures = {name: None if one is None else one.to_document() for name, one in self.figures.items()}
        return {
            "workload": dict(self.workload),
            "settings": self.settings.to_document(),
            "runs": self.runs,
            "disturbed": self.disturbed,
            **figures,
        }


def summarise(runs: Sequence[Mapping[str, Any]]) -> list[Summary]:
    """A summary for each workload and settings that have a complete run, in the order of the first of each.

    Runs that others disturbed are left out where at least three undisturbed ones are left.
    """
    groups: dict[tuple[str, Settings], list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["outcome"] == "complete" and run["inferences"]:
            groups.setdefault((run["workload"]["slug"], from_document(run["settings"])), []).append(run)
    return [_summary(settings, group) for (_, settings), group in groups.items()]


def _summary(settings: Settings, group: Sequence[Mapping[str, Any]]) -> Summary:
    calm = [run for run in group if run["disturbed"] is None]
    used = calm if len(calm) >= ENOUGH_RUNS else group
    samples = {
        name: tuple(value for value in map(get, used) if value is not None) for name, get in FIGURES.items()
    }
    figures = {name: estimate(values) for name, values in samples.items()}
    disturbed = sum(run["disturbed"] is not None for run in used)
    return Summary(group[0]["workload"], settings, len(used), disturbed, figures, samples, interference(used))


def interference(runs: Sequence[Mapping[str, Any]]) -> str:
    """What others and a hypervisor took in the disturbed ones of some runs, in words: medians. Empty when none was disturbed.

    >>> interference([{"disturbed": "x", "cpu": {"foreign_ns": 94, "steal_ns": 6, "window_ns": 100, "cpu_count": 2}}])
    'others used 47 % of the CPUs, the hypervisor took 3 %'
    """
    met = [run for run in runs if run["disturbed"] is not None]
    told = [run["cpu"] for run in met if (run.get("cpu") or {}).get("window_ns")]
    parts = []
    for name, words in (
        ("foreign_ns", "others used {:.0f} % of the CPUs"),
        ("steal_ns", "the hypervisor took {:.0f} %"),
    ):
        shares = [cpu[name] / (cpu["window_ns"] * cpu["cpu_count"]) for cpu in told if cpu[name] is not None]
        median = estimate(shares)
        if median is not None and median.median >= 0.005:
            parts.append(words.format(100 * median.median))
    return ", ".join(parts) if parts or not met else "others used the CPUs"
