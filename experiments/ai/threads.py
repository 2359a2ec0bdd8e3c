"""Threads by spinning or blocking, on an idle machine, beside a competitor on every CPU, and under a quota: for a vision and a language model.

    python3 experiments/ai/threads.py --out threads --models mobilenet-v2,llm-15m.token

Makes a study for each model and load by `swtch ai run`, and prints a Markdown table: the median latency of an inference or token, and what
the worst setting costs beside the best. Studies that are there are taken as they are, so that a run that was cut off goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

THREADS = (1, 2, 3, 4, 8)
LOADS = ("alone", "beside a competitor on each CPU", "quota of 1 CPU")


@contextmanager
def competitors(wanted: bool) -> Iterator[None]:
    """A process that computes on each CPU."""
    found = []
    try:
        for cpu in sorted(os.sched_getaffinity(0)) if wanted else ():
            program = (
                f"import os\nos.sched_setaffinity(0, {{{cpu}}})\nwhile os.getppid() == {os.getpid()}: pass"
            )
            found.append(subprocess.Popen([sys.executable, "-c", program]))
        yield
    finally:
        for one in found:
            one.kill()
            one.wait()


def study(swtch: str, model: str, load: str, directory: Path, duration: str, runs: int) -> dict:
    """Runs all settings of one model beside one load."""
    if not (directory / "study.json").exists():
        words = [swtch, "ai", "run", model, "--threads", ",".join(map(str, THREADS)), "--spin", "on,off"]
        words += [
            "--duration",
            duration,
            "--runs",
            str(runs),
            "--as-loaded",
            "--no-record",
            "-o",
            str(directory),
            "--json",
        ]
        words += ["--quota", "1"] if load == LOADS[2] else []
        with competitors(load == LOADS[1]):
            subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    return json.loads((directory / "study.json").read_text())


def main() -> None:
    """Makes the studies and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--swtch", default="swtch")
    parser.add_argument("--out", type=Path, default=Path("threads"))
    parser.add_argument("--models", default="mobilenet-v2,llm-15m.token")
    parser.add_argument("--duration", default="1500ms")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    names = [f"{threads} {'spin' if spin else 'block'}" for spin in (True, False) for threads in THREADS]
    print(f"| model | load | {' | '.join(names)} | worst / best |")
    print("|" + " --- |" * (len(names) + 3))
    for model in options.models.split(","):
        for number, load in enumerate(LOADS):
            directory = options.out / f"{model}-{number}"
            found = study(options.swtch, model, load, directory, options.duration, options.runs)
            medians = {
                (one["settings"]["threads"], one["settings"]["spinning"]): one["latency_p50_ns"]["median"]
                / 1e6
                for one in found["summaries"]
            }
            cells = [medians.get((threads, spin)) for spin in (True, False) for threads in THREADS]
            known = [one for one in cells if one is not None]
            shown = " | ".join("n/a" if one is None else f"{one:.3g}" for one in cells)
            print(f"| {model} | {load} | {shown} | {max(known) / min(known):.1f} |", flush=True)


if __name__ == "__main__":
    main()
