"""`swtch ai run`: workloads under the settings that are asked for, recorded, with a summary."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from .._errors import CommandError, WrongUsage
from .._machine import Usable, host, usable
from .._options import add_study, count, counts, seconds
from . import result, summary
from .catalogue import MODELS, QUICK, find
from .one_run import Job, Plan
from .options import pins, price, quotas, switches
from .study import Study, announce, need_models
from .subject import Subject, of_model, of_program
from .suite_driver import PARTS
from .sweep import Forecast, Grid, by_settings, jobs

QUICK_S = 52.0
"""After so long `--quick` begins no run, so that it is over within a minute."""
QUICK_DURATION_S = 1.0
ALL_S = 19 * 60.0
"""Likewise for `--all` and twenty minutes."""
DURATION_S = 10.0

_EXAMPLES = """\
examples:
  swtch ai run mobilenet-v2
  swtch ai run 1,5,7 --threads 1,2,4,8 --batch 1 --duration 10s
  swtch ai run mobilenet-v2 --threads 2,4 --spin on,off --repeats 3 --duration 3s
  swtch ai run resnet-50-v2 --co-located 1,2 --pin none,spread
  swtch ai run u-net --quota none,1.5 --price 0.05/vcpu-hour
  swtch ai run --quick
  swtch ai run --all --out cloud
  swtch ai run --program ./my-workload
  swtch ai run --threads 1,2 -- python my_workload.py --threads {threads}
  swtch ai run --check-overhead resnet-50-v2
  swtch ai run --suite ai-benchmark --install

A list of settings is combined with all others. In a list of CPUs to pin to, write + for a comma: --pin none,0+2-3.
Exit status: 0 all runs are complete, 1 one failed, 2 wrong usage, 130 interrupted."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser = commands.add_parser(
        "run",
        help="run models, or any program that keeps the workload contract, and explain them",
        description="Runs workloads, each in processes and a control group of its own, recorded; writes a study and prints its summary.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what to run"))
    add_settings(parser.add_argument_group("settings, each a list"))
    add_common(parser)
    parser.set_defaults(run=run)


def _add_what(group: Any) -> None:
    add = group.add_argument
    add(
        "models",
        nargs="?",
        metavar="MODELS",
        help="numbers, ranges and names of `swtch ai list`: 1,5-7,icnet",
    )
    add("--quick", action="store_true", help="a subset and three numbers of threads, within a minute")
    add("--all", action="store_true", help="all sixteen, in at most twenty minutes on 2 CPUs")
    add(
        "--program",
        metavar="FILE",
        help="a program that keeps the workload contract; with arguments: -- FILE ARGUMENTS",
    )
    add(
        "--check-overhead",
        metavar="MODEL",
        help="what recording costs: one run of a model, recorded and unrecorded in turn",
    )
    add("--suite", choices=["ai-benchmark"], help="the study's own package, in an environment of its own")
    add(
        "--part",
        choices=sorted(PARTS),
        default="full",
        help="of the suite: inference and training, or single images (full)",
    )
    add("--install", action="store_true", help="allow --suite to download what it needs (1.7 GB)")


def add_settings(group: Any) -> None:
    """The options of the grid."""
    add = group.add_argument
    add(
        "--threads",
        type=counts,
        metavar="N,...",
        help="threads that share an operator (as many as there are CPUs)",
    )
    add("--inter-op", type=counts, default=(1,), metavar="N,...", help="operators at once (1)")
    add(
        "--spin",
        type=switches,
        default=(True,),
        metavar="on,off",
        help="whether waiting threads spin before they block (on)",
    )
    add(
        "--pin",
        type=pins,
        default=("none",),
        metavar="HOW,...",
        help="none, spread over cores, compact, or CPUs (none)",
    )
    add("--co-located", type=counts, default=(1,), metavar="N,...", help="copies at the same time (1)")
    add(
        "--quota",
        type=quotas,
        default=(None,),
        metavar="CPUS,...",
        help="CPUs worth of time for all copies, or none (none)",
    )
    add("--batch", type=counts, default=(1,), metavar="N,...", help="images in an inference (1)")


