"""What the tests of Python's function share: where things are, environments of platforms, and a server for the time of a test."""

from __future__ import annotations

import contextlib
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

    return serving.python_with
