"""What this machine allows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from . import _native
from ._documents import from_document, to_document
from ._host import Host

State = Literal["ok", "limited", "missing"]
"""How much of a capability is available."""


@dataclass(frozen=True)
class Capability:
    """One thing that measuring can use."""

    name: str
    """Stable name in kebab case, e.g. `hardware-counters`."""
    state: State
    """How much of it is available."""
    finding: str
    """What was found, in one line."""
    costs: str | None
    """What its absence costs the user; `None` when nothing is lost."""
    enable: str | None
    """The command (or setting) that would enable it, commands in backticks; `None` when nothing is lost or nothing helps."""


@dataclass(frozen=True)
class Probe:
    """The outcome of trying something for real."""

    works: bool
    """Whether it worked."""
    why: str | None
    """The error when it did not."""


@dataclass(frozen=True)
class Probes:
    """What was tried for real, because permission bits do not show it (seccomp filters, sandboxes, security modules)."""

    realtime: Probe
    """`sched_setscheduler(SCHED_FIFO)`."""
    pinning: Probe
    """`sched_setaffinity` to one CPU."""
    perf_events: Probe
    """A software perf event (context switches) on this process."""
    hardware_counters: Probe
    """A hardware perf event (instructions) on this process."""
    bpf: Probe
    """The `bpf` system call."""
    switch_counts: Probe
    """Whether `getrusage` counts switches: some sandboxes report a constant zero."""


@dataclass(frozen=True, repr=False)
class Doctor:
    """What this machine allows: its facts, what was tried on it, and what follows for measuring."""

    schema: str
    """Always `swtch/doctor/1`."""
    host: Host
    """The machine."""
    probes: Probes
    """What was tried."""
    capabilities: tuple[Capability, ...]
    """What follows: hardware, kernel, limits, events."""

    def to_dict(self) -> dict[str, Any]:
        """The document that `swtch doctor --json` prints, as dicts, lists and plain values."""
        return dict(to_document(self))

    def __repr__(self) -> str:
        counts = {
            state: sum(row.state == state for row in self.capabilities)
            for state in ("ok", "limited", "missing")
        }
        return f"<swtch.Doctor: {', '.join(f'{count} {state}' for state, count in counts.items())}>"


def doctor() -> Doctor:
    """Looks at this machine and tries what measuring can use; changes nothing and takes a fraction of a second.

    Raises `MeasureError` when the machine does not list its CPUs.

    >>> lost = [row.costs for row in swtch.doctor().capabilities if row.state == "missing"]
    >>> all(lost)
    True
    """
    return from_document(Doctor, json.loads(_native.doctor()))
