"""What the tests of Python's function share: where things are, environments of platforms, and a server for the time of a test."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / "functions" / "python"
VECTORS = ROOT / "functions" / "vectors"
TARGET = ROOT / "target" / "functions"
sys.path[:0] = [str(PYTHON), str(ROOT / "tests" / "functions"), str(ROOT / "python" / "tests")]

from schema_check import faults  # noqa: E402

SHORT = {"time_limit_ms": 60, "min_batches": 5, "spin_ms": 100}
"""A measurement that is over in half a second; enough for its shape, not for its figures."""
SCHEMA = json.loads((ROOT / "docs" / "schemas" / "faas-1.json").read_text())


def check_document(document: Any, platform: str) -> None:
    """That it is an answer of that platform's adapter, and keeps the schema."""
    assert faults(document, SCHEMA) == []
    assert document["platform"]["name"] == platform
    assert document["handler"]["language"] == "python"


class Served:
    """A program that answers by HTTP."""

    def __init__(self, address: str, process: subprocess.Popen[str]) -> None:
        self.address, self.process = address, process

    def post(self, body: Any = b"", path: str = "/") -> tuple[int, Any]:
        """A status, and what came as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{self.address}{path}", data=data, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)


@contextlib.contextmanager
def started(
    command: list[str], environment: dict[str, str], cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own, ended with everything in it."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment},
        cwd=cwd,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            pass
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout:
            process.stdout.close()


@contextlib.contextmanager
def served(*arguments: str, cwd: Path | None = None) -> Iterator[Served]:
    """The local server."""
    command = [sys.executable, "-m", "swtch_function", "--listen", "127.0.0.1:0", *arguments]
    with started(command, {"PYTHONPATH": str(PYTHON)}, cwd) as process:
        assert process.stdout
        assert select.select([process.stdout], [], [], 30)[0], "the server did not say that it is ready"
        told = json.loads(process.stdout.readline())
        assert told["pid"] == process.pid
        yield Served(told["listening"], process)


def free_port() -> int:
    """One that nobody listens at just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Until somebody listens there."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, f"the server ended with status {process.returncode}"
        time.sleep(0.05)
    pytest.fail("the server did not listen within 30 s")


@pytest.fixture(scope="session")
def environment() -> Callable[[str, Path], str]:
    """From a name and a file of requirements to the Python of an environment that has them; skips where they cannot be had."""

    def made(name: str, requirements: Path) -> str:
        folder = TARGET / f"python-{name}"
        python, stamp = folder / "bin" / "python", folder / "requirements.sha256"
        digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
        if stamp.is_file() and stamp.read_text() == digest:
            return str(python)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        for command in (
            [sys.executable, "-m", "venv", "--clear", str(folder)],
            [*pip, "--only-binary", ":all:", "-r", str(requirements)],
        ):
            outcome = subprocess.run(command, capture_output=True, text=True)
            if outcome.returncode:
                last = (outcome.stderr.strip() or "no message").splitlines()[-1]
                pytest.skip(f"{requirements.name} cannot be installed: {last}")
        stamp.write_text(digest)
        return str(python)

    return made
