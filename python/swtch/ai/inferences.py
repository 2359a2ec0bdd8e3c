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
    copies = zip(pids, said, strict=True)
    replace(place(trace), "".join(_line(NAME, pid, one.begin_ns, one.end_ns) for pid, one in copies))


def write_spans(trace: Path, name: str, pid: int | None, spans: Sequence[tuple[int, int]]) -> None:
    """The same for other work. pid: of the process that does it; `None` where it may be any that was recorded."""
    replace(place(trace), _line(name, pid, [begin for begin, _ in spans], [end for _, end in spans]))


def _line(name: str, pid: int | None, begin_ns: Sequence[int], end_ns: Sequence[int]) -> str:
    of = {} if pid is None else {"pid": pid}
    ids = list(range(len(end_ns)))
    line = {
        "event": "spans",
        "name": name,
        **of,
        "begin_ns": list(begin_ns),
        "end_ns": list(end_ns),
        "id": ids,
    }
    return json.dumps(line) + "\n"
