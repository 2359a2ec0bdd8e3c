"""The exceptions of swtch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._native import MeasureError, ProfileError, SimulationError, UsageError

if TYPE_CHECKING:
    from ._profile import Profile

__all__ = ["Interrupted", "MeasureError", "ProfileError", "SimulationError", "UsageError"]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during `swtch.measure`; what was complete by then is kept."""

    # As users know it, also in tracebacks.
    __module__ = "swtch"

    def __init__(self, profile: Profile | None = None) -> None:
        super().__init__("interrupted" if profile else "interrupted before anything was measured")
        self.profile = profile
        """What was complete, or `None` when nothing was."""
