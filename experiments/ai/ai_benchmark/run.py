"""AI Benchmark, the package that the study ran, under the recorder, test by test.

    python3 experiments/ai/ai_benchmark/run.py --install --threads 2 --out ai-benchmark

AI Benchmark (Ignatov and others, 2019) runs as it is, TensorFlow and all, in an environment of its own (`environment.py`), with its
upload of results replaced (`driver.py`). It is one process and one Trace. Each of its 42 tests becomes a row of the study. The row is
cut out of the Trace by the times at which its passes began and ended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from driver import PARTS
from environment import VERSION, python

from swtch._command import Parser
from swtch._command import run as run_command
from swtch._errors import TraceError, WrongUsage
from swtch._machine import host, usable
from swtch._options import count
from swtch._trace import Trace
from swtch.ai import evaluate
from swtch.ai.errors import AiError
from swtch.ai.figures import latency, per
from swtch.ai.one_run import Job, run_once
from swtch.ai.run import add_common, conclude, make_plan
from swtch.ai.settings import Settings
from swtch.ai.study import Study
from swtch.ai.subject import Subject
from swtch.ai.timeline import Activity, Interval, Switch, activity, switches

DRIVER = Path(__file__).with_name("driver.py")
MOST_S = 8 * 3600.0
"""What the whole suite may take, unless --timeout says otherwise."""
RECOGNITION = range(1, 8)
"""The sections that the study shows as image recognition."""


@dataclass(frozen=True)
class SuiteTest:
    """One of the benchmark's tests, as its run reported it."""

    kind: str
    """`inference` or `training`."""
    section: int
    """Of the benchmark."""
    sub: int
    """Within the section."""
    spans: tuple[Interval, ...]
    """When its passes began and ended, nanoseconds of `CLOCK_MONOTONIC`."""
    mean_ms: float
    """As the benchmark has it; it leaves the first pass out."""
    sd_ms: float
    """Likewise."""

    @property
    def slug(self) -> str:
        """For ids: `ai-benchmark-1-2-training`."""
        return f"ai-benchmark-{self.section}-{self.sub}-{self.kind}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the suite; returns the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = Parser(
        prog="run.py", description="Run and record AI Benchmark, each of its tests a row of a study."
    )
    parser.add_argument(
        "--threads", type=count, metavar="N", help="TensorFlow's threads [default: the number of CPUs]"
    )
    parser.add_argument(
        "--part",
        choices=sorted(PARTS),
        default="full",
        help="inference and training, one of them, or single images (micro) [default: full]",
    )
    parser.add_argument("--install", action="store_true", help="download what it needs (1.7 GB)")
    add_common(parser, MOST_S, 1)
    options = parser.parse_args(words)
    options.words = ["run.py", *words]
    return run_command("run.py", lambda: run_suite(options))


def run_suite(options: argparse.Namespace) -> int:
    """Runs the suite; returns the exit status."""
    if options.runs not in (None, 1) or options.weights is not None:
        raise WrongUsage("it runs once, with the benchmark's own weights; remove --runs and --weights")
    program = python(options.install)
    threads = options.threads or usable(host()).cpu_count
    plan = make_plan(options, MOST_S)
    study = Study(plan, options.words, options.name, False, None)
    study.document["provenance"]["runtime"] = {"name": "TensorFlow, by AI Benchmark", "version": VERSION}
    job = Job(subject_of(program, options.part, options.device), Settings(threads, device=options.device))
    row = run_once(
        job,
        plan,
        study.usable,
        lambda text: study.show(f"{job.id}  {text}"),
        lambda row, seen, trace: _add_tests(study, row, seen, trace),
    )
    study.finish(row)
    return conclude(study, options.json)


def subject_of(program: Path, part: str, device: str) -> Subject:
    """The benchmark as a workload of the contract."""
    return Subject(
        f"ai-benchmark-{part}",
        f"AI Benchmark {VERSION}, {PARTS[part].replace('run_', '').replace('run', 'all tests')}",
        (str(program), str(DRIVER), part),
        group="AI Benchmark",
        variables={
            # Its packages are its own.
            "PYTHONPATH": "",
            "PYTHONNOUSERSITE": "1",
            "TF_NUM_INTRAOP_THREADS": "{threads}",
            "TF_NUM_INTEROP_THREADS": "{threads}",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "SWTCH_DEVICE": device,
        },
    )


