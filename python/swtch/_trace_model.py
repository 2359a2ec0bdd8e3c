"""The parts of a Trace's header and of its bill, field for field those of `swtch/trace/3`. Times are nanoseconds; `None` is unavailable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ._model import Unavailable

__all__ = ["Unavailable"]

Origin = Literal["recorded", "imported", "simulated"]
"""Where a Trace comes from: a running kernel, another tool's file, the simulator."""

TraceEnded = Literal["recording", "complete", "duration", "interrupted", "disk-full", "target-gone", "failed"]
"""Why a recording ended; `recording`: its recorder did not finish."""

CauseKind = Literal["threads-wake-each-other", "processes-wake-each-other", "interrupts", "preemption"]
"""What a switch comes from."""

IndirectFrom = Literal["working-set", "cache-misses", "slice-length", "probe"]
"""What bounds the cost of refilling caches."""


@dataclass(frozen=True)
class TraceProvenance:
    """How a Trace came about."""

    origin: Origin
    """Recorded, imported or simulated."""
    swtch_version: str
    """Version of swtch that wrote it."""
    recorder: str
    """The source: `bpf-events`, `bpf-counts`, `perf`, `procfs`, a simulator or a file's format."""
    why: str
    """Why this source was chosen."""
    policy: str | None
    """The scheduling policy of a simulated Trace."""
    started_unix_ns: int
    """When it was started, nanoseconds since 1970 (UTC)."""
    started_monotonic_ns: int
    """The same moment by CLOCK_MONOTONIC; the tables' times count from it."""
    ended: TraceEnded
    """Why it ended."""


@dataclass(frozen=True)
class Scope:
    """What was recorded."""

    kind: Literal["command", "processes", "cgroup", "machine"]
    """Which of them."""
    command: tuple[str, ...] | None
    """The program and its arguments, of a command."""
    pid: int | None
    """Its process."""
    pids: tuple[int, ...] | None
    """The processes asked for."""
    path: str | None
    """The cgroup's path below the hierarchy's root."""


@dataclass(frozen=True)
class SwitchTotals:
    """Context switches by kind. A switch from the idle task is work of no task and is kept apart."""

    voluntary: int | None
    """The task blocked or slept."""
    involuntary: int | None
    """The task could have gone on: it was preempted or its slice was over."""
    idle: int | None
    """From the idle task."""


@dataclass(frozen=True)
class MigrationTotals:
    """Migrations by the nearest cache that the two CPUs share."""

    same_l2: int | None
    """Within a level 2 cache."""
    same_l3: int | None
    """Within a level 3 cache, not a level 2 cache."""
    across: int | None
    """Between CPUs that share neither."""


@dataclass(frozen=True)
class CpuTime:
    """Time of CPUs by use, as `/proc/stat` divides it."""

    user: int | None
    """In programs."""
    system: int | None
    """In the kernel, for programs."""
    irq: int | None
    """In hardware interrupts."""
    softirq: int | None
    """In soft interrupts."""
    idle: int | None
    """With nothing to do."""
    steal: int | None
    """Given by the hypervisor to others."""
    iowait: int | None
    """Idle while a task waited for a device."""


@dataclass(frozen=True)
class ProcessTotals:
    """Processes that were created and that ended."""

    forked: int | None
    """Created."""
    execs: int | None
    """Programs executed."""
    exited: int | None
    """Ended."""
    peak: int | None
    """Most that existed at once."""


@dataclass(frozen=True)
class Throttled:
    """What a cgroup's quota took, as `cpu.stat` counts it."""

    periods: int
    """Periods in which the group wanted to run."""
    throttled_periods: int
    """Of those, the ones in which it was stopped."""
    throttled_ns: int
    """Time it was stopped, summed over CPUs."""


@dataclass(frozen=True)
class Pressure:
    """Pressure stall information of one resource."""

    resource: str
    """`cpu`, `memory`, `io` or `irq`."""
    some_ns: int | None
    """Time in which at least one task waited for it."""
    full_ns: int | None
    """Time in which all tasks that were not idle waited for it."""


