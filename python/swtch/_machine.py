"""What of the machine workloads may use: CPUs by cpuset and quota, and memory.

On a machine of 64 CPUs a container may have two of them, or the time of one and a half. Threads in excess of that are what
`swtch ai` warns of, and a tier cannot have more, so nothing here counts the CPUs of the machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from . import Host, doctor
from ._documents import to_document
from ._errors import CommandError, MeasureError


@dataclass(frozen=True)
class Usable:
    """What this process may use."""

    cpus: tuple[int, ...]
    """The CPUs that it may run on: its affinity, which the cpuset bounds."""
    quota_cpus: float | None
    """CPUs worth of time that its cgroups allow; `None` without a quota."""
    memory_bytes: int | None
    """Memory that can be taken without swapping, its cgroups' limits considered."""
    cores: tuple[tuple[int, ...], ...]
    """Those CPUs by physical core, in the order of their numbers."""

    @property
    def cpu_count(self) -> int:
        """Threads that can run at once: the CPUs, or as many as the quota pays for, rounded up."""
        if self.quota_cpus is None:
            return len(self.cpus)
        return max(1, min(len(self.cpus), math.ceil(self.quota_cpus)))

    @property
    def cpu_time(self) -> float:
        """CPUs worth of time that it can use."""
        return float(len(self.cpus)) if self.quota_cpus is None else min(len(self.cpus), self.quota_cpus)


def host() -> Host:
    """The facts about this machine, as a Profile has them. Raises `CommandError` when it does not list its CPUs."""
    try:
        return doctor().host
    except MeasureError as error:
        raise CommandError(f"cannot read the facts about this machine: {error}") from None


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
    """Memory that can be taken right now without swapping; `None` where neither the machine nor its cgroups say."""
    return host().limits.available_memory_bytes


def _cores(of: Host, allowed: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    siblings = {cpu.id: tuple(sorted(set(cpu.smt_siblings) | {cpu.id})) for cpu in of.cpus}
    found: dict[tuple[int, ...], list[int]] = {}
    for cpu in allowed:
        found.setdefault(siblings.get(cpu, (cpu,)), []).append(cpu)
    return tuple(tuple(core) for core in found.values())
