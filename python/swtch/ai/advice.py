"""What to change, in sentences, from measured summaries. Pure.

A sentence is only said when the runs of the two settings do not overlap, and there are at least three of each: that happens by chance among
alike ones in at most one case of ten (`figures.apart_confidence`). The confidence is in the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .figures import Estimate, apart_confidence, ratio
from .settings import Settings
from .summarise import Summary

ENOUGH_RUNS = 3
WORTH = 1.05
"""A gain below 5 % is not worth a sentence."""
_FRACTIONS = {
    2: "half",
    3: "a third",
    4: "a quarter",
    5: "a fifth",
    6: "a sixth",
    7: "a seventh",
    8: "an eighth",
    9: "a ninth",
    10: "a tenth",
}


@dataclass(frozen=True)
class Advice:
    """One thing to change."""

    before: Summary
    """As it is."""
    after: Summary
    """As it would be better."""
    gain: Estimate
    """How many times the throughput."""
    text: str
    """The sentence."""

    def to_document(self) -> dict[str, Any]:
        """As `swtch/study/1` has it."""
        gain = self.gain.to_document()
        return {
            "workload": dict(self.before.workload),
            "text": self.text,
            "from": self.before.settings.to_document(),
            "to": self.after.settings.to_document(),
            "ratio": {name: gain[name] for name in ("median", "ci_low", "ci_high")},
            "evidence": {
                "confidence": apart_confidence(self.before.runs, self.after.runs),
                "runs_from": self.before.runs,
                "runs_to": self.after.runs,
                "disturbed": self.before.disturbed + self.after.disturbed,
                "from": self.before.to_document(),
                "to": self.after.to_document(),
            },
        }


def advise(summaries: Sequence[Summary], cpu_count: int) -> list[Advice]:
    """For each workload and load the change of each setting that gains most, where the measurements leave no doubt.

    cpu_count: CPUs that the workload may use. Settings are compared that differ in one thing only: threads, waiting, pinning, or operators at once;
    load (copies, quota, batch) is never part of the comparison.
    """
    best: dict[tuple[Any, ...], Advice] = {}
    for before in summaries:
        for after in summaries:
            what = difference(before.settings, after.settings)
            if before.workload["slug"] != after.workload["slug"] or what is None:
                continue
            one = _compared(before, after, what, cpu_count)
            load = before.settings
            key = (before.workload["slug"], what, load.co_located, load.cpu_quota, load.batch)
            if one is not None and (key not in best or one.gain.median > best[key].gain.median):
                best[key] = one
    return sorted(best.values(), key=lambda one: (one.before.workload["number"] or 0, -one.gain.median))


def difference(one: Settings, other: Settings) -> str | None:
    """The one thing that both differ in, of those that can be chosen freely; `None` otherwise."""
    for name in ("threads", "spinning", "inter_op_threads", "scheduler"):
        if one != other and replace(one, **{name: getattr(other, name)}) == other:
            return name
    # Pinning follows the threads, so that those may differ with it.
    if one != other and replace(one, pinned=other.pinned) == other:
        return "pinned"
    if one.pinned and other.pinned and replace(one, pinned=other.pinned, threads=other.threads) == other:
        return "threads"
    return None


def _compared(before: Summary, after: Summary, what: str, cpu_count: int) -> Advice | None:
    slow, fast = before.figures["images_per_second"], after.figures["images_per_second"]
    if slow is None or fast is None or min(before.runs, after.runs) < ENOUGH_RUNS or not slow.below(fast):
        return None
    gain = ratio(fast, slow)
    if gain is None or gain.median < WORTH:
        return None
    return Advice(before, after, gain, sentence(before, after, gain, what, cpu_count))


def advise_pair(before: Summary, after: Summary) -> Advice | None:
    """The advice to change from one to the other, whatever they differ in; `None` when the measurements leave doubt."""
    return _compared(before, after, "", 0)


def sentence(before: Summary, after: Summary, gain: Estimate, what: str, cpu_count: int) -> str:
    """The advice in words."""
    old, new = before.settings, after.settings
    if not what:
        return f"{old.label}: {new.label} gives {gain.median:.1f} x the throughput{of_the_switches(before, after)}"
    subject = f"{_threads(old)} on {_cpus(old, cpu_count)}"
    if what != "threads":
        subject = f"{subject}, {_named(old, what)}"
    elif not old.spinning:
        subject = f"{subject}, blocking"
    if old.batch > 1:
        subject = f"{subject}, batch {old.batch}"
    if old.co_located > 1:
        subject = f"beside {_neighbours(old.co_located - 1)}, {subject}"
    wait = before.figures["wait_share_of_latency"]
    cause = f": {100 * wait.median:.0f} % of latency is run-queue wait; " if wait is not None else ": "
    changed = _threads(new) if what == "threads" else _named(new, what)
    # "2 threads give", "blocking gives".
    verb = "give" if what == "threads" and new.threads != 1 else "gives"
    return (
        f"{subject}{cause}{changed} {verb} {gain.median:.1f} x the throughput{of_the_switches(before, after)}"
    )


def fraction(share: float) -> str:
    """A share of something, as one says it.

    >>> fraction(0.17), fraction(0.5), fraction(0.86), fraction(3.2), fraction(0)
    ('a sixth of', 'half', '86 % of', '3.2 x', 'none of')
    """
    if share <= 0:
        return "none of"
    nearest = round(1 / share) if share < 1 else 1
    if nearest in _FRACTIONS and abs(1 / share - nearest) <= 0.15 * nearest:
        return "half" if nearest == 2 else f"{_FRACTIONS[nearest]} of"
    return f"{100 * share:.0f} % of" if share < 1 else f"{share:.1f} x"


def of_the_switches(before: Summary, after: Summary) -> str:
    """What becomes of the switches, where the intervals leave no doubt."""
    old, new = before.switches, after.switches
    if old is None or new is None:
        return ""
    apart = any(
        one is not None and other is not None and (one.below(other) or other.below(one))
        for one, other in (
            (before.figures[name], after.figures[name])
            for name in ("voluntary_per_inference", "involuntary_per_inference")
        )
    )
    if not apart:
        return ""
    if old < 1:
        return f", at {new:.0f} switches an inference instead of {old:.1f}"
    return f" and {fraction(new / old)} the switches"


def _cpus(settings: Settings, cpu_count: int) -> str:
    """Where it runs, of the CPUs that may be used."""
    if settings.cpu_quota is not None:
        return f"a quota of {settings.cpu_quota:g} CPU{'s' if settings.cpu_quota != 1 else ''}"
    lists = settings.cpu_lists
    count = cpu_count if lists is None else len({cpu for cpus in lists for cpu in cpus})
    return f"{count} CPU{'s' if count != 1 else ''}"


def _threads(settings: Settings) -> str:
    return f"{settings.threads} thread{'s' if settings.threads != 1 else ''}"


def _neighbours(count: int) -> str:
    return "a neighbour" if count == 1 else f"{count} neighbours"


def _named(settings: Settings, what: str) -> str:
    if what == "spinning":
        return "spinning" if settings.spinning else "blocking"
    if what == "pinned":
        return "unpinned" if settings.pinned is None else f"pinning to {settings.pinned}"
    if what == "scheduler":
        return f"the scheduler {settings.scheduler}"
    return f"{settings.inter_op_threads} operators at once"
