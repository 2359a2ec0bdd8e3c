"""One Trace through everything in Python that reads it: each figure is the one that the commands print."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import swtch
from swtch._program import binary
from swtch.ai.timeline import switches


def test_a_trace_has_one_figure_of_each_in_python_and_the_commands(tmp_path: Path):
    run = swtch.simulate("hackbench:groups=1,loops=10", machine=4, trace=tmp_path).runs[0]
    trace = tmp_path / f"{run.policy}.swtch"
    # What was simulated, what Python reads of its Trace, and what the command reads of it.
    recorded = swtch.simulate(trace, "rr").recorded
    assert recorded is not None and recorded.wait_ns == run.wait_ns
    assert (recorded.voluntary, recorded.involuntary) == (run.voluntary, run.involuntary)
    assert recorded.makespan_ns == run.makespan_ns
    command = [str(binary()), "simulate", "replay", str(trace), "--policies", "rr", "--json"]
    printed = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert printed["recorded"] == swtch.simulate(trace, "rr").to_dict()["recorded"]
    # What Python reads of its tables, and what 'swtch ai' makes of the switches.
    loaded = swtch.Trace.load(trace)
    totals = loaded.totals.context_switches
    assert (totals.voluntary, totals.involuntary) == (run.voluntary, run.involuntary)
    rows = switches(loaded)
    assert sum(one.prev_tid != 0 for one in rows) == run.context_switches
    waits = sorted(one.waited_ns for one in rows if one.waited_ns is not None)
    assert (len(waits), waits[-1]) == (run.wait_ns.count, run.wait_ns.max)
    tasks = loaded.table("tasks")
    assert sum(tasks["voluntary"]) + sum(tasks["involuntary"]) == run.context_switches
    assert max(ns for ns in tasks["wait_max_ns"] if ns) == run.wait_ns.max
    intervals = [row for row in loaded.table("intervals").rows() if row["cpu"] is None]
    assert sum(row["voluntary"] + row["involuntary"] for row in intervals) == run.context_switches
