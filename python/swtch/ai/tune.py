"""`swtch ai tune`: the best settings of a workload on this machine, with the evidence.

Successive halving (Jamieson and Talwalkar, 2016). Many settings are run briefly, the better half again and longer, until a few are left.
Those, and the runtime's default, are then measured with repeats that take turns, and only those decide.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .._errors import CommandError, WrongUsage
from .._machine import Usable, host, usable
from .._options import seconds
from . import scheduler, vm
from .advice import Advice, advise_pair, of_the_switches
from .catalogue import Model
from .comparisons import LEVEL, Test, comparable, of, tests
from .objective import OBJECTIVES, P99, THROUGHPUT, Objective
from .one_run import Job
from .run import add_common, add_own, conclude, make_plan, named
from .settings import Settings, from_document
from .study import Study, announce, need_models
from .subject import Subject, of_program
from .summarise import Summary, summarise
from .sweep import Forecast, Grid, jobs

DURATION_S = 4.0
REPEATS = 5
"""Of each finalist: with five, the six comparisons of four settings can pass the 5 % level."""
FINALISTS = 3
SEARCH_REPEATS = 2
_FIRST_SHARE = 0.25
"""Of the duration, for the first round; every round after it doubles."""

_EXAMPLES = """\
examples:
  swtch ai tune resnet-50-v2
  swtch ai tune mobilenet-v2 --duration 2s --runs 5 --json
  swtch ai tune -- ./my-workload --threads {threads}
  swtch ai tune model.onnx --objective p99
  swtch ai tune model.onnx --objective cost --latency-limit 50ms
  swtch ai tune mobilenet-v2 --policies stock,flsched

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser = commands.add_parser(
        "tune",
        help="find the best threads, waiting and pinning for a model, with the evidence",
        description="Search for the threads, spinning, pinning and (if named) schedulers with the most images a second, and report how certain the result is.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "model", nargs="?", metavar="MODEL", help="a number or a name from `swtch ai list`, or an ONNX file"
    )
    add_own(parser.add_argument)
    parser.add_argument(
        "--policies",
        default=scheduler.STOCK,
        metavar="NAME,...",
        help="stock and schedulers from `swtch sched list`, each for the workload's cgroup only. "
        "Without sched_ext in the kernel, models run under them in a virtual machine. [default: stock]",
    )
    parser.add_argument(
        "--whole-machine",
        action="store_true",
        help="if no cgroup can be created, let the scheduler schedule every task of the machine while the workload runs",
    )
    parser.add_argument(
        "--objective",
        choices=sorted(OBJECTIVES),
        default=THROUGHPUT.name,
        help="what to make best: images a second, the 99th percentile of latency, or CPU time an inference [default: throughput]",
    )
    parser.add_argument(
        "--latency-limit",
        type=seconds,
        metavar="TIME",
        help="take only settings whose 99th percentile of latency is within this, e.g. 50ms",
    )
    parser.add_argument("--no-vm", action="store_true", help="skip schedulers that this kernel cannot load")
    add_common(parser, DURATION_S, REPEATS)
    parser.renamed(schedulers="--policies")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Searches; returns the exit status."""
    subject = _subject(options)
    if subject.by_worker:
        need_models(options.device)
    may_use = usable(host())
    plan = replace(make_plan(options, DURATION_S), whole_machine=options.whole_machine)
    study = Study(plan, options.words, options.name, subject.by_worker, options.seed)
    # The finalists are compared by fresh runs only; those of the search have chosen them.
    study.advises = False
    default = Settings(threads=may_use.cpu_count, device=options.device)
    names, for_vm = _schedulers(options, subject, study)
    candidates = candidates_of(may_use, options.device, names)
    repeats = options.runs or REPEATS
    announce(
        planned(subject, candidates, repeats), Forecast(plan.duration_s, may_use.cpu_count), plan.directory
    )
    objective, limit_ns = OBJECTIVES[options.objective], _limit_ns(options)
    finalists = search(study, subject, candidates, objective, limit_ns)
    final = list(dict.fromkeys([*finalists, default]))
    if not study.interrupted:
        begun = len(study.runs)
        study.run([_tagged(job, ".final") for job in jobs([subject], final, repeats, options.seed)])
        found = verdict(summarise(study.runs[begun:]), default, objective, limit_ns)
        if found is not None:
            study.document["tuned"] = found
            to = sys.stderr if options.json else sys.stdout
            print(found["text"], file=to)
            if for_vm and found["best"] is not None and not study.interrupted and subject.model is not None:
                best = from_document(found["best"]["settings"])
                found["in_vm"] = _in_vm(subject.model, best, for_vm, options.seed, study)
                if found["in_vm"] is not None:
                    print(found["in_vm"]["text"], file=to)
    return conclude(study, options.json)


def _limit_ns(options: argparse.Namespace) -> float | None:
    return None if options.latency_limit is None else options.latency_limit * 1e9


def candidates_of(may_use: Usable, device: str, schedulers: Sequence[str]) -> list[Settings]:
    """Everything worth a try: powers of two up to twice the CPUs, spinning or not, pinned or not, under each scheduler."""
    cpus = may_use.cpu_count
    threads = {1, cpus, 2 * cpus} | {1 << power for power in range(cpus.bit_length())}
    pins = ("none", "spread") if len(may_use.cpus) > 1 else ("none",)
    grid = Grid(tuple(sorted(threads)), spin=(True, False), pin=pins, device=device)
    every = grid.settings(may_use)
    # Pinning to all CPUs pins nothing, and pinning more threads than CPUs adds nothing but contention.
    useful = [one for one in every if one.pinned is None or one.threads < len(may_use.cpus)]
    return [Settings(**{**one.to_document(), "scheduler": name}) for name in schedulers for one in useful]


def rounds_of(count: int) -> list[int]:
    """How many settings each round of the search has.

    >>> rounds_of(12)
    [12, 6]
    """
    found = []
    while count > FINALISTS:
        found.append(count)
        count = max(FINALISTS, (count + 1) // 2)
    return found


def planned(subject: Subject, candidates: Sequence[Settings], repeats: int) -> list[Job]:
    """As many runs as there will be, for the forecast."""
    search_runs = [Job(subject, candidates[i]) for size in rounds_of(len(candidates)) for i in range(size)]
    search_runs *= SEARCH_REPEATS
    final = list(candidates[:FINALISTS]) + [candidates[0]]
    return search_runs + [Job(subject, one) for one in final for _ in range(repeats)]


def search(
    study: Study,
    subject: Subject,
    candidates: Sequence[Settings],
    objective: Objective = THROUGHPUT,
    limit_ns: float | None = None,
) -> list[Settings]:
    """Halves the candidates until a few are left; returns those, best first."""
    left = list(candidates)
    plan = study.plan
    for number, _ in enumerate(rounds_of(len(candidates))):
        duration_s = min(plan.duration_s, plan.duration_s * _FIRST_SHARE * 2**number)
        begun = len(study.runs)
        study.plan = plan.lasting(duration_s)
        # The repeats take turns, each time in another order, so that no setting has the advantage of being first.
        turn = jobs([subject], left, SEARCH_REPEATS, seed=number)
        study.run([_tagged(job, f".search{number}") for job in turn])
        ranked = rank(summarise(study.runs[begun:]), objective, limit_ns)
        left = [one.settings for one in ranked][: max(FINALISTS, (len(left) + 1) // 2)]
        if study.interrupted or not left:
            break
    study.plan = plan
    return left


def rank(
    summaries: Sequence[Summary], objective: Objective = THROUGHPUT, limit_ns: float | None = None
) -> list[Summary]:
    """By the objective, best first; among equals those with fewer switches. Those above the limit of latency come last, by their latency."""

    def key(one: Summary) -> tuple[bool, float, float]:
        late = _above(one, limit_ns)
        found = one.figures[P99.figure if late else objective.figure]
        sign = 1.0 if late or objective.smaller else -1.0
        return (late, math.inf if found is None else sign * found.median, one.switches or 0.0)

    return sorted(summaries, key=key)


def _above(one: Summary, limit_ns: float | None) -> bool:
    """Whether its 99th percentile is not known to keep the limit: half of its runs are above it."""
    p99 = one.figures[P99.figure]
    return limit_ns is not None and (p99 is None or p99.median > limit_ns)


def verdict(
    summaries: Sequence[Summary],
    default: Settings,
    objective: Objective = THROUGHPUT,
    limit_ns: float | None = None,
) -> dict[str, Any] | None:
    """The best of the finalists, against the default: a sentence, and what it rests on. `None` when nothing was measured.

    All finalists are compared with each other, because the best is chosen by the same runs. Where a run of any was disturbed there is no best.
    """
    ranked = rank(summaries, objective, limit_ns)
    if not ranked:
        return None
    met = [one for one in ranked if one.disturbed]
    if met:
        return {"text": _cannot(ranked, met), "best": None, "default": None, "advice": None, "as_good": []}
    best = ranked[0]
    found_best = best.figures[objective.figure]
    if found_best is None or _above(best, limit_ns):
        text = _none(ranked, objective, limit_ns)
        return {"text": text, "best": None, "default": None, "advice": None, "as_good": []}
    pairs = [
        (one, other)
        for place, one in enumerate(ranked)
        for other in ranked[:place]
        if comparable(one, objective) and comparable(other, objective)
    ]
    found = {
        one.settings: test for (one, other), test in zip(pairs, tests(pairs, objective)) if other is best
    }
    as_good = [
        one
        for one in ranked[1:]
        if not _above(one, limit_ns) and (one.settings not in found or not found[one.settings].passed)
    ]
    before = next((one for one in ranked if one.settings == default), None)
    test = None if before is None else found.get(before.settings)
    advice = None if before is None or test is None else advise_pair(before, best, test, objective)
    within = "" if limit_ns is None else f" with a p99 within {limit_ns / 1e6:g} ms"
    text = f"{objective.best}{within} for {best.workload['name']}: {best.settings.label}, {objective.shown(found_best, best.runs)}"
    text += f"; {_against(before, best, default, advice, test, objective)}"
    if as_good:
        text += f". Not distinguishable from it at the {100 * LEVEL:.0f} % level ({of(len(pairs))}, Holm's correction): "
        text += ", ".join(one.settings.label for one in as_good)
    return {
        "text": text,
        "best": best.to_document(),
        "default": None if before is None else before.to_document(),
        "advice": None if advice is None else advice.to_document(),
        "as_good": [one.settings.to_document() for one in as_good],
    }


def _none(ranked: Sequence[Summary], objective: Objective, limit_ns: float | None) -> str:
    """Why none of the finalists can be named."""
    name = ranked[0].workload["name"]
    p99 = ranked[0].figures[P99.figure]
    if limit_ns is None or p99 is None:
        return f"Cannot decide which settings are best for {name}: no run tells its {objective.name}; record it, as root"
    return (
        f"No setting tried for {name} keeps a p99 of {limit_ns / 1e6:g} ms: {ranked[0].settings.label} is nearest, "
        f"{P99.shown(p99, ranked[0].runs)}. `swtch ai why` says what its slowest inferences waited for"
    )


def _cannot(ranked: Sequence[Summary], met: Sequence[Summary]) -> str:
    """Why there is no best, and what to do."""
    runs, disturbed = sum(one.runs for one in ranked), sum(one.disturbed for one in met)
    return (
        f"Cannot decide which settings are best for {ranked[0].workload['name']}: {disturbed} of {runs} runs of the "
        f"{len(ranked)} finalists were disturbed ({met[0].interference}). Run again when the machine is idle, or with CPUs that nothing "
        "else uses; the disturbed runs are in the study"
    )


def _against(
    before: Summary | None,
    best: Summary,
    default: Settings,
    advice: Advice | None,
    test: Test | None,
    objective: Objective,
) -> str:
    if before is best:
        return f"that is the default ({default.label})"
    if before is None:
        return f"the default ({default.label}) could not be measured"
    if advice is None:
        return f"the default ({default.label}) is as good, as far as {min(before.runs, best.runs)} runs of each can show"
    gain = advice.gain
    return (
        f"{objective.default.format(gain.median)} ({default.label}; {gain.ci_low:.2f} to {gain.ci_high:.2f}; {test})"
        f"{of_the_switches(before, best)}"
    )


def _schedulers(options: argparse.Namespace, subject: Subject, study: Study) -> tuple[list[str], list[str]]:
    """Those that can be loaded here, and those that a virtual machine is needed for; the study says why the others are not tried."""
    here, for_vm = [], []
    for name in dict.fromkeys(options.policies.split(",")):
        reason = scheduler.why_not(name, options.whole_machine)
        if reason is None:
            here.append(name)
        elif subject.model is not None and not options.no_vm and scheduler.lacks_kernel():
            for_vm.append(name)
        else:
            study.document["unavailable"].append({"what": f"scheduler {name}", "why": reason})
    if not here:
        raise WrongUsage(f"none of the schedulers {options.policies} can be loaded here; use stock")
    return here, for_vm


def _in_vm(
    model: Model, settings: Settings, names: Sequence[str], seed: int, study: Study
) -> dict[str, Any] | None:
    """What the schedulers make of the best settings in a virtual machine; `None` when that failed, and the study says why."""
    if settings.device != "cpu":
        why = "a virtual machine has no GPU"
    else:
        study.show(f"in a virtual machine: {', '.join(names)}; some minutes")
        try:
            return vm.compare(model, settings, names, seed, study.usable.cpu_count)
        except CommandError as error:
            why = str(error)
        finally:
            study.clear()
    study.document["unavailable"] += [{"what": f"scheduler {name}", "why": why} for name in names]
    return None


def _subject(options: argparse.Namespace) -> Subject:
    if options.after and options.model:
        raise WrongUsage("MODEL and -- COMMAND exclude each other; give one of them")
    if options.after:
        return of_program(options.after)
    if not options.model:
        raise WrongUsage("nothing to tune; give a model (`swtch ai list`) or -- COMMAND")
    found = named(options.model, options)
    if found[0].spoken is not None and len(found) > 1:
        raise WrongUsage(f"{options.model} has two phases; tune {found[0].slug} or {found[1].slug}")
    if len(found) != 1:
        raise WrongUsage(f"tune takes one model, and {options.model!r} names {len(found)}")
    return found[0]


def _tagged(job: Job, tag: str) -> Job:
    return Job(job.subject, job.settings, job.repeat, tag)
