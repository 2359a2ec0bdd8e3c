"""The latency of a function by `swtch faas tiers`, against a plain loop in C of the same iterations in the same cgroup.

    python experiments/serverless/loop.py [--rounds N] [--period 100ms,20ms] [--tiers 128,256] [--work-ms N] [--out FILE]

The function calls the loop through ctypes, so that both do the same instructions. In each round every tier has both once, in random order,
with the same iterations. Both begin at the same place in the quota's period. Iterations differ between rounds by a quarter up or down. A
latency under a quota is a number of periods. At one number of iterations a tenth of a ms may be a period more. It needs cc, the package
swtch, and the right to make cgroups.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from swtch.faas.invoke import Reply
from swtch.faas.languages import Command, server
from swtch.faas.plan import Plan
from swtch.faas.runner import Place
from swtch.faas.tier_sets import LAMBDA_MB_PER_CPU, Tier

HERE = Path(__file__).resolve().parent
TIERS_MB = (128, 192, 256, 320, 512, 640, 768, 1024, 1280, 1769)
"""1769 MB have one CPU, as in AWS Lambda."""
TOLERANCE = 0.05
"""Of the median of ratios."""
_REST_S = 0.02
_SPREAD = 0.25
_MODULE = "swtch_loop_function"
_FUNCTION = """\
import ctypes
_loop = ctypes.CDLL({library!r}).loop
_loop.argtypes, _loop.restype = [ctypes.c_ulong], ctypes.c_ulong

def function(event, context):
    return _loop(event["iterations"])
"""


@dataclass
class Cell:
    """A tier at one period; times in ns, one for each round."""

    tier: Tier
    period_us: int
    loop_ns: list[int] = field(default_factory=list)
    function_ns: list[int] = field(default_factory=list)
    cpu_ns: list[int] = field(default_factory=list)
    measuring_ns: list[int] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: 1 where swtch measures what the loop takes."""
        return statistics.median(one / other for one, other in zip(self.function_ns, self.loop_ns))

    @property
    def of_medians(self) -> float:
        """The ratio of the medians, which a period more or less in single rounds moves."""
        return statistics.median(self.function_ns) / statistics.median(self.loop_ns)

    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of the ratio of the medians, rounds resampled."""
        drawn = random.Random(1)
        pairs = list(zip(self.function_ns, self.loop_ns))
        found = []
        for _ in range(1000):
            sample = drawn.choices(pairs, k=len(pairs))
            found.append(
                statistics.median(one for one, _ in sample) / statistics.median(other for _, other in sample)
            )
        found.sort()
        return found[25], found[974]


def main() -> int:
    """Prints a row for each tier and period; 1 when a ratio is further off than 5 %."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--period", default="100ms,20ms")
    parser.add_argument("--tiers", default=",".join(map(str, TIERS_MB)))
    parser.add_argument("--work-ms", type=float, default=40.0)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    tiers = [tier_of(int(memory_mb)) for memory_mb in options.tiers.split(",")]
    cells: list[Cell] = []
    for period in options.period.split(","):
        cells += compare(tiers, int(period.removesuffix("ms")) * 1000, options.rounds, options.work_ms)
    print(
        "| tier | CPUs | period | rounds | loop in C, ms | swtch, ms | ratio | of medians | 95 % interval | CPU ms | measuring, CPU ms |"
    )
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for cell in cells:
        middle = [
            f"{statistics.median(values) / 1e6:.4g}"
            for values in (cell.loop_ns, cell.function_ns, cell.cpu_ns, cell.measuring_ns)
        ]
        low, high = cell.interval()
        print(
            f"| {cell.tier.name} | {cell.tier.cpus:.3f} | {cell.period_us // 1000} ms | {len(cell.loop_ns)} | {middle[0]} | {middle[1]} "
            f"| {cell.ratio:.3f} | {cell.of_medians:.3f} | {low:.3f} to {high:.3f} | {middle[2]} | {middle[3]} |"
        )
    if options.out is not None:
        rows = [{**vars(cell), "tier": cell.tier.name} for cell in cells]
        options.out.write_text(json.dumps(rows) + "\n")
    return int(any(abs(cell.ratio - 1) > TOLERANCE for cell in cells))


def tier_of(memory_mb: int) -> Tier:
    """As AWS Lambda has it."""
    return Tier(f"{memory_mb} MB", memory_mb, memory_mb / LAMBDA_MB_PER_CPU)


