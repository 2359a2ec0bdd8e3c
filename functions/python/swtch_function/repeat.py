"""Batches of a method, each paired with one of its baseline, until the interval is narrow enough."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from .counters import switches_here
from .median import median, relative_half_width
from .method import Method, Switches
from .request import Request

_WARM_UP = 3
"""Batches before those that count: first calls take several times as long."""
_LOOK_EVERY = 5
"""Looking at the interval after each batch would stop by luck."""


@dataclass
class _Batches:
    gross_ns: list[int] = field(default_factory=list)
    baseline_ns: list[int] = field(default_factory=list)
    voluntary: int = 0
    involuntary: int = 0

    def take(self, method: Method) -> None:
        before = switches_here()
        self.gross_ns.append(method.gross_ns())
        after = switches_here()
        self.baseline_ns.append(method.baseline_ns())
        self.voluntary += after[0] - before[0]
        self.involuntary += after[1] - before[1]


def measure(method: Method, request: Request, cpu: int | None) -> dict[str, Any]:
    """A measurement of `swtch/faas/2`; the method is open and stays so.

    cpu: that all is pinned to.
    """
    limit_ns = round(request.time_limit_ms * 1e6)
    warm_until_ns = time.monotonic_ns() + limit_ns
    for _ in range(_WARM_UP):
        method.gross_ns()
        method.baseline_ns()
        # Where every switch waits for other programs, a batch may take seconds.
        if time.monotonic_ns() >= warm_until_ns:
            break
    method.mark()
    batches = _Batches()
    until_ns = time.monotonic_ns() + limit_ns
    stopped_by = _run(method, request, batches, until_ns)
    others = method.switches_of_others()
    net = [gross - baseline for gross, baseline in zip(batches.gross_ns, batches.baseline_ns)]
    return {
        "method": method.name,
        "tasks": method.tasks,
        "task_count": method.task_count,
        "baseline": method.baseline,
        "pinned": cpu is not None,
        "cpu": cpu,
        "switches_per_batch": method.switches,
        "batches": len(net),
        "stopped_by": stopped_by,
        "median_ns": median(net) / method.switches,
        "switches": _switches(method, batches, others),
        "check": method.check(),
        "batches_ns": {"gross": batches.gross_ns, "baseline": batches.baseline_ns},
    }


def _run(method: Method, request: Request, batches: _Batches, until_ns: int) -> str:
    while True:
        batches.take(method)
        n = len(batches.gross_ns)
        if n >= request.min_batches and n % _LOOK_EVERY == 0:
            if relative_half_width(batches.gross_ns) <= request.interval:
                return "interval"
        if n >= request.max_batches:
            return "batch limit"
        if time.monotonic_ns() >= until_ns:
            return "time limit"


def _switches(method: Method, batches: _Batches, others: Switches | None) -> dict[str, Any]:
    """A counter that stood still although the tasks must have switched counts nothing: some sandboxes have constants there."""
    expected = method.switches * len(batches.gross_ns)
    voluntary = batches.voluntary + others[0] if others else 0
    involuntary = batches.involuntary + others[1] if others else 0
    counted = others is not None and voluntary > 0
    return {
        "expected": expected,
        "voluntary": voluntary if counted else None,
        "involuntary": involuntary if counted else None,
        "counted_by": "getrusage" if counted else None,
        "per_expected": (voluntary + involuntary) / expected if counted else None,
    }
