"""What another scheduler or another machine would do."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from . import _native, _tables
from ._documents import data_fields, from_document, to_document
from ._profile import Profile
from ._trace import Trace

if TYPE_CHECKING:
    import pandas
    import pyarrow

SimulationTable = Literal["runs", "hooks", "tasks", "applications", "assumptions"]
"""A table of a simulation."""


@dataclass(frozen=True)
class Assumption:
    """A figure that no measurement gave."""

    what: str
    """What the figure is."""
    value: str
    """What was taken for it, with its unit."""
    why: str
    """Why it had to be assumed."""


@dataclass(frozen=True)
class CoreType:
    """A kind of core of a simulated machine."""

    name: str
    """Its name."""
    speed: int
    """Its speed, 1024 for the reference core."""
    cpus: int
    """CPUs of this kind."""


@dataclass(frozen=True)
class SimulatedMachine:
    """The machine in short."""

    name: str
    """Its name."""
    cpus: int
    """How many CPUs it has."""
    types: tuple[CoreType, ...]
    """Its kinds of core."""


@dataclass(frozen=True)
class SimulatedWorkload:
    """The workload in short."""

    name: str
    """Its name."""
    tasks: int
    """Its tasks at the beginning."""
    duration_ns: int | None
    """When it ends at the latest."""


@dataclass(frozen=True)
class Durations:
    """A distribution of times in nanoseconds; absent without any. Percentiles are off by 0.8 % at most."""

    count: int
    """How many."""
    p50: int | None
    """The median."""
    p90: int | None
    """Nine of ten are at most this long."""
    p99: int | None
    """99 of 100 are at most this long."""
    max: int | None
    """The longest."""


@dataclass(frozen=True)
class CpuUse:
    """Time of all CPUs by use, in nanoseconds; the sum is CPUs times makespan."""

    run: int
    """Tasks' own work."""
    idle: int
    """Nothing to do."""
    switch: int
    """Switches, wake-ups, hooks."""
    spin: int
    """Waiting for run queues' locks."""
    tick: int
    """Timer ticks."""
    refill: int
    """Refilling caches."""
    barrier: int
    """Looking whether a barrier has opened."""


@dataclass(frozen=True)
class HookCalls:
    """Calls of a hook of the scheduling class."""

    hook: str
    """Its name."""
    calls: int
    """How often it was called."""
    total_ns: int
    """Time in it, waiting for locks included."""
    spin_ns: int
    """Of that, waiting for locks."""
    mean_ns: float | None
    """Mean time of a call."""
    basis: str
    """Where the times come from: no simulated time of a hook is measured; those of a sched_ext scheduler's callbacks are counted."""


@dataclass(frozen=True)
class TaskGroup:
    """Tasks of one name."""

    name: str
    """Their name, numbers at its end left out."""
    tasks: int
    """How many there were."""
    ended: int
    """Of those, the ones that ended."""
    run_ns: int
    """Time on CPUs."""
    wait_ns: int
    """Time in run queues."""
    longest_wait_ns: int
    """The longest wait of any."""
    voluntary: int
    """Switches they asked for."""
    involuntary: int
    """Switches they did not ask for."""
    wakeups: int
    """Wake-ups."""
    migrations: int
    """Moves between CPUs."""


@dataclass(frozen=True)
class ApplicationShare:
    """What an application got of cores of several kinds."""

    name: str
    """Its name."""
    speed: float
    """Work of its tasks per time that they were there, 1 for all of a reference core."""
    performance: float
    """That, relative to the run compared with."""


@dataclass(frozen=True)
class Fairness:
    """What applications got."""

    relative_to: str
    """The policy of the run that performance is relative to."""
    throughput: float
    """Mean performance."""
    min_fairness: float
    """The least performance."""
    uniformity: float
    """1 less the coefficient of variation of the performances."""
    applications: tuple[ApplicationShare, ...]
    """The applications."""


