"""Records a workload: in this process, or by the program `swtch` where only that is permitted to see everything."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from .._errors import CommandError, RecordError, TraceError, UsageError
from .._program import binary
from .._record import Recording, recording
from .._trace import Trace
from .errors import AiError
from .sampler import process_cpu_ns

_BEGIN_LIMIT_S = 30.0
_END_LIMIT_S = 120.0
_NOTICE_LIMIT_S = 2.0
_POLL_S = 0.01
_STEADY_S = 0.05
"""For this long no program must have been attached, and the recorder must have been idle."""


class Recorder(Protocol):
    """Records until it is stopped."""

    def cpu_ns(self) -> int | None:
        """CPU time that it took so far, without its programs in the kernel; `None` when it has ended."""

    def cpu_beside_ns(self) -> int | None:
        """Of that, what is not CPU time of this process."""

    def stop(self, gone: bool = False) -> Trace:
        """Ends it; returns the Trace. Raises `AiError` when it failed.

        gone: the workload and its group are gone; it notices by itself, and its Trace says so.
        """


@contextlib.contextmanager
def recorder(
    trace: Path, pids: Sequence[int], cgroup: Path | None = None, machine: bool = False
) -> Iterator[Recorder]:
    """Records to a directory while the block runs: processes, all their threads and what they start, or everything in a cgroup, or on the
    machine.

    It sees every switch from the beginning of the block on; `evaluate.saw_beginning` proves it. Raises `AiError` when it cannot begin.
    """
    one = (_Program if _program_may_more() else _Here)(trace, pids, cgroup, machine)
    try:
        one.wait_begun()
        yield one
    finally:
        one.kill()


class _Here:
    """A recording of this process."""

    def __init__(self, trace: Path, pids: Sequence[int], cgroup: Path | None, machine: bool) -> None:
        of_pids = None if machine or cgroup is not None else pids
        of_cgroup = None if machine else cgroup
        with _in_a_line("cannot begin the recording"):
            self._running: Recording = recording(
                pids=of_pids, cgroup=of_cgroup, out=trace, force=True, mode="events", defer=True
            )

    def wait_begun(self) -> None:
        with _in_a_line("cannot begin the recording"):
            self._running.__enter__()

    def cpu_ns(self) -> int | None:
        return self._running.cpu_ns()

    def cpu_beside_ns(self) -> int:
        return 0

    def stop(self, gone: bool = False) -> Trace:
        with _in_a_line("the recording failed"):
            return self._running.stop(_NOTICE_LIMIT_S if gone else None)

    def kill(self) -> None:
        # wait_begun or stop has reported the failure.
        with contextlib.suppress(Exception):
            self._running.stop()


@contextlib.contextmanager
def _in_a_line(what: str) -> Iterator[None]:
    try:
        yield
    except (UsageError, RecordError, TraceError, OSError) as error:
        raise AiError(f"{what}: {error}") from None


def _program_may_more() -> bool:
    """Whether the program `swtch` has capabilities (setcap(8)), that this process lacks; root has all."""
    if os.geteuid() == 0:
        return False
    try:
        return bool(os.getxattr(binary(), "security.capability"))
    except (CommandError, OSError):
        return False


class _Program:
    """`swtch record` as a process."""

    def __init__(self, trace: Path, pids: Sequence[int], cgroup: Path | None, machine: bool) -> None:
        self._trace = trace
        target = ["-p", ",".join(map(str, pids))] if cgroup is None else ["--cgroup", str(cgroup)]
        target = ["--all"] if machine else target
        words = ["--events", "--defer", "--no-profile", "--force", "-o", str(trace)]
        command = [str(binary()), "record", *target, *words]
        self._err = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=self._err,
            start_new_session=True,
        )

    def wait_begun(self) -> None:
        """Waits until it sees every switch. Raises `AiError` when it ends instead.

        It says nothing when it has begun. But its Trace says what it records with, programs that it has attached to the kernel are among
        its file descriptors, and once it follows the workload it sleeps between looks.
        """
        started = time.monotonic()
        attached, steady_since = 0, started
        while time.monotonic() - started < _BEGIN_LIMIT_S:
            if self._process.poll() is not None:
                raise AiError(f"cannot begin the recording: {self._complaint()}")
            now = time.monotonic()
            found = _attached(self._process.pid)
            if found != attached or not _sleeps(self._process.pid):
                attached, steady_since = found, now
            if now - steady_since >= _STEADY_S and (attached or self._samples()):
                return
            time.sleep(_POLL_S)
        raise AiError(f"swtch record did not begin within {_BEGIN_LIMIT_S:.0f} s; is the machine overloaded?")

    def cpu_ns(self) -> int | None:
        try:
            return process_cpu_ns(self._process.pid)
        except OSError:
            return None

    def cpu_beside_ns(self) -> int | None:
        return self.cpu_ns()

    def stop(self, gone: bool = False) -> Trace:
        if gone:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_NOTICE_LIMIT_S)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            status = self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            raise AiError(f"swtch record did not end within {_END_LIMIT_S:.0f} s and was killed") from None
        if status != 0:
            raise AiError(f"swtch record failed: {self._complaint()}")
        with _in_a_line("the recording failed"):
            return Trace.load(self._trace)

    def kill(self) -> None:
        """Ends it at once; its recording so far is in the directory."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._err.close()

    def _samples(self) -> bool:
        """Whether it looks at procfs, for which nothing is attached."""
        try:
            header = json.loads((self._trace / "header.json").read_text())
            return bool(header["provenance"]["recorder"] == "procfs")
        except (OSError, ValueError, KeyError):
            return False

    def _complaint(self) -> str:
        self._err.seek(0)
        lines = [line.strip() for line in self._err.read().splitlines() if line.strip()]
        return lines[-1] if lines else f"it ended with status {self._process.returncode} without a message"


def _attached(pid: int) -> int:
    """How many links of BPF programs and perf events a process holds; 0 where that cannot be seen."""
    directory = f"/proc/{pid}/fd"
    count = 0
    try:
        for name in os.listdir(directory):
            try:
                target = os.readlink(f"{directory}/{name}")
            except OSError:
                continue
            count += "bpf_link" in target or "[perf_event]" in target
    except OSError:
        return 0
    return count


def _sleeps(pid: int) -> bool:
    """Whether a process waits for something."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] == "S"
    except (OSError, IndexError):
        return False
