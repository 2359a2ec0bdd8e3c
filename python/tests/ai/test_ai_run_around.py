"""What stands around runs: another scheduler, the line of progress, the text of a study."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import io
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from run_host import needs_swtch

import swtch.ai
from swtch import _cgroup as cgroup
from swtch import _native
from swtch import _progress as progress
from swtch._program import binary
from swtch.ai import evaluate, result, scheduler, summary, tune
from swtch.ai.account import Sample
from swtch.ai.command import main
from swtch.ai.errors import AiError
from swtch.ai.over_time import over_time
from swtch.ai.overhead import Interval, overhead
from swtch.ai.settings import Settings

# Loaded as long as it runs; `sched status` tells by a file.
PROGRAM = """#!/bin/sh
echo "$@" > {directory}/said
[ "$2" = broken ] && {{ echo 'the verifier refused it' >&2; exit 1; }}
# The signal may come as soon as the file is there.
trap 'rm {directory}/loaded; exit 0' INT
touch {directory}/loaded
while :; do sleep 0.02; done
"""


@pytest.fixture
def loader(tmp_path, monkeypatch):
    """A program that loads schedulers, as far as can be seen from outside."""

    def make(sched_ext=True):
        def status():
            state = "enabled" if (tmp_path / "loaded").exists() else None
            why = [{"what": "sched_ext", "why": "no kernel for it"}]
            return json.dumps({"sched_ext": sched_ext, "state": state, "ops": "x", "unavailable": why})

        path = tmp_path / "swtch"
        path.write_text(PROGRAM.format(directory=tmp_path))
        path.chmod(0o755)
        monkeypatch.setattr(scheduler, "binary", lambda: path)
        monkeypatch.setattr(_native, "sched_status", status)
        return tmp_path

    return make


def test_a_scheduler_is_loaded_for_the_block_and_the_group(loader):
    directory = loader()
    with scheduler.loaded("flsched", Path("/sys/fs/cgroup/x")):
        assert (directory / "loaded").exists()
        assert (directory / "said").read_text() == "sched flsched --only-cgroup /sys/fs/cgroup/x\n"
    assert not (directory / "loaded").exists()
    with pytest.raises(ZeroDivisionError), scheduler.loaded("flsched", None, whole_machine=True):
        _ = 1 / 0
    assert not (directory / "loaded").exists()


def test_a_scheduler_that_is_refused_says_why(loader):
    loader()
    with pytest.raises(AiError, match="flsched would schedule every task of the machine .*--whole-machine"):
        with scheduler.loaded("flsched", None):
            pytest.fail("it was loaded for the whole machine without being asked to")
    with pytest.raises(AiError, match="broken ended before it was loaded: the verifier refused it"):
        with scheduler.loaded("broken", None, whole_machine=True):
            pytest.fail("it was not loaded")


def test_why_a_scheduler_cannot_be_loaded(loader, monkeypatch):
    assert scheduler.why_not("stock") is None
    loader(False)
    assert scheduler.why_not("flsched") == "no kernel for it"
    assert scheduler.lacks_kernel()
    directory = loader()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "needs root" in scheduler.why_not("flsched") and not scheduler.lacks_kernel()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(directory))
    assert "no program scx_flsched next to swtch or on PATH" in scheduler.why_not("flsched")
    (directory / "scx_flsched").touch()
    no_group = contextlib.nullcontext(cgroup.Group(None, None, "no cgroups are mounted here"))
    monkeypatch.setattr(cgroup, "group", lambda *_: no_group)
    assert scheduler.why_not("flsched") == (
        "flsched would schedule every task of the machine (no cgroups are mounted here); --whole-machine allows that"
    )
    assert scheduler.why_not("flsched", whole_machine=True) is None
    (directory / "loaded").touch()
    assert "is loaded already" in scheduler.why_not("flsched")


def test_the_state_of_sched_ext_is_what_the_command_prints():
    needs_swtch()
    command = [str(binary()), "sched", "status", "--json"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)
    assert json.loads(_native.sched_status()).keys() == printed.keys()
    assert json.loads(_native.sched_status())["sched_ext"] == printed["sched_ext"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_tuning_tries_no_scheduler_that_was_not_named(loader, tmp_path, monkeypatch):
    """It tried flsched by default, and for every task of the machine where no cgroup can be made."""
    directory = loader()
    (directory / "scx_flsched").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.chdir(tmp_path)

    class Asked(Exception):
        pass

    def asked(may_use, device, schedulers):
        raise Asked(*schedulers)

    monkeypatch.setattr(tune, "candidates_of", asked)

    def schedulers(*words):
        with pytest.raises(Asked) as found:
            main(["tune", "--no-record", *words, "--", sys.executable])
        return found.value.args

    assert schedulers() == ("stock",)
    group = contextlib.nullcontext(cgroup.Group(Path("/sys/fs/cgroup/x"), None, None))
    monkeypatch.setattr(cgroup, "group", lambda *_: group)
    assert schedulers("--policies", "stock,flsched") == ("stock", "flsched")
    no_group = contextlib.nullcontext(cgroup.Group(None, None, "no cgroups are mounted here"))
    monkeypatch.setattr(cgroup, "group", lambda *_: no_group)
    assert schedulers("--policies", "stock,flsched") == ("stock",)
    assert schedulers("--policies", "stock,flsched", "--whole-machine") == ("stock", "flsched")


def test_progress_is_for_terminals_and_for_what_lasts(monkeypatch):
    monkeypatch.setattr(progress, "_AFTER_S", 0.0)
    terminal, file = Terminal(), io.StringIO()
    for out in (terminal, file):
        line = progress.Progress(out)
        line.show("1/2 long text")
        line.show("2/2")
        line.clear()
    assert file.getvalue() == ""
    assert terminal.getvalue() == "\r1/2 long text\r2/2          \r   \r"
    monkeypatch.setattr(progress, "_AFTER_S", 60.0)
    short = Terminal()
    progress.Progress(short).show("1/1")
    assert short.getvalue() == ""


def test_over_time_is_the_difference_between_looks(tmp_path):
    samples = [Sample(10**9 + i * 2 * 10**8, 3 + i, 1, interrupts=100 * i) for i in range(3)]
    # It tells its figures, and is gone.
    samples += [Sample(18 * 10**8, 1, 1, interrupts=800), Sample(2 * 10**9, interrupts=900)]
    found = over_time(samples, (10**9 + 10**8, 17 * 10**8), None, 2.0)
    assert found["at_ms"] == [100, 300]
    assert found["threads"] == [4, 5]
    assert found["interrupts_per_s"] == [500, 500]
    assert found["switches_per_s"] == [None, None]


def row(settings, outcome="complete", **more):
    found = evaluate.blank(
        f"x.{settings.label}",
        {"name": "X", "number": 3, "slug": "x", "group": "g"},
        settings.to_document(),
        0,
        9_000_000,
    )
    found["id"] += ".r0"
    found.update(outcome=outcome, **more)
    return found


def test_the_text_has_runs_failures_memory_and_advice():
    study = result.begin({}, "here", ["swtch"], None, None)
    study["runs"] = [
        row(
            Settings(16),
            images_per_second=1.25,
            peak_rss_bytes=7_000_000,
            latency_ns={"p50": 2e6, "p90": 3e6, "p99": 4e6},
        ),
        row(
            Settings(2),
            images_per_second=250.0,
            peak_rss_bytes=5_000_000,
            disturbed="others used 70 % of its CPUs, the hypervisor took 10 %",
            cpu={"foreign_ns": 7, "steal_ns": 1, "window_ns": 5, "cpu_count": 2, "utilisation": 0.1},
        ),
        row(Settings(4), "refused", error="needs up to 9 MB and 1 MB are available"),
    ]
    study["unavailable"] = [{"what": "scheduler flsched", "why": "no kernel for it"}]
    study["advice"] = [{"workload": {"name": "X"}, "text": "do it", "evidence": {"disturbed": 0}}]
    study["undecided"] = ["the rest"]
    lines = summary.text(study, "ai-study").splitlines()
    # The answer comes first, and what can explain the figures before them.
    assert lines[:2] == ["What to change:", "  X: do it"]
    assert lines[2].startswith(
        "1 of 2 runs were disturbed (others used 70 % of the CPUs, the hypervisor took 10 %)"
    )
    assert lines[3] == "Not decided: the rest"
    # Two threads stand above sixteen.
    assert [line.split()[1] for line in lines[5:7]] == ["t2.spin.r0", "t16.spin.r0"]
    assert lines[6].split()[2:6] == ["1.2", "2", "3", "4"]
    assert "x.t4.spin.r0: refused: needs up to 9 MB and 1 MB are available" in lines
    assert "Most memory: X, 7 MB (at most 9 MB predicted)" in lines
    assert "not available: scheduler flsched: no kernel for it" in lines
    assert lines[-1] == "Study: ai-study"


def test_more_spinning_threads_than_cpus_are_named_with_the_remedy():
    cpu = {"cpu_count": 2, "foreign_ns": 0, "steal_ns": 0, "window_ns": 10, "utilisation": 0.9}

    def found(settings, wait):
        return row(settings, wait_share_of_latency=wait, cpu=cpu)

    lines = summary.too_many_spin(
        [found(Settings(4), 0.5), found(Settings(8), 0.87), found(Settings(2), 0.9)]
    )
    assert lines == [
        "X: 8 threads that spin on 2 CPUs: those that wait for work hold the CPUs that the others need "
        "(87 % of the latency was waiting for one); --threads 2, or --spin off"
    ]
    assert "on 1 CPU:" in summary.too_many_spin([found(Settings(2, cpu_quota=1.0), 0.5)])[0]
    # A program that was asked to spin, and whose threads sleep.
    sleeps = found(Settings(8), 0.66)
    sleeps["per_inference"] = {**(sleeps["per_inference"] or {}), "voluntary": 1114.0}
    assert summary.too_many_spin([sleeps]) == [
        "X: 8 threads on 2 CPUs wait for each other asleep 1114 times an inference, and for CPUs "
        "(66 % of the latency was waiting for one); --threads 2"
    ]
    for harmless in (
        found(Settings(8, spinning=False), 0.9),
        found(Settings(8), 0.1),
        found(Settings(8), None),
    ):
        assert summary.too_many_spin([harmless]) == []


def test_the_cost_of_recording_is_said_with_its_interval():
    study = result.begin({}, "here", ["swtch"], None, None)
    intervals, spans = [], []
    for recorded, count in ((True, 98), (False, 100), (True, 99), (False, 100), (True, 100), (False, 100)):
        begin_ns = len(intervals) * 1000
        intervals.append(Interval(recorded, begin_ns, begin_ns + 1000, 1000))
        spans += [(begin_ns + n * 10, begin_ns + (n + 1) * 10) for n in range(count)]
    found = overhead(intervals, spans, [], 2)
    study["recording_overhead"] = json.loads(json.dumps(found))
    text = summary.text(study, None)
    assert "Recorded intervals have 0.990 (0.980 to 1.000) of the throughput of unrecorded ones" in text
    assert "3 pairs, confidence 75 %" in text


# The others import what may not be installed.
MODULES = sorted(
    {one.name for one in pkgutil.iter_modules(swtch.ai.__path__)} - {"worker", "weights", "runtime", "graphs"}
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_documentation_of_modules_run(name):
    assert doctest.testmod(importlib.import_module(f"swtch.ai.{name}")).failed == 0
