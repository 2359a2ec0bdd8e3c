"""Spans of Python programs, and what they cost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

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
