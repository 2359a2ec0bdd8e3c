"""Which CPUs schedulers use where some are fast and some are slow, and the energy that takes by the kernel's own model.

    tools/setup dist && cargo xtask dist --arch aarch64 programs
    python experiments/architectures/asymmetric.py [--scheduler NAME...] [--seconds N] [--json FILE]

Each scheduler has an arm64 guest whose instructions are counted (`swtch vm --deterministic --machine 2f4s`), so the figures are the same wherever it runs.
The kernel knows two fast and four slow CPUs; the slow ones are held up. `stock` is the kernel's scheduler, which knows what each CPU can do;
`stock-energy` is the same with an energy model, as behind any other name. Further schedulers lie as `scx_NAME` in target/dist/aarch64.
Work and energy are from the time on each kind of CPU: how fast emulated CPUs are depends on what the others do. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

from paths import Failed, compiled, with_programs

SOURCE = Path(__file__).with_name("periodic.c")
ARCH, MACHINE = "arm64", "2f4s"
PROGRAM = f"{ARCH}/{SOURCE.stem}"
FAST = (0, 1)
"""The CPUs of the machine that are fast."""
ENERGY = "-energy"
"""Behind the name of a scheduler whose guest has an energy model."""
SCHEDULERS = ("stock", "stock-energy", "flsched", "fair --kinds kernel")
LOADS = {
    "four that take little, every 16 ms": "{program} 4 100 16000 {seconds}",
    "four that take more, every 16 ms": "{program} 4 400 16000 {seconds}",
    "two that take much, every 16 ms": "{program} 2 2000 16000 {seconds}",
    "two that never sleep": "{program} 2 100 0 {seconds}",
    "six that never sleep": "{program} 6 100 0 {seconds}",
}
"""By `periodic.c`: how many threads, thousands of turns each time, and how often, us."""
RUNS = 3
"""Of each load in a guest, one after the other: where tasks begin decides something."""
LOADS_EACH_RUN = [load for load in LOADS for _ in range(RUNS)]
SCRIPT = """mkdir -p out
n=0
while read -r line; do
    cat /proc/schedstat > out/$n.before
    $line > out/$n.said 2>&1
    cat /proc/schedstat > out/$n.after
    n=$((n + 1))
done < loads
cat /sys/devices/system/cpu/cpu*/cpu_capacity > out/capacities
"""
"""What the guest does."""
LARGEST_CAPACITY, LARGEST_POWER_MW = 1024, 436
"""Of a fast CPU; a slow one takes less by the square of its capacity, as the guest's device tree says (`swtch vm --machine`)."""
LIMIT_S = 540


@dataclass(frozen=True)
class Row:
    """What one load did under one scheduler."""

    scheduler: str
    load: str
    in_time: float
    """The share of periods whose work was over before the next one."""
    fast: float
    """The share of the time in which tasks ran that was on fast CPUs."""
    energy: float
    """What that time takes, mW, by what it gets done, of a fast CPU's: both go by each CPU's capacity. Without what idle CPUs take."""


def run_times(text: str) -> list[int]:
    """ns for which tasks ran on each CPU, by `/proc/schedstat` (Documentation/scheduler/sched-stats.rst)."""
    return [int(line.split()[7]) for line in text.splitlines() if re.match(r"cpu\d", line)]


def in_time_of(said: str) -> float:
    """A load's share of periods in time, by what it printed."""
    figures = re.fullmatch(r"\d+ thousand turns; (\d+) of (\d+) periods in time\s*", said)
    if not figures:
        raise Failed(f"a load printed no figures: {said.strip()[-200:]!r}")
    in_time, periods = map(int, figures.groups())
    return in_time / periods


