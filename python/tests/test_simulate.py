"""Simulations."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import swtch

ROOT = Path(__file__).resolve().parents[2]
SPEC = {
    "machine": 2,
    "policies": ["eevdf", "rr"],
    "pipes": {"p": {}},
    "task": [
        {"name": "client", "program": "loop 10 { compute 1ms; send p 100 }"},
        {"name": "server", "program": ["loop 10 { receive p 100", "request { compute 1ms } }"]},
    ],
}


def test_a_workload_by_name_under_several_policies():
    found = swtch.simulate("hackbench:groups=1,loops=3", ["eevdf", "cfs"], machine=4, seed=3)
    assert (found.schema, found.seed, found.machine.cpus) == ("swtch/simulate/1", 3, 4)
    assert [run.policy for run in found.runs] == ["eevdf", "cfs"]
    assert repr(found) == "<swtch.Simulation: hackbench, 2 runs under eevdf, cfs>"
    for run in found.runs:
        assert run.complete and run.context_switches == run.voluntary + run.involuntary
        assert sum(vars(run.cpu_ns).values()) == 4 * run.makespan_ns
    again = swtch.simulate("hackbench:groups=1,loops=3", ["eevdf", "cfs"], machine=4, seed=3)
    assert [run.makespan_ns for run in again.runs] == [run.makespan_ns for run in found.runs]


def test_a_specification_may_be_a_dict_a_text_or_a_file(tmp_path: Path):
    of_dict = swtch.simulate(SPEC)
    assert [run.policy for run in of_dict.runs] == ["eevdf", "rr"]
    assert of_dict.runs[0].request_ns.count == 10
    text = 'machine = 2\n[[task]]\nname = "a"\nprogram = "compute 5ms"\n'
    file = tmp_path / "a.toml"
    file.write_text(text)
    assert swtch.simulate(text).runs[0].makespan_ns == swtch.simulate(file).runs[0].makespan_ns


def test_a_recording_is_replayed():
    found = swtch.simulate(ROOT / "fixtures" / "traces" / "machine.swtch", "cfs")
    # And under the policy of the recording, by which its error is known.
    assert found.workload.name == "replay"
    assert [run.policy for run in found.runs] == ["cfs", found.recorded.policy]
    assert len(found.ensemble.seeds) == 6 and found.verdict.error is not None


def test_a_replay_has_changes():
    trace = ROOT / "fixtures" / "traces" / "machine.swtch"
    found = swtch.simulate(trace, beside=["spin:tasks=4,work_ns=0"], seeds=6)
    (effect,) = found.what_if.policies
    assert effect.policy == found.recorded.policy and effect.differs
    assert any(row.name == "spin" and row.wait_ns.before is None for row in effect.tasks)
    with pytest.raises(swtch.UsageError, match='no task "nosuch"'):
        swtch.simulate(trace, without=["nosuch"])
    with pytest.raises(swtch.UsageError, match="for the replay of a recording"):
        swtch.simulate("spin", machine=2, seeds=3)


def test_a_profile_gives_the_costs(golden: Path):
    assert swtch.simulate("spin:work_ns=1ms", machine=2, profile=golden).costs == "the Profile"
    assert (
        swtch.simulate("spin:work_ns=1ms", machine=2, profile=swtch.Profile.load(golden)).costs
        == "the Profile"
    )


def test_traces_are_written(tmp_path: Path, golden: Path):
    found = swtch.simulate(SPEC, trace=tmp_path / "traces", profile=golden, seed=3, duration=1.5)
    assert sorted(directory.name for directory in (tmp_path / "traces").iterdir()) == [
        "eevdf.swtch",
        "rr.swtch",
    ]
    plain = swtch.simulate(SPEC, profile=golden, seed=3, duration=1.5)
    assert [run.makespan_ns for run in found.runs] == [run.makespan_ns for run in plain.runs]
    replayed = swtch.simulate(tmp_path / "traces" / "rr.swtch", "rr", trace=tmp_path / "again")
    assert replayed.machine.cpus == 2
    with pytest.raises(swtch.UsageError, match="no workload"):
        swtch.simulate("cray", trace=tmp_path / "traces")
    with pytest.raises(swtch.SimulationError, match="has not ended"):
        swtch.simulate("spin:work_ns=0", machine=1, limit=0.1, trace=tmp_path / "traces")


GRID = """
machines = [1, 2]
policies = ["eevdf", "rr"]
seeds = [1, 2]
workloads = ["spin:tasks=3,work_ns=1ms"]
"""


def test_a_sweep_goes_on_where_it_was_and_gives_its_table(tmp_path: Path):
    file, out = tmp_path / "grid.toml", tmp_path / "grid.parquet"
    file.write_text(GRID)
    found = swtch.sweep(file, out, jobs=2)
    assert (found.path, found.runs, found.run_now, found.failures) == (out, 8, 8, ())
    assert swtch.sweep(file, out).run_now == 0
    parts = [swtch.sweep(file, tmp_path / f"{number}.parquet", part=(number, 2)) for number in (1, 2)]
    assert [part.runs for part in parts] == [4, 4]
    pytest.importorskip("pyarrow")
    table = found.to_arrow()
    assert table.column("run").to_pylist() == list(range(8))
    alone = swtch.simulate("spin:tasks=3,work_ns=1ms", "eevdf", machine=1, seed=1)
    assert table.column("makespan_ns")[0].as_py() == alone.runs[0].makespan_ns


def test_a_sweep_that_cannot_be_is_refused(tmp_path: Path):
    file = tmp_path / "grid.toml"
    file.write_text(GRID.replace("spin:", "cray:"))
    with pytest.raises(swtch.UsageError, match="no workload"):
        swtch.sweep(file, tmp_path / "a.parquet")
    with pytest.raises(FileNotFoundError, match="cannot read"):
        swtch.sweep(tmp_path / "none.toml", tmp_path / "a.parquet")
    other = tmp_path / "b.parquet"
    other.write_text("no table")
    file.write_text(GRID)
    with pytest.raises(swtch.UsageError, match="not a table of a sweep"):
        swtch.sweep(file, other)
    assert other.read_text() == "no table"
    for wrong in ({"part": (3, 2)}, {"jobs": 0}):
        with pytest.raises(swtch.UsageError, match="expected"):
            swtch.sweep(file, tmp_path / "a.parquet", **wrong)


def test_tables():
    pytest.importorskip("pyarrow")
    found = swtch.simulate(
        "mix:applications=[{name='a',speedup=3.0},{name='b',speedup=1.5}]", "max-fair", machine="2f4s"
    )
    runs = found.to_arrow()
    assert runs.num_rows == 1 and {"makespan_ns", "wait_p99_ns", "cpu_idle_ns", "throughput"} <= set(
        runs.column_names
    )
    assert found.to_arrow("hooks").num_rows == 9
    assert found.to_arrow("applications").column("name").to_pylist() == ["a", "b"]
    with pytest.raises(swtch.UsageError, match="unknown table 'odd'"):
        found.to_arrow("odd")


@pytest.mark.parametrize(
    ("spec", "options", "kind", "words"),
    [
        ("cray", {}, swtch.UsageError, "no workload"),
        ("spin", {"machine": "cray"}, swtch.UsageError, "no machine"),
        ("spin", {"policies": "o1"}, swtch.UsageError, "no policy"),
        ("spin", {"duration": -1}, swtch.UsageError, "duration is -1"),
        ({"wibble": 3}, {}, swtch.UsageError, "unknown field `wibble`"),
        ({**SPEC, "task": SPEC["task"][1:]}, {}, swtch.SimulationError, "deadlock"),
        ("spin:work_ns=0", {"machine": 1, "limit": 0.1}, swtch.SimulationError, "has not ended"),
        ("nosuch.toml", {}, FileNotFoundError, "nosuch.toml"),
        ("nosuch.swtch", {}, FileNotFoundError, "nosuch.swtch"),
        ({"machine": object()}, {}, swtch.UsageError, "cannot be part of a specification"),
    ],
)
def test_what_cannot_be_simulated(spec, options, kind, words):
    with pytest.raises(kind, match=words):
        swtch.simulate(spec, **options)


def test_seeds_are_different_runs_unless_jitter_is_none():
    def makespans(**options):
        runs = [
            swtch.simulate("hackbench:groups=1,loops=3", machine=4, seed=seed, **options) for seed in (1, 2)
        ]
        return {one.runs[0].makespan_ns for one in runs}, runs[0]

    different, found = makespans()
    assert len(different) == 2 and found.jitter.start_ns == 20_000
    assert found.warnings[0].startswith("One run of each policy, seed 1")
    same, found = makespans(jitter="none")
    assert len(same) == 1 and found.jitter is None
    with pytest.raises(swtch.UsageError, match="expected none, typical or counted"):
        swtch.simulate("spin", machine=1, jitter="much")


def test_where_the_time_of_callbacks_comes_from_and_replays_that_decide_nothing_are_named():
    source = ROOT / "schedulers" / "global_fifo" / "src" / "bpf" / "global_fifo.bpf.c"
    spec = {"machine": 2, "workload": {"spin": {"tasks": 3, "work_ns": "5ms"}}}
    found = swtch.simulate(spec, ["flsched", str(source)])
    assert [{hook.basis for hook in run.hooks} for run in found.runs] == [
        {"assumed share of a switch, its callbacks in it"},
        {"counted: instructions at the machine's pace"},
    ]
    assert not any("callbacks" in warning for warning in found.warnings)
    free = swtch.simulate(spec | {"costs": {"base": "xeon-phi"}}, str(source))
    assert any("global_fifo" in warning for warning in free.warnings)
    replayed = swtch.simulate(ROOT / "fixtures" / "traces" / "machine.swtch", "cfs")
    assert not replayed.verdict.decides and replayed.verdict.reasons
    assert replayed.recorded.makespan_ns > 0 and replayed.hand_over.wakeups > 0


def test_a_quota_is_in_a_simulated_trace_as_in_a_recorded_one():
    """20 ms of every 100: from 0 to 20, from 100 to 120, and what is left of 50 from 200 on."""
    task = {"name": "stopped", "cgroup": "web", "program": "compute 50ms"}
    spec = {"jitter": "none", "machine": 1, "cgroups": {"web": {"max": "20000 100000"}}, "task": [task]}
    found = swtch.simulate(spec, "eevdf", trace=True)
    trace, run = found.trace("eevdf"), found.runs[0]
    (row,) = trace.tasks.rows()
    (group,) = trace.cgroups.rows()
    assert row["cgroup"] == group["path"] == "/web" and group["throttled_periods"] == 2
    assert group["throttled_ns"] == pytest.approx(160e6, rel=0.01)
    # A task that is stopped has not asked for it.
    assert [throttled for throttled in trace.switches["throttled"] if throttled] == [True, True]
    assert trace.totals.context_switches.involuntary == run.involuntary == 2
    (wait,) = [one for one in trace.waits.rows() if one["behind"] == "quota"]
    assert (wait["of_tid"], wait["waits"]) == (row["tid"], 2)
    assert wait["ns"] == pytest.approx(group["throttled_ns"], rel=0.01)


def test_other_threads_go_on_meanwhile():
    count = 0
    done = threading.Event()

    def counting():
        nonlocal count
        while not done.is_set():
            count += 1
            done.wait(0.001)

    thread = threading.Thread(target=counting)
    thread.start()
    swtch.simulate("hackbench:groups=4,loops=100", machine=8)
    done.set()
    thread.join()
    assert count > 2