@dataclass(frozen=True)
class Totals:
    """Sums over the whole run, within the scope."""

    context_switches: SwitchTotals
    """Context switches."""
    migrations: MigrationTotals
    """Moves of tasks between CPUs."""
    wakeups: int | None
    """Wake-ups."""
    cpu_ns: CpuTime
    """Time of CPUs."""
    processes: ProcessTotals
    """Processes."""
    threads_created: int | None
    """Threads created, those of new processes among them."""
    throttled: Throttled | None
    """What the quota of the cgroup took; `None` without a quota or where it is not counted."""
    pressure: tuple[Pressure, ...]
    """Pressure stall information, by resource; empty where the kernel has none."""
    switch_cost_ns: int | None
    """Direct cost of all switches, measured in place and summed."""


@dataclass(frozen=True)
class Reconciliation:
    """One of the recorder's counts next to the kernel's."""

    what: str
    """What was counted, such as `context switches`."""
    counted: int
    """The recorder's count."""
    kernel: int
    """The kernel's."""
    source: str
    """Where the kernel's is, such as `/proc/stat ctxt`."""


@dataclass(frozen=True)
class Lost:
    """Events that were lost."""

    cpu: int | None
    """The CPU; `None` when it is not known."""
    events: int
    """How many."""
    what: str
    """Which events, and where they were lost."""


@dataclass(frozen=True)
class Sampled:
    """How a figure was sampled: it was counted in windows of time, and scaled by the kernel's exact counts."""

    share: float
    """The share of the time that the windows took."""
    windows: int
    """How many windows there were."""
    ci_low: float | None
    """The lower end of its confidence interval (95 %, clustered by window), in its own unit; `None` for a column."""
    ci_high: float | None
    """The upper end likewise."""


@dataclass(frozen=True)
class ProbedRefill:
    """What `swtch probe` found for the recorded command."""

    program: str
    """What `swtch probe` ran: the name of the program."""
    started_unix_s: int
    """When, seconds since 1970 (UTC)."""
    displaced_bytes: int
    """The most memory that was touched between."""
    refill_high_ns: float
    """The upper end of what an interruption then took beyond one that touches nothing."""


@dataclass(frozen=True)
class RecorderCost:
    """What recording itself took."""

    cpu_ns: int | None
    """CPU time of the recorder's own process while it recorded: of `swtch.record`, this Python."""
    bpf_ns: int | None
    """CPU time of its programs in the kernel."""
    memory_bytes: int | None
    """Most memory it held, kernel maps included."""


@dataclass(frozen=True)
class TableFiles:
    """An existing table."""

    name: str
    """Its name, such as `tasks`."""
    rows: int
    """Its rows, in all files."""
    files: tuple[str, ...]
    """Its files within the directory, in order."""


@dataclass(frozen=True)
class Range:
    """From the least to the most it can be."""

    low: float
    """At least."""
    high: float
    """At most."""


@dataclass(frozen=True)
class InPlace:
    """The direct cost of switches by their medians."""

    sum_ns: float
    """Sum of all that was measured."""
    robust_ns: float
    """The same, with the median in place of every outlier."""
    median_ns: float
    """Median of one switch."""
    outliers: int
    """Switches that were interrupted, or took more than 20 times the median of their kind."""
    outliers_ns: float
    """Their time; it is in `sum_ns`."""


@dataclass(frozen=True)
class TaskBill:
    """What the switches of one task cost."""

    tid: int
    """The task."""
    comm: str
    """Its name."""
    direct_ns: Range | None
    """The switches themselves."""
    indirect_ns: Range | None
    """Refilling caches."""
    indirect_from: IndirectFrom | None
    """What bounds that; `None` when it is."""


@dataclass(frozen=True)
class Cause:
    """Something that many switches come from."""

    kind: CauseKind
    """What it is: one of `CauseKind`."""
    share: float
    """Its share of all switches of the tasks."""
    who: tuple[str, ...]
    """The task and its partner, or the task alone."""


@dataclass(frozen=True)
class Money:
    """What the switches cost in money."""

    per_vcpu_hour: float
    """For one virtual CPU and one hour."""
    recording: Range
    """Of this recording."""
    month: Range | None
    """In a month at this rate; `None` when the recorded tasks have ended."""


