"""Blocks, functions, cells and tests that are recorded, and how a Trace shows itself."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path
from typing import get_args

import pandas
import pyarrow
import pytest
from notebook_shell import Shell

import swtch


def nap(times: int = 20) -> None:
    for _ in range(times):
        time.sleep(0.002)


def own_voluntary(running: swtch.Recording) -> int:
    rows = running.trace.tasks.rows()
    return sum(row["voluntary"] for row in rows if row["tid"] != running.recorder_tid)


def test_a_block_is_recorded_and_its_trace_handed_on() -> None:
    traces: list[swtch.Trace] = []
    with swtch.recorded(then=traces.append) as running:
        nap()
    assert traces == [running.trace]
    assert own_voluntary(running) >= 20


def test_each_call_of_a_function_is_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    traces: list[swtch.Trace] = []

    @swtch.recorded(then=traces.append)
    def outer(again: bool) -> str:
        """Says so."""
        nap(3)
        return outer(False) + "!" if again else "done"

    @swtch.recorded
    async def awaited() -> str:
        await asyncio.sleep(0.01)
        return "awaited"

    assert outer(True) == "done!" and outer.__doc__ == "Says so."
    assert len(traces) == 2
    # The call within the call ended first.
    assert traces[0].duration_ns < traces[1].duration_ns
    assert asyncio.run(awaited()) == "awaited"
    assert capsys.readouterr().err.startswith("swtch: ")


def test_an_error_of_the_block_is_what_is_raised() -> None:
    traces: list[swtch.Trace] = []
    with pytest.raises(ZeroDivisionError), swtch.recorded(then=traces.append):
        print(1 / 0)
    assert traces == []


def test_a_cell_of_a_notebook_is_recorded() -> None:
    shell = Shell()
    shell.names["nap"] = nap
    swtch.load_ipython_extension(shell)
    magic = shell.magics["cell", "swtch"]
    shown = magic("found", "nap()\nafter = 1")
    assert shell.names["after"] == 1 and shell.names["found"] is shown
    assert shown.totals.context_switches.voluntary >= 20
    assert shown._repr_html_().startswith("<p>") and "<table>" in shown._repr_html_()
    with pytest.raises(ValueError, match="not a name"):
        magic("a-b", "")


def test_a_trace_and_a_profile_are_streams_of_arrow(golden: Path) -> None:
    trace = swtch.record(["sh", "-c", "sleep 0.01"])
    assert pyarrow.table(trace) == trace.tasks.to_arrow() == pyarrow.table(trace.table("tasks"))
    assert pandas.DataFrame.from_arrow(trace.tasks)["comm"].tolist() == trace.tasks["comm"]
    # Every table is an attribute by its name.
    for name in get_args(swtch.TraceTable):
        table = getattr(trace, name)
        assert isinstance(table, swtch.Table) and table.name == name
    profile = swtch.Profile.load(golden)
    assert pyarrow.table(profile) == profile.to_arrow("direct")
    reader = pyarrow.RecordBatchReader.from_stream(trace.cgroups)
    assert {"path", "kind", "name", "namespace", "pod", "container"} <= set(reader.schema.names)
    names = trace.cgroups["name"]
    assert reader.read_all()["name"].to_pylist() == names and all(names)


def test_the_code_that_sleeps_in_a_block_is_named() -> None:
    with swtch.recorded(then=lambda trace: None, stacks=True) as running:
        nap()
    missing = [one.why for one in running.trace.unavailable if one.what == "stacks"]
    if missing:
        pytest.skip(f"no stacks here: {missing[0]}")
    table = pyarrow.table(running.trace.stacks)
    assert table.column_names[:4] == ["reason", "task", "frames", "function"]
    assert (table.schema.field("frames").type, table.schema.field("switches").type) == (
        pyarrow.string(),
        pyarrow.int64(),
    )
    rows = running.trace.stacks.rows()
    assert table.to_pylist() == rows
    slept = [row for row in rows if row["reason"] == "voluntary" and "nanosleep" in row["frames"]]
    assert sum(row["switches"] for row in slept) >= 20, rows
    assert sum(row["off_cpu_ns"] for row in slept) >= 20 * 2_000_000
    with swtch.recorded(then=lambda trace: None) as without:
        nap(1)
    assert without.trace.stacks.rows() == []


def test_no_name_of_a_task_is_markup(tmp_path: Path) -> None:
    program = tmp_path / "<i>x&y"
    program.write_text("#!/bin/sh\nsleep 0.01\nsleep 0.01\n")
    program.chmod(0o755)
    shown = swtch.record([str(program)])._repr_html_()
    assert "&lt;i&gt;x&amp;y" in shown and "<i>" not in shown


TESTS = """
import time
import pytest

def nap():
    for _ in range(20):
        time.sleep(0.002)

@pytest.mark.swtch(max_voluntary=5)
def test_above():
    nap()

@pytest.mark.swtch(max_voluntary=100_000, max_involuntary=100_000, max_wait_ms=1e6)
def test_below():
    nap()

def test_unmarked():
    nap()
"""


def run_pytest(directory: Path, text: str, *options: str) -> str:
    (directory / "test_it.py").write_text(text)
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        "--strict-markers",
        *options,
        "test_it.py",
    ]
    return subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False).stdout


def test_pytest_fails_above_a_budget_and_prints_what_each_test_did(tmp_path: Path) -> None:
    assert [one.value for one in entry_points(group="pytest11") if one.name == "swtch"] == [
        "swtch.pytest_plugin"
    ]
    text = run_pytest(tmp_path, TESTS, "--swtch")
    assert "2 passed" in text and "1 failed" in text, text
    assert "swtch: above the budget: voluntary" in text and "allowed 5" in text, text
    lines = [line.split() for line in text.splitlines() if "::test_" in line and line[0] == " "]
    figures = {line[-1].split("::")[1]: int(line[0].replace(",", "")) for line in lines}
    assert set(figures) == {"test_above", "test_below", "test_unmarked"}
    assert all(20 <= count < 1000 for count in figures.values()), text


def test_pytest_records_without_the_option_only_what_has_a_budget(tmp_path: Path) -> None:
    text = run_pytest(tmp_path, TESTS)
    assert "2 passed" in text and "1 failed" in text and "test_it.py::test_unmarked" not in text, text
    wrong = run_pytest(tmp_path, TESTS.replace("max_voluntary=5", "most=5"))
    assert "swtch takes max_voluntary, max_involuntary, max_wait_ms, each with a number" in wrong, wrong