@dataclass(frozen=True)
class Run:
    """One run."""

    policy: str
    """The policy."""
    makespan_ns: int
    """Until the last task that counts ended, or until the time was over."""
    complete: bool
    """Whether all tasks that count ended."""
    context_switches: int
    """Switches from a task."""
    voluntary: int
    """Of those, the ones it asked for."""
    involuntary: int
    """Of those, the others."""
    from_idle: int
    """Switches from the idle task."""
    migrations: int
    """Moves between CPUs."""
    wakeups: int
    """Wake-ups."""
    ticks: int
    """Timer ticks."""
    events: int
    """Events that were simulated."""
    wall_seconds: float | None
    """Time that the simulation itself took."""
    spin_share: float
    """Part of all CPU time that was spent waiting for run queues' locks."""
    wait_ns: Durations
    """Times in run queues."""
    request_ns: Durations | None
    """Times of requests; absent where the workload has none."""
    cpu_ns: CpuUse
    """Time of all CPUs by use."""
    hooks: tuple[HookCalls, ...]
    """Calls of the scheduling class's hooks."""
    tasks: tuple[TaskGroup, ...]
    """Tasks by name."""
    fairness: Fairness | None
    """What applications got; absent on machines with one kind of core and without applications."""


@dataclass(frozen=True)
class Jitter:
    """What the seed changes besides what the workload says is random."""

    start_ns: int
    """A task starts later by up to this."""
    work_per_mille: int
    """What a step takes differs by up to this either way, in thousandths."""
    child_per_mille: int
    """One child of ten runs longer by this from its fork to its own first step, in thousandths."""
    placement: bool
    """The CPU on which the first task starts is any."""
    tick_phase: bool
    """The workload begins at any time between two ticks, instead of with one."""


@dataclass(frozen=True)
class Recorded:
    """The figures of the recording that was replayed."""

    trace: str
    """Its directory."""
    policy: str | None
    """The policy it was recorded under, where that is known."""
    makespan_ns: int
    """From its beginning to the last switch."""
    voluntary: int | None
    """Voluntary switches."""
    involuntary: int | None
    """Involuntary switches."""
    migrations: int | None
    """Migrations."""
    wait_ns: Durations
    """Waits in run queues."""


@dataclass(frozen=True)
class HandOver:
    """How much of a replayed workload is handing over to other tasks."""

    wakeups: int
    """Wake-ups."""
    by_tasks: int
    """Of those, the ones that another task made."""
    work_ns: int
    """Work of all tasks."""
    cost_ns: int
    """What a hand-over costs: the wake-up, the switch and the class's hooks."""


@dataclass(frozen=True)
class ReplayError:
    """The replay under the recording's policy over the recording, less 1."""

    makespan: float | None
    """Of the makespan."""
    context_switches: float | None
    """Of the switches."""
    wait_p50: float | None
    """Of the median wait."""
    wait_p99: float | None
    """Of the 99th percentile of waits."""


@dataclass(frozen=True)
class ReplayVerdict:
    """Whether the replays of a recording tell its policies apart."""

    decides: bool
    """False: the figures of the replays do not decide which policy is better."""
    reasons: tuple[str, ...]
    """Why not."""
    error: ReplayError | None
    """How far the replay under the recording's policy is from it; absent where that policy was not replayed."""


@dataclass(frozen=True)
class Interval:
    """A figure over the seeds of a replay."""

    median: int
    """The median."""
    ci_low: int | None
    """The lower end of its confidence interval (95 %); absent with fewer than six seeds."""
    ci_high: int | None
    """The upper end likewise."""


@dataclass(frozen=True)
class TaskFigures:
    """Tasks of one name over the seeds."""

    name: str
    """Their name, numbers at its end left out."""
    tasks: int
    """How many there were."""
    recorded: bool
    """Whether they were recorded, and do not only run beside those that were."""
    run_ns: Interval
    """Time on CPUs."""
    wait_ns: Interval
    """Time in run queues."""
    ended_ns: Interval | None
    """When the last of them ended; absent where one had not."""
    wait_p50_ns: Interval | None
    """The median of one wait."""
    wait_p99_ns: Interval | None
    """99 waits of 100 are at most this long."""
    wait_max_ns: Interval | None
    """The longest wait."""


@dataclass(frozen=True)
class PolicyFigures:
    """A policy over the seeds. Only recorded tasks count, not those that run beside them."""

    policy: str
    """The policy."""
    complete: bool
    """Whether all tasks that count ended, with every seed."""
    makespan_ns: Interval
    """Until the last recorded task ended."""
    context_switches: Interval
    """Voluntary and involuntary switches."""
    voluntary: Interval
    """Of those, the voluntary ones."""
    involuntary: Interval
    """The involuntary ones."""
    migrations: Interval
    """Moves between CPUs."""
    wait_p50_ns: Interval | None
    """The median of waits in run queues."""
    wait_p90_ns: Interval | None
    """Nine waits of ten are at most this long."""
    wait_p99_ns: Interval | None
    """99 waits of 100 are at most this long."""
    tasks: tuple[TaskFigures, ...]
    """Tasks by name."""


