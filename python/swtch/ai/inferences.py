"""The inferences of a run, kept as spans beside its Trace, so that `swtch why` and the exporters find them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from .._files import replace
from .contract import Collector

NAME = "inference"
"""Of the spans."""


def place(trace: Path) -> Path:
    """Where the spans of a Trace are: `NAME.spans.jsonl` beside `NAME.swtch`."""
    return trace.with_suffix(".spans.jsonl")


def write(trace: Path, pids: Sequence[int], said: Sequence[Collector]) -> None:
    """Writes the inferences that the copies reported, each with its number in its copy, as lines of the workload contract.

    pids: of the copies. Raises `CommandError` when the file cannot be written.
    """
    lines = []
    for pid, one in zip(pids, said, strict=True):
        begun, ended = list(one.begin_ns), list(one.end_ns)
        ids = list(range(len(ended)))
        line = {"event": "spans", "name": NAME, "pid": pid, "begin_ns": begun, "end_ns": ended, "id": ids}
        lines.append(json.dumps(line) + "\n")
    replace(place(trace), "".join(lines))