def rows_of(scheduler: str, out: Path) -> list[Row]:
    """What a guest left."""
    capacities = [int(line) / LARGEST_CAPACITY for line in (out / "capacities").read_text().split()]
    rows = []
    for number, load in enumerate(LOADS_EACH_RUN):
        before, after = (run_times((out / f"{number}.{when}").read_text()) for when in ("before", "after"))
        ran = [later - earlier for earlier, later in zip(before, after, strict=True)]
        energy = sum(
            ns * LARGEST_POWER_MW * capacity**2 for ns, capacity in zip(ran, capacities, strict=True)
        )
        done = sum(ns * capacity for ns, capacity in zip(ran, capacities, strict=True))
        fast = sum(ran[cpu] for cpu in FAST) / sum(ran)
        in_time = in_time_of((out / f"{number}.said").read_text())
        rows.append(Row(scheduler, load, in_time, fast, energy / done))
    return rows


def guest(given: argparse.Namespace, scheduler: str, home: Path) -> list[Row]:
    """Runs all loads in one guest."""
    loads = [LOADS[load].format(program=PROGRAM, seconds=given.seconds) for load in LOADS_EACH_RUN]
    compiled(SOURCE, ARCH, home)
    (home / "loads").write_text("\n".join(loads) + "\n")
    (home / "script.sh").write_text(SCRIPT)
    name, *words = scheduler.split()
    options = ["--energy-model"] if name.endswith(ENERGY) else []
    name = name.removesuffix(ENERGY)
    options += ["--sched", " ".join([name, *words])] if name != "stock" else []
    command = [given.swtch, "vm", "--arch", ARCH, "--machine", MACHINE, "--deterministic", *options]
    command += ["--fetch", "out", "--copy", "loads", "--copy", "script.sh", "--copy", PROGRAM]
    # Programs after the end travel because they are named.
    command += ["--", "sh", "-c", ". ./script.sh; exit; cat; mkdir"]
    done = subprocess.run(
        command, cwd=home, capture_output=True, text=True, timeout=LIMIT_S, env=with_programs(ARCH)
    )
    if done.returncode:
        raise Failed(
            f"{scheduler}: {(done.stderr.strip() or done.stdout.strip() or 'no message').splitlines()[-1]}"
        )
    return rows_of(scheduler, home / "out")


def table(rows: list[Row]) -> str:
    """A row for each load and scheduler: medians of runs, of the share of time with its range. Energy is beside the first scheduler's."""
    lines = [
        f"| load | scheduler | time on fast CPUs | periods in time | energy for the same work, of {rows[0].scheduler}'s |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for load in LOADS:
        by_scheduler: dict[str, list[Row]] = {}
        for row in (row for row in rows if row.load == load):
            by_scheduler.setdefault(row.scheduler, []).append(row)
        energy = {name: median(row.energy for row in of) for name, of in by_scheduler.items()}
        for name, of in by_scheduler.items():
            fast = sorted(100 * row.fast for row in of)
            time = f"{median(fast):.0f} % ({fast[0]:.0f} to {fast[-1]:.0f})"
            in_time = f"{100 * median(row.in_time for row in of):.0f} %" if " 0 " not in LOADS[load] else "–"
            lines.append(
                f"| {load} | {name} | {time} | {in_time} | {energy[name] / energy[rows[0].scheduler]:.2f} |"
            )
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0], allow_abbrev=False)
    parser.add_argument("--swtch", default="swtch", help="the command")
    parser.add_argument(
        "--scheduler", action="append", help=f"one of them, with its options; {', '.join(SCHEDULERS)}"
    )
    parser.add_argument("--seconds", type=int, default=3, help="how long each load spins")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    given = parser.parse_args()
    given.swtch = str(Path(given.swtch).absolute()) if "/" in given.swtch else given.swtch
    rows: list[Row] = []
    try:
        for scheduler in given.scheduler or SCHEDULERS:
            with tempfile.TemporaryDirectory() as home:
                rows += guest(given, scheduler, Path(home))
    except (Failed, OSError, subprocess.TimeoutExpired) as error:
        print(f"asymmetric: {error}", file=sys.stderr)
        return 1
    print(table(rows))
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
