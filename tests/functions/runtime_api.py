"""AWS Lambda's Runtime API as a small server, for tests of handlers in any language.

    python tests/functions/runtime_api.py [--listen HOST:PORT] [--timeout S]

prints {"listening": "HOST:PORT", "pid": N}. A runtime is started with `AWS_LAMBDA_RUNTIME_API` set to that and polls
`/2018-06-01/runtime/invocation/next`. Who calls the function posts an event to `/2015-03-31/functions/function/invocations`, as to
AWS's emulator, and gets what the function returned; its header `X-Amz-Function-Error` says that it is an error.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import threading
import time
import uuid
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NEXT = "/2018-06-01/runtime/invocation/next"
INIT_ERROR = "/2018-06-01/runtime/init/error"
INVOKE = "/2015-03-31/functions/function/invocations"


@dataclass
class Invocation:
    """One event on its way."""

    event: bytes
    timeout_s: float
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    done: threading.Event = field(default_factory=threading.Event)
    answer: bytes = b""
    failed: bool = False


class RuntimeApi(ThreadingHTTPServer):
    """The server; `invoke` calls the function from the same process."""

    daemon_threads = True

    def __init__(self, host: str = "127.0.0.1", port: int = 0, timeout_s: float = 60) -> None:
        super().__init__((host, port), _Handler)
        self.timeout_s = timeout_s
        self.waiting: queue.Queue[Invocation] = queue.Queue()
        self.running: dict[str, Invocation] = {}
        self.init_error: bytes | None = None
        """What the runtime said when it could not load the function."""

    @property
    def address(self) -> str:
        """HOST:PORT, for `AWS_LAMBDA_RUNTIME_API`."""
        host, port = self.server_address[:2]
        return f"{host!s}:{port}"

    def invoke(self, event: bytes) -> Invocation:
        """Calls the function and waits for its answer; `TimeoutError` when there is none in time."""
        invocation = Invocation(event, self.timeout_s)
        self.running[invocation.id] = invocation
        self.waiting.put(invocation)
        try:
            if not invocation.done.wait(self.timeout_s):
                raise TimeoutError(f"the function did not answer within {self.timeout_s:g} s")
        finally:
            del self.running[invocation.id]
        return invocation

    def finish(self, path: str, body: bytes) -> bool:
        """What a runtime posts: `.../invocation/ID/response` or `.../error`; whether that was awaited."""
        *_, invocation_id, kind = path.split("/")
        invocation = self.running.get(invocation_id)
        if invocation is None or kind not in ("response", "error"):
            return False
        invocation.answer, invocation.failed = body, kind == "error"
        invocation.done.set()
        return True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RuntimeApi

    def do_GET(self) -> None:
        if self.path != NEXT:
            self._send(404, b"{}")
            return
        invocation = self.server.waiting.get()
        deadline_ms = round((time.time() + invocation.timeout_s) * 1000)
        self._send(
            200,
            invocation.event,
            {
                "Lambda-Runtime-Aws-Request-Id": invocation.id,
                "Lambda-Runtime-Deadline-Ms": str(deadline_ms),
                "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:eu-north-1:000000000000:function:function",
            },
        )

    def do_POST(self) -> None:
        body = self._body()
        if self.path == INVOKE:
            try:
                invocation = self.server.invoke(body)
            except TimeoutError as error:
                self._send(504, json.dumps({"errorMessage": str(error)}).encode())
                return
            headers = {"X-Amz-Function-Error": "Unhandled"} if invocation.failed else {}
            self._send(200, invocation.answer, headers)
        elif self.path == INIT_ERROR:
            self.server.init_error = body
            self._send(202, b"{}")
        else:
            self._send(202 if self.server.finish(self.path, body) else 404, b"{}")

    def _body(self) -> bytes:
        """Some runtimes send it in chunks."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Type": "application/json"}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Nothing."""


def main() -> None:
    """Serves until it is ended."""
    parser = argparse.ArgumentParser(description="AWS Lambda's Runtime API, for tests.")
    parser.add_argument("--listen", metavar="HOST:PORT", default="127.0.0.1:0")
    parser.add_argument("--timeout", metavar="S", type=float, default=60)
    options = parser.parse_args()
    host, _, port = options.listen.rpartition(":")
    api = RuntimeApi(host, int(port), options.timeout)
    print(json.dumps({"listening": api.address, "pid": os.getpid()}), flush=True)
    api.serve_forever()


if __name__ == "__main__":
    main()
