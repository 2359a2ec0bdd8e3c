"""What the tests share: the golden profiles, and one short measurement."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from short import SHORT

import swtch

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def golden() -> Path:
    """An invented Profile (`fixtures/profiles/README.md`), without samples."""
    return ROOT / "fixtures" / "profiles" / "server.json"


@pytest.fixture(scope="session")
def measured() -> swtch.Profile:
    """A Profile measured here."""
    return swtch.measure(**SHORT)


@pytest.fixture(scope="session")
def program() -> Path:
    """The program swtch that belongs to this package."""
    if "SWTCH_BIN" not in os.environ:
        pytest.skip("SWTCH_BIN names no swtch to sweep with")
    return Path(os.environ["SWTCH_BIN"]).resolve()
