"""Recordings: what a workload does, and what its context switches cost it."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Optional

from . import _native, _span
from ._errors import Interrupted, RecordError
from ._trace import Trace

Progress = Callable[[float, Optional[int], int, int], object]
"""Called some ten times a second while a recording runs. It receives the seconds since its beginning, switches so far, tasks, and events
lost. Switches are `None` where the source does not count them while it records. False ends the recording; so does what it raises, which
reaches the caller."""
Source = Literal["bpf", "perf", "procfs"]
Mode = Literal["events", "counts"]
Cost = Literal["in-place", "profile"]

EVENTS_FOR_S = 60.0
"""Seconds for which single events are kept; afterwards they are only counted."""
SAMPLE = 0.02
"""The share of the time in which counting sees every switch."""


def record(
    command: Sequence[str | os.PathLike[str]] | None = None,
    *,
    pids: int | Iterable[int] | None = None,
    cgroup: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    duration: float | None = None,
    source: Source | None = None,
    mode: Mode | None = None,
    events_for: float | None = EVENTS_FOR_S,
    buffer: int | str | None = None,
    cost: Cost | None = None,
    working_set: bool = False,
    stacks: bool = False,
    sample: float = SAMPLE,
    defer: bool = False,
    progress: Progress | None = None,
) -> Trace:
    """Records a command, processes, a cgroup or, without any of them, the whole machine; returns the Trace.

    Spans that a command marks (`swtch.span`) come beside the Trace, for `Trace.why`.

    Ends with the command, with what is recorded, or after `duration`. Other Python threads keep running. Root, or `cap_bpf` and
    `cap_perfmon`, let it see every switch of everything; without them it takes the best source that is allowed.

    command: a program and its arguments; it has this process's input and output. It runs within this call, with all it starts.
    pids: processes, with their threads and what they start: `os.getpid()` is this Python.
    cgroup: a cgroup and those below it, by its path below the hierarchy's root.
    out: the directory to write, `NAME.swtch`; a temporary one, which goes with the Trace, when left out.
    force: replace the Trace that is at `out`, once the new one is whole.
    duration: seconds; without it a recording of processes, a cgroup or the machine ends by `progress`, or by Ctrl-C.
    source: `bpf`, `perf` or `procfs`; the most detailed one that is permitted when left out.
    mode: `events` keeps every switch, `counts` only counts, for hours and days; a minute of events and then counts when left out.
    events_for: seconds of events before it only counts; `None` for all of them.
    buffer: memory for events not yet read, all CPUs together, in bytes or as text: `"64M"`.
    cost: where the cost of a switch comes from: `in-place`, measured at every switch where the kernel allows it, or `profile`.
    working_set: estimate the memory that tasks use between two switches: it bounds what refilling caches costs.
    stacks: record the code that gives up its CPU, is interrupted or wakes other tasks, in `trace.stacks`. It needs BPF. Python's own functions have
        names under `python -X perf` (3.12 and later).
    sample: while it counts, the share of the time in which every switch is seen, in short windows at random: 1 sees all, 0 none.
    defer: with `mode="events"`, make the Trace of the events at the end. The recorder takes less CPU time until then, and knows no switches for `progress`.
    progress: called some ten times a second with the seconds so far, the switches, the tasks, and the events lost. The switches are `None`
        where they are not counted meanwhile. Returning False ends the recording; what it raises ends it too and reaches the caller.

    Raises `UsageError` for a wish that cannot be met. Raises `OSError` for a command that cannot be started or a directory that cannot be
    written (`FileNotFoundError`, `FileExistsError` ...). Raises `RecordError` when nothing can be recorded. Ctrl-C raises `Interrupted`, a
    `KeyboardInterrupt`, within a fraction of a second; its `trace` holds what was recorded. A command is then asked to end (SIGTERM).

    >>> trace = swtch.record(["sleep", "0.05"])
    >>> trace.scope.command, trace.exit_status
    (('sleep', '0.05'), 0)
    """
    asking = _asking(
        command,
        pids,
        cgroup,
        force,
        duration,
        source,
        mode,
        events_for,
        buffer,
        cost,
        working_set,
        stacks,
        sample,
        defer,
    )
    return _run(asking, out, progress)


class Recording:
    """A recording that runs in a thread of this program: from `swtch.recording`."""

    def __init__(self, asking: dict[str, Any], out: str | os.PathLike[str] | None) -> None:
        self._trace: Trace | None = None
        self._failed: BaseException | None = None
        self._begun, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(
            target=self._record, args=(asking, out), daemon=True, name="swtch-recorder"
        )
        own = asking["pids"] is None or os.getpid() in asking["pids"]
        self._spans = _OwnSpans() if own else None

    def __enter__(self) -> Recording:
        """Begins; it sees everything once this returns. Raises what `swtch.record` raises."""
        self._thread.start()
        try:
            self._begun.wait()
        except BaseException:
            self._over.set()
            raise
        if self._failed is not None:
            raise self._failed
        if self._spans is not None:
            self._spans.begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self._over.set()
            self._thread.join()
            self._end_spans()

    def stop(self, timeout: float | None = None) -> Trace:
        """Ends it, and returns the Trace; raises what `swtch.record` raises.

        timeout: seconds for which it may end by itself before, because what is recorded is gone.
        """
        if timeout is not None:
            self._thread.join(timeout)
        self._over.set()
        self._thread.join()
        self._end_spans()
        if self._failed is not None:
            raise self._failed
        return self.trace

    def _end_spans(self) -> None:
        if self._spans is not None:
            self._spans.end(self._trace)
            self._spans = None

    @property
    def trace(self) -> Trace:
        """The Trace. Raises `RecordError` before the recording has ended."""
        if self._trace is None:
            raise RecordError("this recording has not ended; its Trace exists after stop() or the with block")
        return self._trace

    @property
    def recorder_tid(self) -> int | None:
        """Number of the thread that records, which is one of this process's tasks; `None` before it began."""
        return self._thread.native_id

    def cpu_ns(self) -> int | None:
        """CPU time that its thread took so far, without its programs in the kernel; `None` when it has ended."""
        if not self._thread.is_alive() or self._thread.ident is None:
            return None
        try:
            return time.clock_gettime_ns(time.pthread_getcpuclockid(self._thread.ident))
        except OSError:
            return None

    def _record(self, asking: dict[str, Any], out: str | os.PathLike[str] | None) -> None:
        try:
            self._trace = _run(asking, out, self._goes_on)
        except BaseException as error:
            self._failed = error
        finally:
            self._begun.set()

    def _goes_on(self, *news: object) -> bool:
        # The caller learns of it only when its source sees everything.
        self._begun.set()
        return not self._over.is_set()


