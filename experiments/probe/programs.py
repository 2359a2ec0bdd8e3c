"""How much narrower a probe makes the bill of real programs: matrix products, two compressors, a web server.

    python3 experiments/probe/programs.py --swtch target/release/swtch --time-limit 40s

Each program is recorded, probed, and recorded again. It needs numpy and the package swtch for this Python, gzip and xz, a Profile of this
machine (swtch measure), and the rights of a probe: run it as root, with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent


def programs(folder: Path) -> dict[str, list[str]]:
    data = folder / "data"
    # Sources, which compress as text does.
    text = b"".join(path.read_bytes() for path in sorted(HERE.parent.parent.glob("crates/*/src/**/*.rs")))
    data.write_bytes(text * (1 + (60 << 20) // len(text)))
    part = folder / "part"
    part.write_bytes(text * 2)
    products = [sys.executable, str(HERE / "products.py")]
    return {
        "products of 128 x 128": [*products, "128", "8"],
        "products of 256 x 256": [*products, "256", "8"],
        "gzip -6": ["sh", "-c", f"exec gzip -6 -k -c {data} > /dev/null"],
        "xz -2": ["sh", "-c", f"exec xz -2 -k -T1 -c {part} > /dev/null"],
        "web server": [sys.executable, str(HERE / "pages.py"), "8"],
    }


def share(swtch: Path, folder: Path, command: list[str]) -> tuple[float, float]:
    """The bill's share of the CPU time, its low and its high end."""
    out = folder / "recorded.json"
    words = [swtch, "record", f"--json={out}", "--force", "-o", folder / "recorded.swtch", "--", *command]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr}")
    found = json.loads(out.read_text())["cost"]["share"]
    return found["low"], found["high"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--swtch", type=Path, required=True)
    parser.add_argument("--time-limit", default="40s")
    options = parser.parse_args()
    swtch = options.swtch.resolve()
    # One thread computes, so that its spans follow each other.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for program, command in programs(folder).items():
            before = share(swtch, folder, command)
            words = [swtch, "probe", "--json", "--time-limit", options.time_limit, "--", *command]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode:
                print(f"{program}: {done.stderr.strip()}", flush=True)
                continue
            probe = json.loads(done.stdout)
            after = share(swtch, folder, command)
            narrower = (before[1] - before[0]) / (after[1] - after[0])
            percent = [f"{100 * low:.3f} to {100 * high:.3f} %" for low, high in (before, after)]
            print(f"{program}: {percent[0]} -> {percent[1]}, {narrower:.1f} times as narrow", flush=True)
            refills = [
                f"{cost['displaced_bytes'] >> 10}K {cost['median'] / 1e3:.1f} us"
                f" ({cost['ci_low'] / 1e3:.1f} to {cost['ci_high'] / 1e3:.1f})"
                for cost in probe["refill_ns"]
            ]
            print(f"    by {probe['progress']}, {probe['runs']} runs: {', '.join(refills)}", flush=True)


if __name__ == "__main__":
    main()
