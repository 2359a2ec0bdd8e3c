"""Runs `swtch record` beside a workload, and reads what it wrote."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._files import user_folder
from .._program import binary
from .errors import AiError
from .sampler import process_cpu_ns
from .timeline import Switch

_BEGIN_LIMIT_S = 30.0
_END_LIMIT_S = 120.0
_NOTICE_LIMIT_S = 2.0
_POLL_S = 0.01
_STEADY_S = 0.05
"""Attached programs must not have grown in number, and the recorder must have had nothing to do, for so long."""


def own_profile() -> Path:
    """Where `swtch measure` keeps this machine's Profile."""
    return user_folder("XDG_STATE_HOME", ".local/state") / "profile.json"


class Recorder:
    """`swtch record` as a process: begins before the workload's measured phase and is ended after it."""

    def __init__(
        self,
        trace: Path,
        pids: Sequence[int],
        cgroup: Path | None = None,
        price: str | None = None,
        machine: bool = False,
    ) -> None:
        """Starts it. It follows the processes, all their threads and what they start, or everything in a control group, or on the machine."""
        self.trace = trace
        """The folder that it writes."""
        shutil.rmtree(trace, ignore_errors=True)
        target = ["-p", ",".join(map(str, pids))] if cgroup is None else ["--cgroup", str(cgroup)]
        target = ["--all"] if machine else target
        command = [str(binary()), "record", *target, "--events", "--json", "--force", "-o", str(trace)]
        # Measuring a Profile takes ten seconds, which nobody asked for here.
        command += [] if own_profile().exists() else ["--no-profile"]
        command += ["--price", price] if price else []
        self._out, self._err = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._out, stderr=self._err, start_new_session=True
        )

    def wait_begun(self) -> None:
        """Waits until it sees every switch. Raises `AiError` when it ends instead.

        It says nothing when it has begun. But its Trace says what it records with, programs that it has attached to the kernel are among
        its file descriptors, and once it follows the workload it sleeps between looks. `evaluate.saw_beginning` proves it afterwards.
        """
        started = time.monotonic()
        attached, steady_since = 0, started
        while time.monotonic() - started < _BEGIN_LIMIT_S:
            if self._process.poll() is not None:
                raise AiError(f"swtch record could not begin: {self._complaint()}")
            now = time.monotonic()
            found = _attached(self._process.pid)
            if found != attached or not _sleeps(self._process.pid):
                attached, steady_since = found, now
            if now - steady_since >= _STEADY_S and (attached or self._samples()):
                return
            time.sleep(_POLL_S)
        self.kill()
        raise AiError(f"swtch record did not begin within {_BEGIN_LIMIT_S:.0f} s; is the machine overloaded?")

    def cpu_ns(self) -> int | None:
        """CPU time that its process took so far, without its programs in the kernel; `None` when it has ended."""
        try:
            return process_cpu_ns(self._process.pid)
        except OSError:
            return None

    def stop(self, gone: bool = False) -> dict[str, Any]:
        """Ends it; returns the document `swtch/record/2`. Raises `AiError` when it failed.

        gone: the workload and its group are gone; it notices by itself, and its Trace says so.
        """
        if gone:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_NOTICE_LIMIT_S)
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AiError(f"swtch record did not end within {_END_LIMIT_S:.0f} s and was killed") from None
        self._out.seek(0)
        try:
            document = json.load(self._out)
        except ValueError:
            raise AiError(f"swtch record failed: {self._complaint()}") from None
        finally:
            self._close()
        return dict(document)

    def kill(self) -> None:
        """Ends it at once; what it saw is in the folder."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._close()

    def _samples(self) -> bool:
        """Whether it looks at procfs, for which nothing is attached."""
        try:
            return bool(header(self.trace)["provenance"]["recorder"] == "procfs")
        except (AiError, KeyError):
            return False

    def _complaint(self) -> str:
        self._err.seek(0)
        lines = [line.strip() for line in self._err.read().splitlines() if line.strip()]
        return lines[-1] if lines else f"it ended with status {self._process.returncode} and said nothing"

    def _close(self) -> None:
        self._out.close()


def _attached(pid: int) -> int:
    """How many links of BPF programs and perf events a process holds; 0 where that cannot be seen."""
    folder = f"/proc/{pid}/fd"
    count = 0
    try:
        for name in os.listdir(folder):
            try:
                target = os.readlink(f"{folder}/{name}")
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


def header(trace: Path) -> dict[str, Any]:
    """The header of a Trace. Raises `AiError` when it cannot be read."""
    try:
        return dict(json.loads((trace / "header.json").read_text()))
    except (OSError, ValueError) as error:
        raise AiError(f"the Trace {trace} cannot be read ({error})") from None


def table(trace: Path, name: str) -> Iterator[dict[str, str]]:
    """The rows of a table of a Trace, as texts by column. Raises `AiError` when there is no such table."""
    yield from _exported(trace, name, csv.DictReader)


def switches(trace: Path) -> Iterator[Switch]:
    """The switches of a Trace in order of time. Raises `AiError` when it has none."""
    rows = _exported(trace, "switches", csv.reader)
    columns = {column: place for place, column in enumerate(next(rows))}
    at, prev, following = columns["at_ns"], columns["prev_tid"], columns["next_tid"]
    state, waited = columns["prev_state"], columns["waited_ns"]
    for row in rows:
        yield Switch(
            int(row[at]),
            int(row[prev] or 0),
            int(row[following] or 0),
            row[state] == "runnable",
            int(row[waited]) if row[waited] else None,
        )


def _exported(trace: Path, name: str, reader: Any) -> Iterator[Any]:
    with tempfile.TemporaryFile("w+") as complaint:
        command = [str(binary()), "export", str(trace), "--to", "csv", "--table", name]
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaint, text=True
        ) as process:
            assert process.stdout is not None
            yield from reader(process.stdout)
        if process.returncode:
            complaint.seek(0)
            raise AiError(f"the table {name} of {trace} cannot be read: {complaint.read().strip()}")
