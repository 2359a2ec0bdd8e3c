"""One invocation: what was answered, after how long, or why not. Here those over HTTP; `server` has those of this machine."""

from __future__ import annotations

import functools
import http.client
import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from .._errors import WrongUsage
from .answer import completed
from .proxies import Proxy, proxy_of

ERROR_SCHEMA = "swtch/faas-error/1"
CALL_SCHEMA = "swtch/faas-call/1"
_READ_BYTES = 1 << 16
MOST_BYTES = 64 << 20
"""The largest answer."""


@dataclass(frozen=True)
class Reply:
    """What came of an invocation."""

    outcome: str
    """`complete`, `failed`, `timeout` or `invalid` (no JSON)."""
    latency_ns: int
    """From the sending of the request, with the connection open, to the last byte of the answer. Where a line reports that it is done, to
    the last byte of that line."""
    why: str | None = None
    """What went wrong, in one line."""
    document: Any = None
    """The answer's JSON."""
    reached: bool = True
    """Whether there was anybody to talk to."""
    status: int | None = None
    """The status of HTTP, where there was one."""
    proxy_refused: bool = False
    """Whether the way there ended at a proxy."""
    retries: int = 0
    """How often it was asked before, without being taken."""
    retried_why: str | None = None
    """What came of the last of those."""

    @functools.cached_property
    def response(self) -> dict[str, Any] | None:
        """The answer of a handler with its figures; `None` when it is something else."""
        return completed(self.document)


def check(url: str) -> str:
    """A URL that can be invoked. Raises `WrongUsage` for any other."""
    parts = urlsplit(url)
    try:
        fine = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        fine = False
    if not fine:
        raise WrongUsage(f"{url!r} is not a URL that can be invoked, such as https://example.com/function")
    return url


def invoke(url: str, body: bytes, limit_s: float, headers: Mapping[str, str] | None = None) -> Reply:
    """Invokes a function, through the proxy that the environment names; every failure is an outcome."""
    parts = urlsplit(url)
    proxy = proxy_of(parts)
    connection = _connection(parts, proxy, limit_s)
    started = deadline = time.monotonic_ns()
    reached = False
    try:
        connection.connect()
        reached = True
        started = time.monotonic_ns()
        deadline = started + round(limit_s * 1e9)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        told = {"Content-Type": "application/json", **(headers or {})}
        if proxy is not None and parts.scheme == "http":
            path, told = f"http://{parts.netloc}{path}", {**told, **proxy.headers}
        connection.request("POST", path, body, told)
        answer = connection.getresponse()
        data = _read(answer, connection, deadline)
    except (socket.timeout, TimeoutError):
        return gave_up(limit_s, time.monotonic_ns() - started, reached)
    except (OSError, http.client.HTTPException) as error:
        if proxy is not None and not reached:
            why = f"the proxy {proxy.shown} refused: {_refusal(error)}; check {proxy.variable}, or name the host in NO_PROXY"
            return Reply("failed", time.monotonic_ns() - started, why, reached=False, proxy_refused=True)
        return Reply("failed", time.monotonic_ns() - started, _said(error, reached), reached=reached)
    finally:
        connection.close()
    if proxy is not None and answer.status == 407:
        why = f"the proxy {proxy.shown} refused: {answer.status} {answer.reason}; check {proxy.variable}"
        return Reply("failed", time.monotonic_ns() - started, why, reached=False, proxy_refused=True)
    return _judged(answer, data, time.monotonic_ns() - started)


def _connection(parts: SplitResult, proxy: Proxy | None, limit_s: float) -> http.client.HTTPConnection:
    """Not yet open."""
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    if proxy is None:
        return kind(parts.hostname or "", parts.port, timeout=limit_s)
    connection = kind(proxy.host, proxy.port, timeout=limit_s)
    if parts.scheme == "https":
        connection.set_tunnel(parts.hostname or "", parts.port, dict(proxy.headers))
    return connection


def _refusal(error: Exception) -> str:
    """Why a proxy did not open the way."""
    if isinstance(error, socket.gaierror):
        return "its host is unknown"
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return one_line(said.removeprefix("Tunnel connection failed: ") or type(error).__name__)


def _read(
    answer: http.client.HTTPResponse, connection: http.client.HTTPConnection, deadline_ns: int
) -> bytes:
    """The whole answer; one that trickles has no more time than one that comes at once."""
    parts: list[bytes] = []
    size = 0
    while True:
        left_s = (deadline_ns - time.monotonic_ns()) / 1e9
        if left_s <= 0:
            raise TimeoutError
        if connection.sock is not None:
            connection.sock.settimeout(left_s)
        part = answer.read1(_READ_BYTES)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise http.client.HTTPException(f"the answer is larger than {MOST_BYTES >> 20} MiB")


def _judged(answer: http.client.HTTPResponse, data: bytes, latency_ns: int) -> Reply:
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    if not 200 <= answer.status < 300:
        return Reply("failed", latency_ns, _complaint(answer, data, document), document, status=answer.status)
    if document is None and data.strip() != b"null":
        begins = f", begins {data[:40]!r}" if data else ", nothing at all"
        kind = answer.headers.get_content_type()
        return Reply("invalid", latency_ns, f"the answer is not JSON ({kind}{begins})", status=answer.status)
    return Reply("complete", latency_ns, None, document, status=answer.status)


def gave_up(limit_s: float, took_ns: int, reached: bool = True) -> Reply:
    """An invocation that took longer than it may."""
    why = f"no answer within {limit_s:g} s; raise --timeout"
    return Reply("timeout", took_ns, why, reached=reached)


def judged(status: int, document: Any, latency_ns: int) -> Reply:
    """An answer with the status that HTTP would give it."""
    if not 200 <= status < 300:
        return Reply("failed", latency_ns, _error(document) or f"status {status}", document)
    return Reply("complete", latency_ns, None, document)


def _error(document: Any) -> str | None:
    """The error that an answer reports: ours, or Lambda's own."""
    said = (document.get("error") or document.get("errorMessage")) if isinstance(document, dict) else None
    if not said:
        return None
    where = document.get("where")
    return one_line(f"{said} ({where})" if where else str(said))


def _complaint(answer: http.client.HTTPResponse, data: bytes, document: Any) -> str:
    error = _error(document)
    if error is not None:
        return error
    text = data[:200].decode(errors="replace")
    return one_line(f"HTTP {answer.status} {answer.reason}{': ' + text if text.strip() else ''}")


def _said(error: Exception, reached: bool) -> str:
    if isinstance(error, socket.gaierror):
        return "its host is unknown; is the address right?"
    # By name: some Pythons are built without the module.
    if type(error).__module__ == "ssl":
        return one_line(f"no secure connection: {getattr(error, 'reason', None) or error}")
    if isinstance(error, http.client.RemoteDisconnected) or isinstance(error, ConnectionResetError):
        return "the connection was closed without an answer"
    said = (
        error.strerror
        if isinstance(error, OSError) and error.strerror
        else str(error) or type(error).__name__
    )
    return one_line(
        said if reached else f"cannot be reached ({said}); is it running, and is the address right?"
    )


def one_line(text: str) -> str:
    """A message of another program in one line."""
    return " ".join(text.split())[:300]
