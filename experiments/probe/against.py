"""What a probe says of a program that walks through an array, beside what `swtch measure` says of arrays of that size.

    python3 experiments/probe/against.py --swtch target/release/swtch --rounds 3 --time-limit 40s

For each size, in turns: `swtch measure` of a pipe (c2 - c1, what refilling after a switch takes when the other process walks through as much),
and `swtch probe` of `walk`, which marks every pass as a span, with as much memory displaced. Run it as root, with nothing else running.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SIZES = ["16K", "64K", "256K", "512K", "1M", "2M", "4M", "8M"]
# Every element once, one after the other, as the helper of a probe goes through its memory, too.
STRIDE = 8


def output(*words: str | Path) -> dict:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def measured_ns(swtch: Path, size: str, time_limit: str) -> float:
    """c2 - c1 of a pipe on one CPU."""
    words = ["measure", "--method", "pipe", "--placement", "same-cpu", "--class", "normal", "--sizes", size]
    words += ["--strides", str(STRIDE), "--access", "read-modify-write", "--time-limit", time_limit]
    [total] = output(swtch, *words, "--no-save", "--json")["total"]
    return total["indirect_cost_ns"]["median"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--swtch", type=Path, required=True)
    parser.add_argument("--sizes", nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--time-limit", default="20s")
    options = parser.parse_args()
    swtch = options.swtch.resolve()
    with tempfile.TemporaryDirectory() as folder:
        walk = Path(folder) / "walk"
        include = HERE.parent.parent / "crates/span/include"
        subprocess.run(["gcc", "-O2", "-I", include, "-o", walk, HERE / "walk.c"], check=True)
        print("array    c2 - c1, us       probe, us (95 %)")
        for size in options.sizes:
            unit = {"K": 1 << 10, "M": 1 << 20}[size[-1]]
            measured, probed = [], []
            for _ in range(options.rounds):
                measured.append(measured_ns(swtch, size, options.time_limit) / 1e3)
                limit = ["--sizes", size, "--progress", "spans", "--time-limit", options.time_limit]
                result = output(
                    swtch, "probe", "--json", *limit, "--", walk, str(int(size[:-1]) * unit), str(STRIDE)
                )
                [cost] = result["refill_ns"]
                probed.append([cost[name] / 1e3 for name in ("median", "ci_low", "ci_high")])
            each = "  ".join(f"{median:.2f} ({low:.2f} to {high:.2f})" for median, low, high in probed)
            print(f"{size:>5}  {', '.join(f'{ns:.2f}' for ns in measured)}  |  {each}", flush=True)
            ratio = statistics.median(one[0] for one in probed) / statistics.median(measured)
            print(f"       probe / measured {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