def parted(metrics: Mapping[str, Any], spans: Sequence[Interval]) -> list[SuiteTest]:
    """The tests in the order in which they ran, each with its passes. Raises `AiError` when the numbers do not agree.

    >>> told = {"inference_1_1_passes": 2, "inference_1_1_mean_ms": 7.5, "inference_1_1_sd_ms": 0.5}
    >>> [(test.slug, test.spans) for test in parted(told, [(0, 7), (8, 16)])]
    [('ai-benchmark-1-1-inference', ((0, 7), (8, 16)))]
    """
    found: list[SuiteTest] = []
    begun = 0
    for name, passes in metrics.items():
        kind, _, rest = name.partition("_")
        if not name.endswith("_passes") or not isinstance(passes, int):
            continue
        section, sub = (int(number) for number in rest[: -len("_passes")].split("_"))
        key = name[: -len("_passes")]
        chosen = tuple(spans[begun : begun + passes])
        begun += passes
        found.append(
            SuiteTest(
                kind, section, sub, chosen, float(metrics[f"{key}_mean_ms"]), float(metrics[f"{key}_sd_ms"])
            )
        )
    if begun != len(spans):
        raise AiError(
            f"AI Benchmark reported {len(spans)} passes, and its tests {begun}; is it another version?"
        )
    return found


def _add_tests(study: Study, row: dict[str, Any], seen: evaluate.Seen, trace: Trace | None) -> None:
    said = seen.said[0]
    tests = parted(said.metrics, list(zip(said.begin_ns, said.end_ns)))
    names = {int(key): str(value) for key, value in dict((said.ready or {}).get("sections") or {}).items()}
    found = dict(activities(tests, row, seen, trace)) if trace is not None else {}
    for test in tests:
        study.runs.append(
            row_of(test, row, names.get(test.section, f"section {test.section}"), found.get(test.slug))
        )


def activities(
    tests: Sequence[SuiteTest], row: Mapping[str, Any], seen: evaluate.Seen, trace: Trace
) -> Iterator[tuple[str, Activity]]:
    """What the threads did in each test, by its slug."""
    try:
        start_ns = trace.provenance.started_monotonic_ns
        tids = evaluate.threads_of(trace.table("tasks").rows(), seen.pids)[0]
        shifted = [
            (test.slug, [(begin - start_ns, end - start_ns) for begin, end in test.spans])
            for test in tests
            if test.spans
        ]
        yield from cut(switches(trace), tids, shifted)
    except TraceError:
        # The row of the whole says what is missing.
        return


def cut(
    rows: Iterable[Switch], tids: frozenset[int], tests: Sequence[tuple[str, Sequence[Interval]]]
) -> Iterator[tuple[str, Activity]]:
    """Parts switches among tests, which run one after the other, so that never more than one test's are in memory."""
    left = iter(tests)
    current = next(left, None)
    of_test: list[Switch] = []
    for one in rows:
        while current is not None and one.at_ns >= current[1][-1][1]:
            yield current[0], activity(of_test, (), tids, current[1], current[1][-1][1])
            of_test = []
            current = next(left, None)
        if current is None:
            return
        of_test.append(one)
    while current is not None:
        yield current[0], activity(of_test, (), tids, current[1], current[1][-1][1])
        of_test, current = [], next(left, None)


def row_of(test: SuiteTest, whole: Mapping[str, Any], model: str, found: Activity | None) -> dict[str, Any]:
    """A row of the study for one test."""
    group = "image recognition" if test.section in RECOGNITION else "image processing and segmentation"
    workload = {"name": f"{model} ({test.kind})", "number": test.section, "slug": test.slug, "group": group}
    row = evaluate.blank(f"{test.slug}.{whole['id']}", workload, whole["settings"], 0, None)
    passes = len(test.spans)
    duration_ns = test.spans[-1][1] - test.spans[0][0] if test.spans else 0
    row.update(
        outcome="complete",
        trace=whole["trace"],
        facts={"mean_ms": test.mean_ms, "sd_ms": test.sd_ms},
        duration_ns=duration_ns,
        inferences=passes,
        concurrency=evaluate.concurrency(test.spans),
        latency_ns=latency([end - begin for begin, end in test.spans]),
        disturbed=whole["disturbed"],
    )
    row["per_inference"] = {
        name: None for name in ("voluntary", "involuntary", "interrupts", "cpu_ns", "wait_ns")
    }
    if found is not None:
        row["switches"] = {"voluntary": found.voluntary, "involuntary": found.involuntary}
        row["wait_share_of_latency"] = found.wait_share
        row["wait_share_bounds"] = {"low": found.wait_share_low, "high": found.wait_share_high}
        counts = {"voluntary": found.voluntary, "involuntary": found.involuntary}
        row["per_inference"].update({name: per(count, passes) for name, count in counts.items()})
        row["per_inference"].update(wait_ns=per(found.wait_ns, passes))
        row["per_second"] = {name: per(count * 1e9, duration_ns) for name, count in counts.items()}
        row["per_second"]["interrupts"] = None
    why = "known for the whole suite only, in the row of the suite"
    row["unavailable"] = [
        {"what": what, "why": why} for what in ("interrupts", "over_time", "cost", "cpu", "images_per_second")
    ]
    return row


if __name__ == "__main__":
    sys.exit(main())
