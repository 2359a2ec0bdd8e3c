"""What Python's constructs take for a switch, against C's pipes in the same run: which of them makes it 15 to 20 times C's?

    python functions/native/build.py --out target/functions/wheels
    python experiments/serverless/constructs.py [--rounds N] [--nice N]

Each condition is a fresh process. Each round takes all of them in an order of its own, so that other load on the machine meets all alike.
Ratios are to C's pipes, pinned, of the same round; the interval of their median is of order statistics.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "functions" / "python"))

from swtch._native import median  # noqa: E402
from swtch_function.affinity import cpus_allowed, pin  # noqa: E402
from swtch_function.host import libc  # noqa: E402
from swtch_function.methods import measure_all, opened  # noqa: E402
from swtch_function.request import from_values  # noqa: E402

SWITCHES = 200
"""Of a batch, as the handler has it."""


@dataclass(frozen=True)
class Condition:
    """One row of the table."""

    method: str
    pinned: bool
    cold: bool = False
    """The first batch of new tasks, their start within it, and nothing subtracted: as a program that runs once measures."""

    @property
    def name(self) -> str:
        """For people."""
        where = "one CPU" if self.pinned else "any CPU"
        return f"{self.method}, {where}{', cold, nothing subtracted' if self.cold else ''}"


REFERENCE = Condition("pipe-native", True)
METHODS = ("pipe-native", "pipe", "condvar", "queue", "event", "mp-pipe", "mp-queue", "ring")
CONDITIONS = [
    *(Condition(method, pinned) for method in METHODS for pinned in (True, False)),
    *(Condition(method, pinned, True) for method in ("pipe", "mp-queue", "ring") for pinned in (True, False)),
]


def one(condition: Condition) -> dict[str, float]:
    """Figures of a condition in ns per switch, in this process."""
    if condition.cold:
        return _cold(condition)
    asked = {"methods": [condition.method], "pin": condition.pinned, "switches_per_batch": SWITCHES}
    limits = {"min_batches": 30, "max_batches": 300, "time_limit_ms": 400, "interval": 0.02}
    measured, unavailable = measure_all(from_values({**asked, **limits}))
    if not measured:
        sys.exit(f"error: {unavailable[0]['why']}")
    (found,) = measured
    times = found["batches_ns"]
    quantiles = {kind: sorted(times[kind])[len(times[kind]) // 20] for kind in ("gross", "baseline")}
    return {
        "gross_ns": _of([float(ns) for ns in times["gross"]])[0] / found["switches_per_batch"],
        "net_ns": found["median_ns"],
        # A difference of low quantiles, and no low quantile of differences.
        "low_ns": (quantiles["gross"] - quantiles["baseline"]) / found["switches_per_batch"],
        "switches": found["switches"]["per_expected"],
    }


def _cold(condition: Condition) -> dict[str, float]:
    import time

    if condition.pinned:
        pin(cpus_allowed()[-1])
    start_ns = time.monotonic_ns()
    with opened(condition.method, from_values({"switches_per_batch": SWITCHES})) as method:
        method.gross_ns()
        taken_ns = (time.monotonic_ns() - start_ns) / method.switches
    return {"gross_ns": taken_ns, "net_ns": taken_ns, "low_ns": taken_ns}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--nice", type=int, default=0, help="of the measuring processes, such as -20")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(json.dumps(one(CONDITIONS[int(options.one)])))
        return
    with tempfile.TemporaryDirectory() as directory:
        unpack_helper(Path(directory))
        rounds = _rounds(options.rounds, options.nice, options.seed, directory)
    _print(rounds, options)


def unpack_helper(directory: Path) -> None:
    """Puts the native helper for this machine there."""
    kind = "musllinux" if libc() == "musl" else "manylinux"
    wheels = [
        path
        for path in (ROOT / "target" / "functions" / "wheels").glob("swtch_native-*.whl")
        if kind in path.name and platform.machine() in path.name
    ]
    if not wheels:
        sys.exit(
            "error: there is no wheel of the native helper; build it: python functions/native/build.py --out target/functions/wheels"
        )
    with zipfile.ZipFile(wheels[0]) as archive:
        archive.extractall(directory)


def _rounds(count: int, nice: int, seed: int, helper: str) -> list[dict[Condition, dict[str, float]]]:
    shuffle = random.Random(seed).shuffle
    found = []
    for number in range(count):
        order = list(range(len(CONDITIONS)))
        shuffle(order)
        told = {}
        for place in order:
            outcome = subprocess.run(
                [sys.executable, __file__, "--one", str(place)],
                env={**os.environ, "PYTHONPATH": helper},
                stdout=subprocess.PIPE,
                check=True,
                preexec_fn=lambda: os.nice(nice) and None,
            )
            told[CONDITIONS[place]] = json.loads(outcome.stdout)
        found.append(told)
        print(f"round {number + 1} of {count}", file=sys.stderr)
    return found


def _print(rounds: list[dict[Condition, dict[str, float]]], options: Any) -> None:
    print(f"CPython {platform.python_version()}, {options.rounds} rounds, nice {options.nice}\n")
    print(
        "| method | net ns | low quantile | gross ns | net by C's | 95 % interval | low by C's low | gross by C's gross | switches by expected |"
    )
    print("| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |")
    for condition in CONDITIONS:
        figures = [told[condition] for told in rounds]
        references = [told[REFERENCE] for told in rounds]
        ratio = _of([one["net_ns"] / other["net_ns"] for one, other in zip(figures, references)])
        gross = _of([one["gross_ns"] / other["gross_ns"] for one, other in zip(figures, references)])
        low = _of([one["low_ns"] for one in figures])
        low_ratio = low[0] / _of([one["low_ns"] for one in references])[0]
        switches = [one["switches"] for one in figures if one.get("switches")]
        print(
            f"| {condition.name} | {_of([one['net_ns'] for one in figures])[0]:.0f} | {low[0]:.0f} "
            f"| {_of([one['gross_ns'] for one in figures])[0]:.0f} "
            f"| {ratio[0]:.2f} | {ratio[1]:.2f} to {ratio[2]:.2f} | {low_ratio:.2f} | {gross[0]:.2f} "
            f"| {f'{_of(switches)[0]:.2f}' if switches else '–'} |"
        )


def _of(values: list[float]) -> tuple[float, float, float, float]:
    """The median, its interval, and what that is worth."""
    found = median(values)
    assert found is not None
    return found


if __name__ == "__main__":
    main()
