"""SIGKILLs of a SLURM's daemons while a sweep runs on it.

    python experiments/sweep/kills.py [--kills 8]

A SLURM of one node in a directory of its own, as in the tests. While `swtch sweep run --on slurm` is under way, slurmd and slurmctld are killed by
turns and started again. A command that ends early is given again, as it says. Needs root and Debian's SLURM. Exit status 0: the table has
the bytes of one machine.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python/tests"))
from cluster import hackbench_grid, no_slurm, running, slurm_node  # noqa: E402

DAEMONS = ("slurmd", "slurmctld")
TRIES = 10


def main() -> int:
    """Runs the sweep."""
    options = argparse.ArgumentParser(allow_abbrev=False, description=__doc__.splitlines()[0])
    options.add_argument("--kills", type=int, default=8)
    options.add_argument("--seeds", type=int, default=40)
    options.add_argument("--swtch", default="swtch")
    given = options.parse_args()
    if why := no_slurm():
        print(why, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as at, ExitStack() as stack:
        home = Path(at)
        (home / "grid.toml").write_text(hackbench_grid(range(given.seeds), 3000))
        environment = stack.enter_context(slurm_node(home / "slurm"))
        run = [
            given.swtch,
            "sweep",
            "run",
            "grid.toml",
            "d",
            "--on",
            "slurm:main",
            "--workers",
            "2",
            "-o",
            "table",
        ]
        start = lambda: subprocess.Popen(run, cwd=home, env=environment, stdout=subprocess.DEVNULL)  # noqa: E731
        sweep, tries, kills, chance = start(), 1, dict.fromkeys(DAEMONS, 0), random.Random(7)
        until = time.monotonic() + chance.uniform(3, 7)
        while (status := sweep.poll()) != 0 and tries < TRIES:
            if status is not None:
                sweep, tries = start(), tries + 1
            time.sleep(0.1)
            if time.monotonic() > until and sum(kills.values()) < given.kills:
                until = time.monotonic() + chance.uniform(3, 7)
                name = DAEMONS[sum(kills.values()) % 2]
                for pid in daemons(name, home):
                    os.kill(pid, signal.SIGKILL)
                    kills[name] += 1
                time.sleep(1)
                stack.enter_context(
                    running([name, "-D"], home / f"{name}-{kills[name]}.out", env=environment)
                )
        words = [given.swtch, "simulate", "--sweep", "grid.toml", "--out", "alone"]
        subprocess.run(words, cwd=home, check=True, stdout=subprocess.DEVNULL)
        same = sweep.poll() == 0 and (home / "table").read_bytes() == (home / "alone").read_bytes()
        print(f"{4 * given.seeds} runs, killed {kills}, the command was given {tries} times: ", end="")
        print("the bytes of one machine" if same else "NOT the bytes of one machine")
        return 0 if same else 1


def daemons(name: str, home: Path) -> list[int]:
    """The daemon of this SLURM, by its configuration."""
    found = subprocess.run(["pgrep", "-x", name], capture_output=True, text=True).stdout.split()
    own = f"SLURM_CONF={home / 'slurm/slurm.conf'}".encode()

    def is_own(pid: str) -> bool:
        # One that was killed before is a zombie, without an environment.
        try:
            return own in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False

    return [int(pid) for pid in found if is_own(pid)]


if __name__ == "__main__":
    sys.exit(main())
