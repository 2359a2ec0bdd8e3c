"""What to change, in sentences, from measured summaries. Pure.

A sentence needs a difference that passes an exact rank-sum test at the 5 % level. The level is after Holm's correction for all comparisons
of the study (`comparisons`). No run on either side may be disturbed. Undecided comparisons are reported, with what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .comparisons import LEVEL, Test, comparable, of, repeats_needed, tests
from .figures import Estimate
from .objective import THROUGHPUT, Objective
from .settings import Settings
from .summarise import ENOUGH_RUNS, Summary

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
    """How many times better."""
    text: str
    """The sentence."""
    test: Test
    """How sure it is."""

    def to_document(self) -> dict[str, Any]:
        """As `swtch/study/2` has it."""
        gain = self.gain.to_document()
        return {
            "workload": dict(self.before.workload),
            "text": self.text,
            "from": self.before.settings.to_document(),
            "to": self.after.settings.to_document(),
            "ratio": {name: gain[name] for name in ("median", "ci_low", "ci_high")},
            "evidence": {
                "p_value": self.test.p_value,
                "p_adjusted": self.test.p_adjusted,
                "level": LEVEL,
                "comparisons": self.test.comparisons,
                "runs_from": self.before.runs,
                "runs_to": self.after.runs,
                "disturbed": self.before.disturbed + self.after.disturbed,
                "from": self.before.to_document(),
                "to": self.after.to_document(),
            },
        }


Pair = tuple[Summary, Summary, str]
"""Two settings of one workload, and the one thing that they differ in."""


def pairs_of(summaries: Sequence[Summary]) -> list[Pair]:
    """All comparisons of a study: settings that differ in one thing that can be chosen, threads, waiting, pinning or operators at once. Load
    (copies, quota, batch) is never part of a comparison."""
    found = []
    for place, one in enumerate(summaries):
        for other in summaries[:place]:
            what = difference(other.settings, one.settings) or difference(one.settings, other.settings)
            if one.workload["slug"] == other.workload["slug"] and what is not None:
                found.append((other, one, what))
    return found


def advise(summaries: Sequence[Summary], cpu_count: int) -> list[Advice]:
    """For each workload and load the change of each setting that gains most, of those that pass the test.

    cpu_count: CPUs that the workload may use.
    """
    best: dict[tuple[Any, ...], Advice] = {}
    pairs = [pair for pair in pairs_of(summaries) if comparable(pair[0]) and comparable(pair[1])]
    for (one, other, what), test in zip(pairs, tests([pair[:2] for pair in pairs])):
        found = _compared(one, other, what, test, cpu_count) or _compared(other, one, what, test, cpu_count)
        if found is None:
            continue
        load = found.before.settings
        key = (found.before.workload["slug"], what, load.co_located, load.cpu_quota, load.batch)
        if key not in best or found.gain.median > best[key].gain.median:
            best[key] = found
    return sorted(best.values(), key=lambda one: (one.before.workload["number"] or 0, -one.gain.median))


def undecided(summaries: Sequence[Summary]) -> list[str]:
    """Why settings could not be compared and what to do, a sentence for each reason; none without two settings that were run repeatedly."""
    pairs = [pair for pair in pairs_of(summaries) if min(one.runs for one in pair[:2]) >= ENOUGH_RUNS]
    involved = [one for one in summaries if any(one in pair[:2] for pair in pairs)]
    found = []
    met = [one for one in involved if one.disturbed]
    if met:
        runs, disturbed = sum(one.runs for one in met), sum(one.disturbed for one in met)
        found.append(
            f"{len(met)} of {len(involved)} settings cannot be compared: {disturbed} of their {runs} runs were disturbed "
            f"({met[0].interference}); run again when the machine is idle, or with CPUs that nothing else uses"
        )
    ready = [pair for pair in pairs if comparable(pair[0]) and comparable(pair[1])]
    needed = repeats_needed(len(ready)) if ready else 0
    fewest = min((len(one.samples["images_per_second"]) for pair in ready for one in pair[:2]), default=0)
    if ready and fewest < needed:
        found.append(
            f"{fewest} runs of each setting are too few to decide {of(len(ready))} at the {100 * LEVEL:.0f} % level; "
            f"--runs {needed} can"
        )
    return found


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


def _compared(
    before: Summary,
    after: Summary,
    what: str,
    test: Test,
    cpu_count: int,
    objective: Objective = THROUGHPUT,
) -> Advice | None:
    old, new = before.figures[objective.figure], after.figures[objective.figure]
    if old is None or new is None or not test.passed:
        return None
    gain = objective.gain(old, new)
    if gain is None or gain.median < WORTH:
        return None
    text = sentence(before, after, gain, what, cpu_count, objective)
    return Advice(before, after, gain, f"{text} ({test})", test)


def advise_pair(
    before: Summary, after: Summary, test: Test, objective: Objective = THROUGHPUT
) -> Advice | None:
    """The advice to change from one to the other, whatever they differ in; `None` when the test does not tell them apart."""
    return _compared(before, after, "", test, 0, objective)


def sentence(
    before: Summary,
    after: Summary,
    gain: Estimate,
    what: str,
    cpu_count: int,
    objective: Objective = THROUGHPUT,
) -> str:
    """The advice in words."""
    old, new = before.settings, after.settings
    if not what:
        return f"{old.label}: {new.label} gives {objective.better.format(gain.median)}{of_the_switches(before, after)}"
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
    return f"{subject}{cause}{changed} {verb} {objective.better.format(gain.median)}{of_the_switches(before, after)}"


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
    """What becomes of the median switches, where the runs of both do not overlap."""
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
