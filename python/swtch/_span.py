"""Spans: when a piece of a program's work began and ended, for `swtch why`.

A program writes its spans where `SWTCH_SPANS` names a file, as lines of the workload contract; several programs may share one
file. `swtch record -- COMMAND` names one for its command. Without the variable nothing is recorded, and a span costs next to nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from contextlib import AbstractContextManager
from typing import Any, Final, Union

FILE_VARIABLE: Final = "SWTCH_SPANS"
"""The environment variable with the path of the file that spans are appended to."""
SPANS_IN_LINE: Final = 4096
"""How many spans are written in a line at most."""
FLUSH_NS: Final = 1_000_000_000
"""Spans are written when the oldest one that waits ended so long ago and another one ends."""

SpanId = Union[str, int, None]
_now_ns = time.monotonic_ns
builtin_id = id


def span(name: str, id: SpanId = None) -> AbstractContextManager[None]:
    """Marks the work inside `with` as a span: a request, a query, an inference.

    `name` is what is done: spans of one name are compared with each other. `id` is which one it is, such as a request's number.
    A span belongs to the thread that begins it. Spans may lie in each other.

    >>> with span("checkout", id=4711):
    ...     pass
    """
    return _NOTHING if _writer is None else _Span(_writer, name, id)


class _Nothing:
    """The span where spans are not recorded."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class _Kept(threading.local):
    """The spans of a thread that are not written yet."""

    def __init__(self) -> None:
        self.tid = threading.get_native_id()
        self.spans: list[tuple[str, SpanId, int, int]] = []


class _Writer:
    """Keeps spans in memory, thread by thread, and appends them to a file."""

    def __init__(self, path: str) -> None:
        self._path: str | None = path
        self._local = _Kept()
        # By the list's own number: the kernel uses those of threads again.
        self._all: dict[int, tuple[int, list[tuple[str, SpanId, int, int]]]] = {}

    def keep(self, name: str, id: SpanId, begin_ns: int, end_ns: int) -> None:
        kept = self._local
        spans = kept.spans
        if not spans:
            self._all[builtin_id(spans)] = kept.tid, spans
        spans.append((name, id, begin_ns, end_ns))
        if len(spans) >= SPANS_IN_LINE or end_ns - spans[0][3] >= FLUSH_NS:
            kept.spans = []
            del self._all[builtin_id(spans)]
            self._write(kept.tid, spans)

    def close(self) -> None:
        """Writes what is left, of every thread; nothing is kept from here on."""
        for tid, spans in list(self._all.values()):
            self._write(tid, spans)
        self._all.clear()
        self._local = _Kept()
        self._path = None

    def forget(self) -> None:
        """Drops what is kept: after a fork it is the parent's to write."""
        self._all = {}
        self._local = _Kept()

    def _write(self, tid: int, spans: list[tuple[str, SpanId, int, int]]) -> None:
        by_name: dict[str, list[tuple[str, SpanId, int, int]]] = {}
        for one in spans:
            by_name.setdefault(one[0], []).append(one)
        for name, of in by_name.items():
            event: dict[str, Any] = {"event": "spans", "name": name, "pid": os.getpid(), "tid": tid}
            event["begin_ns"] = [one[2] for one in of]
            event["end_ns"] = [one[3] for one in of]
            if any(one[1] is not None for one in of):
                event["id"] = [one[1] for one in of]
            self._append(json.dumps(event, separators=(",", ":")).encode() + b"\n")

    def _append(self, line: bytes) -> None:
        if self._path is None:
            return
        try:
            # One write a line: a file that is opened to append keeps the lines of several programs whole.
            fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                os.write(fd, line)
            finally:
                os.close(fd)
        except OSError:
            # A full disk must not end the program whose work is measured.
            self._path = None


class _Span:
    """A span that is recorded."""

    __slots__ = ("_begin_ns", "_id", "_name", "_writer")

    def __init__(self, writer: _Writer, name: str, id: SpanId) -> None:
        self._writer, self._name, self._id = writer, name, id

    def __enter__(self) -> None:
        self._begin_ns = _now_ns()

    def __exit__(self, *_: object) -> None:
        self._writer.keep(self._name, self._id, self._begin_ns, _now_ns())


def begin_file(path: str) -> bool:
    """Spans go to this file from now on, and to it go those of child processes; false where they go to another one already."""
    global _writer
    if _writer is not None or os.environ.get(FILE_VARIABLE):
        return False
    _writer = _Writer(path)
    os.environ[FILE_VARIABLE] = path
    return True


def end_file() -> None:
    """Ends what `begin_file` began; the spans are written."""
    global _writer
    os.environ.pop(FILE_VARIABLE, None)
    if _writer is not None:
        _writer.close()
    _writer = None


def _at_exit() -> None:
    if _writer is not None:
        _writer.close()


def _in_child() -> None:
    if _writer is not None:
        _writer.forget()


_NOTHING: Final = _Nothing()
_path = os.environ.get(FILE_VARIABLE)
_writer: _Writer | None = _Writer(_path) if _path else None
atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)
