"""`swtch ai run --check-overhead`: the overhead of recording, from one run of which every other interval is recorded.

Two processes of one model differ in speed by more than recording may cost: where their memory lies is redrawn. So it is one process, and
a recorder that comes and goes.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._cgroup import Group
from .._errors import WrongUsage
from .._machine import host, usable
from .account import Sample, account
from .contract import now_ns
from .errors import AiError
from .evaluate import Seen, disturbed
from .figures import Estimate, estimate, latency
from .launch import Workload, listen
from .one_run import Job, processes_of, run_once
from .record import Recorder, recorder
from .sampler import process_cpu_ns
from .study import Study, announce, need_models
from .subject import Subject, of_program
from .sweep import Forecast, Grid

PAIRS = 30
"""Intervals of each kind."""
DURATION_S = 2.0
"""A interval."""
MOST_LOST = 0.02
"""What recording may cost of the throughput."""
_CHANGE_S = 1.0
"""What a recorder takes to come and go, about."""
_SETTLING_S = 0.1
"""The end of a recorder is not counted."""
_ENOUGH = 6
"""This many undisturbed pairs give an interval of 95 %; the disturbed ones are then left out."""


@dataclass(frozen=True)
class Interval:
    """A part of the measured phase."""

    recorded: bool
    begin_ns: int
    """By `CLOCK_MONOTONIC`."""
    end_ns: int
    cpu_ns: int
    """CPU time that the workload took."""
    recorder_ns: int | None = None
    """CPU time that the recorder's process took; `None` without one."""


def run_check(options: argparse.Namespace) -> int:
    """Runs a model with a recorder that comes and goes; returns the exit status."""
    from .run import conclude, make_plan

    subject = find_one(options)
    if subject.by_worker:
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
    plan = make_plan(options, DURATION_S)
    study = Study(plan, options.words, options.name, subject.by_worker, options.seed)
    pairs = options.runs or PAIRS
    whole_s = pairs * 2 * (plan.duration_s + _CHANGE_S)
    job = Job(subject, settings[0])
    forecast = Forecast(whole_s, may_use.cpu_count)
    announce([job], forecast, plan.directory)
    turns = Turns(pairs, plan.duration_s, plan.directory / f"{job.id}.swtch", study)
    seen: list[Seen] = []
    row = run_once(
        job,
        plan.lasting(whole_s).unrecorded(),
        study.usable,
        study.show,
        look=lambda row, what, trace: seen.append(what),
        meanwhile=turns.take,
    )
    study.finish(row)
    if seen:
        spans = [span for said in seen[0].said for span in zip(said.begin_ns, said.end_ns)]
        study.document["recording_overhead"] = overhead(
            turns.intervals, spans, seen[0].sampler.samples, seen[0].cpu_count
        )
    return conclude(study, options.json)


def find_one(options: argparse.Namespace) -> Subject:
    """The workload that is asked for. Raises `WrongUsage` when it is not one, or is not to be recorded."""
    from .run import named

    if options.after and options.check_overhead:
        raise WrongUsage(
            "--check-overhead takes a model or -- COMMAND, and both were given; give one of them"
        )
    if not options.after and not options.check_overhead:
        raise WrongUsage("--check-overhead needs a model, an ONNX file, or -- COMMAND")
    found = [of_program(options.after)] if options.after else named(options.check_overhead, options)
    if len(found) != 1 or options.no_record:
        raise WrongUsage("--check-overhead takes one model and records it; remove --no-record")
    return found[0]


class Turns:
    """Lets a recorder come and go while a workload runs."""

    def __init__(self, pairs: int, interval_s: float, trace: Path, study: Study) -> None:
        """trace: where the recorder writes; it is removed each time."""
        self.intervals: list[Interval] = []
        """Those that were whole, in order."""
        self._pairs, self._interval_s, self._trace, self._study = pairs, interval_s, trace, study

    def take(self, workloads: list[Workload], group: Group) -> None:
        """Until all turns are over, or the workload is. Raises `AiError` when nothing can be recorded."""
        for pair in range(self._pairs):
            # The order changes from pair to pair, so that a drift of the machine favours neither.
            for recorded in (True, False) if pair % 2 == 0 else (False, True):
                self._study.show(
                    f"pair {pair + 1} of {self._pairs}  {'recorded' if recorded else 'unrecorded'}"
                )
                over = (
                    self._recorded(workloads, group) if recorded else self._interval(workloads, group, None)
                )
                if over:
                    return

    def _recorded(self, workloads: list[Workload], group: Group) -> bool:
        try:
            with recorder(self._trace, processes_of(workloads, group), group.directory) as running:
                over = self._interval(workloads, group, running)
                running.stop()
        finally:
            shutil.rmtree(self._trace, ignore_errors=True)
        return over or listen(workloads, lambda one: one.done, _SETTLING_S)

    def _interval(self, workloads: list[Workload], group: Group, running: Recorder | None) -> bool:
        """Adds one; true when the workload was over before."""
        before_ns, recorder_ns, begin_ns = self._cpu_ns(workloads, group), _own(running), now_ns()
        if listen(workloads, lambda one: one.done, self._interval_s):
            return True
        end_ns, took_ns = now_ns(), self._cpu_ns(workloads, group) - before_ns
        after_ns = _own(running)
        used_ns = None if recorder_ns is None or after_ns is None else after_ns - recorder_ns
        self.intervals.append(Interval(running is not None, begin_ns, end_ns, took_ns, used_ns))
        return False

    def _cpu_ns(self, workloads: list[Workload], group: Group) -> int:
        try:
            return sum(process_cpu_ns(pid) for pid in processes_of(workloads, group))
        except OSError:
            raise AiError("a process of the workload ended while it was measured") from None


