"""`swtch ai run`: workloads under the settings that are asked for, recorded, with a summary."""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from .._command import Parser
from .._errors import CommandError, WrongUsage
from .._machine import Usable, host, usable
from .._options import add_study, count, counts, seconds
from . import language, own_model, result, summary, why
from .catalogue import MODELS, QUICK, find
from .one_run import Job, Plan
from .options import pins, price, quotas, switches
from .study import Study, announce, need_models
from .subject import Subject, of_file, of_language, of_model, of_program
from .sweep import Forecast, Grid, by_settings, jobs

QUICK_S = 52.0
"""After this long `--quick` begins no run, so that it ends within a minute."""
QUICK_DURATION_S = 1.0
ALL_S = 19 * 60.0
"""The same for `--suite` and twenty minutes."""
DURATION_S = 10.0

_EXAMPLES = """\
examples:
  swtch ai run mobilenet-v2
  swtch ai run model.onnx
  swtch ai run llm-15m --threads 1,2,4 --spin on,off
  swtch ai run bert.onnx --shape sequence=128 --threads 1,2,4 --spin on,off
  swtch ai run 1,5,7 --threads 1,2,4,8 --batch 1 --duration 10s
  swtch ai run mobilenet-v2 --threads 2,4 --spin on,off --runs 3 --duration 3s
  swtch ai run resnet-50-v2 --co-located 1,2 --pin none,spread
  swtch ai run u-net --quota none,1.5 --price 0.05/vcpu-hour
  swtch ai run --quick
  swtch ai run --suite suo --out cloud
  swtch ai run --program ./my-workload
  swtch ai run --threads 1,2 -- python my_workload.py --threads {threads}
  swtch ai run --check-overhead resnet-50-v2
  swtch ai run --check-overhead -- ./my-workload

Every value of one list is combined with every value of the others. Inside a list of CPUs, write + instead of a comma: --pin none,0+2-3.
Exit status: 0 all runs are complete, 1 one failed, 2 wrong usage, 130 interrupted."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser = commands.add_parser(
        "run",
        help="run and record models, or any program that implements the workload contract",
        description="Run workloads and record them, each in its own processes and cgroup. Write a study and print its summary.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what to run"))
    add_settings(parser.add_argument_group("settings, each a list"))
    add_common(parser, DURATION_S, 1)
    parser.renamed(all="--suite suo")
    parser.set_defaults(run=run)


def _add_what(group: Any) -> None:
    add = group.add_argument
    add(
        "models",
        nargs="?",
        metavar="MODELS",
        help="numbers, ranges or names from `swtch ai list`: 1,5-7,icnet; a language model: llm-15m, llm-125m, llm-1b; or an ONNX file",
    )
    add_own(add)
    add("--quick", action="store_true", help="a subset of models with three thread counts, within a minute")
    add(
        "--suite",
        choices=["suo"],
        help="the sixteen models of the study by Suo et al., in at most twenty minutes on 2 CPUs",
    )
    add(
        "--program",
        metavar="FILE",
        help="a program that implements the workload contract; with arguments: -- FILE ARGUMENTS",
    )
    add(
        "--check-overhead",
        nargs="?",
        const="",
        metavar="MODEL",
        help="measure the overhead of recording: run one model, or -- COMMAND, with and without a recording, in turn",
    )


def add_own(add: Any) -> None:
    """The options of a model of the user's own."""
    add(
        "--shape",
        type=_shape,
        action="append",
        default=[],
        metavar="[NAME=]N,...",
        help="what the file leaves open: the shape of an input, or NAME=N for a dimension; may be repeated",
    )
    add(
        "--input",
        type=Path,
        metavar="FILE",
        help="what to feed: arrays by the names of the inputs (.npz), or the only one (.npy) [default: made up]",
    )


def _shape(text: str) -> str:
    own_model.shape(text)
    return text


def add_settings(group: Any) -> None:
    """The options of the grid."""
    add = group.add_argument
    add(
        "--threads",
        type=counts,
        metavar="N,...",
        help="threads that share an operator [default: the number of CPUs]",
    )
    add(
        "--inter-op",
        type=counts,
        default=(1,),
        metavar="N,...",
        help="operators that run at the same time [default: 1]",
    )
    add(
        "--spin",
        type=switches,
        default=(True,),
        metavar="on,off",
        help="whether waiting threads spin before they block [default: on]",
    )
    add(
        "--pin",
        type=pins,
        default=("none",),
        metavar="HOW,...",
        help="none, spread over cores, compact, or a list of CPUs [default: none]",
    )
    add(
        "--co-located",
        type=counts,
        default=(1,),
        metavar="N,...",
        help="copies that run at the same time [default: 1]",
    )
    add(
        "--quota",
        type=quotas,
        default=(None,),
        metavar="CPUS,...",
        help="CPU quota of all copies together, in CPUs, or none [default: none]",
    )
    add("--batch", type=counts, default=(1,), metavar="N,...", help="images per inference [default: 1]")


