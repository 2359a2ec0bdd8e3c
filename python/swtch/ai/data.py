"""A study as data: every inference of every recorded run, with what it waited for.

```python
study = swtch.ai.load("ai-study")
frame = study.to_pandas()
frame[frame.latency_ns > frame.latency_ns.quantile(0.99)].groupby("behind").wait_ns.sum()
```
"""

from __future__ import annotations

import bisect
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import CommandError
from .._trace import Trace
from . import evaluate, inferences, result
from .errors import AiError
from .timeline import Interval, Switch, switches

COLUMNS = (
    "run",
    "copy",
    "number",
    "begin_ns",
    "end_ns",
    "latency_ns",
    "run_ns",
    "wait_ns",
    "voluntary",
    "involuntary",
    "behind",
)
"""Of the table. `copy` and `number` count from 0; times of `begin_ns` and `end_ns` are since the Trace began. `run_ns` and `wait_ns` are of all
threads of the copy together: on a CPU (spinning threads too), and ready without one. `behind` is the program that had the CPU for most of the
waiting; `None` where nothing waited."""


@dataclass(frozen=True)
class LoadedStudy:
    """What `swtch ai run` or `tune` wrote."""

    directory: Path
    """Where it is."""
    document: Mapping[str, Any]
    """`study.json`."""

    @property
    def runs(self) -> list[str]:
        """The names of the runs whose inferences were recorded."""
        return [
            one["id"]
            for one in self.document["runs"]
            if one["trace"] is not None and inferences.place(self.directory / one["trace"]).exists()
        ]

    def inferences(self, run: str | None = None) -> dict[str, list[Any]]:
        """The table, by column; of one run or of all that were recorded. Raises `AiError` for a run that was not."""
        wanted = self.runs if run is None else [run]
        found: dict[str, list[Any]] = {name: [] for name in COLUMNS}
        for one in wanted:
            if one not in self.runs:
                raise AiError(
                    f"{self.directory} has no recorded run {one!r}; it has {', '.join(self.runs) or 'none'}"
                )
            for row in _rows(one, self._trace(one)):
                for name, value in zip(COLUMNS, row, strict=True):
                    found[name].append(value)
        return found

    def to_pandas(self, run: str | None = None) -> Any:
        """The same as a DataFrame; needs pandas."""
        import pandas

        return pandas.DataFrame(self.inferences(run))

    def _trace(self, run: str) -> Path:
        return self.directory / str(next(one["trace"] for one in self.document["runs"] if one["id"] == run))


def load(path: os.PathLike[str] | str) -> LoadedStudy:
    """The study in a directory. Raises `AiError` for one that is none."""
    place = Path(path)
    return LoadedStudy(place if place.is_dir() else place.parent, result.read(place))


@dataclass
class _Cpu:
    """Which task had a CPU from when on."""

    since: list[int]
    tids: list[int]


def _rows(run: str, place: Path) -> list[tuple[Any, ...]]:
    try:
        trace = Trace.load(place)
        every = switches(trace)
        cpus: Sequence[int] = trace.switches["cpu"]
    except CommandError as error:
        raise AiError(
            f"{place} has no single switches ({error}); record it where swtch may see them"
        ) from None
    tasks = trace.table("tasks").rows()
    names = {task["tid"]: task["comm"] for task in tasks}
    began_ns, by_cpu = trace.provenance.started_monotonic_ns, _by_cpu(every, cpus)
    lines = [json.loads(line) for line in inferences.place(place).read_text().splitlines()]
    threads = evaluate.threads_of(tasks, [line["pid"] for line in lines])
    found = []
    for copy, (line, tids) in enumerate(zip(lines, threads, strict=True)):
        spans = [
            (begin - began_ns, end - began_ns)
            for begin, end in zip(line["begin_ns"], line["end_ns"], strict=True)
        ]
        for number, (span, did) in enumerate(
            zip(spans, _during(spans, every, cpus, tids, by_cpu), strict=True)
        ):
            ran, waited, voluntary, involuntary, behind = did
            most = max(behind, key=lambda tid: behind[tid]) if behind else None
            program = None if most is None else names.get(most, f"task {most}")
            figures = (*span, span[1] - span[0], ran, waited, voluntary, involuntary, program)
            found.append((run, copy, number, *figures))
    return found


def _by_cpu(every: Sequence[Switch], cpus: Sequence[int]) -> dict[int, _Cpu]:
    found: dict[int, _Cpu] = {}
    for one, cpu in zip(every, cpus, strict=True):
        on = found.setdefault(cpu, _Cpu([], []))
        on.since.append(one.at_ns)
        on.tids.append(one.next_tid)
    return found


def _during(
    spans: Sequence[Interval],
    every: Sequence[Switch],
    cpus: Sequence[int],
    tids: frozenset[int],
    by_cpu: Mapping[int, _Cpu],
) -> list[tuple[int, int, int, int, dict[int, int]]]:
    """For each span: time on CPUs and waiting, switches by kind, and whom the waiting was behind. Spans do not overlap and are in order."""
    begins = [begin for begin, _ in spans]
    ran, waited = [0] * len(spans), [0] * len(spans)
    voluntary, involuntary = [0] * len(spans), [0] * len(spans)
    behind: list[dict[int, int]] = [{} for _ in spans]
    since: dict[int, int] = {}
    taken_off: dict[int, int] = {}

    def over(low: int, high: int) -> list[tuple[int, int, int]]:
        """The spans that an interval meets, and where."""
        first = max(0, bisect.bisect_right(begins, low) - 1)
        parts = []
        for at in range(first, len(spans)):
            begin, end = spans[at]
            if begin >= high:
                break
            if end > low:
                parts.append((at, max(low, begin), min(high, end)))
        return parts

    for one, cpu in zip(every, cpus, strict=True):
        if one.prev_tid in tids:
            for at, low, high in over(since.pop(one.prev_tid, 0), one.at_ns):
                ran[at] += high - low
            for at, _, _ in over(one.at_ns, one.at_ns + 1):
                (involuntary if one.runnable else voluntary)[at] += 1
            if one.runnable:
                taken_off[one.prev_tid] = one.at_ns
        if one.next_tid in tids:
            since[one.next_tid] = one.at_ns
            ready = taken_off.pop(one.next_tid, None)
            ready = one.at_ns - one.waited_ns if one.waited_ns is not None else ready
            if ready is None:
                continue
            for at, low, high in over(ready, one.at_ns):
                waited[at] += high - low
                _charge(behind[at], by_cpu[cpu], low, high)
    return list(zip(ran, waited, voluntary, involuntary, behind, strict=True))


def _charge(behind: dict[int, int], cpu: _Cpu, low: int, high: int) -> None:
    """Adds which tasks had the CPU from `low` to `high`, its idle task apart."""
    at = max(0, bisect.bisect_right(cpu.since, low) - 1)
    while at < len(cpu.since) and cpu.since[at] < high:
        until = cpu.since[at + 1] if at + 1 < len(cpu.since) else high
        length = min(high, until) - max(low, cpu.since[at])
        if length > 0 and cpu.tids[at] != 0:
            behind[cpu.tids[at]] = behind.get(cpu.tids[at], 0) + length
        at += 1
