"""AWS Lambda's Runtime API on loopback, with a front that takes HTTP: what a function's runtime client talks to in place of Lambda.

AWS Lambda Developer Guide, "Using the Lambda runtime API" (version 2018-06-01). Needs nothing of the package: the tests of the handlers load this file alone.
"""

from __future__ import annotations

import http.server
import json
import queue
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any

_PREFIX = "/2018-06-01/runtime"
ARN = "arn:aws:lambda:local:000000000000:function:swtch"
_POLL_S = 0.5


@dataclass
class Invocation:
    """An event on its way through the function."""

    body: bytes
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    answer: bytes = b""
    failed: bool = False
    done: threading.Event = field(default_factory=threading.Event)


class RuntimeApi:
    """Two servers: `api` for the runtime client, and `url` for callers. One invocation at a time, as Lambda has it."""

    def __init__(self, limit_s: float, port: int = 0) -> None:
        """limit_s: an invocation is given up after this many seconds. port: of the front; any free one when 0."""
        self.limit_s = limit_s
        self.broken: str | None = None
        """Why the function could not be initialised, in one line."""
        self.polled = False
        """Whether the function has asked for an event."""
        self._waiting: queue.Queue[Invocation] = queue.Queue()
        self._open: dict[str, Invocation] = {}
        self._closed = False
        self._servers = [
            http.server.ThreadingHTTPServer(("127.0.0.1", number), _handler(self, kind))
            for number, kind in ((0, "api"), (port, "front"))
        ]
        for one in self._servers:
            one.daemon_threads = True
            threading.Thread(target=one.serve_forever, args=(_POLL_S,), daemon=True).start()

    @property
    def api(self) -> str:
        """For `AWS_LAMBDA_RUNTIME_API`."""
        return f"127.0.0.1:{self._servers[0].server_port}"

    @property
    def url(self) -> str:
        """Where events are posted."""
        return f"http://127.0.0.1:{self._servers[1].server_port}/"

    def close(self) -> None:
        """Ends both."""
        self._closed = True
        for one in self._servers:
            one.shutdown()
            one.server_close()

    def deliver(self, body: bytes) -> Invocation:
        """Takes an event through the function. `TimeoutError` when it is given up."""
        one = Invocation(body)
        self._open[one.id] = one
        self._waiting.put(one)
        finished = one.done.wait(self.limit_s)
        self._open.pop(one.id, None)
        if not finished:
            raise TimeoutError(f"Task timed out after {self.limit_s:.2f} seconds")
        return one

    def invoke(self, body: bytes) -> tuple[int, bytes]:
        """What the function answers to an event, as HTTP."""
        try:
            one = self.deliver(body)
        except TimeoutError as error:
            return 504, _error(str(error))
        return (500 if one.failed else 200), one.answer

    def next(self) -> Invocation | None:
        """The event that is to be handled next; `None` when it is over."""
        self.polled = True
        while not self._closed:
            try:
                one = self._waiting.get(timeout=_POLL_S)
            except queue.Empty:
                continue
            # The caller may have given up.
            if one.id in self._open:
                return one
        return None

    def answered(self, number: str, body: bytes, failed: bool) -> bool:
        """Takes an answer; false where no caller waits for it."""
        one = self._open.get(number)
        if one is None:
            return False
        one.answer, one.failed = body, failed
        one.done.set()
        return True


def _handler(api: RuntimeApi, kind: str) -> type[http.server.BaseHTTPRequestHandler]:
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if kind == "front":
                self._say(200, b'{"status": "ready"}\n')
            elif self.path == f"{_PREFIX}/invocation/next":
                one = api.next()
                if one is None:
                    self.close_connection = True
                    return
                deadline_ms = round((time.time() + api.limit_s) * 1000)
                headers = {
                    "Lambda-Runtime-Aws-Request-Id": one.id,
                    "Lambda-Runtime-Deadline-Ms": str(deadline_ms),
                    "Lambda-Runtime-Invoked-Function-Arn": ARN,
                }
                self._say(200, one.body, headers)
            else:
                self._say(404, _error("there is no such path in the Runtime API"))

        def do_POST(self) -> None:
            body = self._body()
            if kind == "front":
                self._say(*_unwrapped(*api.invoke(body or b"{}")))
                return
            parts = self.path[len(_PREFIX) :].strip("/").split("/")
            if parts == ["init", "error"]:
                api.broken = _said(body)
                self._say(202, b'{"status": "OK"}')
            elif len(parts) == 3 and parts[0] == "invocation" and parts[2] in ("response", "error"):
                known = api.answered(parts[1], body, parts[2] == "error")
                self._say(202 if known else 400, b'{"status": "OK"}' if known else _error("InvalidRequestID"))
            else:
                self._say(404, _error("there is no such path in the Runtime API"))

        def _body(self) -> bytes:
            if (self.headers.get("Transfer-Encoding") or "").lower() != "chunked":
                return self.rfile.read(int(self.headers.get("Content-Length") or 0))
            # Some runtimes send their answers so.
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return b"".join(parts)

        def _say(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: the function's own output is what counts."""

    return Handler


def _unwrapped(status: int, body: bytes) -> tuple[int, bytes]:
    """How a function URL converts an answer with `statusCode` and `body`."""
    try:
        answer = json.loads(body)
    except ValueError:
        return status, body
    if (
        isinstance(answer, dict)
        and isinstance(answer.get("statusCode"), int)
        and isinstance(answer.get("body"), str)
    ):
        return answer["statusCode"], answer["body"].encode()
    return status, body


def _error(message: str) -> bytes:
    return json.dumps({"errorMessage": message, "errorType": "swtch"}).encode()


def _said(body: bytes) -> str:
    try:
        document = json.loads(body)
        return " ".join(f"{document['errorType']}: {document['errorMessage']}".split())
    except (ValueError, KeyError, TypeError):
        return "the function could not be initialised"
