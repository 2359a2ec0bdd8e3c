"""Recordings in this process, and the Traces that come of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import swtch
from swtch import _native
from swtch._program import binary

ROOT = Path(__file__).resolve().parents[2]
MACHINE = ROOT / "fixtures" / "traces" / "machine.swtch"
SLEEPS = ["sh", "-c", "for i in 1 2 3 4 5; do sleep 0.01; done; exit 7"]


@pytest.fixture(scope="module")
def recorded() -> swtch.Trace:
    return swtch.record(SLEEPS)


def printed(*arguments: str) -> dict[str, object]:
    """What the command prints as JSON."""
    done = subprocess.run([str(binary()), *arguments], check=True, capture_output=True, text=True, timeout=60)
    return json.loads(done.stdout)


def test_a_command_is_recorded_with_all_it_starts(recorded: swtch.Trace) -> None:
    assert (recorded.scope.kind, recorded.scope.command, recorded.exit_status) == (
        "command",
        tuple(SLEEPS),
        7,
    )
    assert (recorded.provenance.origin, recorded.provenance.ended) == ("recorded", "complete")
    assert recorded.duration_ns > 50e6 and recorded.recorder.cpu_ns > 0
    if recorded.provenance.recorder == "procfs":
        pytest.skip("neither BPF nor perf events are permitted here: samples miss what ends between two")
    own = [row for row in recorded.table("tasks").rows() if row["in_scope"]]
    assert [row["comm"] for row in own].count("sleep") == 5
    totals = recorded.totals.context_switches
    assert sum(row["voluntary"] for row in own) == totals.voluntary >= 5


def test_a_trace_is_shown_by_its_answer(recorded: swtch.Trace) -> None:
    assert repr(recorded).startswith("<swtch.Trace: ") and repr(recorded)[14:-1] in str(recorded)


def test_recorder_cost_is_of_the_recording_alone() -> None:
    deadline = time.process_time() + 0.5
    while time.process_time() < deadline:
        pass
    before_ns = time.process_time_ns()
    trace = swtch.record(["sleep", "0.05"])
    assert 0 < trace.recorder.cpu_ns <= time.process_time_ns() - before_ns


def test_a_trace_is_kept_where_it_was_asked_for(tmp_path: Path) -> None:
    out = tmp_path / "a.swtch"
    first = swtch.record(["true"], out=out)
    assert first.directory == out
    with pytest.raises(FileExistsError, match="a Trace is there"):
        swtch.record(["true"], out=out)
    second = swtch.record(["sh", "-c", "exit 3"], out=out, force=True)
    assert (second.directory, second.exit_status) == (out, 3)
    assert swtch.Trace.load(out).header == second.header
    assert [one.name for one in tmp_path.iterdir()] == ["a.swtch"]


def test_a_temporary_trace_goes_unless_it_is_saved(tmp_path: Path) -> None:
    trace = swtch.record(["true"])
    directory = trace.directory
    saved = trace.save(tmp_path / "kept.swtch")
    with pytest.raises(FileExistsError, match="choose another name"):
        trace.save(saved)
    header = trace.header
    del trace
    assert not directory.exists()
    assert swtch.Trace.load(saved).header == header
    assert [one.name for one in tmp_path.iterdir()] == ["kept.swtch"]


def test_a_block_of_this_program_is_recorded() -> None:
    with swtch.recording(pids=os.getpid()) as running:
        with pytest.raises(swtch.RecordError, match="has not ended"):
            running.trace  # noqa: B018
        assert running.cpu_ns() > 0
        for _ in range(20):
            time.sleep(0.001)
    assert running.cpu_ns() is None
    me = next(row for row in running.trace.table("tasks").rows() if row["tid"] == os.getpid())
    assert me["voluntary"] >= 20
    assert running.trace is running.stop()


def test_what_a_block_raises_comes_through_and_what_cannot_begin_says_so() -> None:
    with pytest.raises(LookupError, match="mine"), swtch.recording(pids=os.getpid()):
        raise LookupError("mine")
    gone = subprocess.Popen(["true"])
    gone.wait()
    with pytest.raises(swtch.UsageError, match=f"no process {gone.pid}"), swtch.recording(pids=gone.pid):
        pytest.fail("nothing is recorded here")


def test_the_machine_is_recorded_for_a_time_and_progress_is_told() -> None:
    told: list[tuple[float, int | None, int, int]] = []
    trace = swtch.record(duration=0.3, progress=lambda *news: told.append(news))
    assert (trace.scope.kind, trace.provenance.ended) == ("machine", "duration")
    times = [news[0] for news in told]
    assert times == sorted(times) and times[-1] >= 0.3 and all(news[2] > 0 for news in told)


def test_progress_ends_a_recording_by_what_it_returns_or_raises() -> None:
    trace = swtch.record(progress=lambda *news: False)
    assert trace.provenance.ended == "interrupted"

    def give_up(*news: object) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        swtch.record(progress=give_up)


def test_other_threads_run_meanwhile() -> None:
    over = threading.Event()
    threading.Timer(0.2, over.set).start()
    trace = swtch.record(progress=lambda *news: not over.is_set())
    assert trace.duration_ns > 0.1e9


# A test run that was started in the background has Ctrl-C ignored, and so have its children.
INTERRUPTED = """
import signal, sys, swtch
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    swtch.record(COMMAND, progress=lambda *news: print("go", flush=True))
except swtch.Interrupted as stopped:
    print("ended", stopped.trace.provenance.ended, stopped.trace.exit_status)
    sys.exit(3)
