"""Requests to a server in an open loop: each is due at its time, whatever became of the earlier ones.

A latency is from when a request was due, so that waiting behind slow ones is in it (G. Tene, "How not to measure latency").
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

LIMIT_S = 30.0
"""For one answer."""
_AHEAD_NS = 20_000_000
"""The first request is due this long after the callers have started."""


@dataclass(frozen=True)
class Request:
    """What is sent."""

    url: str
    """Where to."""
    body: bytes | None
    """By POST; `None` for a GET."""
    headers: Mapping[str, str]
    """Sent along."""


@dataclass(frozen=True)
class Sent:
    """What came of it."""

    spans: list[tuple[int, int]]
    """When each answered request was due and when its answer was complete, by `CLOCK_MONOTONIC`."""
    failed: int
    """Requests without an answer, or with a status of 400 or more."""
    first_failure: str | None
    """What became of the first of those."""


def run_load(request: Request, rate_per_s: float, duration_s: float, callers: int) -> Sent:
    """Sends at that rate for that long. callers: the most requests under way."""
    total = max(1, round(rate_per_s * duration_s))
    begins_ns = time.monotonic_ns() + _AHEAD_NS
    lock, taken = threading.Lock(), 0
    spans: list[tuple[int, int]] = []
    failures: list[str] = []

    def call() -> None:
        nonlocal taken
        caller = _Caller(request)
        while True:
            with lock:
                number, taken = taken, taken + 1
            if number >= total:
                caller.close()
                return
            due_ns = begins_ns + round(number / rate_per_s * 1e9)
            if (early_ns := due_ns - time.monotonic_ns()) > 0:
                time.sleep(early_ns / 1e9)
            why = caller.send()
            ended_ns = time.monotonic_ns()
            with lock:
                if why is None:
                    spans.append((due_ns, ended_ns))
                else:
                    failures.append(why)

    threads = [threading.Thread(target=call, daemon=True) for _ in range(min(callers, total))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return Sent(sorted(spans), len(failures), failures[0] if failures else None)


class _Caller:
    """A connection that is kept as long as the server keeps it."""

    def __init__(self, request: Request) -> None:
        parts = urlsplit(request.url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=LIMIT_S)
        self._path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._request = request

    def send(self) -> str | None:
        """Sends one; why it failed, `None` when it was answered."""
        request = self._request
        method = "GET" if request.body is None else "POST"
        try:
            self._connection.request(method, self._path, request.body, dict(request.headers))
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException) as error:
            # The next request opens a new one.
            self._connection.close()
            return " ".join(str(error).split()) or type(error).__name__
        return f"status {answer.status} {answer.reason}" if answer.status >= 400 else None

    def close(self) -> None:
        """Closes it."""
        self._connection.close()