class _OwnSpans:
    """The spans of this process and its children while it is recorded. They come beside the Trace."""

    def __init__(self) -> None:
        self._directory: str | None = None

    def begin(self) -> None:
        directory = tempfile.mkdtemp(prefix="swtch-spans-")
        if _span.begin_file(os.path.join(directory, "spans.jsonl")):
            self._directory = directory
        else:
            os.rmdir(directory)

    def end(self, trace: Trace | None) -> None:
        if self._directory is None:
            return
        _span.end_file()
        file = Path(self._directory, "spans.jsonl")
        if trace is not None and file.exists():
            shutil.move(str(file), str(trace.spans_file))
        shutil.rmtree(self._directory, ignore_errors=True)
        self._directory = None


def recording(
    *,
    pids: int | Iterable[int] | None = None,
    cgroup: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    force: bool = False,
    source: Source | None = None,
    mode: Mode | None = None,
    events_for: float | None = EVENTS_FOR_S,
    buffer: int | str | None = None,
    cost: Cost | None = None,
    working_set: bool = False,
    stacks: bool = False,
    sample: float = SAMPLE,
    defer: bool = False,
) -> Recording:
    """Records a `with` block of this program: processes, a cgroup or, without either, the whole machine. The arguments are those of `record`.

    Spans that this process and its children mark meanwhile with `swtch.span` come beside the Trace, for `Trace.why`.

    >>> with swtch.recording(pids=os.getpid()) as running:
    ...     time.sleep(0.01)
    >>> running.trace.scope.kind
    'processes'
    """
    asking = _asking(
        None,
        pids,
        cgroup,
        force,
        None,
        source,
        mode,
        events_for,
        buffer,
        cost,
        working_set,
        stacks,
        sample,
        defer,
    )
    return Recording(asking, out)


def _asking(
    command: Sequence[str | os.PathLike[str]] | None,
    pids: int | Iterable[int] | None,
    cgroup: str | os.PathLike[str] | None,
    force: bool,
    duration: float | None,
    source: str | None,
    mode: str | None,
    events_for: float | None,
    buffer: int | str | None,
    cost: str | None,
    working_set: bool,
    stacks: bool,
    sample: float,
    defer: bool,
) -> dict[str, Any]:
    """The options of the native half, without the destination."""
    if isinstance(command, (str, bytes)):
        raise _native.UsageError(f"command is {command!r}; give a list, such as ['make', '-j4']")
    if command is not None and not command:
        raise _native.UsageError("command is empty; give a program and its arguments")
    if pids is not None:
        pids = [pids] if isinstance(pids, int) else list(pids)
        if not pids:
            raise _native.UsageError("pids is empty; give at least one process")
    return {
        "command": None if command is None else [os.fspath(word) for word in command],
        "pids": pids,
        "cgroup": None if cgroup is None else os.fspath(cgroup),
        "force": force,
        "duration_s": duration,
        "source": source,
        "mode": mode,
        "events_for_s": events_for,
        "buffer": buffer,
        "cost": cost,
        "working_set": working_set,
        "stacks": stacks,
        "sample": sample,
        "defer": defer,
    }


def _run(asking: dict[str, Any], out: str | os.PathLike[str] | None, progress: Progress | None) -> Trace:
    temporary = None
    if out is None:
        temporary = tempfile.TemporaryDirectory(prefix="swtch-")
        out = Path(temporary.name) / "recording.swtch"
    native, stopped_by = _native.record({**asking, "out": out}, progress)
    trace = None if native is None else Trace(native, temporary)
    if isinstance(stopped_by, KeyboardInterrupt):
        raise Interrupted(trace=trace) from None
    if stopped_by is not None:
        raise stopped_by
    # Without an exception there is always a Trace: the native function raises when nothing could be recorded.
    assert trace is not None
    return trace
