"""The machine of a Profile. What it does not tell is `None`, never zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

CoreKind = Literal["uniform", "performance", "efficiency"]
"""The kind of a core: uniform (or unknown), a faster (P, big) one, a slower (E, little) one."""

CacheKind = Literal["data", "instruction", "unified"]
"""What a cache holds."""


@dataclass(frozen=True)
class Cpu:
    """One logical CPU."""

    id: int
    """The kernel's number."""
    online: bool
    """Whether it is switched on."""
    core: int | None
    """Number of its core within the package."""
    package: int | None
    """Number of its package (socket)."""
    die: int | None
    """Number of its die."""
    smt_siblings: tuple[int, ...]
    """CPUs on the same core, this one among them."""
    numa_node: int | None
    """Its NUMA node."""
    capacity: int | None
    """Relative capacity, 1024 for the fastest (`cpu_capacity`)."""
    max_frequency_khz: int | None
    """Highest frequency in kHz (`cpuinfo_max_freq`)."""
    kind: CoreKind
    """Which kind of core it is, on machines with several."""


@dataclass(frozen=True)
class Cache:
    """One physical cache."""

    level: int
    """1 is nearest the core."""
    kind: CacheKind
    """What it holds."""
    bytes: int
    """Capacity in bytes."""
    line_bytes: int | None
    """Length of a line in bytes."""
    ways: int | None
    """Ways of associativity."""
    shared_by: tuple[int, ...]
    """CPUs that share it."""


@dataclass(frozen=True)
class NumaNode:
    """One NUMA node."""

    id: int
    """The kernel's number."""
    cpus: tuple[int, ...]
    """Its CPUs."""
    memory_bytes: int | None
    """Its memory in bytes."""


@dataclass(frozen=True)
class Frequency:
    """The driver that sets the frequency."""

    driver: str | None
    """cpufreq driver."""
    governor: str | None
    """cpufreq governor of the first CPU."""
    boost: bool | None
    """Whether boost (turbo) is on."""


@dataclass(frozen=True)
class Virtualisation:
    """What stands between this system and the hardware."""

    hypervisor: str | None
    """Hypervisor as `systemd-detect-virt` names it, e.g. `kvm`, or `unknown` when there is one without a
    name; absent on bare metal.
    """
    container: str | None
    """Container runtime, e.g. `docker`; absent outside one."""
    gvisor: bool
    """Whether the kernel is gVisor's, which imitates Linux."""


@dataclass(frozen=True)
class Mitigation:
    """One weakness and what is done about it."""

    name: str
    """File name under `/sys/devices/system/cpu/vulnerabilities`."""
    state: str
    """What the kernel says of it."""


@dataclass(frozen=True)
class Kernel:
    """The kernel and how it is set."""

    release: str
    """`uname -r`."""
    version: str
    """`uname -v`."""
    preemption: str | None
    """`none`, `voluntary`, `lazy`, `full` or `rt`."""
    preemption_source: str | None
    """Where `preemption` was read, or, when it is absent, why it is not known."""
    page_table_isolation: bool | None
    """Whether user and kernel page tables are apart (Meltdown mitigation); a switch then costs more."""
    mitigations: tuple[Mitigation, ...]
    """Known weaknesses of the CPU and what is done about each."""
    sched_ext: bool | None
    """Whether the kernel was built with sched_ext."""
    sched_ext_loaded: str | None
    """The sched_ext scheduler that is loaded now."""
    btf: bool
    """Whether the kernel describes its types (BTF)."""
    hardware_counters: bool | None
    """Whether the kernel has a driver for the CPUs' performance counters; absent where it does not list its
    event sources.
    """


@dataclass(frozen=True)
class CpuQuota:
    """A CPU quota: an amount of CPU time in every period."""

    quota_us: int
    """Running time allowed in a period, µs."""
    period_us: int
    """Length of the period, µs."""
    cgroup_version: int
    """Version of the cgroup that sets it."""
    path: str
    """Directory of that cgroup, e.g. `/sys/fs/cgroup/app.slice`."""


@dataclass(frozen=True)
class Limits:
    """What this process may use."""

    allowed_cpus: tuple[int, ...]
    """CPUs this process may run on: its affinity (which the cpuset bounds), without those that are
    off.
    """
    cpu_quota: CpuQuota | None
    """The tightest CPU quota of its cgroups."""
    memory_limit_bytes: int | None
    """The tightest memory limit of its cgroups, in bytes."""
    available_memory_bytes: int | None
    """Memory that can be taken without swapping, in bytes. It is what the machine has available
    (`MemAvailable`) or what the cgroups leave of their limits, whichever is less.
    """
    cgroup_versions: tuple[int, ...]
    """Versions of the cgroups that are mounted: 1, 2."""
    effective_uid: int
    """Effective user id."""
    effective_capabilities: int
    """Effective capabilities, one bit each (`CapEff`)."""
    realtime_priority_limit: int | None
    """Highest real-time priority the limits grant (the soft `RLIMIT_RTPRIO`); `u64::MAX` means no limit."""
    perf_event_paranoid: int | None
    """`kernel.perf_event_paranoid`."""
    unprivileged_bpf_disabled: int | None
    """`kernel.unprivileged_bpf_disabled`."""
    sched_rt_runtime_us: int | None
    """`kernel.sched_rt_runtime_us`; -1 means no limit."""


@dataclass(frozen=True)
class Host:
    """What is known about one machine."""

    architecture: str
    """Instruction set architecture as `uname -m` names it."""
    cpu_model: str | None
    """CPU model as the machine names it."""
    cpus: tuple[Cpu, ...]
    """The CPUs that are present, by number."""
    caches: tuple[Cache, ...]
    """The caches, level 1 first; one entry for each physical cache."""
    numa_nodes: tuple[NumaNode, ...]
    """The NUMA nodes."""
    memory_bytes: int | None
    """Main memory in bytes."""
    frequency: Frequency
    """The driver that sets the CPUs' frequency."""
    virtualisation: Virtualisation
    """What stands between this system and the hardware."""
    kernel: Kernel
    """The kernel and how it is set."""
    limits: Limits
    """What this process may use of the machine."""
