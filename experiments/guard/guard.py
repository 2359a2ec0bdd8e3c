"""How often swtch check is wrong: changes that change nothing, and 5 % more switches at one of 51 places.

    python3 experiments/guard/guard.py --swtch target/release/swtch --neutral 200 --injected 51 -o guard.json

Every variant of services.c is compiled, and checked against the baseline of the plain program. `swtch check` does so in a deterministic
guest, and a gate does so by elapsed time on this machine. The gate takes the median of 9 runs, at most 5 % over that of 9 runs of the plain
program before it. A run that is cut off continues where it stopped: results are written line by line.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).parent
PROGRAMS = ["threads", "processes", "semaphores"]
NAMES = ["client", "parser", "store", "index", "cache", "logger"]
FUNCTIONS = [
    "exchange_failed",
    "next_request",
    "call_others",
    "compute",
    "service",
    "requests_of",
    "places",
    "boxes",
]
PLACES = 17
BUDGET = """[[budget]]
name = "services"
command = "./services"
where = "vm"
switches = { change = "+2%" }
instructions = { change = "+3%" }
"""
SHARE = 0.05
TRIAL_PINGS = 50
WALL_CLOCK_RUNS = 9
WALL_CLOCK_LIMIT = 1.05


def compile_program(folder: Path, transport: int, source: str, flags: list[str]) -> None:
    (folder / "services.c").write_text(source)
    command = ["gcc", "-O2", "-pthread", f"-DTRANSPORT={transport}", *flags, "-o", "services", "services.c"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def neutral(seed: int, source: str) -> tuple[str, str, list[str]]:
    """A change of a kind that changes nothing, its source and flags."""
    rng = random.Random(seed)
    kind = ["comments", "renamed symbols", "padding", "another directory", "a few instructions"][seed % 5]
    flags: list[str] = []
    if kind == "comments":
        comments = [f"/* {rng.random()} */" for _ in range(rng.randrange(1, 50))]
        source = "\n".join([*comments, source, *comments])
        flags = ["-g"]
    elif kind == "renamed symbols":
        for name in FUNCTIONS:
            source = source.replace(
                name, name + "_" + "".join(rng.choices("abcdefgh", k=rng.randrange(1, 12)))
            )
        flags = ["-g"]
    elif kind == "padding":
        flags = [f"-DPADDING={rng.randrange(1, 9000)}"]
    elif kind == "a few instructions":
        flags = [f"-DNOPS={rng.randrange(1, 60)}"]
    return kind, source, flags


def check(swtch: Path, folder: Path, baseline: Path | None) -> SimpleNamespace:
    (folder / "swtch-budget.toml").write_text(BUDGET)
    words = [
        swtch,
        "check",
        "--json",
        "-o",
        "results",
        *(["--baseline", baseline] if baseline else ["--accept"]),
    ]
    began = time.monotonic()
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    if done.returncode not in (0, 3):
        raise RuntimeError(done.stderr)
    result = json.loads(done.stdout, object_hook=lambda found: SimpleNamespace(**found))
    result.took_s = time.monotonic() - began
    return result


def switches_of(result: SimpleNamespace) -> float:
    return next(metric.value for metric in result.budgets[0].metrics if metric.metric == "switches")


def wall_clock(folder: Path) -> float:
    seconds = []
    for _ in range(WALL_CLOCK_RUNS):
        began = time.monotonic()
        subprocess.run(["./services"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.monotonic() - began)
    return statistics.median(seconds)


def reached(folder: Path, transport: int, source: str) -> dict[int, int]:
    compile_program(folder, transport, source, ["-DCOUNT"])
    output = subprocess.run(["./services"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return {int(place): int(count) for place, count in (line.split() for line in output.splitlines())}


def callers(source: str) -> list[set[str]]:
    table = source.split("static struct place places[] = {")[1].split("};")[0]
    rows = [row.strip(" {},\n\t") for row in table.split("},")]
    return [{word.strip().lower() for word in row.split(",")[:2]} for row in rows if row]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--swtch", type=Path, required=True)
    parser.add_argument("--neutral", type=int, default=200)
    parser.add_argument("--injected", type=int, default=PLACES * len(PROGRAMS))
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="begin no further variant after this time"
    )
    parser.add_argument("-o", "--out", type=Path, default=Path("guard.jsonl"))
    options = parser.parse_args()
    began = time.monotonic()
    swtch = options.swtch.resolve()
    source = (HERE / "services.c").read_text()
    pairs = callers(source)
    known = {}
    if options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
        known = {(row["kind"] == "injected", row["number"]): row for row in rows}
    work = Path(tempfile.mkdtemp(prefix="guard-"))
    plain, counts, pings = {}, {}, {}
    for transport, program in enumerate(PROGRAMS):
        plain[transport] = work / program
        plain[transport].mkdir()
        counts[transport] = reached(plain[transport], transport, source)
        compile_program(plain[transport], transport, source, [])
        result = check(swtch, plain[transport], None)
        switches = switches_of(result)
        trial = work / f"trial-{program}"
        trial.mkdir()
        flags = ["-DINJECT=0", f"-DPINGS={TRIAL_PINGS}", f"-DREACHED={counts[transport][0]}"]
        compile_program(trial, transport, source, flags)
        found = switches_of(check(swtch, trial, plain[transport] / "swtch-baseline.json"))
        pings[transport] = math.ceil(SHARE * switches * TRIAL_PINGS / (found - switches))
        print(program, switches, "switches,", pings[transport], "calls are 5 % more", flush=True)
    # Interleaved, so that a run that is cut off has some of each.
    jobs = [(False, n) for n in range(options.neutral)] + [(True, n) for n in range(options.injected)]
    jobs.sort(key=lambda job: job[1] / (options.injected if job[0] else options.neutral))
    for is_injected, number in jobs:
        if (is_injected, number) in known:
            continue
        if time.monotonic() - began > options.seconds:
            break
        transport = number % len(PROGRAMS)
        folder = work / f"directory-{'x' * (number % 23)}-{number}-{is_injected}"
        folder.mkdir()
        if is_injected:
            place = number // len(PROGRAMS)
            kind, text = "injected", source
            flags = [
                f"-DINJECT={place}",
                f"-DPINGS={pings[transport]}",
                f"-DREACHED={counts[transport][place]}",
            ]
        else:
            kind, text, flags = neutral(number, source)
        compile_program(folder, transport, text, flags)
        result = check(swtch, folder, plain[transport] / "swtch-baseline.json")
        budget = result.budgets[0]
        by_time = wall_clock(folder) / wall_clock(plain[transport])
        row = {
            "number": number,
            "kind": kind,
            "program": PROGRAMS[transport],
            "status": budget.status,
            "change": {m.metric: m.value / m.baseline - 1 for m in budget.metrics},
            "why": budget.why,
            "wall_clock_ratio": by_time,
            "wall_clock_alarm": by_time > WALL_CLOCK_LIMIT,
            "took_s": result.took_s,
        }
        if is_injected:
            first = next((pair for pair in budget.who if pair.difference > 0), None)
            row["place"] = sorted(pairs[place])
            row["named"] = bool(first) and {first.task, first.peer} == pairs[place]
        with options.out.open("a") as out:
            out.write(json.dumps(row) + "\n")
        known[(is_injected, number)] = row
        print(row["kind"], row["program"], row["status"], row["change"], row.get("named"), flush=True)
        shutil.rmtree(folder)
    shutil.rmtree(work)
    summary(list(known.values()))


def summary(rows: list[dict]) -> None:
    unchanged = [row for row in rows if row["kind"] != "injected"]
    injected = [row for row in rows if row["kind"] == "injected"]
    print(f"changes that change nothing: {len(unchanged)}")
    print(f"  alarms of swtch check: {sum(row['status'] == 'broken' for row in unchanged)}")
    print(f"  alarms by elapsed time: {sum(row['wall_clock_alarm'] for row in unchanged)}")
    print(f"5 % more switches: {len(injected)}")
    print(f"  found by swtch check: {sum(row['status'] == 'broken' for row in injected)}")
    print(f"  found by elapsed time: {sum(row['wall_clock_alarm'] for row in injected)}")
    print(f"  the right pair of tasks named first: {sum(row['named'] for row in injected)}")
    seconds = sorted(row["took_s"] for row in rows)
    print(f"seconds a check: median {statistics.median(seconds):.1f}, longest {seconds[-1]:.1f}")


if __name__ == "__main__":
    main()