@dataclass(frozen=True)
class Ensemble:
    """All policies of a replay with the same seeds."""

    seeds: tuple[int, ...]
    """The seeds."""
    policies: tuple[PolicyFigures, ...]
    """Each policy, in the order of the runs."""


@dataclass(frozen=True)
class FigureChange:
    """A figure without the changes of a replay and with them."""

    before: Interval | None
    """As recorded."""
    after: Interval | None
    """With the changes."""
    differs: bool
    """Whether the two intervals have no value in common: the seeds do not explain the difference."""


@dataclass(frozen=True)
class TaskEffect:
    """What changes do to the tasks of a name. Figures of one that is not there are absent."""

    name: str
    """Their name."""
    wait_p50_ns: FigureChange
    """The median of one wait in a run queue."""
    wait_p99_ns: FigureChange
    """99 waits of 100 are at most this long."""
    wait_max_ns: FigureChange
    """The longest wait."""
    wait_ns: FigureChange
    """All time in run queues."""
    run_ns: FigureChange
    """All time on CPUs."""
    ended_ns: FigureChange
    """When the last of them ended."""


@dataclass(frozen=True)
class Effect:
    """What changes do under a policy."""

    policy: str
    """The policy."""
    differs: bool
    """Whether any figure of it differs from seed to seed by less than by the changes."""
    makespan_ns: FigureChange
    """Until the last recorded task ended."""
    context_switches: FigureChange
    """Switches of the recorded tasks."""
    tasks: tuple[TaskEffect, ...]
    """Each name among the tasks."""


@dataclass(frozen=True)
class WhatIfEffects:
    """A replay with changes beside the same without."""

    changes: tuple[str, ...]
    """The changes, in words."""
    policies: tuple[Effect, ...]
    """What they do under each policy."""


@dataclass(frozen=True, repr=False)
class Simulation:
    """Runs of a workload under several policies."""

    schema: str
    """Always `swtch/simulate/1`."""
    swtch_version: str
    """Version of swtch."""
    machine: SimulatedMachine
    """The machine."""
    workload: SimulatedWorkload
    """The workload."""
    seed: int
    """The seed."""
    jitter: Jitter | None
    """What the seed changes; absent where every task starts at its nanosecond and every step takes exactly its time."""
    costs: str
    """Where the costs come from."""
    assumptions: tuple[Assumption, ...]
    """What had to be assumed."""
    warnings: tuple[str, ...]
    """What a reader must know before any figure."""
    recorded: Recorded | None
    """The recording that was replayed."""
    hand_over: HandOver | None
    """How much of it is handing over."""
    verdict: ReplayVerdict | None
    """Whether the replays tell the policies apart; look at it before the runs."""
    ensemble: Ensemble | None
    """The figures of a replay over several seeds."""
    what_if: WhatIfEffects | None
    """What changes to a replay do; absent where none were asked for."""
    runs: tuple[Run, ...]
    """The runs, in the order asked for; of a replay those with the first seed."""

    _traces: tempfile.TemporaryDirectory[str] | Path | None = field(default=None, compare=False, repr=False)
    """Where the Traces are."""

    def trace(self, policy: str) -> Trace:
        """The run under a policy as a Trace. Raises `UsageError` where `simulate` was not asked for Traces, or had no such policy."""
        if self._traces is None:
            raise _native.UsageError(
                "no Traces were written; call simulate with trace=True, or with a directory"
            )
        if policy not in [run.policy for run in self.runs]:
            raise _native.UsageError(
                f"no run under '{policy}'; there are {', '.join(run.policy for run in self.runs)}"
            )
        directory = self._traces if isinstance(self._traces, Path) else Path(self._traces.name)
        # A policy may be a path; its Trace's name has other signs then.
        found = (Trace(_native.Trace.load(one), self._traces) for one in sorted(directory.glob("*.swtch")))
        return next(one for one in found if one.provenance.policy == policy)

    def __repr__(self) -> str:
        policies = ", ".join(dict.fromkeys(run.policy for run in self.runs))
        return f"<swtch.Simulation: {self.workload.name}, {len(self.runs)} runs under {policies}>"

    def to_dict(self) -> dict[str, Any]:
        """The document of `swtch simulate --json`, as dicts, lists and plain values."""
        return dict(to_document(self))

    def to_arrow(self, table: SimulationTable = "runs") -> pyarrow.Table:
        """A table as Arrow: `runs` (a row a policy), `hooks`, `tasks`, `applications` (with their policy), `assumptions`.

        Needs `pip install 'swtch[arrow]'`. Raises `UsageError` for an unknown table.
        """
        pa = _tables.import_pyarrow()
        rows = self._rows(table)
        # Types come from the annotations: a column without a value has one too.
        types = {name: _tables.arrow_type(pa, annotation) for name, annotation in _columns(table)}
        return pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in types.items()})

    def to_pandas(self, table: SimulationTable = "runs") -> pandas.DataFrame:
        """A table as a DataFrame, as `to_arrow`. Needs `pip install 'swtch[pandas]'`."""
        _tables.import_pandas()  # First, as its extra brings pyarrow too.
        return _tables.pandas_from_arrow(self.to_arrow(table))

    def _rows(self, table: str) -> list[dict[str, Any]]:
        if table not in ("runs", *ROWS):
            raise _native.UsageError(f"unknown table '{table}'; there are runs, {', '.join(ROWS)}")
        if table == "assumptions":
            return list(to_document(self.assumptions))
        if table == "runs":
            return [_flat(run) for run in self.runs]
        of_run: dict[str, Callable[[Any], Iterable[Any]]] = {
            "hooks": lambda run: run.hooks,
            "tasks": lambda run: run.tasks,
            "applications": lambda run: run.fairness.applications if run.fairness else (),
        }
        return [{"policy": run.policy, **to_document(row)} for run in self.runs for row in of_run[table](run)]