@dataclass(frozen=True)
class Advice:
    """Something that stands out."""

    what: str
    """What it is, in a few words."""
    evidence: str
    """What in this Trace shows it."""
    try_this: str
    """What to try."""
    cost: Range | None
    """What the switches concerned took, as a share of the tasks' CPU time; no bound of what the change saves."""
    saving: str
    """An estimate of the CPU time that the change saves."""
    saves_wait_ns: int | None
    """Waiting in run queues that the change takes away at most; `None` where CPU time is concerned."""


@dataclass(frozen=True)
class WaitPart:
    """What had the CPU during a part of a program's waiting."""

    cause: str
    """What it is: `task`, `idle`, `interrupt`, `quota` or `unseen`."""
    program: str | None
    """The name of the tasks in front, where tasks were."""
    ns: int
    """How long."""
    share: float
    """As a part of the program's waiting."""
    woken_ns: int
    """Of `ns`, in waits after wake-ups."""
    preempted_ns: int
    """Of `ns`, in waits after preemptions."""
    tasks: int
    """Tasks of that name."""
    parent_pid: int | None
    """The process that made them, where there are several and all have the same."""
    nice: int | None
    """Their nice value, where all have the same."""
    policy: str | None
    """Their policy, where all have the same."""
    kernel_threads: bool
    """They are threads of the kernel."""
    in_scope: bool
    """They were recorded."""


@dataclass(frozen=True)
class ProgramWaits:
    """The waits of the tasks of one name."""

    program: str
    """Its name."""
    tasks: int
    """Its tasks that waited."""
    waits: int
    """How often they waited."""
    wait_ns: int
    """How long in all."""
    woken_ns: int
    """Of this, after wake-ups."""
    preempted_ns: int
    """Of this, after preemptions."""
    p50_ns: int | None
    """Median of one wait."""
    p99_ns: int | None
    """99 waits of 100 were at most this long."""
    max_ns: int | None
    """The longest wait."""
    idle_elsewhere_ns: int | None
    """Of `wait_ns`, time in which another CPU was idle that the tasks may use."""
    cpus_allowed: str | None
    """The CPUs that the tasks may use, where it is the same for all."""
    nice: int | None
    """The nice value, where all tasks have the same."""
    behind: tuple[WaitPart, ...]
    """What had the CPU meanwhile, the longest first; the parts add up to `wait_ns`."""


@dataclass(frozen=True)
class Waits:
    """The waits of the recorded tasks."""

    wait_ns: int
    """How long the tasks waited in run queues in all."""
    waits: int
    """How often."""
    p50_ns: int | None
    """Median of one wait."""
    p99_ns: int | None
    """99 waits of 100 were at most this long."""
    max_ns: int | None
    """The longest wait."""
    longest_of: str | None
    """The program of the longest wait."""
    programs: tuple[ProgramWaits, ...]
    """By program, the one that suffered most first."""


@dataclass(frozen=True)
class Bill:
    """What the context switches of a Trace cost."""

    direct_ns: Range | None
    """The switches themselves; `None` when nothing says what one costs. An outlier counts as the median: see `in_place`."""
    in_place: InPlace | None
    """Median, sum and outliers, where the cost of every switch was measured where it happened."""
    indirect_ns: Range | None
    """Refilling caches after them; `None` without a Profile."""
    indirect_from: IndirectFrom | None
    """What bounds most of that; `None` when it is."""
    cpu_ns: float
    """CPU time of the tasks, switches included."""
    share: Range | None
    """Both costs as a share of that time."""
    measured_in_place: bool
    """Whether the direct cost of every switch was measured where it happened; otherwise it is the Profile's times their number."""
    switch_ns: Range | None
    """Mean direct cost of one switch."""
    tasks: tuple[TaskBill, ...]
    """Of tasks, the dearest first."""
    causes: tuple[Cause, ...]
    """What most of the switches come from, the largest first."""
    money: Money | None
    """In money, where a price was given."""
    waits: Waits | None
    """How long the tasks waited for a CPU, and behind what; `None` where single switches were not recorded."""
    caveats: tuple[dict[str, Any], ...]
    """Causes outside the workload that could explain the figures, the most important first; `kind` says which it is."""
    advice: tuple[Advice, ...]
    """What stands out, with its evidence and what to try."""
