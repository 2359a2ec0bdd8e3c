"""What a way to make switches is, to those who repeat it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any, ClassVar

Switches = tuple[int, int]
"""Voluntary and involuntary ones."""


class Unmeasurable(RuntimeError):
    """A method that does not work here; the text is one line."""


class Method(ABC):
    """Tasks that make switches, from `__enter__` on, and a baseline that does the same without them."""

    name: ClassVar[str]
    tasks: ClassVar[str] = "threads"
    baseline: ClassVar[str]
    """What the baseline does, in words."""
    task_count = 2

    def __init__(self, switches: int) -> None:
        """switches: in a batch, at least."""
        self.rounds = -(-switches // self.task_count)
        """Round trips or laps in a batch."""
        self.switches = self.rounds * self.task_count
        """Switches that a batch should make."""

    def __enter__(self) -> Method:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def open(self) -> None:
        """Starts the tasks."""

    @abstractmethod
    def gross_ns(self) -> int:
        """A batch with switches."""

    @abstractmethod
    def baseline_ns(self) -> int:
        """The same calls in one task."""

    @abstractmethod
    def close(self) -> None:
        """Ends the tasks."""

    def mark(self) -> None:
        """Warming up is over: switches count from now on."""

    def switches_of_others(self) -> Switches | None:
        """Switches of other processes since the mark; `None` where they are unknown. Nothing comes after it but `close`."""
        return 0, 0

    def check(self) -> dict[str, Any] | None:
        """Whether the token passed through every task, as `swtch/faas/2` has it."""
        return None


class ThreadPair(Method):
    """Two threads of this process: the caller's and a partner."""

    def open(self) -> None:
        """Starts the partner."""
        self._partner = threading.Thread(target=self.partner, name=f"swtch-{self.name}", daemon=True)
        self._partner.start()

    @abstractmethod
    def partner(self) -> None:
        """What the partner does until `close`."""

    @abstractmethod
    def stop(self) -> None:
        """Tells the partner to end."""

    def close(self) -> None:
        """Ends the partner."""
        self.stop()
        self._partner.join(timeout=5)
