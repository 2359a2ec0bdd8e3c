"""Spans of Python programs, and what they cost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import swtch
from swtch import span

PROGRAM = """
import os, threading
from swtch import span
def work(name):
    for i in range(5000):
        with span(name, id=i):
            pass
with span("outer"):
    thread = threading.Thread(target=work, args=("inner",))
    thread.start()
    thread.join()
if os.fork() == 0:
    with span("child"):
        pass
    raise SystemExit
os.wait()
try:
    with span("failing"):
        raise KeyError
except KeyError:
    pass
"""


def spans_of(program: str, place: Path, name: str = "spans.jsonl") -> list[dict[str, Any]]:
    file = place / name
    environment = {"PATH": "/usr/bin:/bin", "SWTCH_SPANS": str(file)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_spans_of_all_threads_and_processes_are_written_once(tmp_path: Path) -> None:
    events = spans_of(PROGRAM, tmp_path)
    counts: dict[str, int] = {}
    for event in events:
        counts[event["name"]] = counts.get(event["name"], 0) + len(event["begin_ns"])
        assert len(event["begin_ns"]) == len(event["end_ns"])
        assert all(begin <= end for begin, end in zip(event["begin_ns"], event["end_ns"]))
    assert counts == {"outer": 1, "inner": 5000, "child": 1, "failing": 1}
    ids = [one for event in events if event["name"] == "inner" for one in event["id"]]
    assert sorted(ids) == list(range(5000))
    of = {event["name"]: (event["pid"], event["tid"]) for event in events}
    assert of["outer"] == of["failing"] and of["outer"][0] == of["outer"][1]
    assert of["inner"][0] == of["outer"][0] and of["inner"][1] != of["outer"][1]
    assert of["child"][0] != of["outer"][0]


def test_a_place_that_cannot_be_written_ends_no_program(tmp_path: Path) -> None:
    program = "from swtch import span\nwith span('a'):\n    pass\n"
    assert spans_of(program, tmp_path, "missing/spans.jsonl") == []


def test_without_a_file_a_span_is_nothing() -> None:
    with span("checkout") as nothing:
        assert nothing is None
    assert span("checkout") is span("pay", id=7)


RECORDED = """
import os, time
from swtch import span
for i in range(8):
    with span("nap", id=i):
        time.sleep(0.5 if i == 5 else 0.002)
"""


def test_the_spans_of_a_recorded_command_are_found_without_options(tmp_path: Path) -> None:
    trace = swtch.record([sys.executable, "-c", RECORDED], mode="events", out=tmp_path / "nap.swtch")
    if "switches" not in trace.tables:
        pytest.skip("single switches cannot be recorded here")
    why = trace.why(slowest=0.125)
    assert (why["span"], why["slow"]["count"]) == ("nap", 1)
    assert why["slowest"][0]["id"] == "5"
    assert why["slow"]["causes"][0]["cause"] == "blocked"
    with pytest.raises(swtch.UsageError, match="no span is called 'pay'"):
        trace.why("pay")
    kept = swtch.Trace.load(trace.save(tmp_path / "kept.swtch"))
    assert kept.why(slowest=0.125) == why


def test_the_spans_of_a_recorded_block_are_found_without_options() -> None:
    with swtch.recording(pids=os.getpid(), mode="events") as running:
        with span("block"):
            time.sleep(0.01)
        subprocess.run([sys.executable, "-c", RECORDED], check=True)
    if "switches" not in running.trace.tables:
        pytest.skip("single switches cannot be recorded here")
    names = {one["span"]: one["count"] for one in running.trace.why()["names"]}
    assert names == {"nap": 8, "block": 1}
    assert "SWTCH_SPANS" not in os.environ and span("after") is span("it")
    with swtch.recording(pids=os.getpid(), mode="events") as running:
        time.sleep(0.001)
    with pytest.raises(swtch.TraceError, match="cannot read the spans"):
        running.trace.why()
