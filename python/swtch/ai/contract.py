"""The workload contract, version 1 (`docs/workload-contract.md`): how any program reports when its work begins and ends.

A workload writes JSON lines to the file descriptor whose number is in `SWTCH_CONTRACT_FD`. It begins its measured phase when the
line `go` comes on its standard input. `Workload` is its side; `Collector` is the side of the program that started it, and believes
nothing that it reads. Times are nanoseconds of `CLOCK_MONOTONIC`, which the recorder's clock can be compared with.

>>> collector = Collector()
>>> collector.feed(b'{"event":"ready","version":1,"pid":7}\\n{"event":"spans","begin_ns":[5],"end_ns":[9]}\\n')
>>> list(collector.latencies_ns()), collector.ready["pid"]
([4], 7)
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, BinaryIO, Final, Union

from .errors import ContractError

VERSION: Final = 1
"""Of the contract; the event `ready` carries it."""
FD_VARIABLE: Final = "SWTCH_CONTRACT_FD"
"""The environment variable with the number of the file descriptor that events are written to."""
DURATION_VARIABLE: Final = "SWTCH_CONTRACT_DURATION_S"
"""The environment variable with the length of the measured phase in seconds, a decimal number."""
INFERENCES_VARIABLE: Final = "SWTCH_CONTRACT_INFERENCES"
"""The environment variable with the number of spans after which the measured phase ends, should its time not end before."""
GO: Final = "go"
"""The line on standard input that begins the measured phase."""
LINE_LIMIT_BYTES: Final = 1 << 20
"""The longest line that is read, so that a broken workload cannot fill the reader's memory."""
SPANS_IN_LINE: Final = 4096
"""How many spans `Workload` writes in a line: 40 bytes each, far below the limit."""

Value = Union[None, bool, int, float, str]
"""What a metric may be."""

_METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_TIME_LIMIT_NS = 1 << 63
_OPEN_LIMIT = 1 << 16