def compare(tiers: list[Tier], period_us: int, rounds: int, work_ms: float) -> list[Cell]:
    """Runs both in every tier, round by round."""
    plan = Plan(
        kind="own", subjects=("own",), name="loop", tier_set="loop", tier_source="", tiers=tuple(tiers), price=None,
        period_us=period_us, works_ms=(0.0,), repeats=rounds, seed=0, limit_s=60.0,
    )  # fmt: skip
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = built(directory)
        iterations = iterations_of(program, work_ms)
        first = json.dumps({"iterations": iterations}).encode()
        places, loops = {}, {}
        found = server("python", f"{_MODULE}:function")
        path = os.pathsep.join([str(directory), found.environment["PYTHONPATH"]])
        command = Command(found.words, {**found.environment, "PYTHONPATH": path})
        for tier in tiers:
            place = Place(f"loop-{tier.memory_mb}", command, first, plan, tier, stack)
            places[tier.name] = place
        cells = {tier.name: Cell(tier, period_us) for tier in tiers}
        for tier in tiers:
            # A function that starts anew ends what is in its cgroup, so that the loop comes after it.
            invoked(places[tier.name], first, plan.limit_s)
            loops[tier.name] = stack.enter_context(Loop(program, places[tier.name]))
            loops[tier.name].run(iterations)
        drawn = random.Random(0)
        for number in range(rounds):
            # The places of the rounds in the period are spread over it evenly.
            phase_ns = round((number + 0.5) / rounds * period_us * 1000)
            for tier in drawn.sample(tiers, len(tiers)):
                cell = cells[tier.name]
                asked = round(iterations * drawn.uniform(1 - _SPREAD, 1 + _SPREAD))
                body = json.dumps({"iterations": asked}).encode()
                for swtch in drawn.sample((False, True), 2):
                    wait_for(phase_ns, period_us * 1000)
                    if not swtch:
                        # As long as an invocation waits before it is sent, so that both begin at the same place.
                        places[tier.name].group.settled_counters()
                        cell.loop_ns.append(loops[tier.name].run(asked))
                        continue
                    reply, counted = invoked(places[tier.name], body, plan.limit_s)
                    cell.function_ns.append(reply.latency_ns)
                    cell.cpu_ns.append(reply.document["cpu_ns"])
                    cell.measuring_ns.append(counted["cpu_ns"] - reply.document["cpu_ns"])
        return list(cells.values())


def invoked(place: Place, body: bytes, limit_s: float) -> tuple[Reply, dict[str, Any]]:
    """What came of an invocation, and what its cgroup counted meanwhile."""
    reply, counted = place.invoke(body, limit_s)
    if reply.outcome != "complete" or counted is None:
        raise SystemExit(f"{place.group.directory}: {reply.outcome}: {reply.why}")
    return reply, counted


def wait_for(phase_ns: int, period_ns: int) -> None:
    """Sleeps for more than a period, so that the quota is whole again, and until that place in it: the kernel keeps a period's phase."""
    time.sleep(_REST_S + period_ns / 1e9)
    time.sleep(((phase_ns - time.monotonic_ns()) % period_ns) / 1e9)


class Loop:
    """The program in C in a tier's cgroup."""

    def __init__(self, program: Path, place: Place | None) -> None:
        words = [str(program)] if place is None else place.group.into([str(program)])
        self._process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *error: object) -> None:
        self._process.kill()
        self._process.communicate()

    def run(self, iterations: int) -> int:
        """How long it took by its own clock."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{iterations}\n".encode())
        self._process.stdin.flush()
        return int(self._process.stdout.readline().split()[0])


def built(directory: Path) -> Path:
    """The program, and beside it a module with the function."""
    compiler = [os.environ.get("CC", "cc"), "-O1", str(HERE / "loop.c")]
    subprocess.run([*compiler, "-o", str(directory / "loop")], check=True)
    subprocess.run([*compiler, "-shared", "-fPIC", "-o", str(directory / "loop.so")], check=True)
    (directory / f"{_MODULE}.py").write_text(_FUNCTION.format(library=str(directory / "loop.so")))
    return directory / "loop"


def iterations_of(program: Path, work_ms: float) -> int:
    """How many take that long here, unthrottled: once for everything that is compared."""
    with Loop(program, None) as loop:
        iterations = 1_000_000
        fastest_ns = min(loop.run(iterations) for _ in range(20))
    return round(iterations * work_ms * 1e6 / fastest_ns)


if __name__ == "__main__":
    sys.exit(main())
