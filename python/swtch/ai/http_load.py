"""Requests to a server in an open loop (`_load`): a latency is from when a request was due."""

from __future__ import annotations

import http.client
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from .. import _load

LIMIT_S = 30.0
"""For one answer."""


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
    connections = [_Caller(request) for _ in range(min(callers, total))]
    made = _load.make([one.send for one in connections], total, rate_per_s)
    for one in connections:
        one.close()
    failures = [one.answer for one in made if one.answer is not None]
    spans = [(one.due_ns, one.ended_ns) for one in made if one.answer is None]
    return Sent(spans, len(failures), failures[0] if failures else None)


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
