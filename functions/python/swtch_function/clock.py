"""What reading the clock takes, and how fine it is."""

from __future__ import annotations

import time
from typing import Any

_READS = 2000
_ROUNDS = 5


def clock() -> dict[str, Any]:
    """As `swtch/faas/2` has it: of `time.monotonic_ns`, called from Python."""
    now = time.monotonic_ns
    costs = []
    for _ in range(_ROUNDS):
        start_ns = now()
        for _ in range(_READS):
            now()
        costs.append((now() - start_ns) / _READS)
    resolution_ns = round(time.get_clock_info("monotonic").resolution * 1e9)
    return {"resolution_ns": max(1, resolution_ns), "cost_ns": min(costs), "source": "CLOCK_MONOTONIC"}
