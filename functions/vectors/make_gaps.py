"""Writes `gaps.json` beside it: when spinners run under the kernel's bandwidth control, simulated.

What kernel/sched/fair.c does, as far as it decides when a group runs: a pool is refilled with the quota at each period (`__refill_cfs_bandwidth_runtime`),
CPUs take slices of 5 ms from it (`__assign_cfs_rq_runtime`), running is charged when somebody looks (`update_curr`: at a yield, or only at the
tick), what was overrun is owed (`distribute_cfs_runtime`), and up to 1 ms stays with a CPU that is left (`__return_cfs_rq_runtime`). Others take the
CPU at random. The same seed gives the same file.

    python functions/vectors/make_gaps.py
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path

STEP_NS = 10_000
"""The simulation goes on by so much."""
SLICE_NS = 5_000_000
STAYS_NS = 1_000_000
TOLERANCE = 0.005


@dataclass
class Scenario:
    """What is simulated."""

    name: str
    quota_ns: int | None
    period_ns: int = 100_000_000
    spinners: int = 1
    span_ns: int = 1_000_000_000
    charged_every_ns: int = 100_000
    """At yields; 4 ms is the tick."""
    others: float = 0.0
    """The share of time in which others have a CPU."""
    moves: bool = False
    """Whether a spinner that others stopped goes on at another CPU."""
    phase_ns: int = 37_130_000
    """When the first period ends."""
    left_ns: int | None = None
    """What a program of a higher class, such as a real-time one, leaves of each of its cycles."""
    cycle_ns: int = 20_000_000
    skipped: tuple[int, ...] = ()
    """Cycles in which that program has nothing to do."""
    why: str | None = None
    """What must be said of gaps that look like those of a quota and are none."""


@dataclass
class Cpu:
    """A CPU's part of the group."""

    left_ns: int = 0
    throttled: bool = False
    others_until_ns: int = 0
    others_next_ns: int = 0


@dataclass
class Spinner:
    """A task that always wants to run."""

    cpu: int
    uncharged_ns: int = 0
    since_ns: int | None = None
    ran_ns: int = 0
    """Since then."""
    stretches: list[list[int]] = field(default_factory=list)


def simulate(scenario: Scenario, seed: int) -> list[list[list[int]]]:
    """When each spinner ran: [start, end, CPU time] in ns."""
    rng = random.Random(seed)
    cpus = [Cpu(throttled=scenario.quota_ns is not None) for _ in range(scenario.spinners + scenario.moves)]
    for cpu in cpus:
        _plan_others(cpu, 0, scenario, rng)
    spinners = [Spinner(cpu) for cpu in range(scenario.spinners)]
    pool_ns = 0
    refill_ns = scenario.phase_ns % scenario.period_ns
    for now_ns in range(0, scenario.span_ns, STEP_NS):
        if scenario.quota_ns is not None and now_ns >= refill_ns:
            pool_ns = scenario.quota_ns
            refill_ns += scenario.period_ns
            for cpu in cpus:
                if cpu.throttled:
                    given = min(1 - cpu.left_ns, pool_ns)
                    pool_ns -= given
                    cpu.left_ns += given
                    cpu.throttled = cpu.left_ns <= 0
        for cpu in cpus:
            if now_ns >= cpu.others_next_ns > cpu.others_until_ns:
                cpu.others_until_ns = now_ns + int(rng.choice((0.3e6, 1e6, 3e6, 4e6)))
        for spinner in spinners:
            cpu = cpus[spinner.cpu]
            stopped = now_ns < cpu.others_until_ns or _is_taken(scenario, now_ns)
            runs = not cpu.throttled and not stopped
            if spinner.since_ns is None and runs:
                # A timer and a wake-up are late by some microseconds, and a little noise makes no stretch longer than it was.
                spinner.since_ns = now_ns + rng.randrange(1_000, 9_000)
            if runs:
                spinner.uncharged_ns += STEP_NS
                spinner.ran_ns += STEP_NS
            looked = (
                scenario.charged_every_ns < 1_000_000 and spinner.uncharged_ns >= scenario.charged_every_ns
            )
            at_tick = (
                scenario.charged_every_ns >= 1_000_000 and (now_ns + STEP_NS) % scenario.charged_every_ns == 0
            )
            if scenario.quota_ns is not None and spinner.uncharged_ns and (looked or at_tick or not runs):
                cpu.left_ns -= spinner.uncharged_ns
                spinner.uncharged_ns = 0
                if cpu.left_ns <= 0:
                    taken = min(SLICE_NS - cpu.left_ns, pool_ns)
                    pool_ns -= taken
                    cpu.left_ns += taken
                    cpu.throttled = cpu.left_ns <= 0
            if spinner.since_ns is not None and (not runs or cpu.throttled):
                end_ns = now_ns + (STEP_NS if runs else 0)
                if end_ns > spinner.since_ns:
                    spinner.stretches.append([spinner.since_ns, end_ns, spinner.ran_ns])
                    spinner.ran_ns = 0
                spinner.since_ns = None
            if stopped and scenario.moves:
                pool_ns += _move(spinner, spinners, cpus, now_ns)
        for cpu in cpus:
            if cpu.others_next_ns <= now_ns and cpu.others_until_ns <= now_ns:
                _plan_others(cpu, now_ns, scenario, rng)
    for spinner in spinners:
        if spinner.since_ns is not None:
            spinner.stretches.append([spinner.since_ns, scenario.span_ns, spinner.ran_ns])
    return [spinner.stretches for spinner in spinners]


