"""The parts of a Profile, field for field those of `swtch/profile/2`. Times are nanoseconds, sizes are bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Ended = Literal["complete", "precision", "time-limit", "interrupted"]
"""Why something ended: a whole run had measured everything; a condition's interval was narrow enough; the time was used up;
Ctrl-C."""

RegionKind = Literal["fits", "interferes", "exceeds"]
"""The three regions of Li, Ding and Shen (ExpCS 2007, section 3.1). In the first both arrays fit and the curve is flat. In
the second one fits and both do not, and the curve rises. In the third one task alone misses too, and the difference no
longer grows."""


@dataclass(frozen=True)
class Provenance:
    """How the figures came about."""

    source: str
    """`measured`; a simulated or hand-written profile says so here."""
    swtch_version: str
    """Version of swtch that wrote it."""
    started_unix_s: int
    """When it was started, seconds since 1970 (UTC)."""
    elapsed_s: float
    """How long it took, in seconds."""
    preset: str
    """`quick`, `default` or `full`."""
    precision: float
    """Half-width of the 95 % interval that ends a condition, as a fraction of its median."""
    ended: Ended
    """Why the run ended: `complete`, `time-limit` or `interrupted`."""
    launches: int
    """Fresh processes started, each with its own pages and pipes."""
    order_seed: int
    """Seed of the random order of conditions."""


@dataclass(frozen=True)
class Clock:
    """The clock the figures were taken with."""

    source: str
    """`tsc`, `cntvct` or `clock_gettime`."""
    frequency_hz: float | None
    """Its rate against CLOCK_MONOTONIC_RAW, in Hz; absent for clock_gettime."""
    calibration_ppm: float | None
    """Half the width of the calibration's bracket, in parts per million; absent for clock_gettime."""
    resolution_ns: float
    """Smallest step ever seen between two readings, ns."""
    overhead_ns: float
    """Time one reading takes, ns."""
    fallback_why: str | None
    """Why a faster clock was not used."""


@dataclass(frozen=True)
class Estimate:
    """A figure in nanoseconds with what is known about its spread."""

    median: float
    """Median of the batches."""
    ci_low: float
    """Lower end of the 95 % order-statistic interval of the median."""
    ci_high: float
    """Upper end of that interval."""
    mean: float
    """Mean of the batches."""
    min: float
    """Smallest batch."""
    undisturbed: float
    """The cost on an undisturbed machine: the difference of the arms' low quantiles, divided by the
    switches.
    """
    undisturbed_quantile: float
    """Which quantile `undisturbed` takes, e.g. 0.05."""
    cov: float
    """Coefficient of variation of the batches: standard deviation over mean."""
    batches: int
    """Batches that entered."""
    rejected: int
    """Batches left out because something disturbed them."""
    launches: int
    """Fresh processes the batches come from."""
    launch_medians: tuple[float, ...]
    """Median of each fresh process's batches. Two profiles are compared by these: a difference counts only
    when it is larger than what one process and the next differ by.
    """
    batch_length: int
    """Repetitions (round trips, hops, calls) in one batch; the median over batches."""
    normality_p: float | None
    """Shapiro-Wilk: probability of so skewed a sample if batches were normal; absent below 3 batches."""
    lag1_autocorrelation: float | None
    """Correlation of a batch with the one before; absent below 3 batches."""
    ended: Ended
    """What ended the repetitions."""
    flags: tuple[str, ...]
    """Warnings about this figure: `negative`, `noisy-host`, `unexpected-switch-count`, `few-batches`."""


@dataclass(frozen=True)
class Direct:
    """Direct cost c1: the same work with and without switches, per switch."""

    method: str
    """How the tasks hand the CPU to each other: `pipe`, `futex`, ...; `swtch measure --help` lists the methods."""
    tasks: str
    """`thread` or `process`."""
    placement: str
    """`same-cpu`, `smt-sibling`, `shared-l2`, `shared-l3`, `same-package`, `other-package`, `other-core-
    kind` or `unpinned`.
    """
    cpus: tuple[int, ...]
    """CPUs the tasks were pinned to; empty when unpinned."""
    class_: str
    """`normal` or `fifo`; `class` in files and tables, which Python reserves."""
    switch_cost_ns: Estimate
    """c1: time per switch with the baseline subtracted."""
    round_trip_ns: Estimate
    """Time of one round trip, nothing subtracted."""
    switches_per_round_trip: float | None
    """Switches the kernel counted per round trip; absent where it does not count."""
    involuntary_share: float | None
    """Of those, the share that was involuntary; absent where the kernel does not count."""
    expected_switches_per_round_trip: float
    """Switches per round trip that the method would make undisturbed."""
    baseline_ns: float
    """Median time of the same system calls without a switch, per switch."""


@dataclass(frozen=True)
class Indirect:
    """c2 - c1, with the two intervals' widths combined."""

    median: float
    """Difference of the medians."""
    ci_low: float
    """Lower end of its interval."""
    ci_high: float
    """Upper end of its interval."""
    undisturbed: float
    """Difference of the undisturbed figures."""