"""


@pytest.mark.parametrize(("command", "status"), [(None, None), (["sleep", "1000"], 128 + signal.SIGTERM)])
def test_ctrl_c_ends_it_and_the_command_and_keeps_what_was_recorded(
    command: list[str] | None, status: int | None
) -> None:
    program = INTERRUPTED.replace("COMMAND", repr(command))
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 3, output
    assert re.search(rf"^ended interrupted {status}$", output, re.MULTILINE), output


@pytest.mark.parametrize(
    ("wish", "kind", "message"),
    [
        ({"command": []}, swtch.UsageError, "command is empty"),
        ({"command": "make -j4"}, swtch.UsageError, "command is 'make -j4'; give a list"),
        ({"command": ["/no/such"]}, FileNotFoundError, "cannot start '/no/such'"),
        ({"command": ["/"]}, PermissionError, "cannot start '/'"),
        ({"command": ["true"], "pids": 1}, swtch.UsageError, "exclude each other"),
        ({"pids": []}, swtch.UsageError, "pids is empty"),
        ({"cgroup": "/no/such"}, swtch.UsageError, "no cgroup /no/such"),
        ({"duration": 0}, swtch.UsageError, "duration is 0 s; give seconds above 0"),
        ({"duration": "long"}, swtch.UsageError, "duration 'long' is not a number"),
        ({"source": "magic"}, swtch.UsageError, "unknown source 'magic'; write bpf, perf, procfs"),
        ({"mode": "some"}, swtch.UsageError, "unknown mode 'some'; write events or counts"),
        ({"cost": "free"}, swtch.UsageError, "unknown cost 'free'; write in-place or profile"),
        ({"buffer": "1Q"}, swtch.UsageError, "'1Q' has an unknown suffix"),
        ({"out": "/no/such/a.swtch"}, FileNotFoundError, "cannot create the Trace /no/such/a.swtch: "),
    ],
)
def test_what_cannot_be_recorded_is_refused_in_one_line(
    wish: dict[str, object], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=re.escape(message)) as refused:
        swtch.record(**wish)  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_a_bill_has_the_figures_that_the_command_prints(tmp_path: Path, golden: Path) -> None:
    out, json_file = tmp_path / "a.swtch", tmp_path / "a.json"
    command = [str(binary()), "record", "--profile", str(golden), "--price", "0.05/vcpu-hour", "--advise"]
    command += [f"--json={json_file}", "-o", str(out), "--", *SLEEPS]
    assert subprocess.run(command, timeout=60, check=False).returncode == 7
    document = json.loads(json_file.read_text())
    bill = swtch.Trace.load(out).bill(golden, price="0.05/vcpu-hour")
    assert bill == swtch.Trace.load(out).bill(swtch.Profile.load(golden), price="0.05/vcpu-hour")
    cost = document["cost"]
    assert bill.cpu_ns == cost["tasks_cpu_ns"] and bill.measured_in_place == cost["measured_in_place"]
    for name in ("direct_ns", "indirect_ns", "share", "switch_ns"):
        assert vars(getattr(bill, name)) == cost[name]
    assert [one.tid for one in bill.tasks] == [one["tid"] for one in cost["tasks"]]
    assert bill.money.recording.high == cost["money"]["recording"]["high"]
    assert [dict(one) for one in bill.caveats] == document["caveats"]
    assert [one.what for one in bill.advice] == [one["what"] for one in document["advice"]]
    with pytest.raises(swtch.UsageError, match="'cheap' is not a price"):
        swtch.Trace.load(out).bill(price="cheap")


def test_tables_are_those_of_the_export(tmp_path: Path) -> None:
    trace = swtch.Trace.load(MACHINE)
    assert {"tasks", "switches", "cpus", "intervals"} <= {*trace.tables}
    for name, table in trace.tables.items():
        file = tmp_path / f"{name}.csv"
        printed("export", str(MACHINE), "--to", "csv", "--table", name, "-o", str(file), "--json")
        header, *lines = file.read_text().splitlines()
        assert [*table] == header.split(",")
        assert all(len(values) == len(lines) for values in table.values())
        rows = next(one.rows for one in trace.files if one.name == name)
        assert len(table.rows()) == rows and f"{rows} rows" in repr(table)
    first = trace.switches.rows()[0]
    assert {type(first["at_ns"]), type(first["prev_state"])} == {int, str}
    assert {type(flag) for flag in trace.table("tasks")["in_scope"]} == {bool}


def test_tables_go_to_arrow_and_pandas() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    trace = swtch.Trace.load(MACHINE)
    table = trace.table("tasks")
    arrow = table.to_arrow()
    assert arrow.column_names == [*table]
    assert arrow.to_pydict() == dict(table)
    assert pyarrow.RecordBatchReader.from_stream(trace.switches).read_all() == trace.switches.to_arrow()
    pytest.importorskip("pandas")
    assert table.to_pandas()["tid"].tolist() == table["tid"]


def test_what_is_no_trace_or_no_table_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="cannot read"):
        swtch.Trace.load(tmp_path / "none.swtch")
    with pytest.raises(swtch.TraceError, match="it has no header.json"):
        swtch.Trace.load(tmp_path)
    with pytest.raises(swtch.UsageError, match="unknown table 'dreams'; there are switches, tasks"):
        swtch.Trace.load(MACHINE).table("dreams")  # type: ignore[arg-type]
    sampled = swtch.record(["true"], source="procfs")
    assert sampled.provenance.recorder == "procfs" and "switches" not in sampled.tables
    with pytest.raises(swtch.TraceError, match="procfs does not see single switches"):
        sampled.switches["at_ns"]
    with pytest.raises(swtch.UsageError, match="there is no table"):
        _native.Trace.load(MACHINE).columns("dreams")


def test_a_simulated_trace_is_one_like_any_other() -> None:
    found = swtch.simulate("hackbench:groups=1,loops=5", ["eevdf", "rr"], machine=2, trace=True)
    trace = found.trace("rr")
    assert (trace.provenance.origin, trace.provenance.policy) == ("simulated", "rr")
    assert len([tid for tid in trace.switches["prev_tid"] if tid]) == found.runs[1].context_switches
    again = swtch.simulate(trace, "rr")
    assert again.recorded is not None and again.recorded.makespan_ns == found.runs[1].makespan_ns
    with pytest.raises(swtch.UsageError, match="no run under 'cfs'; there are eevdf, rr"):
        found.trace("cfs")
    with pytest.raises(swtch.UsageError, match="no Traces were written"):
        again.trace("rr")
    directory = trace.directory
    del found
    assert directory.exists(), "a Trace holds the directory that it is in"