def add_common(parser: Parser, duration_s: float, runs: int) -> None:
    """The options that `run` and `tune` share.

    duration_s, runs: their defaults.
    """
    add = parser.add_argument
    add(
        "--duration",
        type=seconds,
        metavar="TIME",
        help=f"length of each measured phase [default: {duration_s:g}s]",
    )
    add("--inferences", type=count, metavar="N", help="end a measured phase after N inferences")
    add(
        "--runs",
        type=count,
        metavar="N",
        help=f"runs of each setting; advice needs at least 4, and more for many settings [default: {runs}]",
    )
    add("--device", choices=["cpu", "cuda"], default="cpu", help="where models run [default: cpu]")
    add("--weights", type=Path, metavar="DIR", help="trained weights, DIR/NAME.npz, instead of random ones")
    add(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of random weights and of the order of runs [default: 0]",
    )
    add(
        "--price",
        type=price,
        metavar="PRICE",
        help="price of a vCPU-hour, such as 0.05/vcpu-hour: report costs in money too",
    )
    add(
        "--as-loaded",
        action="store_true",
        help="what else runs belongs to the question, such as a neighbour: no run beside it is called disturbed",
    )
    add(
        "--no-cgroup",
        action="store_true",
        help="run in the cgroup of this command, with its weight, instead of in one of its own with the weight that a new one has",
    )
    add("--no-record", action="store_true", help="measure latencies only, without a recording")
    add(
        "--load-timeout",
        type=seconds,
        default=300.0,
        metavar="TIME",
        help="give up a workload that is not ready after this long [default: 300s]",
    )
    add(
        "--timeout",
        type=seconds,
        metavar="TIME",
        help="give up a measured phase after this long [default: 1m and three times --duration]",
    )
    add_study(add, result.DEFAULT_DIRECTORY)
    parser.renamed(repeats="--runs", load_limit="--load-timeout", time_limit="--timeout")


def run(options: argparse.Namespace) -> int:
    """Runs what is asked for; returns the exit status."""
    _check_usage(options)
    if options.check_overhead is not None:
        from .overhead import run_check

        return run_check(options)
    started = time.monotonic()
    subjects = _subjects(options)
    if subjects[0].by_worker:
        need_models(options.device)
    may_use = usable(host())
    todo, deadline_s = _jobs(options, subjects, may_use, started)
    plan = make_plan(options, QUICK_DURATION_S if options.quick else DURATION_S)
    study = Study(plan, options.words, options.name, subjects[0].by_worker, options.seed)
    forecast = Forecast(plan.duration_s, may_use.cpu_count)
    announce(todo, forecast, plan.directory)
    study.run(todo, deadline_s, forecast)
    return conclude(study, options.json)


def conclude(study: Study, as_json: bool) -> int:
    """Prints a study; returns the exit status that it deserves."""
    study.write()
    if as_json:
        print(json.dumps(study.document, indent=1))
    else:
        explained = why.sentence(study.plan.directory, study.runs)
        print(summary.text(study.document, str(study.plan.directory), explained), end="")
    if study.interrupted:
        print(f"swtch ai: interrupted; the complete runs are in {study.plan.directory}", file=sys.stderr)
        return 130
    return 0 if study.runs and all(run["outcome"] == "complete" for run in study.runs) else 1


def make_plan(options: argparse.Namespace, duration_s: float) -> Plan:
    """What all runs have in common; makes the directory."""
    return Plan(
        directory=result.new_directory(options.out),
        duration_s=options.duration or duration_s,
        inferences=options.inferences,
        record=not options.no_record,
        in_cgroup=not options.no_cgroup,
        as_loaded=options.as_loaded,
        price=options.price,
        load_limit_s=options.load_timeout,
        run_limit_s=options.timeout,
    )


def _check_usage(options: argparse.Namespace) -> None:
    asked = {
        "MODELS": options.models,
        "--quick": options.quick,
        "--program": options.program,
        "-- COMMAND": options.after,
        "--check-overhead": options.check_overhead is not None,
        "--suite": options.suite,
    }
    given = [name for name, value in asked.items() if value]
    if given == ["-- COMMAND", "--check-overhead"]:
        given.remove("-- COMMAND")
    if not given:
        raise WrongUsage("nothing to run; give models (`swtch ai list`), --quick, --suite suo, or -- COMMAND")
    if len(given) > 1:
        raise WrongUsage(f"{given[0]} and {given[1]} exclude each other; give one of them")
    file = options.models or options.check_overhead or ""
    if (options.shape or options.input) and not own_model.is_file(file):
        raise WrongUsage(
            "--shape and --input are for an ONNX file: swtch ai run model.onnx --shape 1,3,224,224"
        )
    if options.device == "cuda" and (options.program or options.after):
        raise WrongUsage("--device is for models; a program chooses its own device")


def _subjects(options: argparse.Namespace) -> list[Subject]:
    if options.after or options.program:
        return [of_program(options.after or [options.program])]
    if options.quick or options.suite:
        wanted = [model for model in MODELS if options.suite or model.number in QUICK]
        return [of_model(model, options.weights, options.seed) for model in wanted]
    return named(options.models, options)


def named(text: str, options: argparse.Namespace) -> list[Subject]:
    """What a text on the command line means: a file, a language model, or models of the suite. Raises `WrongUsage`."""
    if own_model.is_file(text):
        return [own_subject(text, options)]
    spoken = language.find(text)
    if spoken is not None:
        return [of_language(model, options.seed) for model in spoken]
    return [of_model(model, options.weights, options.seed) for model in find(text)]


def own_subject(file: str, options: argparse.Namespace) -> Subject:
    """The user's own model, if it can be fed as is asked for. Raises `WrongUsage` for one that cannot."""
    if options.weights is not None:
        raise WrongUsage("--weights is for the models of `swtch ai list`; a file has its own")
    path = Path(file)
    model = own_model.read(path)
    given = own_model.arrays_of(options.input, model) if options.input is not None else None
    own_model.feed(model, 1, dict(own_model.shape(one) for one in options.shape), given)
    return of_file(path, options.shape, options.input)


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
    repeats = options.runs or 1
    if options.quick:
        return by_settings(subjects, settings) if repeats == 1 else jobs(
            subjects, settings, repeats, options.seed
        ), started + QUICK_S
    deadline_s = started + ALL_S if options.suite else None
    return jobs(subjects, settings, repeats, options.seed), deadline_s