@dataclass(frozen=True)
class Total:
    """Total cost c2 at one array size, stride and access."""

    array_bytes: int
    """Size of each task's own array."""
    stride_bytes: int
    """Step between elements; equal to the element (8) for sequential."""
    access: str
    """`read`, `write` or `read-modify-write`."""
    total_cost_ns: Estimate
    """c2: time per switch, with one task's traversal of one array subtracted."""
    indirect_cost_ns: Indirect
    """c2 - c1."""
    baseline_ns: float
    """Median time of the baseline: one traversal, one write, one read."""
    switches_per_round_trip: float | None
    """Switches the kernel counted per round trip; absent where it does not count."""


@dataclass(frozen=True)
class Ring:
    """One point of the ring's surface."""

    processes: int
    """Processes in the ring."""
    array_bytes: int
    """Size of each process's own array; 0 for none."""
    switch_cost_ns: Estimate
    """Time of a hop less that of a hop in one process through the same pipes."""
    baseline_ns: float
    """Median time of the baseline's hop."""
    switches_per_hop: float | None
    """Switches the kernel counted per hop; absent where it does not count."""


@dataclass(frozen=True)
class Region:
    """A interval of the curve of c2 over array size."""

    from_bytes: int
    """First array size, bytes."""
    to_bytes: int
    """Last array size, bytes."""
    kind: RegionKind
    """What happens there."""


@dataclass(frozen=True)
class Knee:
    """A border found in the curve, with the nearest cache."""

    array_bytes: int
    """Array size at which the curve turns, bytes."""
    kind: str
    """`rise` or `plateau`."""
    cache_level: int | None
    """Level of the cache nearest to it, when one is near."""
    cache_bytes: int | None
    """That cache's size, bytes."""
    predicted_bytes: int | None
    """Array size at which that cache predicts the border: half of it for a rise, all of it for a plateau.
    """
    agrees: bool
    """Whether the two lie within one step of the measured sizes."""


@dataclass(frozen=True)
class Message:
    """The time of a message through a pipe or a socket, one write and one read, when no task has to be woken.
    All messages are written, then all are read.
    """

    carrier: str
    """`pipe` or `socket`."""
    placement: str
    """Where the writer and the reader run: `same-cpu` (one task does both), `shared-l3`, ..."""
    cpus: tuple[int, ...]
    """The CPUs, of the writer and of the reader."""
    channels: int
    """Pipes or sockets that are written before the first is read."""
    depth: int
    """Messages in each."""
    message_bytes: int
    """Length of a message, bytes."""
    message_ns: Estimate
    """One write and one read, ns; between CPUs with a share of handing over, which all messages of a round have in
    common.
    """
    write_share: float | None
    """On one CPU: the part of that which is the write. Profiles of before December 2026 do not have it."""
    one_cpu_ns: float | None
    """Between CPUs: the same by one task on the writer's, batch by batch beside it, ns."""


@dataclass(frozen=True)
class References:
    """Other operations of the kernel, for scale."""

    syscall_ns: Estimate | None
    """One `getppid`."""
    fork_ns: Estimate | None
    """fork, `_exit` in the child, wait for it."""
    thread_create_ns: Estimate | None
    """Create a thread that returns at once, join it."""


@dataclass(frozen=True)
class Reference:
    """A row of the table `references`: one operation of `References` that was measured."""

    operation: str
    """`syscall`, `fork` or `thread_create`."""
    time_ns: Estimate
    """How long it takes, ns."""


@dataclass(frozen=True)
class NoiseReason:
    """One reason for leaving batches out."""

    reason: str
    """`foreign-cpu-time`, `slow-clock`, `migrated` or `switch-count`."""
    batches: int
    """How many."""


@dataclass(frozen=True)
class KernelThreads:
    """What the kernel's own threads did while one task computed, on all CPUs together."""

    runs_per_second: float
    """How often one of them came to a CPU in a second."""
    mean_run_ns: float
    """How long it stayed there on average, ns."""


@dataclass(frozen=True)
class Noise:
    """What disturbed the run."""

    batches: int
    """Batches measured in all."""
    rejected: int
    """Batches left out of the estimates."""
    reasons: tuple[NoiseReason, ...]
    """Batches left out, by reason."""
    steal_share: float | None
    """Time the hypervisor gave to others on the CPUs used, as a share of the run; absent where it is
    not counted.
    """
    foreign_share: float | None
    """Time other tasks ran on the CPUs used, as a share of the run."""
    spin_cov: float | None
    """Spread of a fixed spin loop over the run (coefficient of variation): the machine's own noise."""
    throttled_ns: int | None
    """Time the run's cgroup was throttled, ns; absent where it is not counted."""
    kernel_threads: KernelThreads | None = None
    """What the kernel's own threads did while one task computed; absent where they cannot be seen, or
    did nothing.
    """


@dataclass(frozen=True)
class Unavailable:
    """Something that could not be measured."""

    what: str
    """What."""
    why: str
    """Why, and what would allow it."""
