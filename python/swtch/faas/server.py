"""A function as a process of its own, in a control group, behind a local address."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from .. import _cgroup as cgroup
from .invoke import one_line
from .languages import Command

START_LIMIT_S = 60.0
"""A function must be ready by then."""
_LOOK_S = 0.005
_END_S = 5.0
_PR_SET_PDEATHSIG = 1


class NotStarted(Exception):
    """A function that did not become ready, and why, in one line."""

    def __init__(self, outcome: str, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome
        """As of an invocation."""


class Server:
    """A local server that speaks the local protocol: one line of JSON with its address, then HTTP."""

    def __init__(self, command: Command, group: cgroup.Group, folder: Path | None = None) -> None:
        self.group = group
        """Where it runs."""
        self.url: str | None = None
        """Where it listens; `None` while it does not run."""
        self._command, self._folder = command, folder
        self._process: subprocess.Popen[bytes] | None = None
        self._out: IO[bytes] | None = None
        self._err: IO[bytes] | None = None
        self._beginning = 1

    def start(self, limit_s: float = START_LIMIT_S) -> None:
        """Starts it and waits until it listens. Raises `NotStarted`."""
        kills = self.group.counters().oom_kills
        self._out, self._err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        words = [*self._command.words, "--listen", "127.0.0.1:0"]
        try:
            self._process = subprocess.Popen(
                self.group.into(words),
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                env={**os.environ, **self._command.environment},
                cwd=self._folder,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        except OSError as error:
            raise NotStarted("failed", f"{words[0]} cannot be run: {error.strerror}") from None
        self.url = self._wait(limit_s, kills)
        self._beginning = len(self.group.processes())

    def stop(self) -> None:
        """Ends it and everything that it started."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.group.kill()
            self._process.wait()
        for file in (self._out, self._err):
            if file is not None:
                file.close()
        self._process = self._out = self._err = self.url = None

    @property
    def running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def grown(self) -> bool:
        """Whether processes are in its group that were not when it began."""
        return len(self.group.processes()) > self._beginning

    def ended(self, oom_kills_before: int | None) -> tuple[str, str] | None:
        """The outcome and the reason, when it died or something of it was killed for memory; `None` when it goes on.

        Waits a moment for a death that has only just cut the connection.
        """
        deadline = time.monotonic() + 0.3
        while time.monotonic() < deadline:
            kills = self.group.counters().oom_kills
            if kills is not None and oom_kills_before is not None and kills > oom_kills_before:
                return "oom", "killed by the kernel at the memory limit of its tier"
            if not self.running:
                # The kernel counts a kill before the process is gone.
                return "failed", self.complaint()
            time.sleep(_LOOK_S)
        return None

    def complaint(self) -> str:
        """Why it is not there, in one line: how it ended, and the last line that it wrote."""
        status = None if self._process is None else self._process.poll()
        how = "does not answer" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was ended by {_signal_name(-status)}"
        lines = [line for line in self._written(self._err).splitlines() if line.strip()]
        return one_line(f"the function {how}{': ' + lines[-1] if lines else ''}")

    def _wait(self, limit_s: float, oom_kills: int | None) -> str:
        deadline = time.monotonic() + limit_s
        assert self._process is not None
        while True:
            first = self._written(self._out, from_start=True).split("\n", 1)
            if len(first) == 2:
                with contextlib.suppress(ValueError, TypeError, KeyError):
                    return f"http://{json.loads(first[0])['listening']}/"
                raise self._not_started(
                    "failed", f"the function began with {first[0][:80]!r} instead of its address"
                )
            ended = None if self.running else self.ended(oom_kills)
            if ended is not None:
                raise self._not_started(*ended)
            if time.monotonic() > deadline:
                raise self._not_started("timeout", f"the function was not ready within {limit_s:g} s")
            time.sleep(_LOOK_S)

    def _not_started(self, outcome: str, why: str) -> NotStarted:
        self.stop()
        return NotStarted(outcome, why)

    @staticmethod
    def _written(file: IO[bytes] | None, from_start: bool = False) -> str:
        if file is None:
            return ""
        # Without moving the place, which the process that writes shares.
        size = os.fstat(file.fileno()).st_size
        return os.pread(file.fileno(), 4096, 0 if from_start else max(0, size - 4096)).decode(
            errors="replace"
        )


# Found before anything forks.
_libc = ctypes.CDLL(None, use_errno=True)


def end_with_parent() -> None:
    """For `preexec_fn`: what is started ends with this process, whatever ends that."""
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