def add_common(parser: argparse.ArgumentParser) -> None:
    """The options of `run` and `tune` alike."""
    add = parser.add_argument
    add("--duration", type=seconds, metavar="TIME", help="of each measured phase (10s)")
    add("--inferences", type=count, metavar="N", help="end a measured phase after so many")
    add(
        "--repeats",
        type=count,
        metavar="N",
        help="runs of each setting; advice needs at least 4, and more for many settings (1)",
    )
    add("--device", choices=["cpu", "cuda"], default="cpu", help="where models run (cpu)")
    add("--weights", type=Path, metavar="DIR", help="trained weights, DIR/NAME.npz, instead of random ones")
    add("--seed", type=int, default=0, metavar="N", help="of random weights, and of the order of repeats (0)")
    add("--price", type=price, metavar="PRICE", help="say it in money too, e.g. 0.05/vcpu-hour")
    add("--no-record", action="store_true", help="do not record: latencies only")
    add(
        "--load-limit",
        type=seconds,
        default=300.0,
        metavar="TIME",
        help="give up a workload that is not ready by then (300s)",
    )
    add(
        "--time-limit",
        type=seconds,
        metavar="TIME",
        help="give up a measured phase after so long (1m and three times --duration)",
    )
    add_study(add, result.DEFAULT_FOLDER)


def run(options: argparse.Namespace) -> int:
    """Runs what is asked for; returns the exit status."""
    _check_usage(options)
    if options.suite is not None:
        from .suite_ai_benchmark import run_suite

        return run_suite(options)
    if options.check_overhead is not None:
        from .overhead import run_check

        return run_check(options)
    started = time.monotonic()
    subjects = _subjects(options)
    if subjects[0].model is not None:
        need_models(options.device)
    may_use = usable(host())
    todo, deadline_s = _jobs(options, subjects, may_use, started)
    plan = make_plan(options, QUICK_DURATION_S if options.quick else DURATION_S)
    study = Study(plan, options.words, options.name, subjects[0].model is not None, options.seed)
    forecast = Forecast(plan.duration_s, may_use.cpu_count)
    announce(todo, forecast, plan.folder)
    study.run(todo, deadline_s, forecast)
    return conclude(study, options.json)


def conclude(study: Study, as_json: bool) -> int:
    """Prints a study; returns the exit status that it deserves."""
    study.write()
    if as_json:
        print(json.dumps(study.document, indent=1))
    else:
        print(summary.text(study.document, str(study.plan.folder)), end="")
    if study.interrupted:
        print(f"swtch ai: interrupted; what was complete is in {study.plan.folder}", file=sys.stderr)
        return 130
    return 0 if study.runs and all(run["outcome"] == "complete" for run in study.runs) else 1


def make_plan(options: argparse.Namespace, duration_s: float) -> Plan:
    """What all runs have in common; makes the folder."""
    return Plan(
        folder=result.new_folder(options.out),
        duration_s=options.duration or duration_s,
        inferences=options.inferences,
        record=not options.no_record,
        price=options.price,
        load_limit_s=options.load_limit,
        run_limit_s=options.time_limit,
    )


def _check_usage(options: argparse.Namespace) -> None:
    wishes = {
        "MODELS": options.models,
        "--quick": options.quick,
        "--all": options.all,
        "--program": options.program,
        "-- COMMAND": options.after,
        "--check-overhead": options.check_overhead,
        "--suite": options.suite,
    }
    given = [name for name, value in wishes.items() if value]
    if not given:
        raise WrongUsage("nothing to run; give models (`swtch ai list`), --quick, --all, or -- COMMAND")
    if len(given) > 1:
        raise WrongUsage(f"{given[0]} and {given[1]} exclude each other; give one of them")
    if options.install and options.suite is None:
        raise WrongUsage("--install is for --suite only")
    if options.device == "cuda" and (options.program or options.after):
        raise WrongUsage("--device is for models; a program chooses by itself where it runs")


def _subjects(options: argparse.Namespace) -> list[Subject]:
    if options.after or options.program:
        return [of_program(options.after or [options.program])]
    if options.quick or options.all:
        wanted = [model for model in MODELS if options.all or model.number in QUICK]
    else:
        wanted = find(options.models)
    return [of_model(model, options.weights, options.seed) for model in wanted]


def _jobs(
    options: argparse.Namespace, subjects: list[Subject], may_use: Usable, started: float
) -> tuple[list[Job], float | None]:
    """The runs, and when they must be over, by `time.monotonic`."""
    cpus = may_use.cpu_count
    threads = options.threads or ((cpus, 2 * cpus, 1) if options.quick else (cpus,))
    grid = Grid(
        tuple(dict.fromkeys(threads)),
        options.inter_op,
        options.spin,
        options.pin,
        options.co_located,
        options.quota,
        options.batch,
        options.device,
    )
    try:
        settings = grid.settings(may_use)
    except CommandError as error:
        raise WrongUsage(str(error)) from None
    repeats = options.repeats or 1
    if options.quick:
        return by_settings(subjects, settings) if repeats == 1 else jobs(
            subjects, settings, repeats, options.seed
        ), started + QUICK_S
    deadline_s = started + ALL_S if options.all else None
    return jobs(subjects, settings, repeats, options.seed), deadline_s
