"""What Python has for threads to wait for each other: conditions, queues and events."""

from __future__ import annotations

import queue
import threading
import time
from itertools import repeat

from .method import ThreadPair


class ConditionPair(ThreadPair):
    """One flag, one `threading.Condition`; each waits until it is its turn."""

    name = "condvar"
    baseline = "one task: lock, notify, unlock"

    def open(self) -> None:
        """Begins with the caller's turn."""
        self._condition, self._own = threading.Condition(), threading.Condition()
        self._theirs = self._stopped = False
        super().open()

    def partner(self) -> None:
        """Gives every turn back."""
        condition = self._condition
        while True:
            with condition:
                while not self._theirs:
                    condition.wait()
                if self._stopped:
                    return
                self._theirs = False
                condition.notify()

    def gross_ns(self) -> int:
        """Turns given and taken back."""
        condition = self._condition
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.rounds):
            with condition:
                self._theirs = True
                condition.notify()
                while self._theirs:
                    condition.wait()
        return time.monotonic_ns() - start_ns

    def baseline_ns(self) -> int:
        """A turn given up, to no other task."""
        condition = self._own
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.switches):
            with condition:
                condition.notify()
        return time.monotonic_ns() - start_ns

    def stop(self) -> None:
        """A last turn."""
        with self._condition:
            self._theirs = self._stopped = True
            self._condition.notify()


class QueuePair(ThreadPair):
    """Two `queue.Queue`."""

    name = "queue"
    baseline = "one task, one queue"

    def open(self) -> None:
        """Opens three queues: there, back, and the baseline's."""
        self._there, self._back, self._own = queue.Queue[bool](), queue.Queue[bool](), queue.Queue[bool]()
        super().open()

    def partner(self) -> None:
        """Answers until it gets a false."""
        while self._there.get():
            self._back.put(True)

    def gross_ns(self) -> int:
        """Round trips: two switches each."""
        put, get = self._there.put, self._back.get
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.rounds):
            put(True)
            get()
        return time.monotonic_ns() - start_ns

    def baseline_ns(self) -> int:
        """A put and a get for each switch."""
        put, get = self._own.put, self._own.get
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.switches):
            put(True)
            get()
        return time.monotonic_ns() - start_ns

    def stop(self) -> None:
        """The false."""
        self._there.put(False)


class EventPair(ThreadPair):
    """Two `threading.Event`."""

    name = "event"
    baseline = "one task sets, waits and clears"

    def open(self) -> None:
        """Opens three events: there, back, and the baseline's."""
        self._there, self._back, self._own = threading.Event(), threading.Event(), threading.Event()
        self._stopped = False
        super().open()

    def partner(self) -> None:
        """Answers until it is stopped."""
        there, back = self._there, self._back
        while True:
            there.wait()
            there.clear()
            if self._stopped:
                return
            back.set()

    def gross_ns(self) -> int:
        """Round trips: two switches each."""
        there, back = self._there, self._back
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.rounds):
            there.set()
            back.wait()
            back.clear()
        return time.monotonic_ns() - start_ns

    def baseline_ns(self) -> int:
        """All three for each switch."""
        event = self._own
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.switches):
            event.set()
            event.wait()
            event.clear()
        return time.monotonic_ns() - start_ns

    def stop(self) -> None:
        """A last event."""
        self._stopped = True
        self._there.set()
