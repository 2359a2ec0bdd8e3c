"""`swtch ai run --check-overhead MODEL`: what recording costs, from recorded and unrecorded runs in turn."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from .._errors import WrongUsage
from .._machine import host, usable
from .catalogue import find
from .figures import estimate
from .one_run import Job
from .study import Study, announce, need_models
from .subject import of_model
from .sweep import Forecast, Grid

BARE = ".bare"
"""The tag of runs without a recorder."""
PAIRS = 6
"""So many give an interval of 95 %."""
DURATION_S = 5.0
MOST_LOST = 0.02
"""What recording may cost of the throughput."""


def run_check(options: argparse.Namespace) -> int:
    """Runs a model with and without a recorder in turn; returns the exit status."""
    from .run import conclude, make_plan

    models = find(options.check_overhead)
    if len(models) != 1 or options.no_record:
        raise WrongUsage("--check-overhead takes one model, and records it; leave --no-record out")
    need_models(options.device)
    may_use = usable(host())
    settings = Grid(
        options.threads or (may_use.cpu_count,),
        options.inter_op,
        options.spin,
        options.pin,
        device=options.device,
    ).settings(may_use)
    if len(settings) != 1:
        raise WrongUsage("--check-overhead takes one value of each setting")
    subject = of_model(models[0], options.weights, options.seed)
    plan = make_plan(options, DURATION_S)
    study = Study(plan, options.words, options.name, True, options.seed)
    pairs = options.repeats or PAIRS
    # Who is first changes from pair to pair, so that a drift of the machine favours nobody.
    turns = [
        (n, recorded) for n in range(pairs) for recorded in ((True, False) if n % 2 == 0 else (False, True))
    ]
    todo = [Job(subject, settings[0], n, "" if recorded else BARE) for n, recorded in turns]
    forecast = Forecast(plan.duration_s, may_use.cpu_count)
    announce(todo, forecast, plan.folder)
    for job, (_, recorded) in zip(todo, turns):
        study.plan = plan if recorded else plan.unrecorded()
        study.run([job], forecast=forecast)
        if study.interrupted:
            break
    study.document["recording_overhead"] = overhead(study.runs)
    return conclude(study, options.json)


def overhead(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """What recording costs, as `swtch/study/1` has it; `None` without a complete pair. Pure.

    `throughput_ratio` is of the recorded to the unrecorded run of each pair; `cpu_ratio` likewise of the CPU time that an inference takes, which
    says more where others use the machine too. `recorder_cpu_share` is what the recorder's process took of the CPUs, in the middle of all runs; its
    programs in the kernel are not in it.
    """
    by_repeat: dict[int, dict[bool, Mapping[str, Any]]] = {}
    for run in runs:
        if run["outcome"] == "complete" and run["inferences"]:
            by_repeat.setdefault(run["repeat"], {})[run["trace"] is not None] = run
    pairs = [both for both in by_repeat.values() if len(both) == 2]
    throughput = estimate(
        [both[True]["images_per_second"] / both[False]["images_per_second"] for both in pairs]
    )
    if throughput is None:
        return None
    cpu = estimate([_cpu(both[True]) / _cpu(both[False]) for both in pairs if _cpu(both[False])])
    return {
        "throughput_ratio": throughput.to_document(),
        "cpu_ratio": None if cpu is None else cpu.to_document(),
        "pairs": len(pairs),
        "recorder_cpu_share": _median([_recorder_share(both[True]) for both in pairs]),
        "bar": 1 - MOST_LOST,
        "disturbed": sum(run["disturbed"] is not None for both in pairs for run in both.values()),
    }


def _median(values: Sequence[float | None]) -> float | None:
    found = estimate([value for value in values if value is not None])
    return None if found is None else found.median


def _recorder_share(run: Mapping[str, Any]) -> float | None:
    """CPU time of the recorder's process, of all that the run might use."""
    took, cpu = (run.get("recorder") or {}).get("measured_cpu_ns"), run["cpu"]
    if took is None or not cpu.get("utilisation") or not cpu.get("own_ns"):
        return None
    return float(took) * float(cpu["utilisation"]) / float(cpu["own_ns"])


def _cpu(run: Mapping[str, Any]) -> float:
    """CPU time of an inference by the kernel's accounting, which is there with and without a recorder; nanoseconds."""
    return float(run["cpu"]["sampled_ns"] or 0) / float(run["inferences"])
