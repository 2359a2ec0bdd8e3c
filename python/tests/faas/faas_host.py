"""What the tests of `swtch faas` share: a small function that speaks the local protocol, and a place to run it."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from swtch import _cgroup as cgroup
from swtch.faas.runner import PROGRAM

# A shell that runs the tests in the background ignores SIGINT, and programs that are started inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[3]
STUB = Path(__file__).resolve().parent / "stub"
"""A directory as `functions`, with a handler that makes up what it measures."""
SCHEMA = ROOT / "docs" / "schemas" / "faas-tiers-3.json"

OWN = """\
import os, sys, time

def fine(event, context):
    return {"got": event}

def raises(event, context):
    return {}["the key"]

def hangs(event, context):
    time.sleep(1000)

def forks(event, context):
    while True:
        os.fork()

def eats(event, context):
    found = []
    while True:
        found.append(bytearray(os.urandom(1 << 20)))

def no_json(event, context):
    return object()

def dies(event, context):
    os._exit(3)

def naps(event, context):
    time.sleep(1)
"""
"""A module with functions of one's own, and everything that can be wrong with them."""


def groups_left(pid: int | None = None) -> list[Path]:
    """Cgroups of `swtch faas` that a process made."""
    found = []
    for hierarchy in cgroup.all_hierarchies():
        for parent in {hierarchy.own, hierarchy.mount}:
            found += parent.glob(f"{cgroup.prefix(PROGRAM)}{pid or os.getpid()}-*")
    return found


@contextmanager
def leaves_no_groups() -> Iterator[None]:
    """A test that leaves no cgroups. What an earlier one left is that one's failure."""
    earlier = groups_left()
    yield
    assert [one for one in groups_left() if one not in earlier] == []


def needs_groups() -> None:
    """Skips where cgroups cannot be made."""
    with cgroup.group(PROGRAM, "probe", cgroup.Limits(quota_us=10_000)) as group:
        if group.directory is None:
            pytest.skip(f"no cgroup with a quota: {group.why}")


def tiers_file(directory: Path, *tiers: tuple[int, float], price: str | None = "gcf-1") -> str:
    """A file of tiers: MB and CPUs."""
    path = directory / "tiers.json"
    rows = [{"memory_mb": memory_mb, "cpus": cpus} for memory_mb, cpus in tiers]
    path.write_text(json.dumps({"tiers": rows, "price": price}))
    return str(path)
