"""The settings that a workload runs under, and how they are written in names of files and in documents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

PARTS = "+"
"""Between the CPU lists of co-located copies: `0+1` pins the first to CPU 0 and the second to CPU 1."""


@dataclass(frozen=True, order=True)
class Settings:
    """How one run is set. As a document: `settings` of `swtch/study/2`."""

    threads: int = 1
    """Threads that share one operator (intra-op)."""
    inter_op_threads: int = 1
    """Operators at once."""
    spinning: bool = True
    """Whether threads without work spin before they block."""
    pinned: str | None = None
    """The CPUs of each copy, parted by `+`; `None` leaves the choice to the scheduler."""
    co_located: int = 1
    """Copies that run at the same time."""
    cpu_quota: float | None = None
    """CPUs worth of time that all copies together may use; `None` means no limit."""
    batch: int = 1
    """Images in one inference."""
    device: str = "cpu"
    """`cpu` or `cuda`."""
    scheduler: str = "stock"
    """The kernel's own (`stock`), or one that `swtch sched` loads."""

    def to_document(self) -> dict[str, Any]:
        """As `swtch/study/2` has it."""
        return asdict(self)

    @property
    def label(self) -> str:
        """For names of files and tables: `t4.spin`, and what differs from the defaults: `t4.block.pinned-0-1.q1.5`."""
        parts = [f"t{self.threads}", "spin" if self.spinning else "block"]
        if self.inter_op_threads != 1:
            parts.append(f"i{self.inter_op_threads}")
        if self.pinned is not None:
            parts.append(f"pinned-{self.pinned}")
        if self.co_located != 1:
            parts.append(f"x{self.co_located}")
        if self.cpu_quota is not None:
            parts.append(f"q{self.cpu_quota:g}")
        if self.batch != 1:
            parts.append(f"b{self.batch}")
        if self.device != "cpu":
            parts.append(self.device)
        if self.scheduler != "stock":
            parts.append(self.scheduler)
        return ".".join(parts).replace(",", "_")

    @property
    def cpu_lists(self) -> list[list[int]] | None:
        """The CPUs of each copy; `None` without pinning."""
        if self.pinned is None:
            return None
        return [cpus_of(part) for part in self.pinned.split(PARTS)]


def from_document(document: Mapping[str, Any]) -> Settings:
    """The settings that a document holds. `KeyError` and `TypeError` for one that lacks something."""
    return Settings(**{name: document[name] for name in Settings.__dataclass_fields__})


def cpus_of(text: str) -> list[int]:
    """The CPUs of a list as the kernel writes it (`0,2-3`). `ValueError` for anything else.

    >>> cpus_of("0,2-3")
    [0, 2, 3]
    """
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low, high = int(first), int(last if dash else first)
        if not 0 <= low <= high < 1 << 16:
            raise ValueError(f"{text!r} is not a list of CPUs such as 0,2-3")
        found.update(range(low, high + 1))
    return sorted(found)


def cpu_list(cpus: list[int]) -> str:
    """The shortest list, as the kernel writes it.

    >>> cpu_list([3, 0, 2])
    '0,2-3'
    """
    parts: list[str] = []
    ordered = sorted(set(cpus))
    start = 0
    for index, cpu in enumerate(ordered):
        if index + 1 == len(ordered) or ordered[index + 1] != cpu + 1:
            first = ordered[start]
            parts.append(str(cpu) if first == cpu else f"{first}-{cpu}")
            start = index + 1
    return ",".join(parts)
