"""How much work a millisecond is: one number of iterations for a whole study, found once, before anything is compared."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from .._errors import CommandError
from .invoke import Reply

_FIRST = 1_000
_LONG_NS = 20_000_000
"""CPU time of a run that the speed is taken from."""
_RUNS = 5
_GROWTH = 16
_MOST = 10**12


@dataclass(frozen=True)
class Calibration:
    """The speed of a function's work where nothing throttled it."""

    iterations_per_ms: float
    """In a millisecond of CPU time: the median of the runs."""
    tier: str
    """Where it was found: `unthrottled`, or the last of deployed functions."""
    runs: int
    """How many runs it is the median of."""

    def iterations(self, work_ms: float) -> int:
        """The number of iterations that is called `work_ms` of work, in every tier and round."""
        return max(1, round(self.iterations_per_ms * work_ms))

    def to_document(self) -> dict[str, Any]:
        """As `swtch/faas-tiers/3` has it."""
        return asdict(self)


def calibrate(ask: Callable[[bytes], Reply], tier: str) -> Calibration:
    """Finds it by requests to the handler. Raises `CommandError` when it does not do what it is asked for."""
    iterations = _FIRST
    cpu_ns = _cpu_ns(ask, iterations, tier)
    # The first runs are slower, and those that are compiled while they run much slower.
    while cpu_ns < _LONG_NS and iterations < _MOST:
        iterations = min(_MOST, round(iterations * min(_GROWTH, max(2.0, 1.2 * _LONG_NS / max(1, cpu_ns)))))
        cpu_ns = _cpu_ns(ask, iterations, tier)
    median_ns = statistics.median(_cpu_ns(ask, iterations, tier) for _ in range(_RUNS))
    return Calibration(iterations * 1e6 / max(1.0, median_ns), tier, _RUNS)


def _cpu_ns(ask: Callable[[bytes], Reply], iterations: int, tier: str) -> int:
    request = {"methods": [], "spin_ms": 0, "work_ms": 0, "iterations": iterations}
    reply = ask(json.dumps(request).encode())
    work = (reply.response or {}).get("work") or {}
    if reply.outcome == "complete" and work.get("iterations") == iterations:
        return int(work["cpu_ns"])
    why = reply.why or f"it did {work.get('iterations')} iterations instead of {iterations}"
    raise CommandError(
        f"the handler at {tier} cannot be calibrated: {why}; deploy the handler of this version (swtch faas package)"
        if tier != "unthrottled"
        else f"the handler cannot be calibrated: {why}"
    )
