"""`swtch ai tune`: the best settings of a model on this machine, with the evidence."""

from __future__ import annotations

from typing import Any


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
