"""What of the machine the workloads may use: CPUs by cpuset and quota, and memory.

On a machine of 64 CPUs a container may have two of them, or the time of one and a half. Threads in excess of that are what
`swtch ai` warns of, so nothing here counts the processors of the machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .. import Host, doctor
from .._documents import to_document
from .errors import AiError


@dataclass(frozen=True)
class Usable:
    """What this process may use."""

    cpus: tuple[int, ...]
    """The processors that it may run on: its affinity, which the cpuset bounds."""
    quota_cpus: float | None
    """CPUs worth of time that its control groups allow; `None` without a quota."""
    memory_bytes: int | None
    """Memory that can be taken without swapping, its control groups' limits considered."""
    cores: tuple[tuple[int, ...], ...]
    """Those processors by physical core, in the order of their numbers."""

    @property
    def cpu_count(self) -> int:
        """Threads that can run at once: the processors, or as many as the quota pays for, rounded up."""
        if self.quota_cpus is None:
            return len(self.cpus)
        return max(1, min(len(self.cpus), math.ceil(self.quota_cpus)))

    @property
    def cpu_time(self) -> float:
        """CPUs worth of time that it can use."""
        return float(len(self.cpus)) if self.quota_cpus is None else min(len(self.cpus), self.quota_cpus)


def host() -> Host:
    """The facts about this machine, as a Profile has them. Raises `AiError` when it does not list its processors."""
    from .._errors import MeasureError

    try:
        return doctor().host
    except MeasureError as error:
        raise AiError(f"this machine does not say what it is: {error}") from None


def host_document(of: Host) -> dict[str, Any]:
    """As documents have it."""
    return dict(to_document(of))


def usable(of: Host) -> Usable:
    """What of that machine this process may use."""
    quota = of.limits.cpu_quota
    allowed = tuple(sorted(of.limits.allowed_cpus))
    return Usable(
        cpus=allowed,
        quota_cpus=None if quota is None else quota.quota_us / quota.period_us,
        memory_bytes=of.limits.available_memory_bytes,
        cores=_cores(of, allowed),
    )


def available_memory_bytes() -> int | None:
    """Memory that can be taken right now without swapping; `None` where neither the machine nor its control groups say."""
    return host().limits.available_memory_bytes


def _cores(of: Host, allowed: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    siblings = {cpu.id: tuple(sorted(set(cpu.smt_siblings) | {cpu.id})) for cpu in of.cpus}
    found: dict[tuple[int, ...], list[int]] = {}
    for cpu in allowed:
        found.setdefault(siblings.get(cpu, (cpu,)), []).append(cpu)
    return tuple(tuple(core) for core in found.values())


def pinned(policy: str, threads: int, copies: int, of: Usable) -> str | None:
    """The CPUs of each copy under a policy, as `Settings.pinned` writes them.

    `none` pins nothing. `spread` gives each copy as many CPUs as it has threads (at most all), from different cores
    first; `compact` fills one core after the other. Copies take turns through the list. A list of CPUs (`0,2-3`) is taken as it is
    and shared by the copies. Raises `AiError` for CPUs that may not be used.

    >>> pinned("spread", 1, 2, Usable((0, 1, 2, 3), None, None, ((0, 2), (1, 3))))
    '0+1'
    >>> pinned("compact", 2, 1, Usable((0, 1, 2, 3), None, None, ((0, 2), (1, 3))))
    '0,2'
    """
    from .settings import PARTS, cpu_list, cpus_of

    if policy == "none":
        return None
    if policy not in ("spread", "compact"):
        asked = cpus_of(policy)
        missing = [cpu for cpu in asked if cpu not in of.cpus]
        if missing:
            raise AiError(
                f"cannot pin to CPU {missing[0]}: this process may use {cpu_list(list(of.cpus))}; choose among those"
            )
        return PARTS.join([cpu_list(asked)] * copies)
    order = _spread(of.cores) if policy == "spread" else [cpu for core in of.cores for cpu in core]
    each = min(threads, len(order))
    lists = [[order[(copy * each + i) % len(order)] for i in range(each)] for copy in range(copies)]
    return PARTS.join(cpu_list(cpus) for cpus in lists)


def _spread(cores: tuple[tuple[int, ...], ...]) -> list[int]:
    """The first CPU of every core, then the second of every core, and so on."""
    deepest = max((len(core) for core in cores), default=0)
    return [core[depth] for depth in range(deepest) for core in cores if depth < len(core)]
