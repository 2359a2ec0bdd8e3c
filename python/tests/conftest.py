"""What the tests share: the golden profiles, and one short measurement."""

from __future__ import annotations

from pathlib import Path

import pytest

import swtch

ROOT = Path(__file__).resolve().parents[2]
SHORT = {"methods": "pipe", "placements": "same-cpu", "time_limit": 2.0}
"""A measurement that is over in about two seconds; enough for its shape, not for its figures."""


@pytest.fixture
def golden() -> Path:
    """An invented Profile (`fixtures/profiles/README.md`), without samples."""
    return ROOT / "fixtures" / "profiles" / "server.json"


@pytest.fixture(scope="session")
def measured() -> swtch.Profile:
    """A Profile measured here."""
    return swtch.measure(**SHORT)
