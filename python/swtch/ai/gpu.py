"""`swtch ai gpu`: what a thread that waits for a GPU costs the host, and what it gains, by the three ways of waiting."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .. import _native
from .._options import add_study, count, counts, each, one_of, seconds
from .._text import duration, table
from . import cuda, result
from .figures import Estimate, estimate, per
from .options import price, quotas
from .run import conclude, make_plan
from .settings import Settings, from_document
from .study import Study, announce
from .subject import Subject, of_package
from .summarise import Summary, summarise
from .sweep import Forecast, jobs

DURATION_S = 4.0
WORK_S = (50e-6, 1e-3, 10e-3)
"""A small kernel, one of a token's layers, and a whole step."""
PROCESSES = (1, 4, 16)
LOADS = ("idle", "busy")
TURN_NS = 1e6
"""Work up to this length is over within the turn of its process (2 ms by default on the GPUs that were tried)."""

_EXAMPLES = """\
examples:
  swtch ai gpu                                          spin, yield and block; 1, 4 and 16 processes; some ten minutes
  swtch ai gpu --wait spin,block --work 1ms --processes 1 --host idle,busy
  swtch ai gpu --quota none,1 --price 0.05/vcpu-hour

Exit status: 0 done or no GPU here, 1 failed, 2 wrong usage, 130 interrupted."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser = commands.add_parser(
        "gpu",
        help="compare ways of waiting for a GPU: latency, CPU time and switches of the host",
        description="Let a GPU work for given times and wait for it by spinning, yielding and blocking. Needs the driver, no framework.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--wait",
        type=lambda text: each(text, one_of(tuple(cuda.FLAGS))),
        default=tuple(cuda.FLAGS),
        metavar="HOW,...",
        help="spin, yield, block [default: all three]",
    )
    add(
        "--work",
        type=lambda text: each(text, seconds),
        default=WORK_S,
        metavar="TIME,...",
        help="how long the GPU works each time [default: 50us,1ms,10ms]",
    )
    add(
        "--processes",
        type=counts,
        default=PROCESSES,
        metavar="N,...",
        help="processes that share the GPU [default: 1,4,16]",
    )
    add(
        "--threads",
        type=counts,
        default=(1,),
        metavar="N,...",
        help="threads of each process, each with a stream of its own [default: 1]",
    )
    add(
        "--host",
        type=lambda text: each(text, one_of(LOADS)),
        default=("idle",),
        metavar="LOAD,...",
        help="idle, or busy: a computing process on every CPU beside them [default: idle]",
    )
    add(
        "--quota",
        type=quotas,
        default=(None,),
        metavar="CPUS,...",
        help="CPU quota of all processes together [default: none]",
    )
    add(
        "--duration",
        type=seconds,
        metavar="TIME",
        help=f"length of each measured phase [default: {DURATION_S:g}s]",
    )
    add("--runs", type=count, metavar="N", help="runs of each setting, in mixed order [default: 1]")
    add("--seed", type=int, default=0, metavar="N", help="seed of the order of runs [default: 0]")
    add("--price", type=price, metavar="PRICE", help="price of a vCPU-hour, such as 0.05/vcpu-hour")
    add("--no-record", action="store_true", help="measure latencies and CPU time only, without a recording")
    add_study(add, result.DEFAULT_DIRECTORY)
    parser.set_defaults(
        run=run, inferences=None, as_loaded=True, no_cgroup=False, load_timeout=60.0, timeout=None
    )


def run(options: argparse.Namespace) -> int:
    """Measures; returns the exit status."""
    try:
        driver = cuda.Driver()
    except cuda.NoGpu as error:
        document = {"schema": "swtch/ai-gpu/1", "gpu": None, "why": str(error)}
        print(json.dumps(document, indent=1) if options.json else error)
        return 0
    gpu = {"name": driver.name(), "driver": driver.version(), "devices": driver.devices}
    plan = make_plan(options, DURATION_S)
    study = Study(plan, options.words, options.name, False, options.seed)
    settings = [
        Settings(threads=threads, co_located=processes, cpu_quota=quota, device="cuda")
        for quota in options.quota
        for processes in options.processes
        for threads in options.threads
    ]
    forecast = Forecast(plan.duration_s, study.usable.cpu_count)
    by_load = {
        load: jobs(_subjects(options, load), settings, options.runs or 1, options.seed)
        for load in options.host
    }
    announce([job for one in by_load.values() for job in one], forecast, plan.directory)
    for load, todo in by_load.items():
        with _load(load, study.usable.cpus):
            study.run(todo, None, forecast)
        if study.interrupted:
            break
    if options.json:
        return conclude(study, True)
    study.write()
    print(text(gpu, summarise(study.runs), study.runs, options.price), end="")
    failed = [one for one in study.runs if one["outcome"] != "complete"]
    for one in failed:
        print(f"{one['id']}: {one['outcome']}: {one['error']}")
    print(f"Study: {plan.directory}")
    return 130 if study.interrupted else 1 if failed else 0


def text(
    gpu: Mapping[str, Any], found: Sequence[Summary], runs: Sequence[Mapping[str, Any]], priced: str | None
) -> str:
    """The answer and the table."""
    lines = [*_answers(found, runs, priced), *_turns(found), f"{gpu['name']}, CUDA {gpu['driver']}"]
    rows = []
    for one in found:
        p50, p99, cpu = (
            one.figures[name] for name in ("latency_p50_ns", "latency_p99_ns", "cpu_ns_per_inference")
        )
        if p50 is None or p99 is None:
            continue
        interrupts = one.figures["interrupts_per_inference"]
        waiters = one.settings.co_located * one.settings.threads
        rows.append(
            [
                one.workload["name"],
                str(one.settings.co_located),
                str(one.settings.threads),
                "none" if one.settings.cpu_quota is None else f"{one.settings.cpu_quota:g}",
                _shown(one, runs, lambda run: run["facts"]["launch_p50_ns"], duration),
                duration(p50.median),
                # Several contexts take turns on a GPU, so only a single waiter's work has a known length.
                duration(p50.median - _work_ns(one)) if waiters == 1 else "n/a",
                duration(p99.median),
                "n/a" if cpu is None else duration(cpu.median),
                _shown(one, runs, _cpus, "{:.2f}".format),
                "n/a" if one.switches is None else f"{one.switches:.1f}",
                "n/a" if interrupts is None else f"{interrupts.median:.1f}",
                _shown(one, runs, _of_gpu, "{:.1f}".format),
            ]
        )
    names = [
        "wait",
        "processes",
        "threads",
        "quota",
        "launch",
        "p50",
        "beyond the GPU's",
        "p99",
        "CPU time",
        "CPUs a waiter",
        "switches",
        "interrupts",
        "of the GPU",
    ]
    return "\n".join([*lines, *table(names, rows, 1)]) + "\n"


def _answers(found: Sequence[Summary], runs: Sequence[Mapping[str, Any]], priced: str | None) -> list[str]:
    """For each amount of work of a single waiter: what blocking saves and what it costs, beside each load of the host."""
    lines = []
    alone = {
        tuple(one.workload["slug"].split(".")[1:]): one
        for one in found
        if one.settings.co_located * one.settings.threads == 1 and one.settings.cpu_quota is None
    }
    for (wait, *of), spins in alone.items():
        blocks = alone.get(("block", *of))
        if wait != "spin" or blocks is None:
            continue
        before, after = spins.figures["latency_p50_ns"], blocks.figures["latency_p50_ns"]
        spent, kept = _samples(spins, runs, _cpus), _samples(blocks, runs, _cpus)
        if before is None or after is None or spent is None or kept is None:
            continue
        cpus = spent.median - kept.median
        money = ""
        if priced is not None:
            money = f", ${cpus * _native.price(priced) * _native.MONTH_HOURS:.2f} a month"
        beside = " beside a busy host" if of[1:] else ""
        longer_ns = after.median - before.median
        lines.append(
            f"Work of {duration(_work_ns(spins))}{beside}: blocking instead of spinning frees {cpus:.2f} CPUs{money}, and the "
            f"median wait is {duration(abs(longer_ns))} {'longer' if longer_ns > 0 else 'shorter'} "
            f"({100 * longer_ns / before.median:+.1f} %{_slowest(spins, blocks)})"
        )
    return lines


def _turns(found: Sequence[Summary]) -> list[str]:
    """What the GPU loses when it goes from one process to the next: what a round of all takes beyond their work, by process.

    Only of work that is over within a turn, on an idle host: longer work goes on beside that of others, and a waiter without a CPU asks for no turn.
    """
    lost = [
        latency.median / one.settings.co_located - _work_ns(one)
        for one in found
        if (latency := one.figures["latency_p50_ns"]) is not None
        and one.settings.co_located > 1
        and one.settings.threads == 1
        and one.settings.cpu_quota is None
        and one.workload["slug"].split(".")[1:] == ["spin", f"{_work_ns(one):.0f}"]
        and _work_ns(one) <= TURN_NS
    ]
    if not lost or min(lost) <= 0:
        return []
    parts = [duration(length) for length in (min(lost), max(lost))]
    of = parts[0] if parts[0] == parts[1] else " to ".join(parts)
    return [f"From one process to the next the GPU loses {of} a turn"]


def _slowest(spins: Summary, blocks: Summary) -> str:
    before, after = spins.figures["latency_p99_ns"], blocks.figures["latency_p99_ns"]
    if before is None or after is None:
        return ""
    return f"; p99 {100 * (after.median / before.median - 1):+.1f} %"


def _samples(
    one: Summary, runs: Sequence[Mapping[str, Any]], get: Callable[[Mapping[str, Any]], float | None]
) -> Estimate | None:
    """A figure of each complete run of this setting that has it, as one."""
    told = [
        get(run)
        for run in runs
        if run["outcome"] == "complete"
        and run["workload"]["slug"] == one.workload["slug"]
        and from_document(run["settings"]) == one.settings
    ]
    return estimate([value for value in told if value is not None])


def _shown(
    one: Summary,
    runs: Sequence[Mapping[str, Any]],
    get: Callable[[Mapping[str, Any]], float | None],
    show: Callable[[float], str],
) -> str:
    found = _samples(one, runs, get)
    return "n/a" if found is None else show(found.median)


def _cpus(run: Mapping[str, Any]) -> float | None:
    """CPUs that each waiter of a run keeps busy."""
    cpu_ns = run["per_inference"]["cpu_ns"]
    waiters = run["settings"]["co_located"] * run["settings"]["threads"]
    return None if cpu_ns is None else per(cpu_ns * run["inferences"], run["duration_ns"] * waiters)


def _of_gpu(run: Mapping[str, Any]) -> float | None:
    """Interrupts of the GPU an inference."""
    if run["trace"] is None:
        return None
    of_gpu = [one["count"] for one in run["interrupts"] if "nvidia" in one["name"]]
    return per(sum(of_gpu), run["inferences"])


def _subjects(options: argparse.Namespace, load: str) -> list[Subject]:
    found = []
    for work_s in options.work:
        for wait in options.wait:
            work_ns = round(work_s * 1e9)
            beside = ", busy host" if load == "busy" else ""
            slug = f"gpu.{wait}.{work_ns}" + (".busy" if load == "busy" else "")
            words = ("--threads", "{threads}", "--wait", wait, "--work", str(work_ns))
            command = (sys.executable, "-m", "swtch.ai.gpu_worker", *words)
            name = f"{wait}, {duration(work_ns)}{beside}"
            found.append(Subject(slug, name, command, group="gpu", variables=of_package()))
    return found


@contextlib.contextmanager
def _load(load: str, cpus: Sequence[int]) -> Iterator[None]:
    """A computing process on each CPU while the block runs, if that is asked for."""
    others: list[subprocess.Popen[bytes]] = []
    try:
        if load == "busy":
            for cpu in cpus:
                program = f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile os.getppid() == {os.getpid()}: sum(range(10000))"
                others.append(subprocess.Popen([sys.executable, "-c", program]))
        yield
    finally:
        for one in others:
            one.kill()
            one.wait()


def _work_ns(one: Summary) -> float:
    return float(one.workload["slug"].split(".")[2])
