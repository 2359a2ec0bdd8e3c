"""The latency of a function by `swtch faas tiers`, against a plain loop in C of the same iterations in the same cgroup.

    python experiments/serverless/loop.py [--rounds N] [--period 100ms,20ms] [--cpus 0.0417,1,2] [--work-ms 2-2000] [--out FILE] [--limit-s N]

The function calls the loop through ctypes, so that both do the same instructions. In each round every tier has both once, in random order,
with the same iterations. Both begin at the same place in the quota's period. The rounds' work is spread evenly over the logarithms of its
range, each tier's in an order of its own: a latency under a quota is a number of periods, and at one number of iterations a tenth of a ms may be
a period more. Each result is a line of FILE at once, and the same command goes on where it was stopped, also by --limit-s. It needs cc,
the package swtch, and the right to make cgroups.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
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
from swtch.faas.tier_sets import Tier

HERE = Path(__file__).resolve().parent
CPUS = (0.0417, 0.0625, 0.0833, 0.125, 0.1667, 0.25, 0.5, 1.0, 1.5, 2.0)
SMALLEST_MS = 1.0
"""The kernel's smallest quota: a tier below it has this one."""
TOLERANCE = 0.03
"""Of the median of ratios."""
_REST_S = 0.02
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

    cpus: float
    period_us: int
    loop_ns: list[int] = field(default_factory=list)
    function_ns: list[int] = field(default_factory=list)
    cpu_ns: list[int] = field(default_factory=list)
    measuring_ns: list[int] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """The median of the rounds' ratios: 1 where swtch measures what the loop takes."""
        return statistics.median(one / other for one, other in zip(self.function_ns, self.loop_ns))

    def interval(self) -> tuple[float, float]:
        """The 95 % bootstrap interval of that, rounds resampled."""
        drawn = random.Random(1)
        ratios = [one / other for one, other in zip(self.function_ns, self.loop_ns)]
        found = sorted(statistics.median(drawn.choices(ratios, k=len(ratios))) for _ in range(1000))
        return found[25], found[974]


def main() -> int:
    """Prints a row for each tier and period; 1 when a ratio is further off than 3 %."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--period", default="100ms,20ms")
    parser.add_argument("--cpus", default=",".join(map(str, CPUS)))
    parser.add_argument("--work-ms", default="2-2000")
    parser.add_argument("--out", type=Path, default=Path("loop.jsonl"))
    parser.add_argument("--limit-s", type=float, default=math.inf)
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit_s
    shortest, _, longest = options.work_ms.partition("-")
    works_ms = (float(shortest), float(longest or shortest))
    cpus = [float(text) for text in options.cpus.split(",")]
    whole = True
    for period in options.period.split(","):
        period_us = int(period.removesuffix("ms")) * 1000
        whole &= compare(
            tiers_of(cpus, period_us), period_us, options.rounds, works_ms, options.out, deadline
        )
    cells = read(options.out)
    table(cells)
    if not whole:
        print("not finished: the same command goes on", file=sys.stderr)
    return int(not whole or any(abs(cell.ratio - 1) > TOLERANCE for cell in cells))


def table(cells: list[Cell]) -> None:
    """Prints what was measured."""
    print(
        "| CPUs | period | rounds | loop in C, ms | swtch, ms | ratio, median of rounds | 95 % interval | ratio of sums | CPU ms | measuring, CPU ms |"
    )
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for cell in cells:
        middle = [
            f"{statistics.median(values) / 1e6:.4g}"
            for values in (cell.loop_ns, cell.function_ns, cell.cpu_ns, cell.measuring_ns)
        ]
        low, high = cell.interval()
        print(
            f"| {cell.cpus:.4g} | {cell.period_us // 1000} ms | {len(cell.loop_ns)} | {middle[0]} | {middle[1]} "
            f"| {cell.ratio:.3f} | {low:.3f} to {high:.3f} | {sum(cell.function_ns) / sum(cell.loop_ns):.3f} | {middle[2]} | {middle[3]} |"
        )


def tiers_of(cpus: list[float], period_us: int) -> list[Tier]:
    """Tiers with 512 MB and these CPUs, or as few as the kernel takes."""
    found = {max(one, SMALLEST_MS * 1000 / period_us) for one in cpus}
    return [Tier(f"{one:.4g} CPUs", 512, one) for one in sorted(found)]


def read(out: Path) -> list[Cell]:
    """What a file has, by period and tier."""
    found: dict[tuple[int, float], Cell] = {}
    for text in out.read_text().splitlines() if out.exists() else ():
        line = json.loads(text)
        cell = found.setdefault((-line["period_us"], line["cpus"]), Cell(line["cpus"], line["period_us"]))
        for name in ("loop_ns", "function_ns", "cpu_ns", "measuring_ns"):
            getattr(cell, name).append(line[name])
    return [found[key] for key in sorted(found)]


def works_of(tier: Tier, rounds: int, works_ms: tuple[float, float]) -> list[float]:
    """The work of each round, from the shortest to the longest, in an order of the tier's own."""
    low, high = (math.log(one) for one in works_ms)
    found = [math.exp(low + (high - low) * (place + 0.5) / rounds) for place in range(rounds)]
    random.Random(tier.name).shuffle(found)
    return found


