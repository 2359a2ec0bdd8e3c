"""A function as a process of its own in a cgroup. A request is a line to its standard input, an answer a line of its standard output.

Only the function is in the cgroup. This process sends requests and measures latencies; it is outside of the cgroup.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import select
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO, Any

from .. import _cgroup as cgroup
from .invoke import MOST_BYTES, Reply, gave_up, judged, one_line
from .languages import Command

START_LIMIT_S = 60.0
"""A function must be ready by then."""
_LOOK_S = 0.005
_WATCH_S = 0.05
_READ_BYTES = 1 << 16
_PR_SET_PDEATHSIG = 1


class NotStarted(Exception):
    """A function that did not become ready, and why, in one line."""

    def __init__(self, outcome: str, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome
        """As of an invocation."""


class Server:
    """A function that speaks the local protocol: one line that says it is ready, then a line for each line that it gets."""

    def __init__(
        self,
        command: Command,
        group: cgroup.Group,
        directory: Path | None = None,
        processes: int | None = None,
    ) -> None:
        """processes: how many there may be at once, where the cgroup does not limit them."""
        self.group = group
        """Where it runs."""
        self._most = processes
        self._command, self._directory = command, directory
        self._process: subprocess.Popen[bytes] | None = None
        self._err: IO[bytes] | None = None
        self._beginning = 1
        self.began_ns: int | None = None
        """When its program began, by the monotonic clock, as far as it says so: the runtime was up."""
        self._in_step = True
        self._read = bytearray()
        """What came after the last line."""
        self._death: tuple[int, ...] = ()
        """A descriptor that becomes readable when it ends, where there are such."""

    def start(self, limit_s: float = START_LIMIT_S) -> None:
        """Starts it and waits until it is ready. Raises `NotStarted`."""
        kills = self.group.counters().oom_kills
        self._in_step, self._read = True, bytearray()
        self._err = tempfile.TemporaryFile()
        try:
            self._process = self._popen(self._err)
        except OSError as error:
            raise NotStarted("failed", f"{self._command.words[0]} cannot be run: {error.strerror}") from None
        # This process must not wake while the function runs: it would take its CPU.
        with contextlib.suppress(OSError, AttributeError):
            self._death = (os.pidfd_open(self._process.pid),)
        self._wait(limit_s, kills)
        self._beginning = len(self.group.processes())

    def _popen(self, err: IO[bytes]) -> subprocess.Popen[bytes]:
        """Starts the process, in the group."""
        process = subprocess.Popen(
            self.group.into([*self._command.words, "--lines"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            stderr=err,
            env={**os.environ, **self._command.environment},
            cwd=self._directory,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
        return process

    def stop(self) -> None:
        """Ends it and everything that it started."""
        if self._process is not None:
            with contextlib.suppress(OSError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self.group.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    pipe.close()
        for descriptor in self._death:
            os.close(descriptor)
        self._death = ()
        if self._err is not None:
            self._err.close()
        self._process = self._err = None

    def invoke(self, body: bytes, limit_s: float) -> Reply:
        """Sends a request, which has no line break in it, and reads the answer; every failure is an outcome."""
        started = time.monotonic_ns()
        latency_ns = 0
        try:
            line = self._exchange(body + b"\n", limit_s)
            latency_ns = time.monotonic_ns() - started
            answer = _parsed(line)
            if answer is not None and answer.get("more"):
                line = self._exchange(b"", limit_s)
                answer = _whole(answer, _parsed(line))
        except TimeoutError:
            self._in_step = False
            return gave_up(limit_s, time.monotonic_ns() - started)
        except OSError as error:
            self._in_step = False
            return Reply("failed", time.monotonic_ns() - started, one_line(str(error)))
        if answer is None or "status" not in answer:
            return Reply("invalid", latency_ns, f"the answer is not JSON (begins {line[:40]!r})")
        return judged(answer["status"], answer.get("document"), latency_ns)

    def _exchange(self, request: bytes, limit_s: float) -> bytes:
        """The line that answers a line; nothing is sent with an empty one. Raises `TimeoutError` and `OSError`."""
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        to, answers = process.stdin.fileno(), process.stdout.fileno()
        deadline = time.monotonic() + limit_s
        seen = 0
        while (end := self._read.find(b"\n", seen)) < 0:
            seen = len(self._read)
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise TimeoutError
            ready, free, _ = select.select(
                [answers, *self._death], [to] if request else [], [], min(left_s, self._watch_s)
            )
            if free:
                request = request[os.write(to, request[:_READ_BYTES]) :]
            if answers in ready:
                part = os.read(answers, _READ_BYTES)
                if not part:
                    raise OSError("the function closed its output without an answer")
                self._read += part
                if len(self._read) > MOST_BYTES:
                    raise OSError(f"the answer is larger than {MOST_BYTES >> 20} MiB")
            elif not free:
                self._watch(process)
        line = bytes(self._read[:end])
        del self._read[: end + 1]
        return line

    @property
    def _watch_s(self) -> float:
        """How long nothing is looked at while it runs."""
        return _WATCH_S if self._most is not None or not self._death else math.inf

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        """While nothing comes. Raises `OSError` when nothing will come: what it started may hold its output open."""
        if process.poll() is not None:
            raise OSError("the function closed its output without an answer")
        if self._most is not None and len(self.group.processes()) > self._most:
            raise OSError(f"the function started more than {self._most} processes")

    @property
    def running(self) -> bool:
        """Whether it is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def ready(self) -> bool:
        """Whether it runs, and its next line answers the next request."""
        return self.running and self._in_step

    @property
    def is_oversized(self) -> bool:
        """Whether processes are in its group that were not when it began."""
        return len(self.group.processes()) > self._beginning

    def ended(self, oom_kills_before: int | None) -> tuple[str, str] | None:
        """The outcome and the reason, when it died or something of it was killed for memory; `None` when it still runs.

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

    def _wait(self, limit_s: float, oom_kills: int | None) -> None:
        try:
            first = self._exchange(b"", limit_s)
        except TimeoutError:
            raise self._not_started("timeout", f"the function was not ready within {limit_s:g} s") from None
        except OSError as error:
            ended = self.ended(oom_kills)
            raise self._not_started(*(ended or ("failed", str(error)))) from None
        ready = _parsed(first)
        if ready is None or not ready.get("ready"):
            said = first.decode(errors="replace").strip()[:80]
            raise self._not_started(
                "failed", f'the function began with {said!r} and not with {{"ready": true}}'
            )
        began_ns = ready.get("began_ns")
        self.began_ns = began_ns if isinstance(began_ns, int) else None

    def _not_started(self, outcome: str, why: str) -> NotStarted:
        self.stop()
        return NotStarted(outcome, why)

    @staticmethod
    def _written(file: IO[bytes] | None) -> str:
        if file is None:
            return ""
        # Without moving the place, which the process that writes shares.
        size = os.fstat(file.fileno()).st_size
        return os.pread(file.fileno(), 4096, max(0, size - 4096)).decode(errors="replace")


def _whole(first: dict[str, Any], second: dict[str, Any] | None) -> dict[str, Any] | None:
    """The answer in two lines, of which the second has the rest of the document, or all of the answer. Its costs are read in between."""
    if second is None or "status" in second:
        return second
    return {**first, "document": {**first["document"], **second}}


def _parsed(line: bytes) -> dict[str, Any] | None:
    """The object in a line; `None` for any other line."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


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
