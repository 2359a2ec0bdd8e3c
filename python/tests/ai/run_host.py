"""What the tests of `swtch ai run` share: small workloads, and a place to run them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from swtch import _cgroup as cgroup
from swtch._errors import CommandError
from swtch._program import binary
from swtch.ai.one_run import PROGRAM

HEAD = """\
import json, os, signal, sys, time
out = os.fdopen(int(os.environ["SWTCH_CONTRACT_FD"]), "w", closefd=False)
duration_s = float(os.environ["SWTCH_CONTRACT_DURATION_S"])
def say(**event):
    out.write(json.dumps(event) + "\\n")
    out.flush()
def wait():
    say(event="ready", version=1, pid=os.getpid(), workload="test")
    assert sys.stdin.readline().strip() == "go"
"""
SLEEPER = (
    HEAD
    + """
wait()
begins, ends = [], []
while not begins or time.monotonic_ns() < begins[0] + duration_s * 1e9:
    begins.append(time.monotonic_ns())
    time.sleep(0.002)
    ends.append(time.monotonic_ns())
say(event="spans", begin_ns=begins, end_ns=ends)
say(event="metrics", images=2 * len(ends))
"""
)
"""Sleeps once an inference: one voluntary switch."""
BUSY = (
    HEAD
    + """
wait()
begins, ends = [], []
while not begins or time.monotonic_ns() < begins[0] + duration_s * 1e9:
    begins.append(time.monotonic_ns())
    sum(range(20000))
    ends.append(time.monotonic_ns())
say(event="spans", begin_ns=begins, end_ns=ends)
say(event="metrics", inferences=len(ends))
"""
)
"""Never gives the CPU up by itself."""
KILLED = HEAD + "wait()\ntime.sleep(0.2)\nos.kill(os.getpid(), signal.SIGSEGV)\n"
"""Dies in its measured phase."""
RAISING = HEAD + "wait()\nraise RuntimeError('the third layer is missing')\n"
"""Fails in its measured phase, and says why."""
NEVER_READY = HEAD + "import subprocess\nsubprocess.Popen(['sleep', '1000'])\ntime.sleep(1000)\n"
"""Hangs while it loads, with a child."""
NEVER_DONE = HEAD + "wait()\ntime.sleep(1000)\n"
"""Hangs in its measured phase."""
LIAR = HEAD + "wait()\nsay(event='spans', begin_ns=[9], end_ns=[5])\n"
"""Ends before it begins."""


def program(directory: Path, source: str, name: str = "workload") -> Path:
    """A workload as a file."""
    path = directory / f"{name}.py"
    path.write_text(source)
    return path


def groups_left() -> list[Path]:
    """Cgroups of `swtch ai` in this process's namespace that no living run has."""
    found = []
    for hierarchy in cgroup.hierarchies():
        for parent in {hierarchy.own, hierarchy.mount}:
            found += [one for one in parent.glob(f"{cgroup.prefix(PROGRAM)}{os.getpid()}-*")]
    return found


def needs_swtch() -> None:
    """Skips where the program that records is not here."""
    try:
        binary()
    except CommandError as error:
        pytest.skip(f"nothing can be recorded: {error}")


def needs_root() -> None:
    """Skips where switches of every kind are not seen."""
    if os.geteuid() != 0:
        pytest.skip("not root: programs in the kernel are not permitted")


def needs_groups() -> None:
    """Skips where cgroups cannot be made."""
    with cgroup.group(PROGRAM, "probe", cgroup.Limits.of_cpus(1.0)) as group:
        if group.directory is None:
            pytest.skip(f"no cgroup with a quota: {group.why}")


def needs_runtime() -> None:
    """Skips where the models cannot be run."""
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'swtch[ai]'")


def needs(tool: str) -> None:
    """Skips where a program is not on PATH."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not on PATH")


def check_leaves_once_an_inference(row):
    """That each inference, which sleeps, left its CPU once: the last one ends by a switch back too.

    One that is preempted between setting its timer and leaving, for so long that the timer ends meanwhile, has left involuntarily.
    """
    switches, inferences = row["switches"], row["inferences"]
    assert switches["voluntary"] <= inferences <= switches["voluntary"] + switches["involuntary"]
    assert switches["voluntary"] > 0.7 * inferences
