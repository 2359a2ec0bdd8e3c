"""How often swtch diff is wrong: two sides of one program, and 5, 10 and 20 % more switches in the new one.

    python3 experiments/diff/pairs.py --swtch target/release/swtch --same 200 --more 40 -o pairs.jsonl

Each pair is ten recordings of each side in random order, of one of the three programs of ../guard/services.c on this machine. The old side is
always the plain program. A run that is cut off continues where it stopped: results are written line by line.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "guard" / "services.c"
PROGRAMS = ["threads", "processes", "semaphores"]
ROUNDS = 150
RECORDINGS = 10
SHARES = [0.05, 0.1, 0.2]
TRIAL_PINGS = 200
TRIAL_RUNS = 8


def compile_program(out: Path, transport: int, pings: int) -> None:
    flags = [f"-DTRANSPORT={transport}", f"-DROUNDS={ROUNDS}"]
    # Place 0 is reached in every round.
    flags += ["-DINJECT=0", f"-DPINGS={pings}", f"-DREACHED={ROUNDS}"] if pings else []
    subprocess.run(["gcc", "-O2", "-pthread", *flags, "-o", str(out), str(SOURCE)], check=True)


def record(swtch: Path, program: Path, out: Path) -> None:
    command = [swtch, "record", "--counts", "--force", "-o", out, "--", program]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)


def sides(
    swtch: Path, old: Path, new: Path, folder: Path, count: int, rng: random.Random
) -> tuple[list[str], list[str]]:
    """Recordings of both, in random order."""
    order = [("old", old), ("new", new)] * count
    rng.shuffle(order)
    found: dict[str, list[str]] = {"old": [], "new": []}
    for number, (side, program) in enumerate(order):
        out = folder / f"{number}.swtch"
        record(swtch, program, out)
        found[side].append(str(out))
    return found["old"], found["new"]


def differ(swtch: Path, old: list[str], new: list[str]) -> dict:
    done = subprocess.run(
        [str(swtch), "diff", "--json", *old, "--", *new], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def switches(document: dict) -> dict:
    return next(one for one in document["changes"] if one["metric"] in ("switches", "context_switches"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--swtch", type=Path, required=True)
    parser.add_argument("--same", type=int, default=200)
    parser.add_argument("--more", type=int, default=40, help="pairs of each share")
    parser.add_argument("-o", "--out", type=Path, default=Path("pairs.jsonl"))
    options = parser.parse_args()
    swtch = options.swtch.resolve()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    known = {(row["share"], row["number"]) for row in rows}
    work = Path(tempfile.mkdtemp(prefix="pairs-"))
    plain: dict[int, Path] = {}
    changed: dict[tuple[int, float], Path] = {}
    for transport, name in enumerate(PROGRAMS):
        plain[transport], trial = work / name, work / f"{name}-trial"
        compile_program(plain[transport], transport, 0)
        compile_program(trial, transport, TRIAL_PINGS)
        found = switches(
            differ(swtch, *sides(swtch, plain[transport], trial, work, TRIAL_RUNS, random.Random(0)))
        )
        for share in SHARES:
            pings = round(share * TRIAL_PINGS / (found["new"] / found["old"] - 1))
            changed[transport, share] = work / f"{name}-{share}"
            compile_program(changed[transport, share], transport, pings)
            print(
                name, f"{found['old']:.0f} switches, {pings} calls are {100 * share:.0f} % more", flush=True
            )
    jobs = [(0.0, n) for n in range(options.same)] + [
        (share, n) for share in SHARES for n in range(options.more)
    ]
    # Interleaved, so that a run that is cut off has some of each.
    jobs.sort(key=lambda job: job[1] / (options.more if job[0] else options.same))
    for share, number in jobs:
        if (share, number) in known:
            continue
        transport = number % len(PROGRAMS)
        folder = work / "pair"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        new = changed[transport, share] if share else plain[transport]
        rng = random.Random(f"{share}-{number}")
        found = differ(swtch, *sides(swtch, plain[transport], new, folder, RECORDINGS, rng))
        row = {
            "share": share,
            "number": number,
            "program": PROGRAMS[transport],
            "verdict": found["verdict"],
            "switches": switches(found),
        }
        rows.append(row)
        with options.out.open("a") as out:
            out.write(json.dumps(row) + "\n")
        print(share, PROGRAMS[transport], found["verdict"], row["switches"], flush=True)
    shutil.rmtree(work)
    summary(rows)


def summary(rows: list[dict]) -> None:
    for share in [0.0, *SHARES]:
        of = [row for row in rows if row["share"] == share]
        if not of:
            continue
        verdicts = {
            name: sum(row["verdict"] == name for row in of) for name in ("worse", "better", "same", "unclear")
        }
        ratio = statistics.median(row["switches"]["ratio"] for row in of)
        decided = sum(not row["switches"]["ci_low"] <= 1 <= row["switches"]["ci_high"] for row in of)
        print(
            f"{100 * share:.0f} % more: {len(of)} pairs, {verdicts}, ratio {ratio:.3f}, interval without 1: {decided}"
        )


if __name__ == "__main__":
    main()