class Workload:
    """The workload's side.

    Spans are kept in memory and written by `finish`, because writing during the measured phase would add switches of its
    own to what is measured. Without `SWTCH_CONTRACT_FD` events go to standard output and the workload waits for nothing, so that a
    workload can be tried by hand.
    """

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Opens the file descriptor; `ValueError` names a variable that is not a number."""
        fd = _number(environment, FD_VARIABLE, int)
        self.hosted = fd is not None
        """Whether a host listens."""
        duration_s = _number(environment, DURATION_VARIABLE, float)
        self.duration_s = None if duration_s is None else float(duration_s)
        """How long the measured phase is to last; `None` when the workload may decide."""
        inferences = _number(environment, INFERENCES_VARIABLE, int)
        self.inferences = None if inferences is None else int(inferences)
        """The most spans wanted; `None` when there is no limit."""
        # Unbuffered: an event that was sent is not lost when the workload dies.
        self._out: BinaryIO = (
            os.fdopen(int(fd), "wb", buffering=0, closefd=False) if fd is not None else sys.stdout.buffer
        )
        self._begin_ns = array("q")
        self._end_ns = array("q")

    def ready(self, **facts: Any) -> None:
        """Says that warming up is over; the facts are whatever describes the workload, as JSON values."""
        self._say({"event": "ready", "version": VERSION, "pid": os.getpid(), **facts})

    def wait_for_go(self) -> bool:
        """Waits until the measured phase may begin; false when the host has gone and it must not."""
        return not self.hosted or sys.stdin.readline().strip() == GO

    def reserve(self, spans: int) -> None:
        """Allocates memory for this many spans now, so that the measured phase does not have to."""
        self._begin_ns = array("q", bytes(8 * spans))
        self._end_ns = array("q", bytes(8 * spans))
        del self._begin_ns[:], self._end_ns[:]

    def span(self, begin_ns: int, end_ns: int) -> None:
        """Keeps one unit of work: when it began and ended, by `time.monotonic_ns`."""
        self._begin_ns.append(begin_ns)
        self._end_ns.append(end_ns)

    @contextlib.contextmanager
    def unit(self) -> Iterator[None]:
        """The same for what is done in the block; nothing is kept of one that raises."""
        begin_ns = now_ns()
        yield
        self.span(begin_ns, now_ns())

    @property
    def spans(self) -> int:
        """How many are kept."""
        return len(self._begin_ns)

    def finish(self, **metrics: Value) -> None:
        """Writes the spans, and then the metrics."""
        for first in range(0, len(self._begin_ns), SPANS_IN_LINE):
            part = slice(first, first + SPANS_IN_LINE)
            self._say(
                {"event": "spans", "begin_ns": list(self._begin_ns[part]), "end_ns": list(self._end_ns[part])}
            )
        self._say({"event": "metrics", **metrics})

    def error(self, message: str) -> None:
        """Says why there will be nothing more."""
        self._say({"event": "error", "message": message})

    def _say(self, event: Mapping[str, Any]) -> None:
        line = memoryview(json.dumps(event, separators=(",", ":"), allow_nan=False).encode() + b"\n")
        # A pipe that is nearly full takes only a part.
        while line:
            line = line[self._out.write(line) or 0 :]
        self._out.flush()


class Collector:
    """The host's side: it parses bytes as they arrive, keeps the events and refuses what breaks the contract.

    After a `ContractError` everything from before the bad line is still here, and nothing after it is taken.
    """

    def __init__(self) -> None:
        self.ready: Mapping[str, Any] | None = None
        """The facts of the event `ready`, `version` and `pid` among them; `None` until it came."""
        self.begin_ns = array("q")
        """When each span began, in the order of their ends."""
        self.end_ns = array("q")
        """When each span ended; as long as `begin_ns`."""
        self.metrics: dict[str, Value] = {}
        """By name; a later event replaces what an earlier one said."""
        self.finished = False
        """Whether the event `metrics` came, which a workload without any sends too."""
        self.error: str | None = None
        """What the event `error` said."""
        self.truncated: str | None = None
        """After `close`: what is missing at the end, in words; `None` when nothing is."""
        self._line_number = 0
        self._rest = b""
        self._open: dict[int, int] = {}
        self._broken: ContractError | None = None

    def feed(self, data: bytes) -> None:
        """Takes bytes as they come from the pipe. Raises `ContractError` for the first line that breaks the contract."""
        if self._broken is not None:
            raise self._broken
        try:
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._line_number += 1
                self._take(line)
            if len(self._rest) > LINE_LIMIT_BYTES:
                raise ContractError(self._line_number + 1, f"longer than {LINE_LIMIT_BYTES} bytes")
        except ContractError as error:
            self._broken = error
            raise

    def close(self) -> None:
        """Says that nothing more comes, and fills `truncated`."""
        if self._rest:
            self.truncated = (
                f"the last line ({self._line_number + 1}) is cut off after {len(self._rest)} bytes"
            )
        elif self.ready is None and self.error is None:
            self.truncated = "the workload ended before it reported that it was ready"
        elif self._open:
            self.truncated = f"{len(self._open)} spans began and did not end"

    def latencies_ns(self) -> Iterator[int]:
        """The length of every span, in order."""
        return (end - begin for begin, end in zip(self.begin_ns, self.end_ns))

    def _take(self, line: bytes) -> None:
        if len(line) > LINE_LIMIT_BYTES:
            raise self._wrong(f"longer than {LINE_LIMIT_BYTES} bytes")
        event = self._parsed(line)
        kind = event.pop("event", None)
        if kind == "ready":
            self._ready(event)
            return
        if kind == "error":
            self.error = self._text(event, "message")
            return
        if self.ready is None and kind in ("begin", "end", "spans", "metrics"):
            raise self._wrong(f"{kind!r} came before 'ready'")
        if kind == "begin":
            self._begin(event)
        elif kind == "end":
            self._end(event)
        elif kind == "spans":
            self._spans(event)
        elif kind == "metrics":
            self._metrics(event)
        else:
            raise self._wrong(f"no event of the contract is {_shown(kind)}")

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            event = json.loads(
                line.decode("utf-8"),
                object_pairs_hook=_once,
                parse_constant=_refused,
                parse_float=_finite,
            )
            if b"\\u" in line:
                # Half a surrogate pair cannot be written again.
                json.dumps(event, ensure_ascii=False).encode("utf-8")
        # A number of thousands of digits is a ValueError too; nesting without end exhausts the parser's stack.
        except (ValueError, RecursionError) as error:
            raise self._wrong(f"not a JSON object in UTF-8 ({error})") from None
        if not isinstance(event, dict):
            raise self._wrong(f"a JSON object was expected, not {_shown(event)}")
        return event

    def _ready(self, event: dict[str, Any]) -> None:
        if self.ready is not None:
            raise self._wrong("'ready' came twice")
        version = event.get("version")
        if version != VERSION or isinstance(version, bool):
            raise self._wrong(f"version {_shown(version)} of the contract; this swtch speaks {VERSION}")
        pid = event.get("pid")
        if not isinstance(pid, int) or isinstance(pid, bool) or not 0 < pid < 1 << 31:
            raise self._wrong(f"'pid' must be the number of a process, not {_shown(pid)}")
        self.ready = MappingProxyType(event)

    def _begin(self, event: dict[str, Any]) -> None:
        number = self._integer(event, "id")
        if number in self._open:
            raise self._wrong(f"span {number} began twice")
        if len(self._open) == _OPEN_LIMIT:
            raise self._wrong(f"more than {_OPEN_LIMIT} spans are open")
        self._open[number] = self._integer(event, "t_ns")

    def _end(self, event: dict[str, Any]) -> None:
        number = self._integer(event, "id")
        if number not in self._open:
            raise self._wrong(f"span {number} ended, but did not begin")
        end_ns = self._integer(event, "t_ns")
        self._keep([self._open[number]], [end_ns])
        del self._open[number]

    def _spans(self, event: dict[str, Any]) -> None:
        begins, ends = event.get("begin_ns"), event.get("end_ns")
        if not isinstance(begins, list) or not isinstance(ends, list) or len(begins) != len(ends):
            raise self._wrong("'begin_ns' and 'end_ns' must be lists of the same length")
        for time_ns in (*begins, *ends):
            self._checked(time_ns, "a time")
        self._keep(begins, ends)

    def _keep(self, begins: Sequence[int], ends: Sequence[int]) -> None:
        for begin_ns, end_ns in zip(begins, ends):
            if end_ns < begin_ns:
                raise self._wrong(f"a span ends at {end_ns} ns, before it begins at {begin_ns} ns")
        self.begin_ns.extend(begins)
        self.end_ns.extend(ends)

    def _metrics(self, event: dict[str, Any]) -> None:
        for name, value in event.items():
            if not _METRIC_NAME.fullmatch(name):
                raise self._wrong(f"{_shown(name)} cannot name a metric: lower case, digits and underscores")
            if value is not None and not isinstance(value, (bool, int, float, str)):
                raise self._wrong(f"metric {name!r} must be a number or a text, not {_shown(value)}")
        self.metrics.update(event)
        self.finished = True

    def _text(self, event: dict[str, Any], name: str) -> str:
        value = event.get(name)
        if not isinstance(value, str):
            raise self._wrong(f"{name!r} must be a text, not {_shown(value)}")
        return value

    def _integer(self, event: dict[str, Any], name: str) -> int:
        return self._checked(event.get(name), repr(name))

    def _checked(self, value: Any, what: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _TIME_LIMIT_NS:
            raise self._wrong(f"{what} must be a whole number from 0 to 2^63 - 1, not {_shown(value)}")
        return value

    def _wrong(self, why: str) -> ContractError:
        return ContractError(self._line_number, why)


def now_ns() -> int:
    """The time of the contract: `CLOCK_MONOTONIC` in nanoseconds."""
    return time.monotonic_ns()


def _number(environment: Mapping[str, str], name: str, kind: type[int] | type[float]) -> int | float | None:
    text = environment.get(name)
    if text is None:
        return None
    try:
        value = kind(text)
    except ValueError:
        raise ValueError(f"{name} is {text!r}, which is not a number") from None
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} is {text!r}; it must be finite and not negative")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _refused(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text} is too large")
    return value


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        return "something that cannot be shown"
    return text if len(text) <= 60 else f"{text[:57]}..."
