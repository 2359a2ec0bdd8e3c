"""Two threads pass one byte back and forth over two pipes: `os.read` and `os.write`, nothing between them and the kernel."""

from __future__ import annotations

import os
import time
from itertools import repeat

from .method import ThreadPair


class PipePair(ThreadPair):
    """The baseline reads and writes as often, through one pipe (Li, Ding and Shen, ExpCS 2007)."""

    name = "pipe"
    baseline = "one task, one pipe"

    def open(self) -> None:
        """Opens three pipes: there, back, and the baseline's."""
        self._there, self._back, self._own = os.pipe(), os.pipe(), os.pipe()
        super().open()

    def partner(self) -> None:
        """Answers until the pipe ends."""
        read, write = os.read, os.write
        come, go = self._there[0], self._back[1]
        while read(come, 1):
            write(go, b"x")

    def gross_ns(self) -> int:
        """Round trips: two switches each."""
        read, write, rounds = os.read, os.write, repeat(None, self.rounds)
        go, come = self._there[1], self._back[0]
        start_ns = time.monotonic_ns()
        for _ in rounds:
            write(go, b"x")
            read(come, 1)
        return time.monotonic_ns() - start_ns

    def baseline_ns(self) -> int:
        """A write and a read for each switch."""
        read, write, rounds = os.read, os.write, repeat(None, self.switches)
        come, go = self._own
        start_ns = time.monotonic_ns()
        for _ in rounds:
            write(go, b"x")
            read(come, 1)
        return time.monotonic_ns() - start_ns

    def stop(self) -> None:
        """The partner's pipe ends."""
        os.close(self._there[1])

    def close(self) -> None:
        """Closes what is left."""
        super().close()
        for fd in (self._there[0], *self._back, *self._own):
            os.close(fd)
