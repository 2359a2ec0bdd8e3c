"""Tiers run for real, in cgroups, with a small function: what is written, and what is left after an end of any kind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from faas_host import OWN, ROOT, SCHEMA, STUB, groups_left, leaves_no_groups, needs_groups, tiers_file
from schema_check import faults

from swtch import _cgroup as cgroup
from swtch.faas import study, tiers
from swtch.faas.command import main
from swtch.faas.languages import server
from swtch.faas.plan import Plan
from swtch.faas.runner import PROGRAM, Place
from swtch.faas.tier_sets import Tier


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A directory to be in; no cgroup and no process is left by any test."""
    needs_groups()
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(STUB))
    # One test has them.
    monkeypatch.setattr(tiers, "COLD_STARTS", 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    with leaves_no_groups():
        yield
    assert Path(f"/proc/self/task/{os.getpid()}/children").read_text().split() == []


def written(directory):
    document = study.read(Path(directory))
    assert faults(document, json.loads(SCHEMA.read_text())) == []
    return document


def row_of(document, tier, work_ms):
    return next(row for row in document["rows"] if (row["tier"], row["work_ms"]) == (tier, work_ms))


def test_cold_starts_are_rows_of_their_own(tmp_path, capsys):
    """The function says when its program began; its import takes a while, here in the first call, which also does more."""
    slow = "import time\ntime.sleep(0.15)\nFIRST = []\ndef f(event, context):\n    FIRST or time.sleep(0.2)\n    FIRST.append(1)\n"
    (tmp_path / "slow.py").write_text(slow)
    words = ["tiers", "--handler", "slow:f", "--tiers", tiers_file(tmp_path, (128, 0.9)), "--runs", "2"]
    assert main([*words, "--cold-starts", "2", "--out", "out"]) == 0
    document = written("out")
    assert [(row["tier"], row["n"], row["failed"]) for row in document["cold_starts"]] == [
        ("128 MB", 2, 0),
        ("unthrottled", 2, 0),
    ]
    for row in document["cold_starts"]:
        assert row["init_ns"]["minimum"] > 0 and row["first_call_ns"]["minimum"] > 200e6
        assert row["total_ns"]["minimum"] >= 350e6
    # They are in no other row.
    assert all(row["n"] == 2 and row["latency_ns"]["median"] < 150e6 for row in document["rows"])
    assert "cold start" in capsys.readouterr().out
    priced = document["cold_starts"][0]["cost_usd"]
    assert priced["mean"] > next(row["cost_usd"]["mean"] for row in document["rows"] if row["cost_usd"])


def test_the_same_work_as_another_study(tmp_path):
    """Its number of iterations a millisecond, whatever this machine does now."""
    words = ["tiers", "--tiers", tiers_file(tmp_path, (128, 0.9)), "--work", "2ms", "--runs", "1"]
    assert main([*words, "--out", "one"]) == 0
    calibration = written("one")["calibration"]
    assert main([*words, "--same-work-as", "one", "--out", "two"]) == 0
    found = written("two")
    assert found["calibration"] == calibration
    assert {row["iterations"] for row in found["rows"]} == {
        row["iterations"] for row in written("one")["rows"]
    }
    assert main(["tiers", "--handler", "own:fine", "--same-work-as", "one", "--out", "three"]) == 2
    assert not (tmp_path / "three").exists()


def test_a_quota_slows_down_what_is_longer_than_it(tmp_path, capsys):
    tiers = tiers_file(tmp_path, (128, 0.1), (1024, 0.9))
    words = [
        "tiers",
        "--tiers",
        tiers,
        "--work",
        "40ms,2ms",
        "--runs",
        "3",
        "--target",
        "200ms",
        "--out",
        "out",
    ]
    assert main(words) == 0
    document = written("out")
    assert document["function"] == {
        "kind": "handler",
        "language": "python",
        "name": "swtch handler",
        "called": None,
        "deployed": False,
    }
    small = document["tiers"][0]
    assert (small["quota_us"], small["period_us"], small["memory_limit_bytes"]) == (
        10_000,
        100_000,
        128 << 20,
    )
    assert small["cgroup_version"] in (1, 2)
    # 40 ms of work at 10 ms in each 100 ms: three or four whole periods without it, however busy the machine is. A CPU that has become
    # faster since the calibration needs fewer.
    slow = row_of(document, "128 MB", 40)
    assert slow["latency_ns"]["median"] > 150e6
    assert slow["slowdown"]["n"] == slow["extra_usd"]["usd"]["n"] == 3
    assert 0 < slow["throttled_periods_share"]["median"] <= slow["throttled_periods_share"]["ci_high"] <= 1
    assert slow["throttled_cpu_ns"]["median"] > 0
    assert (slow["n"], slow["failed"]) == (3, 0)
    free = row_of(document, "unthrottled", 40)
    assert free["throttled_cpu_ns"]["median"] == 0 and free["slowdown"] is None and free["cost_usd"] is None
    # The same iterations in every tier and round, and those were done.
    assert document["calibration"]["tier"] == "unthrottled"
    for work_ms in (2, 40):
        works = [one for one in document["invocations"] if one["work_ms"] == work_ms]
        assert len({one["iterations"] for one in works}) == 1
        assert all(one["response"]["work"]["iterations"] == one["iterations"] for one in works)
        assert {row["iterations"] for row in document["rows"] if row["work_ms"] == work_ms} == {
            works[0]["iterations"]
        }
    counted = [
        one["group"] for one in document["invocations"] if (one["tier"], one["work_ms"]) == ("128 MB", 40)
    ]
    # All but the last quota that was used up stopped it.
    assert all(one["periods_throttled"] >= max(one["cpu_ns"] // 10_000_000 - 1, 1) for one in counted)
    assert all(one["cpu_ns"] > 15e6 for one in counted)
    assert all(one["memory_peak_bytes"] > 1 << 20 for one in counted)
    assert {one["what"] for one in document["advice"]} == {"cheapest", "meets target"}
    met = next(one for one in document["advice"] if one["what"] == "meets target" and one["work_ms"] == 40)
    assert met["tier"] != "128 MB" and met["evidence"]["target_ns"] == 200e6
    out = capsys.readouterr().out
    assert "costs least at" in out and "Study: out" in out


def test_rounds_have_everything_once_in_an_order_of_their_own(tmp_path):
    main(
        [
            "tiers",
            "--tiers",
            tiers_file(tmp_path, (64, 0.5)),
            "--work",
            "1ms,2ms",
            "--runs",
            "4",
            "--out",
            "out",
        ]
    )
    lines = journaled(tmp_path / "out/journal.jsonl")
    orders = []
    for repeat in range(4):
        works = [
            (line["tier"], line["work_ms"])
            for line in lines
            if line["repeat"] == repeat and line["purpose"] == "work"
        ]
        assert sorted(works) == sorted((tier, work) for tier in ("64 MB", "unthrottled") for work in (1, 2))
        orders.append(tuple(works))
    assert len(set(orders)) > 1
    assert [line["repeat"] for line in lines] == sorted(line["repeat"] for line in lines)


def test_the_handler_sees_the_quota_that_was_set(tmp_path, monkeypatch, capsys):
    """The project's own, not the small one of these tests."""
    if not (ROOT / "functions/python/swtch_function").is_dir():
        pytest.skip("the handler is not here")
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    response = json.loads((ROOT / "docs/schemas/faas-2.json").read_text())
    tiers = tiers_file(tmp_path, (128, 0.1))
    # Other programs may keep the function from using its quota up: one study of three must show the quota, unless the kernel says so.
    used_up = []
    for out in ("first", "second", "third"):
        words = [
            "tiers",
            "--tiers",
            tiers,
            "--work",
            "5ms",
            "--runs",
            "3",
            "--period",
            "50ms",
            "--out",
            out,
        ]
        assert main(words) == 0
        document = written(out)
        for one in document["invocations"]:
            assert faults(one["response"], response) == []
        check = document["quota_check"][0]
        assert (check["period_us"], check["quota_us"]) == (50_000, 5_000)
        errors = (check["error_quota"], check["error_period"])
        if check["n"] >= 1 and all(abs(error) < 0.01 for error in errors):
            break
        counted = [one["response"]["throttling"] for one in document["invocations"]]
        spun = [one["platform"] for one in counted if one["spun"] and one["platform"]]
        used_up.append(sum(one["periods_throttled"] for one in spun) / sum(one["periods"] for one in spun))
    else:
        if max(used_up) < 0.9:
            pytest.skip(f"this machine is too busy: the quota was used up in {max(used_up):.0%} of periods")
        raise AssertionError(f"the quota from inside is not the one that was set: {check}, {used_up}")
    assert row_of(document, "128 MB", 5)["switch_ns"]["mean"]["mean"] > 0
    capsys.readouterr()
    words = ["measure", "--json", "--request", '{"methods": ["pipe"], "spin_ms": 100, "time_limit_ms": 100}']
    assert main(words) == 0
    measured = json.loads(capsys.readouterr().out)
    assert faults(measured, response) == []
    assert [one["method"] for one in measured["measurements"]] == ["pipe"]


def started(*words):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "swtch.faas.command", *words]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_lines(path, count):
    deadline = time.monotonic() + 60
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def journaled(path):
    """The invocations of a journal, whose first line is the plan, and whose calibration is a line too."""
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [line for line in lines if "calibration" not in line]


def keys(path):
    lines = journaled(path)
    return [(line["tier"], line["purpose"], line["work_ms"], line["repeat"]) for line in lines]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_study_goes_on_without_losing_or_repeating_any(tmp_path, number):
    words = [
        "tiers",
        "--tiers",
        tiers_file(tmp_path, (64, 0.3), (128, 0.6)),
        "--work",
        "5ms",
        "--runs",
        "8",
        "--out",
        "out",
    ]
    process = started(*words)
    journal = tmp_path / "out/journal.jsonl"
    wait_for_lines(journal, 12)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    before = journal.read_text()
    if number == signal.SIGKILL:
        # No process could remove them; the next run does. Their processes ended with it.
        time.sleep(0.2)
        assert all(not cgroup._processes(directory) for directory in groups_left(process.pid))
        with open(journal, "a") as file:
            file.write('{"subject": "python", "cut off')
    else:
        assert process.returncode == 130
        assert "interrupted; continue with: swtch faas tiers --resume out" in err
        assert groups_left(process.pid) == []
        written("out")
    more = ["--resume", "out"] if number != signal.SIGTERM else words[1:]
    done = started("tiers", *more)
    _, err = done.communicate(timeout=120)
    assert done.returncode == 0, err
    assert "are complete already" in err
    assert groups_left(process.pid) == []
    assert journal.read_text().startswith(before)
    found = keys(journal)
    assert len(found) == len(set(found))
    # Eight rounds of three places, eight of switches, five of quotas at two tiers, three cold starts of each place.
    assert len(found) == 8 * 3 + 8 * 3 + 5 * 2 + 3 * 3
    document = written("out")
    assert {(row["tier"], row["n"]) for row in document["rows"]} == {
        ("64 MB", 8),
        ("128 MB", 8),
        ("unthrottled", 8),
    }


def test_more_repeats_go_on_and_other_work_does_not(tmp_path, capsys):
    tiers = tiers_file(tmp_path, (64, 0.5))
    assert main(["tiers", "--tiers", tiers, "--work", "1ms", "--runs", "1", "--out", "out"]) == 0
    assert main(["tiers", "--resume", "out", "--runs", "2"]) == 0
    assert row_of(written("out"), "64 MB", 1)["n"] == 2
    assert main(["tiers", "--tiers", tiers, "--work", "2ms", "--runs", "1", "--out", "out"]) == 1
    assert "has a study with another works ms ([1.0], not [2.0])" in capsys.readouterr().err


def test_several_languages_have_a_directory_each(tmp_path, monkeypatch):
    monkeypatch.setattr("swtch.faas.runner.server", lambda language, handler=None: _as_python())
    words = ["tiers", "--tiers", tiers_file(tmp_path, (64, 0.5)), "--language", "python,node", "--work", "1ms", "--runs", "1", "--out", "out"]  # fmt: skip
    assert main(words) == 0
    assert [written(f"out/{one}")["function"]["language"] for one in ("python", "node")] == ["python", "node"]


def _as_python():
    from swtch.faas.languages import server

    return server("python")


def test_a_function_of_ones_own_is_invoked_with_its_event(tmp_path, capsys):
    (tmp_path / "event.json").write_text('{"a": [1, 2]}')
    words = ["tiers", "--handler", "own:fine", "--event", "event.json", "--tiers", tiers_file(tmp_path, (64, 0.5)), "--runs", "2", "--out", "out"]  # fmt: skip
    assert main(words) == 0
    document = written("out")
    assert document["function"]["kind"] == "own" and document["function"]["name"] == "own:fine"
    # The handler runs next to it, and measures.
    assert {row["switch_ns"]["method"] for row in document["rows"]} == {"pipe"}
    assert [one["response"] for one in document["invocations"]] == [None] * 4
    assert document["quota_check"][0]["n"] == 2


def test_deployed_functions_are_tiers_by_their_names(tmp_path, capsys):
    environment = {**os.environ, "PYTHONPATH": str(STUB / "python")}
    server = subprocess.Popen(
        [sys.executable, "-m", "swtch_function"], env=environment, stdout=subprocess.PIPE, text=True
    )
    try:
        url = f"http://{json.loads(server.stdout.readline())['listening']}/"
        words = [
            "tiers",
            "--invoke",
            f"128MB={url}",
            "--invoke",
            f"large={url}",
            "--work",
            "1ms,5ms",
            "--runs",
            "2",
        ]
        assert main([*words, "--price-table", "lambda-x86", "--out", "out"]) == 0
        assert main([*words[:3], "--event", "event.json", "--out", "own"]) == 2
        (tmp_path / "event.json").write_text("{}")
        assert main([*words[:3], "--event", "event.json", "--runs", "1", "--out", "own"]) == 0
    finally:
        server.kill()
        server.communicate()
    document = written("out")
    assert [tier["name"] for tier in document["tiers"]] == ["128MB", "large"]
    assert [tier["memory_mb"] for tier in document["tiers"]] == [128, 128]
    assert document["function"]["deployed"] and document["tiers"][0]["quota_us"] is None
    assert row_of(document, "large", 5)["cost_usd"]["median"] > 0
    assert row_of(document, "large", 5)["slowdown"] is None
    assert any(row["what"] == "rows.slowdown" for row in document["unavailable"])
    assert written("own")["rows"][0]["work_ms"] == 0


def test_stale_groups_are_removed_with_what_is_in_them():
    gone = subprocess.Popen(["true"])
    gone.wait()
    name = f"{cgroup.prefix(PROGRAM)}{gone.pid}-x"
    directory = cgroup.hierarchies()[0].own / name
    directory.mkdir()
    left = subprocess.Popen(["sleep", "1000"])
    try:
        (directory / "cgroup.procs").write_text(str(left.pid))
        assert cgroup.remove_stale(PROGRAM) == []
        assert directory in cgroup.remove_stale(PROGRAM, kill=True)
        assert not directory.exists()
        assert left.wait(5) == -signal.SIGKILL
    finally:
        left.kill()
        left.wait()


def test_swtch_runs_it_as_its_own(tmp_path):
    from swtch._errors import CommandError
    from swtch._program import binary

    try:
        program = binary()
    except CommandError as error:
        pytest.skip(str(error))
    own = tmp_path / "swtch-faas"
    own.write_text(f'#!/bin/sh\nexec {sys.executable} -m swtch.faas.command "$@"\n')
    own.chmod(0o755)
    path = os.pathsep.join(one for one in sys.path if one)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": path}
    done = subprocess.run(
        [str(program), "faas", "prices", "gcf-1"], env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "2.31e-06" in done.stdout
    assert 'swtch-faas = "swtch.faas.command:main"' in (ROOT / "pyproject.toml").read_text()


def test_only_the_function_is_in_its_tiers_cgroup(tmp_path, monkeypatch):
    """What sends requests and measures latencies would spend the function's quota there, and on another CPU too."""
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    tier = Tier("64 MB", 64, 0.5)
    values = {
        "kind": "own", "subjects": ("own",), "name": "own:naps", "tier_set": "x", "tier_source": "x", "tiers": (tier,), "price": None,
        "period_us": 100_000, "works_ms": (0.0,), "repeats": 1, "seed": 0, "limit_s": 30.0,
    }  # fmt: skip
    seen = []
    with contextlib.ExitStack() as stack:
        place = Place("alone", server("python", "own:naps"), b"{}", Plan(**values), tier, stack)
        # Two calls warm it up.
        place.invoke(b"{}", 30)
        running = threading.Thread(target=place.invoke, args=(b"{}", 30))
        running.start()
        while running.is_alive():
            found = place.group.processes()
            seen.append([(pid, len(os.listdir(f"/proc/{pid}/task"))) for pid in found])
            time.sleep(0.1)
        running.join()
    assert len(seen) > 5
    assert all(len(one) == 1 and one[0][1] == 1 for one in seen), seen


def test_a_figure_that_cannot_be_true_is_not_printed_and_replaces_nothing(tmp_path, monkeypatch, capsys):
    words = [
        "tiers",
        "--tiers",
        tiers_file(tmp_path, (64, 0.5)),
        "--work",
        "1ms",
        "--out",
        "out",
        "--runs",
    ]
    assert main([*words, "1"]) == 0
    before = Path("out/tiers.json").read_text()
    capsys.readouterr()
    monkeypatch.setattr("swtch.faas.runner._function_cpu_ns", lambda reply: 10**15)
    assert main(["tiers", "--resume", "out", "--runs", "2"]) == 1
    out, err = capsys.readouterr()
    said = [line for line in err.splitlines() if "cannot be true" in line]
    assert out == "" and len(said) == 1
    assert "invocations.function_cpu_ns" in said[0] and "please report this defect" in said[0]
    assert Path("out/tiers.json").read_text() == before
    assert Path("out/tiers.refused.json").exists()


def test_a_journal_of_tiers_that_did_different_work_does_not_go_on(tmp_path, capsys):
    words = [
        "tiers",
        "--tiers",
        tiers_file(tmp_path, (64, 0.5)),
        "--work",
        "1ms",
        "--runs",
        "1",
        "--out",
        "out",
    ]
    assert main(words) == 0
    journal = Path("out/journal.jsonl")
    journal.write_text(journal.read_text().replace('{"journal": 2', '{"journal": 1', 1))
    capsys.readouterr()
    assert main(["tiers", "--resume", "out"]) == 1
    assert "whose tiers did different amounts of work" in capsys.readouterr().err
