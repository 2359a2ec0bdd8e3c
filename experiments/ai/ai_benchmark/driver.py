"""Runs AI Benchmark by the workload contract, in an environment of its own: `python driver.py PART`.

It imports nothing of swtch, whose packages are other versions. What the benchmark measures stays as it is, and three of its
functions are replaced. The one that uploads results does nothing. Its clock also notes when every pass began and ended. The one
that prints a result also notes which test is over.
"""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

PARTS = {"full": "run", "inference": "run_inference", "training": "run_training", "micro": "run_micro"}
_SPANS_IN_LINE = 4096


class Notes:
    """What happened, in the order in which it did."""

    def __init__(self) -> None:
        self.times_ns: list[int] = []
        """When passes began and ended, in turn."""
        self.metrics: dict[str, Any] = {}
        """By the test: how many passes, their mean and standard deviation."""
        self._told = 0

    def clock_ms(self) -> int:
        """Stands in for the benchmark's clock, which it reads before and after every pass."""
        self.times_ns.append(time.monotonic_ns())
        return int(round(time.time() * 1000))

    def result(self, prefix: str, mean_ms: float, sd_ms: float) -> None:
        """A test is over: `1.2 - training `."""
        number, _, kind = prefix.partition(" - ")
        name = f"{kind.strip()}_{number.strip().replace('.', '_')}"
        passes = len(self.times_ns) // 2
        self.metrics[f"{name}_passes"] = passes - self._told
        self.metrics[f"{name}_mean_ms"] = float(mean_ms)
        self.metrics[f"{name}_sd_ms"] = float(sd_ms)
        self._told = passes


def patch(notes: Notes) -> Any:
    """Replaces the functions; returns the package `ai_benchmark`."""
    import ai_benchmark
    from ai_benchmark import update_utils, utils

    def nothing(*arguments: Any, **named: Any) -> None:
        """Instead of an upload."""

    def refused(*arguments: Any, **named: Any) -> None:
        raise RuntimeError("uploads are disabled")

    for module in (utils, update_utils, ai_benchmark):
        module.update_info = nothing
    # Should anything find another way to them.
    update_utils.patch = update_utils.make_patch_request = refused
    printed = utils.printTestResults

    def noted(prefix: str, batch_size: Any, dimensions: Any, mean: float, std: float, verbose: Any) -> None:
        notes.result(prefix, mean, std)
        printed(prefix, batch_size, dimensions, mean, std, verbose)

    utils.printTestResults = noted
    utils.getTimeMillis = notes.clock_ms
    return ai_benchmark


def main() -> int:
    """Runs a part of the benchmark; returns the exit status."""
    part = sys.argv[1]
    fd = os.environ.get("SWTCH_CONTRACT_FD")
    out = os.fdopen(int(fd), "w", closefd=False) if fd else sys.stdout

    def say(**event: Any) -> None:
        out.write(json.dumps(event) + "\n")
        out.flush()

    notes = Notes()
    package = patch(notes)
    benchmark = package.AIBenchmark(use_CPU=os.environ.get("SWTCH_DEVICE") != "cuda", verbose_level=1)
    import tensorflow
    from ai_benchmark.config import TestConstructor

    sections = {test.id: test.model for test in TestConstructor().getTests()}
    facts = {
        "sections": sections,
        "runtime": "TensorFlow",
        "runtime_version": tensorflow.__version__,
        "suite": "AI Benchmark",
        "part": part,
    }
    say(event="ready", version=1, pid=os.getpid(), **facts)
    if fd and sys.stdin.readline().strip() != "go":
        return 1
    getattr(benchmark, PARTS[part])()
    times = notes.times_ns
    begins, ends = times[0::2], times[1::2]
    for first in range(0, len(ends), _SPANS_IN_LINE):
        chosen = slice(first, first + _SPANS_IN_LINE)
        say(event="spans", begin_ns=begins[chosen][: len(ends[chosen])], end_ns=ends[chosen])
    say(event="metrics", **notes.metrics)
    return 0


if __name__ == "__main__":
    sys.exit(main())