def compare(
    tiers: list[Tier], period_us: int, rounds: int, works_ms: tuple[float, float], out: Path, deadline: float
) -> bool:
    """Runs both in every tier, round by round, as far as FILE has not. Returns whether that was all."""
    plan = Plan(
        kind="own", subjects=("own",), name="loop", tier_set="loop", tier_source="", tiers=tuple(tiers), price=None,
        period_us=period_us, works_ms=(0.0,), repeats=rounds, seed=0, limit_s=300.0,
    )  # fmt: skip
    done = {(line["cpus"], line["round"]) for line in map(json.loads, out.read_text().splitlines() if out.exists() else ()) if line["period_us"] == period_us}  # fmt: skip
    todo = [(number, tier) for number in range(rounds) for tier in tiers if (tier.cpus, number) not in done]
    if not todo:
        return True
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        program = built(directory)
        per_ms = iterations_of(program, 1.0)
        first = json.dumps({"iterations": per_ms}).encode()
        places, loops = {}, {}
        found = server("python", f"{_MODULE}:function")
        path = os.pathsep.join([str(directory), found.environment["PYTHONPATH"]])
        command = Command(found.words, {**found.environment, "PYTHONPATH": path})
        for tier in tiers:
            places[tier.name] = Place(f"loop-{tier.cpus}", command, first, plan, tier, stack)
        for tier in tiers:
            # A function that starts anew ends what is in its cgroup, so that the loop comes after it.
            invoked(places[tier.name], first, plan.limit_s)
            loops[tier.name] = stack.enter_context(Loop(program, places[tier.name]))
            loops[tier.name].run(per_ms)
        file = stack.enter_context(open(out, "a"))
        for number in range(rounds):
            drawn = random.Random(f"{period_us}/{number}")
            # The places of the rounds in the period are spread over it evenly.
            phase_ns = round((number + 0.5) / rounds * period_us * 1000)
            for tier in drawn.sample(tiers, len(tiers)):
                ways = drawn.sample((False, True), 2)
                if (number, tier) not in todo:
                    continue
                work_ms = works_of(tier, rounds, works_ms)[number]
                if time.monotonic() + 3 * work_ms / 1e3 / min(1.0, tier.cpus or 1.0) > deadline:
                    return False
                line = {"cpus": tier.cpus, "period_us": period_us, "round": number, "work_ms": work_ms}
                asked = round(per_ms * work_ms)
                for swtch in ways:
                    line |= both(swtch, asked, places[tier.name], loops[tier.name], phase_ns, plan)
                file.write(json.dumps(line) + "\n")
                file.flush()
    return True


def both(swtch: bool, asked: int, place: Place, loop: Loop, phase_ns: int, plan: Plan) -> dict[str, int]:
    """The figures of the function, or of the loop."""
    wait_for(phase_ns, plan.period_us * 1000)
    if not swtch:
        # As long as an invocation waits before it is sent, so that both begin at the same place.
        place.group.settled_counters()
        return {"loop_ns": loop.run(asked)}
    reply, counted = invoked(place, json.dumps({"iterations": asked}).encode(), plan.limit_s)
    own_ns = reply.document["cpu_ns"]
    return {"function_ns": reply.latency_ns, "cpu_ns": own_ns, "measuring_ns": counted["cpu_ns"] - own_ns}


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
