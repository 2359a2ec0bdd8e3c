"""The exceptions of swtch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import MeasureError, ProfileError, RecordError, SimulationError, TraceError, UsageError

if TYPE_CHECKING:
    from ._profile import Profile
    from ._trace import Trace

__all__ = [
    "CommandError",
    "Interrupted",
    "MeasureError",
    "ProfileError",
    "RecordError",
    "SimulationError",
    "TraceError",
    "UsageError",
    "WrongUsage",
]


class CommandError(Exception):
    """Something that a command cannot do, in one line for people: what failed, the likely cause, the next step."""


class WrongUsage(CommandError):
    """A wish that cannot be meant; exit status 2."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `swtch.measure` or `swtch.record`; complete results are kept."""

    # As users know it, also in tracebacks.
    __module__ = "swtch"

    def __init__(self, profile: Profile | None = None, trace: Trace | None = None) -> None:
        kept = profile is not None or trace is not None
        super().__init__("interrupted" if kept else "interrupted before any figure was complete")
        self.profile = profile
        """What `swtch.measure` had measured, or `None`."""
        self.trace = trace
        """What `swtch.record` had recorded, or `None`."""
