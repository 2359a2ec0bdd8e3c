"""A ring of processes that passes the running sum of process ids: the sum tells whether the token came through every process.

Yao, Measuring context switches in serverless environments, 2022, section 2.4; the ring is lmbench's.
"""

from __future__ import annotations

import os
import time
from itertools import repeat
from typing import Any

from .counters import switches_here
from .method import Method, Switches, Unmeasurable
from .processes import Child, ChildFailed

_BYTES = 8
_MARK = (-1).to_bytes(_BYTES, "little", signed=True)


class Ring(Method):
    """The caller is one of the tasks. The baseline is the caller alone, which passes the sum through as many pipes."""

    name = "ring"
    tasks = "processes"
    baseline = "one task, as many pipes"

    def __init__(self, switches: int, tasks: int) -> None:
        """tasks: processes in the ring."""
        self.task_count = tasks
        super().__init__(switches)
        self._wrong: int | None = None
        self._sum = 0

    def open(self) -> None:
        """Starts the others: each reads from the pipe of its number and writes to the next."""
        self._pipes = [os.pipe() for _ in range(self.task_count)]
        self._own = [os.pipe() for _ in range(self.task_count)]
        self._children: list[Child] = []
        self._fds = {fd for pair in (*self._pipes, *self._own) for fd in pair}
        try:
            for place in range(1, self.task_count):
                come, go = self._pipes[place - 1][0], self._pipes[place][1]
                # A pipe ends only when no other process has it.
                others = tuple(self._fds - {come, go})
                self._children.append(Child(lambda come=come, go=go: _pass_on(come, go), others))  # type: ignore[misc]
        except ChildFailed as error:
            self.close()
            raise Unmeasurable(
                f"{len(self._children) + 1} of {self.task_count} processes: {error}"
            ) from error
        for place in range(1, self.task_count):
            self._shut(self._pipes[place - 1][0])
            self._shut(self._pipes[place][1])
        self._go, self._come = self._pipes[0][1], self._pipes[-1][0]
        self._sum = os.getpid() + sum(child.pid for child in self._children)

    def gross_ns(self) -> int:
        """Laps: a switch for each process."""
        read, write, go, come, own = os.read, os.write, self._go, self._come, os.getpid()
        token = own.to_bytes(_BYTES, "little", signed=True)
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.rounds):
            write(go, token)
            data = read(come, _BYTES)
            found = int.from_bytes(data, "little", signed=True)
            if found != self._sum:
                self._wrong = found
                if not data:
                    raise Unmeasurable("a process of the ring has ended")
        return time.monotonic_ns() - start_ns

    def baseline_ns(self) -> int:
        """A lap is a write, a read and an addition for each pipe."""
        read, write, own = os.read, os.write, os.getpid()
        start_ns = time.monotonic_ns()
        for _ in repeat(None, self.rounds):
            token = own.to_bytes(_BYTES, "little", signed=True)
            for come, go in self._own:
                write(go, token)
                value = int.from_bytes(read(come, _BYTES), "little", signed=True)
                if value >= 0:
                    token = (value + own).to_bytes(_BYTES, "little", signed=True)
        return time.monotonic_ns() - start_ns

    def mark(self) -> None:
        """Sends a token round that makes every process count from now on."""
        os.write(self._go, _MARK)
        os.read(self._come, _BYTES)

    def switches_of_others(self) -> Switches | None:
        """Ends the ring: each process reports about itself."""
        self._shut(self._go)
        try:
            told = [child.result() for child in self._children]
        except ChildFailed:
            return None
        return sum(one[0] for one in told), sum(one[1] for one in told)

    def check(self) -> dict[str, Any]:
        """The sum that came round; a wrong one if there was any."""
        found = self._sum if self._wrong is None else self._wrong
        return {
            "what": "sum of process ids",
            "expected": self._sum,
            "found": found,
            "ok": found == self._sum,
        }

    def close(self) -> None:
        """Ends the processes: each reads the end of its pipe when the one before has gone."""
        for fd in tuple(self._fds):
            self._shut(fd)
        for child in self._children:
            child.end()

    def _shut(self, fd: int) -> None:
        if fd in self._fds:
            self._fds.remove(fd)
            os.close(fd)


def _pass_on(come: int, go: int) -> Switches:
    """In a process of its own, until the pipe ends; its switches since the mark."""
    read, write, own = os.read, os.write, os.getpid()
    before = switches_here()
    while data := read(come, _BYTES):
        value = int.from_bytes(data, "little", signed=True)
        if value >= 0:
            write(go, (value + own).to_bytes(_BYTES, "little", signed=True))
        else:
            before = switches_here()
            write(go, data)
    after = switches_here()
    return after[0] - before[0], after[1] - before[1]
