"""One run: a workload under some settings, once, in processes and a cgroup of its own, recorded."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import _cgroup as cgroup
from .._errors import CommandError
from .._machine import Usable, available_memory_bytes
from .._trace import Trace
from . import evaluate, inferences, scheduler
from .contract import now_ns
from .errors import AiError
from .launch import Workload, listen
from .record import Recorder, recorder
from .sampler import Sampler, descendants, peak_rss_bytes
from .settings import Settings
from .subject import Subject

PROGRAM = "swtch-ai"
"""Names of its cgroups begin with this."""
_END_LIMIT_S = 20.0
"""How long a workload may take to send its figures once it has begun."""


@dataclass(frozen=True)
class Plan:
    """What all runs of a study have in common."""

    directory: Path
    """Where Traces go."""
    duration_s: float
    """The measured phase of each run."""
    inferences: int | None = None
    """The measured phase ends after this many inferences, or earlier when its time is over."""
    record: bool = True
    """Whether the runs are recorded."""
    in_cgroup: bool = True
    """Whether each run has a cgroup of its own; without one it shares that of this process, and its weight."""
    as_loaded: bool = False
    """Whether what else runs belongs to the question, so that it disturbs no run."""
    price: str | None = None
    """As `swtch record --price` takes it."""
    load_limit_s: float = 300.0
    """A workload must be ready by then."""
    whole_machine: bool = False
    """Whether another scheduler may schedule every task of the machine, where there is no cgroup."""
    run_limit_s: float | None = None
    """A measured phase must be over by then; a minute and three times its length when `None`."""

    def lasting(self, duration_s: float) -> Plan:
        """The same with measured phases of another length."""
        return replace(self, duration_s=duration_s)

    def unrecorded(self) -> Plan:
        """The same without a recorder."""
        return replace(self, record=False)

    @property
    def phase_limit_s(self) -> float:
        """The limit of the measured phase."""
        return self.run_limit_s if self.run_limit_s is not None else 60 + 3 * self.duration_s


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    subject: Subject
    """What runs."""
    settings: Settings
    """How."""
    repeat: int = 0
    """Which time, from 0."""
    tag: str = ""
    """What distinguishes it from runs of the same settings."""

    @property
    def id(self) -> str:
        """For files and documents: `mobilenet-v2.t4.spin.r0`."""
        return f"{self.subject.slug}.{self.settings.label}.r{self.repeat}{self.tag}"


class _Ended(Exception):
    """The run is over before its end, and why."""

    def __init__(self, outcome: str, error: str) -> None:
        super().__init__(error)
        self.outcome, self.error = outcome, error


def run_once(
    job: Job,
    plan: Plan,
    usable: Usable,
    say: Callable[[str], None] = lambda text: None,
    look: Callable[[dict[str, Any], evaluate.Seen, Trace | None], None] | None = None,
    meanwhile: Callable[[list[Workload], cgroup.Group], None] | None = None,
) -> dict[str, Any]:
    """Makes a run; returns its row of `swtch/study/2`, whatever happened.

    meanwhile: is called with the copies and their group once they were let go. It may take as long as the measured phase lasts.

    Ctrl-C ends the run: its outcome is then `interrupted`. Raises nothing but `AiError`, for failures that every run would have. They are
    a missing program, pinning that is not allowed, or a quota that cannot be set.
    """
    predicted = job.subject.predicted_peak_bytes(job.settings)
    row = evaluate.blank(job.id, job.subject.to_document(), job.settings.to_document(), job.repeat, predicted)
    available = available_memory_bytes()
    if predicted is not None and available is not None and predicted > available:
        row["outcome"] = "refused"
        row["error"] = (
            f"needs up to {predicted / 1e6:.0f} MB and {available / 1e6:.0f} MB are available; "
            "use a smaller batch, fewer copies, or end other programs"
        )
        return row
    limits = cgroup.Limits.of_cpus(job.settings.cpu_quota, count_cpu=True)
    with _group(job, plan, limits) as group:
        if group.directory is None:
            if job.settings.cpu_quota is not None:
                raise AiError(f"cannot apply --quota: {group.why}")
            row["unavailable"].append({"what": "cgroup", "why": group.why})
        try:
            with (
                scheduler.loaded(job.settings.scheduler, group.directory, plan.whole_machine),
                _started(job, plan, group) as workloads,
            ):
                seen, trace = _measure(job, plan, usable, group, workloads, row, say, meanwhile)
            say("evaluating")
            evaluate.fill(row, seen, trace, plan.price)
            if plan.as_loaded:
                row["disturbed"] = None
            if row["trace"] is not None:
                inferences.write(plan.directory / row["trace"], seen.pids, seen.said)
            row["outcome"] = "complete"
            if look is not None:
                look(row, seen, trace)
        except _Ended as early:
            row["outcome"], row["error"] = early.outcome, early.error
        except KeyboardInterrupt:
            row["outcome"], row["error"] = "interrupted", "interrupted by a signal"
    if row["trace"] is not None and not (plan.directory / row["trace"] / "header.json").exists():
        row["trace"] = None
    return row


@contextlib.contextmanager
def _started(job: Job, plan: Plan, group: cgroup.Group) -> Iterator[list[Workload]]:
    """The copies, which are ended with the block."""
    lists = job.settings.cpu_lists or [None] * job.settings.co_located  # type: ignore[list-item]
    workloads: list[Workload] = []
    over = False
    try:
        for cpus in lists:
            workloads.append(
                Workload(
                    job.subject.arguments(job.settings),
                    job.subject.environment(job.settings),
                    plan.duration_s,
                    plan.inferences,
                    cpus,
                    group,
                )
            )
        yield workloads
        over = True
    finally:
        for one in workloads:
            one.end(at_once=not over)


def _measure(
    job: Job,
    plan: Plan,
    usable: Usable,
    group: cgroup.Group,
    workloads: list[Workload],
    row: dict[str, Any],
    say: Callable[[str], None],
    meanwhile: Callable[[list[Workload], cgroup.Group], None] | None,
) -> tuple[evaluate.Seen, Trace | None]:
    """From the start of the copies to the end of the recording: what was seen, and the Trace."""
    say("loading")
    if not listen(workloads, lambda one: one.said.ready is not None, plan.load_limit_s):
        raise _Ended(
            "timed-out",
            f"the workload was not ready within {plan.load_limit_s:g} s; raise --load-timeout",
        )
    _check(workloads, lambda one: one.said.ready is not None)
    pids = processes_of(workloads, group)
    cpus = sorted({cpu for cpus in job.settings.cpu_lists or [list(usable.cpus)] for cpu in cpus})
    trace, whole = None, False
    with _recording(job, plan, group, pids, row) as running:
        # Processes that it starts later are in the group; without one, they are looked for.
        sampler = Sampler(
            lambda: processes_of(workloads, group),
            cpus,
            group_ns=lambda: group.counters().cpu_ns,
            measuring_ns=lambda: _measuring_ns(running) if set(cpus) >= set(usable.cpus) else None,
        )
        throttled_before_ns, recorder_before_ns = group.throttled_ns(), _cpu_ns(running)
        try:
            say("measuring")
            sampler.start()
            go_ns = now_ns()
            for one in workloads:
                one.go()
            if meanwhile is not None:
                meanwhile(workloads, group)
            whole = listen(workloads, lambda one: one.done, plan.phase_limit_s)
            row["peak_rss_bytes"] = evaluate.total(_peak_rss(one) for one in workloads)
        finally:
            sampler.stop()
            recorder_ns = _difference(_cpu_ns(running), recorder_before_ns)
            if running is not None:
                try:
                    trace = running.stop(gone=_gone(workloads, group))
                except CommandError as error:
                    row["unavailable"].append({"what": "recording", "why": str(error)})
    throttled_ns = _difference(group.throttled_ns(), throttled_before_ns)
    if not whole:
        raise _Ended(
            "timed-out",
            f"the measured phase did not end within {plan.phase_limit_s:g} s; raise --timeout",
        )
    listen(workloads, lambda one: False, _END_LIMIT_S)
    _check(workloads, lambda one: one.said.finished and one.said.truncated is None)
    cpu_time = min(len(cpus), job.settings.cpu_quota or usable.cpu_time)
    said, of = [one.said for one in workloads], [one.pid for one in workloads]
    return evaluate.Seen(said, of, go_ns, sampler, cpu_time, len(cpus), throttled_ns, recorder_ns), trace


def processes_of(workloads: list[Workload], group: cgroup.Group) -> list[int]:
    """Those of the copies that are alive: everything in their group, or without one what descends from them."""
    return group.processes() or descendants(one.pid for one in workloads)


def _measuring_ns(running: Recorder | None) -> int | None:
    """CPU time of this process and of a recorder process so far; `None` when that has ended."""
    beside = 0 if running is None else running.cpu_beside_ns()
    return None if beside is None else time.process_time_ns() + beside


def _cpu_ns(running: Recorder | None) -> int | None:
    return None if running is None else running.cpu_ns()


def _difference(after: int | None, before: int | None) -> int | None:
    return None if after is None or before is None else after - before


def _gone(workloads: list[Workload], group: cgroup.Group) -> bool:
    """Whether all copies died before they had told everything; then the group goes too, as the recorder waits for that."""
    if any(not one.died for one in workloads):
        return False
    if group.directory is not None:
        cgroup.remove(group.directory)
    return True


@contextlib.contextmanager
def _group(job: Job, plan: Plan, limits: cgroup.Limits) -> Iterator[cgroup.Group]:
    if not plan.in_cgroup:
        yield cgroup.Group(None, None, "not asked for (--no-cgroup)")
        return
    with cgroup.group(PROGRAM, job.id, limits) as group:
        yield group


@contextlib.contextmanager
def _recording(
    job: Job, plan: Plan, group: cgroup.Group, pids: list[int], row: dict[str, Any]
) -> Iterator[Recorder | None]:
    """A recorder that sees everything from now on, and is gone with the block.

    A machine without the right to record still runs: it yields none then, and the row says why.
    """
    if not plan.record:
        row["unavailable"].append({"what": "recording", "why": "not asked for"})
        yield None
        return
    # A GPU's driver works in threads of the kernel, which are in no group of ours.
    machine = job.settings.device != "cpu"
    name = f"{job.id}.swtch"
    with contextlib.ExitStack() as stack:
        running = None
        try:
            running = stack.enter_context(recorder(plan.directory / name, pids, group.directory, machine))
            row["trace"] = name
        except CommandError as error:
            row["unavailable"].append({"what": "recording", "why": str(error)})
        yield running


def _check(workloads: list[Workload], fine: Callable[[Workload], bool]) -> None:
    """Raises `_Ended` for the first that failed."""
    for number, one in enumerate(workloads, start=1):
        if one.broken is None and one.said.error is None and fine(one):
            continue
        one.end()
        which = f"copy {number} of {len(workloads)}: " if len(workloads) > 1 else ""
        raise _Ended("crashed", f"{which}{one.complaint()}")


def _peak_rss(one: Workload) -> int | None:
    told = one.said.metrics.get("peak_rss_bytes")
    return told if isinstance(told, int) and not isinstance(told, bool) else peak_rss_bytes(one.pid)
