"""The exceptions of swtch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import MeasureError, ProfileError, SimulationError, UsageError

if TYPE_CHECKING:
    from ._profile import Profile

__all__ = [
    "CommandError",
    "Interrupted",
    "MeasureError",
    "ProfileError",
    "SimulationError",
    "UsageError",
    "WrongUsage",
]


class CommandError(Exception):
    """Something that a command cannot do, in one line for people: what failed, the likely cause, the next step."""


class WrongUsage(CommandError):
    """A wish that cannot be meant; exit status 2."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `swtch.measure`; what was complete by then is kept."""

    # As users know it, also in tracebacks.
    __module__ = "swtch"

    def __init__(self, profile: Profile | None = None) -> None:
        super().__init__("interrupted" if profile else "interrupted before anything was measured")
        self.profile = profile
        """What was complete, or `None` when nothing was."""
