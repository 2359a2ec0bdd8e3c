"""A fixed amount of work, so that wall times under quotas can be compared. It is a number of iterations, or CPU time calibrated once for
each process."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

_CHUNK = 2_000
"""Iterations between two looks at the clock: a fraction of a millisecond."""
_CALIBRATION_NS = 10_000_000
_iterations_per_ms: float | None = None


def work(asked_ms: float, iterations: int = 0, done: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Does that many iterations, or with 0 as many as take `asked_ms` of CPU time here; as `swtch/faas/2` has it.

    Two processes calibrate differently: only the same iterations can be compared.
    done: called after the work, before its CPU time is asked for. Asking makes the kernel charge it, and under a quota may stop it.
    """
    iterations = iterations or max(1, round(asked_ms * _rate()))
    start_ns, start_cpu_ns = time.monotonic_ns(), time.process_time_ns()
    _compute(iterations)
    wall_ns = time.monotonic_ns() - start_ns
    done()
    return {
        "asked_ms": asked_ms,
        "wall_ns": wall_ns,
        "cpu_ns": time.process_time_ns() - start_cpu_ns,
        "iterations": iterations,
    }


def _rate() -> float:
    """Iterations in a millisecond of CPU time, by the median of chunks: a throttled or disturbed one changes nothing."""
    global _iterations_per_ms
    if _iterations_per_ms is None:
        now = time.thread_time_ns
        costs: list[int] = []
        while sum(costs) < _CALIBRATION_NS and len(costs) < 1000:
            start_ns = now()
            _compute(_CHUNK)
            costs.append(now() - start_ns)
        _iterations_per_ms = _CHUNK * 1e6 / max(1, sorted(costs)[len(costs) // 2])
    return _iterations_per_ms


def _compute(iterations: int) -> int:
    value = 1
    for _ in range(iterations):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return value