ROWS: dict[str, type] = {
    "hooks": HookCalls,
    "tasks": TaskGroup,
    "applications": ApplicationShare,
    "assumptions": Assumption,
}
"""The tables that are not `runs`, and what a row is."""


def _columns(table: str) -> list[tuple[str, str]]:
    """Names and annotations of a table's columns."""
    if table != "runs":
        own = [(part.name, str(part.type)) for part in data_fields(ROWS[table])]
        return own if table == "assumptions" else [("policy", "str"), *own]
    columns = []
    for part in data_fields(Run):
        if part.name in PARTS:
            columns += [(name, "int | None") for _, name in _parts(part.name)]
        elif part.name == "fairness":
            columns += [(name, "float | None") for name in FAIRNESS]
        elif part.name not in ("hooks", "tasks"):
            columns.append((part.name, str(part.type)))
    return columns


PARTS: dict[str, type] = {"wait_ns": Durations, "request_ns": Durations, "cpu_ns": CpuUse}
"""Fields of a run whose own fields are columns."""
FAIRNESS = ("throughput", "min_fairness", "uniformity")


def _parts(name: str) -> list[tuple[str, str]]:
    """The fields of a field, and their columns: those of a sweep."""
    stem = name[: -len("_ns")]
    return [
        (part.name, f"{stem}_{part.name}" + ("" if part.name == "count" else "_ns"))
        for part in data_fields(PARTS[name])
    ]


def _flat(run: Run) -> dict[str, Any]:
    """A run as a row; the names are those of a sweep's columns."""
    row = {}
    for name, value in to_document(run).items():
        if name in ("hooks", "tasks"):
            continue
        if name in PARTS:
            for part, column in _parts(name):
                row[column] = value[part] if value else None
        elif name == "fairness":
            for part in FAIRNESS:
                row[part] = value[part] if value else None
        else:
            row[name] = value
    return row


