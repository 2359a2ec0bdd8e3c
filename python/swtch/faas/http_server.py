"""A user's own program in a cgroup that answers HTTP by itself: a command, or a container. The port is in the environment variable `PORT`."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import IO

from .. import _cgroup as cgroup
from .invoke import MOST_BYTES, Reply, gave_up, judged, one_line
from .languages import Command
from .server import Server, end_with_parent

PORT = "PORT"
"""The environment variable with the port to listen on, as Cloud Run and Knative set it."""
_LOOK_S = 0.02
_READ_BYTES = 1 << 16


class HttpServer(Server):
    """A program that answers HTTP on loopback. It takes invocations from several threads, each with a connection that it keeps."""

    def __init__(
        self,
        command: Command,
        group: cgroup.Group,
        directory: Path | None = None,
        processes: int | None = None,
        path: str = "/",
    ) -> None:
        """path: where it is asked with POST."""
        super().__init__(command, group, directory, processes)
        self._path = path
        self._port = 0
        self._kept = threading.local()
        self._connections: list[http.client.HTTPConnection] = []

    def _popen(self, err: IO[bytes]) -> subprocess.Popen[bytes]:
        self._port = _free_port()
        self._kept, self._connections = threading.local(), []
        words = [word.replace("{port}", str(self._port)) for word in self._command.words]
        return subprocess.Popen(
            self.group.into(words),
            stdin=subprocess.DEVNULL,
            # What it says may explain why it ended.
            stdout=err,
            stderr=err,
            env={**os.environ, **self._command.environment, PORT: str(self._port)},
            cwd=self._directory,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )

    def _wait(self, limit_s: float, oom_kills: int | None) -> None:
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            if not self.running:
                raise self._not_started(*(self.ended(oom_kills) or ("failed", self.complaint())))
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            time.sleep(_LOOK_S)
        raise self._not_started(
            "timeout", f"nothing listened on 127.0.0.1 at the port of ${PORT} within {limit_s:g} s"
        )

    def stop(self) -> None:
        """Ends it and everything that it started."""
        for connection in self._connections:
            connection.close()
        self._connections = []
        super().stop()

    def invoke(self, body: bytes, limit_s: float) -> Reply:
        """Sends a request and reads the answer; every failure is an outcome. Any answer with a status of success is complete."""
        started = time.monotonic_ns()
        try:
            connection, is_new = self._connection(limit_s)
            started = time.monotonic_ns()
            try:
                return self._exchanged(connection, body, started, limit_s)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                if is_new:
                    raise
            # It closes connections that are idle for long, and has not taken this request.
            connection, _ = self._connection(limit_s)
            started = time.monotonic_ns()
            return self._exchanged(connection, body, started, limit_s)
        except (socket.timeout, TimeoutError):
            self._in_step = False
            self._drop()
            return gave_up(limit_s, time.monotonic_ns() - started)
        except (OSError, http.client.HTTPException) as error:
            self._drop()
            closed = isinstance(error, (http.client.RemoteDisconnected, ConnectionResetError))
            said = "the connection was closed without an answer" if closed else str(error) or type(error).__name__  # fmt: skip
            return Reply("failed", time.monotonic_ns() - started, one_line(said))

    def _exchanged(
        self, connection: http.client.HTTPConnection, body: bytes, started_ns: int, limit_s: float
    ) -> Reply:
        connection.request("POST", self._path, body, {"Content-Type": "application/json"})
        # A server that writes headers and body apart waits for the acknowledgement of the first, which the kernel delays by 40 ms otherwise.
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        answer = connection.getresponse()
        data = bytearray()
        # An answer that trickles has no more time than one that comes at once.
        while part := answer.read1(_READ_BYTES):
            data += part
            if len(data) > MOST_BYTES:
                raise OSError(f"the answer is larger than {MOST_BYTES >> 20} MiB")
            left_s = limit_s - (time.monotonic_ns() - started_ns) / 1e9
            if left_s <= 0:
                raise TimeoutError
            if connection.sock is not None:
                connection.sock.settimeout(left_s)
        latency_ns = time.monotonic_ns() - started_ns
        # Read to its end, it leaves the connection to the next one.
        answer.close()
        if answer.will_close:
            connection.close()
        return _judged(answer, bytes(data), latency_ns)

    def _connection(self, limit_s: float) -> tuple[http.client.HTTPConnection, bool]:
        """This thread's connection, open, and whether it is new."""
        found = getattr(self._kept, "connection", None)
        if found is not None and found.sock is not None:
            found.sock.settimeout(limit_s)
            return found, False
        found = http.client.HTTPConnection("127.0.0.1", self._port, timeout=limit_s)
        found.connect()
        found.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._kept.connection = found
        self._connections.append(found)
        return found, True

    def _drop(self) -> None:
        found = getattr(self._kept, "connection", None)
        if found is not None:
            found.close()


def _judged(answer: http.client.HTTPResponse, data: bytes, latency_ns: int) -> Reply:
    try:
        document = json.loads(data)
    except ValueError:
        document = None
    if 200 <= answer.status < 300:
        return Reply("complete", latency_ns, None, document)
    text = data[:200].decode(errors="replace")
    said = f"HTTP {answer.status} {answer.reason}{': ' + text if text.strip() and document is None else ''}"
    told = isinstance(document, dict) and (document.get("error") or document.get("errorMessage"))
    return (
        judged(answer.status, document, latency_ns) if told else Reply("failed", latency_ns, one_line(said))
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
