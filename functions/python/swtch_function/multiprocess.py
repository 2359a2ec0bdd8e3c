"""What `multiprocessing` has for processes to pass objects: pipes and queues."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable
from itertools import repeat
from typing import Any

from .counters import switches_here
from .method import Method, Switches, Unmeasurable
from .processes import Child, ChildFailed

_MARK = "mark"


class _ProcessPair(Method):
    """Objects go to a process and back."""

    tasks = "processes"
    _put: Callable[[Any], None]
    _get: Callable[[], Any]
    _put_own: Callable[[Any], None]
    _get_own: Callable[[], Any]

    def start(self, come: Callable[[], Any], go: Callable[[Any], None], ours: int) -> None:
        """Starts the partner, which answers until it gets `None`, or no other process has `ours` open."""
        try:
            self._child = Child(lambda: _answer(come, go), (ours,))
        except ChildFailed as error:
            raise Unmeasurable(str(error)) from error

    def gross_ns(self) -> int:
        """Round trips: two switches each, if there is no thread between."""
        put, get = self._put, self._get
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.rounds):
            put(True)
            get()
        return time.monotonic_ns() - start_ns

    def baseline_ns(self) -> int:
        """There and back within one process, for each switch."""
        put, get = self._put_own, self._get_own
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.switches):
            put(True)
            get()
        return time.monotonic_ns() - start_ns

    def mark(self) -> None:
        """The partner counts from now on."""
        self._put(_MARK)
        self._get()

    def switches_of_others(self) -> Switches | None:
        """Ends the partner, which reports about itself."""
        self._put(None)
        try:
            told = self._child.result()
        except ChildFailed:
            return None
        return told[0], told[1]

    def close(self) -> None:
        """Ends the partner, should it still be there."""
        self._child.end()


class ConnectionPair(_ProcessPair):
    """`multiprocessing.Pipe`."""

    name = "mp-pipe"
    baseline = "one task, one connection"

    def open(self) -> None:
        """Opens a connection to the partner, and one to itself."""
        here, there = multiprocessing.Pipe()
        own, other = multiprocessing.Pipe()
        self._ends = (here, there, own, other)
        self._put, self._get, self._put_own, self._get_own = here.send, here.recv, own.send, other.recv
        self.start(there.recv, there.send, here.fileno())

    def close(self) -> None:
        """Closes all ends."""
        super().close()
        for end in self._ends:
            end.close()


class ProcessQueuePair(_ProcessPair):
    """`multiprocessing.Queue`: a thread of its own puts each object into a pipe."""

    name = "mp-queue"
    baseline = "one task and its queue's thread, one queue"

    def open(self) -> None:
        """Opens three queues: there, back, and the baseline's."""
        try:
            self._queues: tuple[Any, ...] = tuple(multiprocessing.Queue() for _ in range(3))
        except (ImportError, OSError) as error:
            raise Unmeasurable(f"there are no semaphores for processes here: {error}") from error
        there, back, own = self._queues
        self._put, self._get, self._put_own, self._get_own = there.put, back.get, own.put, own.get
        # Not public, but without it a partner would wait for ever for a caller that was killed.
        self.start(there.get, back.put, there._writer.fileno())

    def close(self) -> None:
        """Ends the queues' threads."""
        super().close()
        for one in self._queues:
            one.close()
            one.cancel_join_thread()


def _answer(come: Callable[[], Any], go: Callable[[Any], None]) -> Switches:
    """In a process of its own."""
    before = switches_here()
    while (value := come()) is not None:
        if value == _MARK:
            before = switches_here()
        go(value)
    after = switches_here()
    return after[0] - before[0], after[1] - before[1]