def simulate(
    spec: str | os.PathLike[str] | Mapping[str, Any] | Trace,
    policies: str | Iterable[str] = (),
    *,
    machine: str | int | None = None,
    profile: Profile | str | os.PathLike[str] | None = None,
    seed: int | None = None,
    jitter: Literal["typical", "counted", "none"] | None = None,
    duration: float | None = None,
    limit: float | None = None,
    seeds: int | None = None,
    sets: Iterable[str] = (),
    beside: Iterable[str] = (),
    without: Iterable[str] = (),
    trace: str | os.PathLike[str] | bool = False,
) -> Simulation:
    """Runs a workload on a simulated machine under each policy.

    spec: a workload by name, with parameters (`"hackbench:groups=2,loops=20"`); a file, `FILE.toml` or `FILE.json` of rt-app; a
        Trace, or the path of one, `NAME.swtch`, to be replayed; a specification's text (of more than one line); or the same as a dict.
    policies: names, or one; those of the specification, else `eevdf`, when none is given. A replay also runs under the policy of the recording.
    machine: a name, or a number of CPUs; that of the specification or the recording, else this machine.
    profile: a Profile, or its file, from which the costs are taken.
    seed: of everything random.
    jitter: what the seed changes besides the random parts of the workload. `typical` changes starts within 20 us, work within 1 %,
        and the first task's CPU; `counted` what differs in a virtual machine that counts instructions; `none` changes nothing. The default is
        that of the specification, else `counted` with a Profile of emulated CPUs and `typical` with others.
    duration, limit: simulated seconds after which a run ends, or is given up.
    seeds: of a replay, with how many seeds each policy runs; six, when none is given.
    sets, beside, without: of a replay, changes to tasks (`"web:nice=19,cpus=0"`; keys are `nice`, `policy`, `cpus` and `threads`), workloads
        that run beside them (`"spin:tasks=2,work_ns=0"`), and names of tasks that are taken away: `Simulation.what_if` says what they do.
    trace: whether to keep a Trace of each policy, for `Simulation.trace`: in a directory, as `POLICY.swtch`, or with True in a temporary one.

    Raises `UsageError` for what cannot be simulated, and `SimulationError` for a deadlock or a run without end. Other threads of Python
    go on meanwhile.

    >>> found = swtch.simulate("spin:tasks=4,work_ns=10ms", ["eevdf", "rr"], machine=2)
    >>> [run.policy for run in found.runs], found.machine.cpus
    (['eevdf', 'rr'], 2)
    >>> found = swtch.simulate("spin:tasks=4,work_ns=10ms", "rr", machine=2, trace=True)
    >>> found.trace("rr").totals.context_switches.involuntary == found.runs[0].involuntary
    True
    """
    kind, text = _spec(spec)
    if profile is not None and not isinstance(profile, Profile):
        profile = Profile.load(profile)
    asking = {
        "kind": kind,
        "spec": text,
        "policies": [policies] if isinstance(policies, str) else list(policies),
        "machine": None if machine is None else str(machine),
        "profile": profile.to_json() if profile is not None else None,
        "seed": seed,
        "jitter": jitter,
        "duration_ns": _ns("duration", duration),
        "limit_ns": _ns("limit", limit),
        "seeds": seeds,
        "sets": list(sets),
        "beside": list(beside),
        "without": list(without),
    }
    traces: tempfile.TemporaryDirectory[str] | Path | None = None
    if trace is True:
        traces = tempfile.TemporaryDirectory(prefix="swtch-")
    elif trace:
        traces = Path(trace)
    into = traces.name if isinstance(traces, tempfile.TemporaryDirectory) else traces
    document = _native.simulate(asking, into)
    return from_document(Simulation, json.loads(document), _traces=traces)


def _spec(spec: str | os.PathLike[str] | Mapping[str, Any] | Trace) -> tuple[str, str]:
    if isinstance(spec, Trace):
        return "recording", os.fspath(spec.directory)
    if isinstance(spec, Mapping):
        return "text", "".join(f"{_key(key)} = {_toml(value)}\n" for key, value in spec.items())
    text = os.fspath(spec)
    if "\n" in text:
        return "text", text
    return ("recording" if Path(text).suffix == ".swtch" else "named"), text


def _ns(name: str, seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if not 0 <= seconds < 1e9:
        raise _native.UsageError(f"{name} is {seconds} s; expected 0 to 1e9")
    return round(seconds * 1e9)


def _key(key: object) -> str:
    return json.dumps(str(key))


def _toml(value: object) -> str:
    """A value in TOML, on one line: its texts are written as JSON's are."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {_toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(one) for one in value) + "]"
    if isinstance(value, (bool, int, float, str)):
        return repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
    raise _native.UsageError(
        f"{value!r} cannot be part of a specification; expected text, numbers, lists and dicts"
    )