def _plan_others(cpu: Cpu, now_ns: int, scenario: Scenario, rng: random.Random) -> None:
    if not scenario.others:
        cpu.others_next_ns = scenario.span_ns + 1
        return
    mean_ns = 2_075_000 * (1 - scenario.others) / scenario.others
    cpu.others_next_ns = now_ns + max(STEP_NS, int(rng.expovariate(1 / mean_ns)))


def _is_taken(scenario: Scenario, now_ns: int) -> bool:
    """Whether the program of a higher class runs."""
    cycle, since_ns = divmod(now_ns, scenario.cycle_ns)
    return scenario.left_ns is not None and cycle not in scenario.skipped and since_ns >= scenario.left_ns


def _move(spinner: Spinner, spinners: list[Spinner], cpus: list[Cpu], now_ns: int) -> int:
    """To a CPU without others and without a spinner; what goes back to the pool."""
    taken = {other.cpu for other in spinners}
    free = [
        number
        for number, cpu in enumerate(cpus)
        if number not in taken and now_ns >= cpu.others_until_ns and not cpus[spinner.cpu].throttled
    ]
    if not free:
        return 0
    old = cpus[spinner.cpu]
    back_ns = max(0, old.left_ns - STAYS_NS)
    old.left_ns -= back_ns
    spinner.cpu = free[0]
    return back_ns


TIERS = {"128-mb": 0.0833, "256-mb": 0.1667, "512-mb": 0.3333, "1024-mb": 0.5833, "2048-mb": 1.0}


def scenarios() -> list[Scenario]:
    """All that is in the file."""
    found = []
    for name, cpus in TIERS.items():
        for period_ms in (100, 20):
            period_ns = period_ms * 1_000_000
            spinners = 2 if cpus >= 1 else 1
            found.append(Scenario(f"{name}-{period_ms}-ms", round(cpus * period_ns), period_ns, spinners))
    found += [
        Scenario("128-mb-20-ms-charged-at-ticks", 1_667_000, 20_000_000, 1, 3_000_000_000, 4_000_000),
        Scenario("256-mb-20-ms-charged-at-ticks", 3_333_000, 20_000_000, 1, 3_000_000_000, 4_000_000),
        Scenario("512-mb-100-ms-charged-at-ticks", 33_330_000, 100_000_000, 1, 3_000_000_000, 4_000_000),
        Scenario("512-mb-100-ms-with-others", 33_330_000, others=0.2),
        Scenario("1024-mb-20-ms-with-others", 11_667_000, 20_000_000, others=0.1),
        Scenario("128-mb-100-ms-two-spinners", 8_333_000, spinners=2),
        Scenario("1024-mb-100-ms-two-spinners-with-others", 58_330_000, spinners=2, others=0.15),
        Scenario("2048-mb-100-ms-moving", 100_000_000, spinners=2, others=0.1, moves=True),
        Scenario("half-50-ms", 25_000_000, 50_000_000, 1, 1_000_000_000),
        Scenario("quarter-250-ms", 62_500_000, 250_000_000, 1, 3_000_000_000),
        Scenario("unlimited", None),
        Scenario("unlimited-with-others", None, others=0.1),
        Scenario("unlimited-two-spinners-with-few-others", None, spinners=2, others=0.01),
        Scenario("2048-mb-one-spinner-never-throttled", 100_000_000, others=0.02),
        Scenario("128-mb-20-ms-with-many-others", 1_667_000, 20_000_000, others=0.3),
        Scenario("256-mb-100-ms-with-many-others", 16_670_000, others=0.4),
        Scenario("a-real-time-program-leaves-0.3-of-20-ms", None, left_ns=300_000, why="smallest"),
        Scenario(
            "a-real-time-program-leaves-0.8-of-100-ms",
            None,
            left_ns=800_000,
            cycle_ns=100_000_000,
            why="smallest",
        ),
        Scenario(
            "a-real-time-program-leaves-1.5-of-20-ms-and-skips-some",
            None,
            left_ns=1_500_000,
            skipped=(7, 19, 30, 44),
            why="would not have let",
        ),
        Scenario(
            "a-real-time-program-leaves-8-of-50-ms-and-skips-some",
            None,
            span_ns=2_000_000_000,
            left_ns=8_000_000,
            cycle_ns=50_000_000,
            skipped=(11, 23, 31),
            why="would not have let",
        ),
    ]
    return found


def vector(scenario: Scenario, seed: int) -> dict[str, object]:
    """A scenario, when its spinners ran, and what must come out."""
    spinners = simulate(scenario, seed)
    limited = scenario.quota_ns is not None and scenario.quota_ns < scenario.spinners * scenario.period_ns
    why = {} if scenario.why is None else {"why": scenario.why}
    ran_ns = sum(ran for stretches in spinners for *_, ran in stretches)
    seen_ns = max(one[-1][1] for one in spinners) - min(one[0][0] for one in spinners)
    return {
        "name": scenario.name,
        "span_ns": scenario.span_ns,
        "charged_every_ns": scenario.charged_every_ns,
        "others": scenario.others,
        "expected": {
            "period_ns": scenario.period_ns if limited else None,
            "quota_ns": scenario.quota_ns if limited else None,
            "cpus": (scenario.quota_ns or 0) / scenario.period_ns if limited else ran_ns / seen_ns,
            **why,
        },
        "spinners": spinners,
    }


def main() -> None:
    """Writes the file."""
    vectors = [vector(scenario, seed) for seed, scenario in enumerate(scenarios())]
    lines = ",\n".join("    " + json.dumps(one) for one in vectors)
    text = f'{{\n  "tolerance": {TOLERANCE},\n  "vectors": [\n{lines}\n  ]\n}}\n'
    (Path(__file__).parent / "gaps.json").write_text(text)


if __name__ == "__main__":
    main()
