"""The quota and the period that spinners infer, against the cgroup's own numbers, in the ways that were tried.

    python experiments/serverless/quota.py [--runs N] [--weight N]

It needs cgroups version 1 and the right to make some. Ways take turns, in random order, each in a process of its own.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "functions" / "python"), str(ROOT / "tests" / "functions")]

from limited_group import limited_group  # noqa: E402
from swtch_function.processes import Child  # noqa: E402
from swtch_function.quota import infer  # noqa: E402
from swtch_function.spin import spin  # noqa: E402

TIERS = {128: 0.0833, 256: 0.1667, 512: 0.3333, 1024: 0.5833, 2048: 1.0}
"""CPUs of generation-1 Cloud Functions by MB."""
CHARGES = {"CPU clock": None, "yield": os.sched_yield, "tick": int}
"""What spinners do every 100 us: read their CPU clock, yield, or nothing, so that the kernel charges at its tick."""
TIMES = ("CPU time", "wall time")
TOLERANCE = 2.0
"""Percent."""
SPAN_NS = 1_000_000_000

Errors = tuple[float, float]
"""Of period and quota in percent."""


def main() -> None:
    """Prints the errors of the way taken, and the worst of every way."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--weight",
        type=int,
        default=20480,
        help="of the group; 1024 competes as one program among the others",
    )
    options = parser.parse_args()
    found: dict[tuple[str, str], dict[tuple[int, int], list[Errors | None]]] = {}
    for period_ms in (100, 20):
        for memory_mb, cpus in TIERS.items():
            for _ in range(options.runs):
                for charge in random.sample(list(CHARGES), len(CHARGES)):
                    for time, errors in _once(cpus, period_ms, charge, options.weight).items():
                        row = found.setdefault((charge, time), {}).setdefault((memory_mb, period_ms), [])
                        row.append(errors)
    print("| tier | period | errors of period / quota in percent, each repeat |\n| --- | ---: | --- |")
    for (memory_mb, period_ms), errors_of in found["CPU clock", "CPU time"].items():
        shown = ", ".join("none" if one is None else f"{one[0]:+.2f} / {one[1]:+.2f}" for one in errors_of)
        print(f"| {memory_mb} MB | {period_ms} ms | {shown} |")
    print("\n| charged by | running is | within 2 % | none inferred | median error of the quota | largest |")
    print("| --- | --- | ---: | ---: | ---: | ---: |")
    for (charge, time), rows in found.items():
        every = [one for row in rows.values() for one in row]
        known = [one for one in every if one is not None]
        within = sum(max(map(abs, one)) <= TOLERANCE for one in known)
        sizes = sorted(abs(one[1]) for one in known)
        print(
            f"| {charge} | {time} | {within} of {len(every)} | {len(every) - len(known)} "
            f"| {sizes[len(sizes) // 2]:.2f} % | {sizes[-1]:.2f} % |"
        )


def _once(cpus: float, period_ms: int, charge: str, weight: int) -> dict[str, Errors | None]:
    """Errors by what running is."""
    quota_us = round(cpus * period_ms * 1000)
    spinners = 2 if cpus >= 1 else 1
    with limited_group(quota_us, period_ms * 1000, weight) as directory:
        seen = Child(lambda: _spin_in(directory, spinners, charge)).result()
    found = {}
    for time, columns in zip(TIMES, (3, 2)):
        inferred = infer([[stretch[:columns] for stretch in each] for each in seen])
        found[time] = (
            None
            if inferred.period_ns is None or inferred.quota_ns is None
            else (
                100 * (inferred.period_ns / (period_ms * 1e6) - 1),
                100 * (inferred.quota_ns / (quota_us * 1e3) - 1),
            )
        )
    return found


def _spin_in(directory: Path, spinners: int, charge: str) -> object:
    (directory / "cgroup.procs").write_text("0")
    how = CHARGES[charge]
    return (spin(spinners, SPAN_NS, True, how) if how else spin(spinners, SPAN_NS, True)).stretches


if __name__ == "__main__":
    main()
