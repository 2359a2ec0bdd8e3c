"""Starts workloads of the contract, listens to them, and ends them."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._cgroup import Group
from .contract import DURATION_VARIABLE, FD_VARIABLE, GO, INFERENCES_VARIABLE, Collector
from .errors import AiError, ContractError

_READ_BYTES = 1 << 16
_END_PATIENCE_S = 10.0


class Workload:
    """A program of the contract as a process, seen from its host."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        duration_s: float,
        inferences: int | None = None,
        cpus: Sequence[int] | None = None,
        group: Group | None = None,
    ) -> None:
        """Starts it, on those CPUs and in that cgroup. Raises `AiError` when the program is not there."""
        self.said = Collector()
        """Its events so far."""
        self.broken: ContractError | None = None
        """Where it broke the contract."""
        read_fd, write_fd = os.pipe()
        self._fd = read_fd
        self._log = tempfile.TemporaryFile()
        variables = {
            **os.environ,
            **environment,
            FD_VARIABLE: str(write_fd),
            DURATION_VARIABLE: f"{duration_s:g}",
        }
        variables.pop(INFERENCES_VARIABLE, None)
        if inferences is not None:
            variables[INFERENCES_VARIABLE] = str(inferences)
        try:
            with _pinned(cpus):
                self.process = subprocess.Popen(
                    group.into(command) if group is not None else list(command),
                    stdin=subprocess.PIPE,
                    stdout=self._log,
                    stderr=self._log,
                    pass_fds=[write_fd],
                    env=variables,
                    start_new_session=True,
                )
        except OSError as error:
            os.close(read_fd)
            raise AiError(
                f"{command[0]} cannot be run: {error.strerror}; is it installed and on PATH?"
            ) from None
        finally:
            os.close(write_fd)

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self.process.pid

    @property
    def listening(self) -> bool:
        """Whether more may come from it."""
        return self._fd >= 0

    @property
    def done(self) -> bool:
        """Whether it has told everything, or will tell nothing more."""
        return self.said.finished or not self.listening

    @property
    def died(self) -> bool:
        """Whether it has ended before it told everything."""
        if self.listening or self.said.finished or self.broken is not None:
            return False
        try:
            # Its end closed the pipe; the exit takes another moment.
            self.process.wait(1)
        except subprocess.TimeoutExpired:
            return False
        return True

    def read(self) -> None:
        """Takes what it said; blocks when there is nothing."""
        data = os.read(self._fd, _READ_BYTES)
        if not data:
            self.said.close()
            self._stop_listening()
            return
        try:
            self.said.feed(data)
        except ContractError as error:
            self.broken = error
            self._stop_listening()

    def go(self) -> None:
        """Lets its measured phase begin."""
        assert self.process.stdin is not None
        # It may have died since it was ready; the collector finds that out.
        with contextlib.suppress(OSError):
            self.process.stdin.write(f"{GO}\n".encode())
            self.process.stdin.flush()

    def end(self, at_once: bool = False) -> int | None:
        """Waits for its end, or brings it about; returns its exit status, negative for a signal."""
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        if at_once:
            self._signal(signal.SIGKILL)
        try:
            self.process.wait(_END_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self.process.wait()
        self._stop_listening()
        return self.process.returncode

    def complaint(self) -> str:
        """Why it failed, in one line: what it said by the contract, or the last line that it wrote."""
        if self.broken is not None:
            return str(self.broken)
        if self.said.error is not None:
            return self.said.error
        status = self.process.returncode
        how = "ended" if status is None else f"ended with status {status}"
        if status is not None and status < 0:
            how = f"was ended by {_signal_name(-status)}"
            if -status == signal.SIGKILL:
                how += " (the kernel does that when memory runs out)"
        lines = self._output().strip().splitlines()
        last = f": {lines[-1].strip()}" if lines else ""
        return f"the workload {how}{last}"

    def _output(self) -> str:
        with contextlib.suppress(OSError, ValueError):
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - 4096))
            return self._log.read().decode(errors="replace")
        return ""

    def _signal(self, number: int) -> None:
        # Its own session, so its own process group: the processes that it started are ended too.
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, number)

    def _stop_listening(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def listen(workloads: Sequence[Workload], until: Callable[[Workload], bool], limit_s: float) -> bool:
    """Listens to all until `until` holds of each or it has ended; false when that took longer than the limit.

    `KeyboardInterrupt` passes through.
    """
    deadline = time.monotonic() + limit_s
    with selectors.DefaultSelector() as selector:
        for one in workloads:
            if one.listening and not until(one):
                selector.register(one._fd, selectors.EVENT_READ, one)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return False
            for key, _ in ready:
                one = key.data
                fd = key.fd
                one.read()
                if not one.listening or until(one):
                    selector.unregister(fd)
    return True


def listening_pid(port: int) -> int | None:
    """The process that listens at a TCP port, the oldest of several; `None` where none can be seen."""
    sockets = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(table) as lines:
            for line in list(lines)[1:]:
                # Local address, state (0A: listening) and inode (proc_pid_net(5)).
                fields = line.split()
                if fields[3] == "0A" and int(fields[1].rpartition(":")[2], 16) == port:
                    sockets.add(f"socket:[{fields[9]}]")
    for pid in sorted(int(name) for name in os.listdir("/proc") if name.isdigit()):
        # Of another user, or gone.
        with contextlib.suppress(OSError):
            if any(os.readlink(f"/proc/{pid}/fd/{fd}") in sockets for fd in os.listdir(f"/proc/{pid}/fd")):
                return pid
    return None


@contextlib.contextmanager
def _pinned(cpus: Sequence[int] | None) -> Any:
    """Processes started in the block inherit these CPUs; afterwards this thread has its own again."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        raise AiError(
            f"cannot pin to the CPUs {sorted(cpus)} ({error.strerror}); this process may use {sorted(before)}"
        ) from None
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
