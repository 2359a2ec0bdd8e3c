"""What the tests of Python's function share: where things are, environments of platforms, and a server for the time of a test."""

from __future__ import annotations

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
PYTHON = ROOT / "functions" / "python"
VECTORS = ROOT / "functions" / "vectors"
TARGET = ROOT / "target" / "functions"
sys.path[:0] = [str(PYTHON), str(ROOT / "tests" / "functions")]

import serving  # noqa: E402


def check_document(document: Any, platform: str) -> None:
    """That it is an answer of that platform's adapter, and keeps the schema."""
    serving.check_document(document, platform, "python")


@contextlib.contextmanager
def served(*arguments: str, cwd: Path | None = None) -> Iterator[serving.Served]:
    """The local server."""
    command = [sys.executable, "-m", "swtch_function", *arguments]
    with serving.local(command, {"PYTHONPATH": str(PYTHON)}, cwd) as server:
        yield server


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
