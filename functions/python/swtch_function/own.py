"""A user's own function, called once for each POST, in a process of its own that may raise, hang, fork or end without harm."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from .answer import failure

_POLL_S = 0.05


class OwnFunction:
    """`module:function`, loaded in a worker that lives from call to call, so that only the first is cold."""

    def __init__(self, name: str, timeout_s: float, processes: int) -> None:
        """timeout_s: how long a call may take; processes: how many there may be at once, the worker included."""
        self._name, self._timeout_s, self._processes = name, timeout_s, processes
        self._worker: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def __call__(self, body: bytes, query: str) -> tuple[int, dict[str, Any]]:
        """A status, and `swtch/faas-call/1` or `swtch/faas-error/1`."""
        try:
            event = json.loads(body) if body.strip() else None
        except ValueError as error:
            return 400, failure(f"the body is not JSON: {error}")
        with self._lock:
            return self._call(event)

    def close(self) -> None:
        """Ends the worker and whatever it started."""
        worker, self._worker = self._worker, None
        if worker is None:
            return
        deadline = time.monotonic() + 5
        # A process forked meanwhile is killed in the next round.
        while _of_session(worker.pid) and time.monotonic() < deadline:
            for pid in _of_session(worker.pid):
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            worker.poll()
        worker.wait()
        for pipe in (worker.stdin, worker.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _call(self, event: Any) -> tuple[int, dict[str, Any]]:
        worker = self._started()
        assert worker.stdin and worker.stdout, "both are pipes"
        with contextlib.suppress(BrokenPipeError):
            worker.stdin.write(json.dumps(event).encode() + b"\n")
            worker.stdin.flush()
        line, deadline = b"", time.monotonic() + self._timeout_s
        while not line.endswith(b"\n"):
            if select.select([worker.stdout], [], [], _POLL_S)[0]:
                part = os.read(worker.stdout.fileno(), 1 << 16)
                line += part
                if part:
                    continue
                return self._ended(500, f"{self._name} ended its process: {_how(worker)}")
            if time.monotonic() > deadline:
                return self._ended(504, f"{self._name} did not return within {self._timeout_s:g} s")
            if len(_of_session(worker.pid)) > self._processes:
                return self._ended(500, f"{self._name} started more than {self._processes} processes")
        answer = json.loads(line)
        return answer["status"], answer["document"]

    def _ended(self, status: int, why: str) -> tuple[int, dict[str, Any]]:
        self.close()
        return status, failure(why)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._worker is not None and self._worker.poll() is not None:
            self.close()
        if self._worker is None:
            self._worker = subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.worker", self._name],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
            )
        return self._worker


def _how(worker: subprocess.Popen[bytes]) -> str:
    try:
        status = worker.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return "it closed its output"
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _of_session(session: int) -> list[int]:
    """Processes that a worker started, and itself; those that have ended do not count."""
    found = []
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            with contextlib.suppress(OSError, IndexError):
                state, _, _, of = (directory / "stat").read_text().rpartition(")")[2].split()[:4]
                if int(of) == session and state != "Z":
                    found.append(int(directory.name))
    return found
