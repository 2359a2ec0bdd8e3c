"""Workloads run for real: recorded, in cgroups, with everything that can go wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_host import (
    BUSY,
    KILLED,
    LIAR,
    NEVER_DONE,
    NEVER_READY,
    RAISING,
    SLEEPER,
    check_leaves_once_an_inference,
    groups_left,
    needs_groups,
    needs_root,
    needs_runtime,
    needs_swtch,
    program,
)
from schema_check import faults

import swtch
from swtch import _cgroup as cgroup
from swtch import _machine as host
from swtch import _native
from swtch.ai import one_run, record, result
from swtch.ai.catalogue import find
from swtch.ai.command import main
from swtch.ai.errors import AiError
from swtch.ai.one_run import PROGRAM, Job, Plan, run_once
from swtch.ai.sampler import descendants
from swtch.ai.settings import Settings
from swtch.ai.study import Study
from swtch.ai.subject import of_model, of_program

ROOT = Path(__file__).resolve().parents[3]
SCHEMAS = {
    f"swtch/study/{version}": json.loads((ROOT / f"docs/schemas/study-{version}.json").read_text())
    for version in (1, 2)
}


@pytest.fixture
def usable():
    return host.usable(host.host())


@pytest.fixture(autouse=True)
def nothing_left():
    """No cgroup and no process of ours is left by any of these tests."""
    yield
    assert groups_left() == []
    assert [pid for pid in descendants([os.getpid()]) if pid != os.getpid() and _name(pid) != "pytest"] == []


def _name(pid):
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "pytest"


def job_of(directory, source, **settings):
    return Job(of_program([sys.executable, str(program(directory, source))]), Settings(**settings))


def written(directory):
    document = result.read(directory)
    assert faults(document, SCHEMAS[document["schema"]]) == []
    return document


def test_a_sleeper_switches_once_an_inference(tmp_path, usable):
    needs_swtch(), needs_root()
    row = run_once(job_of(tmp_path, SLEEPER), Plan(tmp_path, 0.6), usable)
    assert (row["outcome"], row["error"]) == ("complete", None)
    assert row["inferences"] > 20
    check_leaves_once_an_inference(row)
    assert row["latency_ns"]["p50"] >= 2e6
    assert row["images_per_second"] == pytest.approx(2 * row["inferences"] * 1e9 / row["duration_ns"])
    assert (row["processes_peak"], row["threads_peak"]) == (1, 1)
    # One thread: nothing of its own runs while it waits, so that share and bounds are one.
    assert row["wait_share_bounds"]["low"] == row["wait_share_of_latency"] == row["wait_share_bounds"]["high"]
    assert 0 < row["cpu"]["own_ns"] < row["duration_ns"]
    assert row["concurrency"] == 1
    assert row["unavailable"] == []
    # Of the measured phase only: starting the recorder takes longer.
    assert 0 <= row["recorder"]["measured_cpu_ns"] < row["recorder"]["cpu_ns"] + 20_000_000
    assert (tmp_path / row["trace"] / "header.json").exists()
    assert len(row["over_time"]["at_ms"]) == len(row["over_time"]["switches_per_s"]) >= 2


def test_a_workload_without_metrics_is_complete(tmp_path, usable):
    source = SLEEPER.replace(", images=2 * len(ends)", "")
    assert source != SLEEPER
    row = run_once(job_of(tmp_path, source), Plan(tmp_path, 0.2, record=False), usable)
    assert (row["outcome"], row["error"]) == ("complete", None)
    assert row["inferences"] > 20


def test_copies_run_together_and_are_counted_together(tmp_path, usable):
    needs_swtch(), needs_root()
    row = run_once(job_of(tmp_path, SLEEPER, co_located=2), Plan(tmp_path, 0.5), usable)
    assert row["outcome"] == "complete"
    assert row["processes_peak"] == 2
    check_leaves_once_an_inference(row)
    # Twice as fast as one at a time could be.
    assert row["inferences"] / (row["duration_ns"] / 1e9) > 1.2 * 1e9 / row["latency_ns"]["p50"]


def test_a_quota_holds_and_is_seen(tmp_path, usable):
    needs_swtch(), needs_groups()
    row = run_once(job_of(tmp_path, BUSY, cpu_quota=0.2), Plan(tmp_path, 1.0), usable)
    assert row["outcome"] == "complete"
    assert row["cpu"]["throttled_ns"] > 0
    # A tenth for periods that are cut off at both ends.
    assert row["cpu"]["own_ns"] < (0.2 + 0.1) * row["cpu"]["window_ns"]


def test_without_a_cgroup_of_its_own_it_is_in_that_of_the_command(tmp_path, usable):
    needs_swtch()
    row = run_once(job_of(tmp_path, SLEEPER), Plan(tmp_path, 0.2, in_cgroup=False), usable)
    assert row["outcome"] == "complete", row["error"]
    assert {"what": "cgroup", "why": "not asked for (--no-cgroup)"} in row["unavailable"]
    with pytest.raises(AiError, match="cannot apply --quota: not asked for"):
        run_once(job_of(tmp_path, SLEEPER, cpu_quota=0.5), Plan(tmp_path, 0.2, in_cgroup=False), usable)


def test_pinning_holds(tmp_path, usable):
    needs_swtch(), needs_root()
    cpu = usable.cpus[-1]
    row = run_once(job_of(tmp_path, SLEEPER, pinned=str(cpu)), Plan(tmp_path, 0.2), usable)
    assert set(swtch.Trace.load(tmp_path / row["trace"]).switches["cpu"]) == {cpu}
    assert os.sched_getaffinity(0) == set(usable.cpus)


@pytest.mark.parametrize(
    ("source", "outcome", "words"),
    [
        (KILLED, "crashed", "was ended by SIGSEGV"),
        (RAISING, "crashed", "ended with status 1: RuntimeError: the third layer is missing"),
        (LIAR, "crashed", "line 2 of the workload's output"),
        (NEVER_READY, "timed-out", "was not ready within 0.5 s"),
        (NEVER_DONE, "timed-out", "did not end within 0.5 s"),
        ("print('no contract here')\n", "crashed", "ended with status 0: no contract here"),
    ],
    ids=["killed", "raising", "liar", "never ready", "never done", "no contract"],
)
def test_what_goes_wrong_is_told_in_one_line(tmp_path, usable, source, outcome, words):
    needs_swtch()
    plan = Plan(tmp_path, 0.1, load_limit_s=0.5 if source == NEVER_READY else 10, run_limit_s=0.5)
    row = run_once(job_of(tmp_path, source), plan, usable)
    assert row["outcome"] == outcome
    assert words in row["error"] and "\n" not in row["error"]
    # The recording until then is kept.
    assert (row["trace"] is not None) == (source in (KILLED, RAISING, LIAR, NEVER_DONE))
    if source in (KILLED, RAISING):
        assert swtch.Trace.load(tmp_path / row["trace"]).provenance.ended == "target-gone"


def test_when_one_crashes_the_others_go_on(tmp_path):
    needs_swtch()
    directory = tmp_path / "study"
    directory.mkdir()
    study = Study(Plan(directory, 0.1), ["test"], "test", False, None)
    subjects = [
        of_program([sys.executable, str(program(tmp_path, source, name))])
        for name, source in (("first", SLEEPER), ("second", KILLED), ("third", SLEEPER))
    ]
    study.run([Job(subject, Settings()) for subject in subjects])
    document = written(directory)
    assert [run["outcome"] for run in document["runs"]] == ["complete", "crashed", "complete"]
    assert [one["workload"]["slug"] for one in document["summaries"]] == ["first", "third"]


def test_too_little_memory_is_predicted_before_anything_starts(tmp_path, usable, monkeypatch):
    monkeypatch.setattr(one_run, "available_memory_bytes", lambda: 1_000_000)
    monkeypatch.setattr(one_run, "Workload", None)
    row = run_once(Job(of_model(find("spade")[0]), Settings()), Plan(tmp_path, 1.0), usable)
    assert row["outcome"] == "refused"
    assert row["error"].startswith(
        f"needs up to {row['predicted_peak_bytes'] / 1e6:.0f} MB and 1 MB are available"
    )


@pytest.mark.parametrize("program", [False, True], ids=["here", "program"])
def test_a_machine_that_records_nothing_is_told_of(tmp_path, usable, monkeypatch, program):
    def refused(asking, progress):
        raise swtch.RecordError("the kernel allows nothing")

    monkeypatch.setattr(record, "_program_may_more", lambda: program)
    monkeypatch.setattr(record, "binary", lambda: Path("/bin/false"))
    monkeypatch.setattr(_native, "record", refused)
    row = run_once(job_of(tmp_path, SLEEPER), Plan(tmp_path, 0.2), usable)
    assert row["outcome"] == "complete"
    assert (row["switches"], row["trace"], row["wait_share_of_latency"]) == (None, None, None)
    assert row["latency_ns"]["p50"] >= 2e6
    assert row["unavailable"][0]["what"] == "recording"
    assert "cannot begin the recording: " in row["unavailable"][0]["why"]


def test_control_groups_are_removed_with_what_is_in_them():
    needs_groups()
    with pytest.raises(RuntimeError), cgroup.group(PROGRAM, "left", cgroup.Limits.of_cpus(1.0)) as group:
        into = f"echo $$ > {group.directory}/cgroup.procs && exec sleep 1000"
        process = subprocess.Popen(["/bin/sh", "-c", into])
        while process.pid not in group.processes():
            time.sleep(0.01)
        raise RuntimeError
    assert process.wait(5) == -signal.SIGKILL
    assert not group.directory.exists()


def test_groups_of_runs_that_were_killed_are_removed_by_the_next():
    needs_groups()
    parent = cgroup.hierarchies()[0].own
    gone = subprocess.Popen(["true"])
    gone.wait()
    stale = parent / f"{cgroup.prefix(PROGRAM)}{gone.pid}-x"
    mine = parent / f"{cgroup.prefix(PROGRAM)}{os.getpid()}-x"
    stale.mkdir(), mine.mkdir()
    try:
        assert stale in cgroup.remove_stale(PROGRAM)
        assert not stale.exists() and mine.exists()
    finally:
        mine.rmdir()


def test_without_control_groups_there_is_a_reason(tmp_path):
    with cgroup.group(PROGRAM, "none", root=tmp_path) as group:
        assert (group.directory, group.why) == (None, "no cgroups are mounted here")


def test_version_2_is_taken_where_it_has_the_controller(tmp_path):
    for path in ("sys/fs/cgroup/cpu/own", "sys/fs/cgroup/unified/own2", "proc/self"):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("3:cpu,cpuacct:/own\n0::/own2\n")
    lines = [
        "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0",
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0",
    ]
    (tmp_path / "proc/self/mounts").write_text("\n".join(lines) + "\n")
    controllers = tmp_path / "sys/fs/cgroup/unified/cgroup.controllers"
    controllers.write_text("hugetlb\n")
    assert [one.version for one in cgroup.hierarchies(tmp_path)] == [1, 2]
    controllers.write_text("cpu memory\n")
    assert [one.version for one in cgroup.hierarchies(tmp_path)] == [2, 1]
    assert cgroup.hierarchies(tmp_path)[0].own.name == "own2"


def test_the_command_runs_a_program(tmp_path, capsys):
    needs_swtch()
    directory = tmp_path / "edge"
    path = program(tmp_path, SLEEPER)
    words = ["run", "--threads", "1,2", "--duration", "200ms", "--out", str(directory), "--json"]
    assert main([*words, "--", sys.executable, str(path)]) == 0
    document = written(directory)
    assert json.loads(capsys.readouterr().out) == document
    assert document["machine_name"] == "edge"
    assert document["provenance"]["swtch_version"][0].isdigit()
    assert [run["settings"]["threads"] for run in document["runs"]] == [1, 2]
    assert document["provenance"]["command"][:3] == ["swtch", "ai", "run"]
    assert document["host"]["architecture"] == os.uname().machine
    assert main(["run", "--out", str(directory), "--", sys.executable, str(path)]) == 1
    assert "has a study already" in capsys.readouterr().err


def test_a_model_runs(tmp_path, capsys):
    needs_runtime(), needs_swtch()
    directory = tmp_path / "study"
    words = [
        "run",
        "mobilenet-v2",
        "--threads",
        "2",
        "--spin",
        "off",
        "--duration",
        "500ms",
        "--out",
        str(directory),
    ]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert "MobileNet v2" in out and "Most memory: MobileNet v2" in out
    run = written(directory)["runs"][0]
    assert run["id"] == "mobilenet-v2.t2.block.r0"
    assert run["threads_peak"] >= 2
    assert 0 < run["peak_rss_bytes"] <= run["predicted_peak_bytes"]
    if os.geteuid() == 0:
        # Two threads that block meet at every operator.
        assert run["per_inference"]["voluntary"] > 5
        assert run["unavailable"] == []


def test_the_cost_of_recording_is_of_pairs(tmp_path, capsys):
    needs_swtch()
    directory = tmp_path / "study"
    words = ["run", "--check-overhead", "--runs", "1", "--duration", "300ms", "--out", str(directory)]
    assert main([*words, "--", sys.executable, str(program(tmp_path, SLEEPER))]) == 0
    document = written(directory)
    assert [run["outcome"] for run in document["runs"]] == ["complete"]
    found = document["recording_overhead"]
    assert found["pairs"] == 1 and found["recorder_cpu_share"] is not None
    # It sleeps for as long, recorded or not; a delay of the machine makes a tail longer.
    assert 0.2 < found["latency_p50_ratio"]["median"] < 5 and found["latency_p99_ratio"]["median"] > 0
    assert "of the 99th percentile of latency" in capsys.readouterr().out
    assert not list(directory.glob("*.swtch"))
    assert main(["run", "--check-overhead"]) == 2
    assert "needs a model, an ONNX file, or -- COMMAND" in capsys.readouterr().err


def test_tuning_ends_with_the_best(tmp_path, capsys):
    directory = tmp_path / "study"
    words = [
        "tune",
        "--no-record",
        "--runs",
        "1",
        "--duration",
        "100ms",
        "--out",
        str(directory),
    ]
    assert main([*words, "--", sys.executable, str(program(tmp_path, BUSY))]) == 0
    document = written(directory)
    assert document["tuned"]["text"] in capsys.readouterr().out
    assert {run["settings"]["scheduler"] for run in document["runs"]} == {"stock"}
    finals = [run for run in document["runs"] if run["id"].endswith(".final")]
    assert 3 <= len(finals) <= 4
    if any(run["disturbed"] for run in finals):
        # What else runs here decides this; other tests have made-up runs of both kinds.
        assert document["tuned"]["best"] is None and "Cannot decide" in document["tuned"]["text"]
        return
    best = max(finals, key=lambda run: run["images_per_second"])
    assert document["tuned"]["best"]["settings"] == best["settings"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_study_keeps_what_was_complete(tmp_path, number):
    needs_swtch()
    directory = tmp_path / "study"
    # Quick with one thread, endless with two.
    slow = SLEEPER.replace("wait()\n", "if sys.argv[1] == '2': duration_s = 1000\nwait()\n", 1)
    slow = slow.replace("wait()\nbegins", "wait()\nopen(sys.argv[2] + sys.argv[1], 'w').close()\nbegins")
    marks = tmp_path / "mark"
    words = [
        "run",
        "--threads",
        "1,2",
        "--duration",
        "200ms",
        "--out",
        str(directory),
        "--timeout",
        "60s",
        "--",
    ]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "swtch.ai.command",
            *words,
            sys.executable,
            str(program(tmp_path, slow)),
            "{threads}",
            str(marks),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    )
    deadline = time.monotonic() + 30
    while not Path(f"{marks}2").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130, said
    assert "interrupted; the complete runs are in" in said
    document = written(directory)
    assert [run["outcome"] for run in document["runs"]] == ["complete", "interrupted"]
    for hierarchy in cgroup.hierarchies():
        assert list(hierarchy.own.glob(f"{cgroup.prefix(PROGRAM)}{process.pid}-*")) == []


def test_a_study_that_is_none_is_refused(tmp_path):
    with pytest.raises(AiError, match="there is no study"):
        result.read(tmp_path)
    (tmp_path / "study.json").write_text("{")
    with pytest.raises(AiError, match="is not JSON"):
        result.read(tmp_path)
    document = result.begin(host.host_document(host.host()), "here", ["x"], None, None)
    for wrong, words in [
        ([], "an object was expected"),
        ({**document, "schema": "swtch/study/9"}, "its schema is"),
        ({key: value for key, value in document.items() if key != "host"}, "'host' is missing"),
        ({**document, "runs": [{"id": "a", "outcome": "well"}]}, "the outcome of a"),
        ({**document, "runs": [{"id": "a", "outcome": "crashed", "error": None}]}, "without a reason"),
        ({**document, "runs": [{"id": "a", "outcome": "complete"}] * 2}, "of an earlier one"),
    ]:
        assert words in result.check(wrong)
    assert result.check(document) is None


@pytest.mark.parametrize("name", ["cloud", "edge"])
def test_studies_that_are_kept_are_as_the_schema_says(name):
    """They are what the report is tested with."""
    written(ROOT / "fixtures" / "studies" / name)
