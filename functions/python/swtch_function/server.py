"""The handler as a plain HTTP server on this machine, for `swtch faas`: POST / measures, GET /healthz answers while it runs."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from .answer import answer, failure, text

BODY_LIMIT_BYTES = 6 << 20
"""The largest request of AWS Lambda."""
Answer = Callable[[bytes, str], "tuple[int, dict[str, Any]]"]
"""From a body and a query string to a status and a document."""


def serve(listen: str, respond: Answer | None = None, platform: str = "local") -> int:
    """Serves until a signal ends it; returns the exit status. Prints where it listens in a line on standard output."""
    respond = respond or (lambda body, query: answer(body, query, platform))
    name, _, port = listen.rpartition(":")
    if not name or not port.isdigit() or int(port) > 65535:
        print(f"error: {listen!r} is not HOST:PORT; try 127.0.0.1:0", file=sys.stderr)
        return 2
    try:
        server = ThreadingHTTPServer((name, int(port)), _handler(respond))
    except OSError as error:
        print(f"error: {listen} cannot be used to listen: {error.strerror}", file=sys.stderr)
        return 1
    server.daemon_threads = True
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    host, port_number = server.server_address[:2]
    print(json.dumps({"listening": f"{_text(host)}:{port_number}", "pid": os.getpid()}), flush=True)
    try:
        server.serve_forever(poll_interval=3600)
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def _text(host: Any) -> str:
    return host.decode() if isinstance(host, (bytes, bytearray)) else str(host)


def _interrupt(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def _handler(respond: Answer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        """One connection."""

        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            """Measuring by hand, and the health check."""
            if urlsplit(self.path).path == "/healthz":
                self._send(200, {"ok": True})
            else:
                self._respond(b"")

        def do_POST(self) -> None:
            """Measuring."""
            length = self.headers.get("Content-Length", "0")
            if not length.isdigit() or int(length) > BODY_LIMIT_BYTES:
                self.close_connection = True
                self._send(
                    413, failure(f"a body may have {BODY_LIMIT_BYTES} bytes, and needs a Content-Length")
                )
                return
            self._respond(self.rfile.read(int(length)))

        def _respond(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            if parts.path != "/":
                self._send(404, failure(f"there is nothing at {parts.path}; POST / measures"))
                return
            try:
                status, document = respond(body, parts.query)
                self._send(status, document)
            except BrokenPipeError:
                raise
            except Exception as error:
                self._send(500, failure(f"{type(error).__name__}: {error}"))

        def _send(self, status: int, document: dict[str, Any]) -> None:
            data = text(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing: standard error is for errors."""

    return Handler
