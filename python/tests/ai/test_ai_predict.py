"""Predictions from a study: the work of an inference, the simulated pool, and a real model end to end."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path

import pytest
from run_host import needs_runtime, needs_swtch

import swtch
from swtch.ai import pool, pool_fit, predict
from swtch.ai.command import main
from swtch.ai.errors import AiError

SETTINGS = {
    "threads": 1,
    "inter_op_threads": 1,
    "spinning": True,
    "pinned": None,
    "co_located": 1,
    "cpu_quota": None,
    "batch": 1,
    "device": "cpu",
    "scheduler": "stock",
}
COSTS = {"policy": "eevdf", "profile": None}


def ran(threads, mean_ms, spinning=True, quota=None, **more):
    """A run, as far as predictions look at it."""
    settings = {**SETTINGS, "threads": threads, "spinning": spinning, "cpu_quota": quota}
    name = f"m.t{threads}.{'spin' if spinning else 'block'}"
    return {
        "id": name,
        "workload": {"name": "M", "number": None, "slug": "m", "group": "own"},
        "settings": settings,
        "facts": {"runtime": "ONNX Runtime"},
        "outcome": "complete",
        "disturbed": None,
        "inferences": 100,
        "latency_ns": {"mean": mean_ms * 1e6, "p50": mean_ms * 1e6},
        "cpu": {"cpu_count": 2},
        "trace": None,
        **more,
    }


STUDY = [ran(1, 4.0), ran(2, 2.5), ran(2, 3.2, spinning=False)]


def fitted(runs):
    return pool_fit.fit(Path("nowhere"), runs, COSTS["profile"], COSTS["policy"])


def test_serial_and_shared_work_come_from_two_times():
    found = pool.of_times(4e6, 2.5e6, 2)
    assert (found.serial_ns, found.shared_ns) == (1e6, pytest.approx(3e6))
    assert pool.of_times(4e6, 2.8e6, 4).shared_ns == pytest.approx(1.6e6)
    assert pool.of_times(4e6, 4.1e6, 2) is None


def test_loops_have_the_sizes_at_which_workers_ran():
    # In each of ten inferences a worker comes too late for two loops, does 20 us in each of two, and 1 ms in one.
    slices = 10 * [1_000, 2_000, 20_000, 20_000, 1_000_000]
    found = pool.with_loops(pool.of_times(4e6, 2.5e6, 2), slices, 10, 2)
    assert [(one.count, round(one.work_ns)) for one in found.loops] == [
        (2, 460_000),
        (2, 40_000),
        (1, 2_000_000),
    ]
    assert found.shared_ns == pytest.approx(3e6)
    # More than the work there is: each is shortened alike.
    found = pool.with_loops(pool.of_times(4e6, 2.5e6, 2), 10 * [1_000_000, 1_000_000], 10, 2)
    assert [(one.count, round(one.work_ns)) for one in found.loops] == [(2, 1_500_000)]


def test_the_runs_that_it_is_taken_from_come_out():
    found = fitted(STUDY)
    assert found.cpus == 2 and [one["what"] for one in found.missing] == ["what other programs do"]
    for threads, spin, measured in ((1, True, 4.0), (2, True, 2.5), (2, False, 3.2)):
        asked = pool.specification(found.pool, threads, spin, None, 2, 7)
        each_ns = pool_fit.each_ns(pool_fit.simulated(asked, "eevdf", None, 4e6, None, 7))
        assert each_ns / 1e6 == pytest.approx(measured, rel=0.02), (threads, spin)


def test_twice_as_many_threads_as_cpus_fall_off_a_cliff_if_they_spin():
    found = fitted(STUDY)
    rows = {
        (wanted.threads, wanted.spinning, wanted.quota): predict.predicted(found, wanted, None)
        for wanted in (
            predict.Wanted(n, s, q, "eevdf") for n in (2, 4) for s in (True, False) for q in (None, 1.0)
        )
    }
    mean = {key: row["mean_ns"]["median"] / 1e6 for key, row in rows.items()}
    assert 4.0 < mean[4, True, None] < 10 and mean[4, False, None] < 4.5
    # The CPU time of an inference and a quota of one CPU give its time, spinning or not.
    for threads in (2, 4):
        for spin in (True, False):
            row = rows[threads, spin, 1.0]
            assert row["mean_ns"]["median"] == pytest.approx(row["cpu_ns"], rel=0.1)
    assert rows[2, False, None]["voluntary"] > 10 > rows[2, True, None]["voluntary"]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([ran(2, 2.5)], "has no complete run with 1 thread; swtch ai run m --threads 1,2 --spin on,off"),
        ([ran(1, 4.0)], "has no complete run with 2 to 2 threads that spin"),
        ([ran(1, 4.0), ran(2, 4.1)], "2 threads take as long as one (4.1 ms and 4 ms)"),
        (
            [ran(1, 4.0, facts={})],
            "only the pool of ONNX Runtime can be predicted, and its runs do not name it",
        ),
        ([ran(1, 4.0, cpu={"cpu_count": 1})], "ran on one CPU"),
    ],
)
def test_what_tells_nothing_is_one_line(runs, said):
    with pytest.raises(AiError, match=said.replace("(", r"\(").replace(")", r"\)")) as raised:
        fitted(runs)
    assert "\n" not in str(raised.value)


def test_without_a_run_that_blocks_blocking_is_not_predicted():
    found = fitted(STUDY[:2])
    assert [one["what"] for one in found.missing] == ["what other programs do", "blocking"]
    row = predict.predicted(found, predict.Wanted(4, False, None, "eevdf"), None)
    assert row["mean_ns"] is None and row["voluntary"] is None
    document = predict._document(found, STUDY[:2], [row], None, "eevdf")
    assert predict._text(document).splitlines() == [
        "Not predicted: what other programs do, no run with threads that spin was recorded switch by switch",
        "Not predicted: blocking, no run with 2 threads that block tells what waking them takes; swtch ai run m --threads 1,2 --spin on,off",
    ]


def test_what_was_measured_stands_beside_what_is_predicted(tmp_path, capsys, monkeypatch):
    """Of a study that was kept, with made-up times."""
    kept = Path(__file__).parents[3] / "fixtures/studies/cloud"
    shutil.copytree(kept, tmp_path / "study")
    study = json.loads((tmp_path / "study/study.json").read_text())
    like = next(one for one in study["runs"] if one["outcome"] == "complete")
    runs = []
    for made in (*STUDY, ran(4, 9.0)):
        one = copy.deepcopy(like)
        one.update({key: made[key] for key in ("id", "settings", "facts", "disturbed")}, trace=None)
        one["latency_ns"] |= made["latency_ns"]
        one["cpu"] = {**(one["cpu"] or {}), "cpu_count": 2}
        runs.append(one)
    monkeypatch.setattr(predict.result, "read", lambda path: {**study, "runs": runs})
    monkeypatch.setattr(swtch.Profile, "own", classmethod(lambda cls: None))
    assert main(["predict", str(tmp_path / "study"), "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["models"]
    rows = {(one["settings"]["threads"], one["settings"]["spinning"]): one for one in found["rows"]}
    assert rows[2, True]["taken_from_it"] and not rows[4, True]["taken_from_it"]
    assert rows[4, True]["off"] == pytest.approx(rows[4, True]["mean_ns"]["median"] / 9e6 - 1)
    assert rows[4, False]["measured_ns"] is None and rows[4, False]["off"] is None
    assert main(["predict", str(tmp_path / "study")]) == 0
    out = capsys.readouterr().out
    first = out.splitlines()[0]
    assert "on 2 CPUs, predicted: t2.spin is fastest, 2.5 ms an inference; t4.spin takes" in first
    assert "1 other setting was measured too: off by" in out
    assert "those of an ordinary server; swtch measure makes a Profile of this machine" in out


def test_a_model_is_recorded_and_predicted(tmp_path, capsys):
    needs_runtime(), needs_swtch()
    study = str(tmp_path / "study")
    words = ["--threads", "1,2", "--spin", "on,off", "--duration", "700ms", "--out", study]
    assert main(["run", "llm-15m.token", *words]) == 0
    capsys.readouterr()
    status = main(["predict", study, "--threads", "1,2,4", "--json"])
    said = capsys.readouterr()
    if status == 1 and "take as long as one" in said.err:
        pytest.skip("two threads took as long as one: this machine's CPUs are one core now")
    assert status == 0, said.err
    (found,) = json.loads(said.out)["models"]
    rows = {(one["settings"]["threads"], one["settings"]["spinning"]): one for one in found["rows"]}
    assert set(found["work"]["taken_from"]) >= {"work", "wake_ns"}
    assert all(one["mean_ns"]["median"] > 0 for one in rows.values())
    measured = {
        (one["settings"]["threads"], one["settings"]["spinning"])
        for one in found["rows"]
        if one["measured_ns"]
    }
    assert measured == {(1, True), (1, False), (2, True), (2, False)}
    # How far they are off depends on what else ran; docs/results/ai.md has that on a quiet machine.
    assert rows[4, True]["cpu_ns"] > rows[2, True]["cpu_ns"]
