"""Processes for measuring: forks that do one thing, report it, and never return into the caller's code."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any


class ChildFailed(RuntimeError):
    """A process ended without an answer; the text is one line."""


class Child:
    """A process that runs a function, whose return value comes back as JSON."""

    def __init__(self, work: Callable[[], Any], close: Sequence[int] = ()) -> None:
        """close: file descriptors that the process must not keep open."""
        read_fd, write_fd = os.pipe()
        try:
            with warnings.catch_warnings():
                # Since 3.12 Python warns of a fork in a process with threads; this one calls nothing but the system until it ends.
                warnings.simplefilter("ignore", DeprecationWarning)
                self.pid = os.fork()
        except OSError as error:
            os.close(read_fd)
            os.close(write_fd)
            raise ChildFailed(f"no process could be started: {error.strerror}") from error
        if self.pid == 0:
            status = 1
            # Whatever happens, the caller's code must not run twice.
            try:
                status = _run(work, write_fd, (read_fd, *close))
            finally:
                os._exit(status)
        os.close(write_fd)
        self._fd: int | None = read_fd

    def result(self) -> Any:
        """What the function returned, when it has; `ChildFailed` when it did not return."""
        if self._fd is None:
            raise ChildFailed("the process was ended")
        parts = []
        while part := os.read(self._fd, 1 << 16):
            parts.append(part)
        self._reap()
        if not parts:
            raise ChildFailed("a process ended without an answer")
        answer = json.loads(b"".join(parts))
        if "error" in answer:
            raise ChildFailed(answer["error"])
        return answer["result"]

    def end(self) -> None:
        """Kills it, should it still be there."""
        if self._fd is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._reap()

    def _reap(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
            # Another handler of SIGCHLD may have been faster.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)


def _run(work: Callable[[], Any], fd: int, close: Sequence[int]) -> int:
    """The process; what it exits with."""
    gc.disable()
    for other in close:
        os.close(other)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        answer: dict[str, Any] = {"result": work()}
    except BaseException as error:
        answer = {"error": "".join(traceback.format_exception_only(type(error), error)).strip()}
    line = memoryview(json.dumps(answer).encode())
    while line:
        line = line[os.write(fd, line) :]
    return 0 if "result" in answer else 1