def overhead(
    intervals: Sequence[Interval], spans: Sequence[tuple[int, int]], samples: Sequence[Sample], cpu_count: int
) -> dict[str, Any] | None:
    """What recording costs, as `swtch/study/2` has it; `None` without a pair. Pure.

    spans: when inferences began and ended, by the intervals' clock; one that is in two counts for its part in each. samples: what others did.

    `throughput_ratio` is of the recorded to the unrecorded interval of each pair. `cpu_ratio` is likewise of the CPU time of an inference,
    which says more where others use the machine too. `latency_p50_ratio` and `latency_p99_ratio` are of the inferences that lie in them.
    `recorder_cpu_share` is what the recorder's process took of the CPUs, in the middle of
    all; its programs in the kernel are not in it.
    """
    pairs = [_ordered(one, two) for one, two in zip(intervals[::2], intervals[1::2])]
    counted = [(pair, [_inferences(one, spans) for one in pair]) for pair in pairs]
    whole = [(pair, done) for pair, done in counted if all(done)]
    alone = [
        (pair, done)
        for pair, done in whole
        if not any(_is_disturbed(one, samples, cpu_count) for one in pair)
    ]
    left_in = alone if len(alone) >= _ENOUGH else whole
    speeds = [[n / _length_ns(one) for one, n in zip(pair, done)] for pair, done in left_in]
    throughput = estimate([recorded / bare for recorded, bare in speeds])
    if throughput is None:
        return None
    costs = [[one.cpu_ns / n for one, n in zip(pair, done)] for pair, done in left_in]
    cpu = estimate([recorded / bare for recorded, bare in costs if bare])
    share = estimate(
        [
            recorded.recorder_ns / (_length_ns(recorded) * cpu_count)
            for (recorded, _), _ in left_in
            if recorded.recorder_ns is not None
        ]
    )
    return {
        "throughput_ratio": throughput.to_document(),
        "cpu_ratio": None if cpu is None else cpu.to_document(),
        **{
            f"latency_{name}_ratio": None if one is None else one.to_document()
            for name, one in ((name, _latency(name, left_in, spans)) for name in ("p50", "p99"))
        },
        "pairs": len(left_in),
        "recorder_cpu_share": None if share is None else share.median,
        "bar": 1 - MOST_LOST,
        "disturbed": 0 if left_in is alone else len(whole) - len(alone),
    }


def _latency(name: str, pairs: Sequence[Any], spans: Sequence[tuple[int, int]]) -> Estimate | None:
    """A quantile of latencies in the recorded intervals by that in the others."""
    ratios = []
    for pair, _ in pairs:
        found = [
            latency([end - begin for begin, end in spans if one.begin_ns <= begin and end <= one.end_ns])
            for one in pair
        ]
        if found[0] is not None and found[1] is not None and found[1][name] > 0:
            ratios.append(found[0][name] / found[1][name])
    return estimate(ratios)


def _ordered(one: Interval, two: Interval) -> tuple[Interval, Interval]:
    """The recorded one first."""
    return (one, two) if one.recorded else (two, one)


def _is_disturbed(interval: Interval, samples: Sequence[Sample], cpu_count: int) -> bool:
    within = [one for one in samples if interval.begin_ns <= one.at_ns <= interval.end_ns]
    if len(within) < 2:
        return False
    found = account(within[0], within[-1], cpu_count)
    return disturbed(found.foreign_ns, found.steal_ns or 0, found.capacity_ns) is not None


def _inferences(interval: Interval, spans: Sequence[tuple[int, int]]) -> float:
    parts = (
        (min(end, interval.end_ns) - max(begin, interval.begin_ns)) / (end - begin)
        for begin, end in spans
        if begin < interval.end_ns and end > interval.begin_ns and end > begin
    )
    return sum(parts)


def _length_ns(interval: Interval) -> int:
    return interval.end_ns - interval.begin_ns


def _own(running: Recorder | None) -> int | None:
    return None if running is None else running.cpu_ns()
