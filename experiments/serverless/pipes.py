"""Python's raw pipes against C's: the same batches in turn, in one process, on one CPU.

    python functions/native/build.py --out target/functions/wheels
    python experiments/serverless/pipes.py [--batches N] [--nice N]

Three figures: the ratio of the median net costs, of differences of low quantiles, and of gross costs.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path

from constructs import SWITCHES, unpack_helper

from swtch._native import median
from swtch_function.affinity import pinned
from swtch_function.methods import opened
from swtch_function.request import from_values

NONE = (float("nan"),) * 4
BLOCKS = 20
"""Ratios are taken of blocks of batches, so that they have an interval."""


def main() -> None:
    """Prints a line for each block's figures and their medians."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batches", type=int, default=100, help="in each of 20 blocks")
    parser.add_argument("--nice", type=int, default=0, help="of this process, such as -20")
    options = parser.parse_args()
    os.nice(options.nice)
    with tempfile.TemporaryDirectory() as directory:
        unpack_helper(Path(directory))
        sys.path.insert(0, directory)
        blocks = [_block(options.batches) for _ in range(BLOCKS)]
    print(
        f"CPython {platform.python_version()}, {BLOCKS} blocks of {options.batches} batches, nice {options.nice}"
    )
    for place, name in enumerate(("net, medians", "net, low quantiles", "gross, medians")):
        python = [block["pipe"][place] for block in blocks]
        native = [block["pipe-native"][place] for block in blocks]
        ratio, low, high, _ = median([one / other for one, other in zip(python, native)]) or NONE
        both = [(median(values) or NONE)[0] for values in (python, native)]
        print(
            f"{name}: Python {both[0]:.0f} ns, C {both[1]:.0f} ns, ratio {ratio:.3f} ({low:.3f} to {high:.3f})"
        )


def _block(batches: int) -> dict[str, tuple[float, float, float]]:
    """By method: net of medians, net of low quantiles, gross; in ns per switch."""
    request = from_values({"switches_per_batch": SWITCHES})
    times: dict[str, tuple[list[int], list[int]]] = {"pipe": ([], []), "pipe-native": ([], [])}
    with pinned(True), opened("pipe", request) as python, opened("pipe-native", request) as native:
        for batch in range(batches + 3):
            for method in (python, native):
                gross_ns, baseline_ns = method.gross_ns(), method.baseline_ns()
                if batch >= 3:
                    times[method.name][0].append(gross_ns)
                    times[method.name][1].append(baseline_ns)
    return {name: _figures(*both) for name, both in times.items()}


def _figures(gross: list[int], baseline: list[int]) -> tuple[float, float, float]:
    gross, net = sorted(gross), sorted(one - other for one, other in zip(gross, baseline))
    low = gross[len(gross) // 20] - sorted(baseline)[len(gross) // 20]
    middle = len(gross) // 2
    return net[middle] / SWITCHES, low / SWITCHES, gross[middle] / SWITCHES


if __name__ == "__main__":
    main()
