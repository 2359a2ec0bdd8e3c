"""What recording costs a decoder on a GPU: tokens a second in pairs of blocks of one run, one recorded and one not, in random order.

    python3 experiments/ai/gpu_recorded.py --wait block --pairs 60

The decoder is that of gpu_decode.py, a step one CUDA graph. A block settles first, which is when the recorder starts; only what comes
afterwards counts. The recorder is `swtch record -p` on this process. Prints one JSON line: the median of the pairs' ratios, recorded over
not, with its 95 % interval by order statistics, for throughput, the median latency and its 99th percentile. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence

import torch
from gpu_decode import WARM_UP, Decoder, graph_of

from swtch.ai.cuda import FLAGS

SETTLE_S = 0.6
BLOCK_S = 0.6


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % interval of the median: the widest order statistics outside which are at most 2.5 % of the binomial's cases a side."""
    count = len(values)
    rank, below = 0, 0.0
    while True:
        below += math.comb(count, rank) / 2**count
        if below > 0.025:
            break
        rank += 1
    if rank == 0:
        raise SystemExit("too few pairs for an interval")
    ordered = sorted(values)
    return ordered[rank - 1], ordered[-rank]


def block(token: Callable[[], None], record: Sequence[str] | None) -> tuple[dict[str, float], int]:
    """Figures of a block, and the switches that the recorder saw in all."""
    recorder = (
        None if record is None else subprocess.Popen(record, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    )
    settled = time.monotonic() + SETTLE_S
    while time.monotonic() < settled:
        token()
    taken = []
    began = before = time.monotonic_ns()
    while before - began < BLOCK_S * 1e9:
        token()
        now = time.monotonic_ns()
        taken.append(now - before)
        before = now
    switches = 0
    if recorder is not None:
        if recorder.poll() is not None:
            raise SystemExit(f"the recorder was gone: {recorder.stderr.read().decode()}")
        while recorder.poll() is None:
            token()
        summary = json.loads(recorder.stdout.read())
        if recorder.returncode != 0:
            raise SystemExit(recorder.stderr.read().decode())
        switches = summary["context_switches"]["voluntary"]
    taken.sort()
    figures = {
        "tokens": len(taken) / (before - began) * 1e9,
        "p50": statistics.median(taken),
        "p99": taken[int(0.99 * len(taken))],
    }
    return figures, switches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--wait", choices=sorted(FLAGS), default="block")
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--swtch", default=shutil.which("swtch"))
    options = parser.parse_args()
    cuda = ctypes.CDLL("libcuda.so.1")
    # Before PyTorch makes the context.
    cuda.cuInit(0)
    assert cuda.cuDevicePrimaryCtxSetFlags_v2(0, FLAGS[options.wait]) == 0
    torch.set_grad_enabled(False)
    decoder = Decoder()
    replay = graph_of(decoder).replay

    def token() -> None:
        replay()
        decoder.token.item()

    for _ in range(WARM_UP):
        token()
    end = time.monotonic() + options.seconds
    # An A/A block first: nothing is recorded in either.
    pairs: list[tuple[dict[str, float], dict[str, float]]] = []
    alike: list[tuple[dict[str, float], dict[str, float]]] = []
    seen = []
    with tempfile.TemporaryDirectory() as scratch:
        record = [options.swtch, "record", "-p", str(os.getpid()), "--duration", f"{SETTLE_S + BLOCK_S}s"]
        record += ["--no-profile", "--force", "--json", "-o", f"{scratch}/x.swtch"]
        while len(pairs) < options.pairs and time.monotonic() < end:
            which = random.choice([(True, False), (False, True)])
            first, second = (block(token, record if recorded else None) for recorded in which)
            (recorded, switches), (plain, _) = (first, second) if which[0] else (second, first)
            pairs.append((recorded, plain))
            seen.append(switches)
            if len(alike) < options.pairs // 4:
                alike.append((block(token, None)[0], block(token, None)[0]))
    answer: dict[str, object] = {
        "gpu": torch.cuda.get_device_name(),
        "wait": options.wait,
        "pairs": len(pairs),
        "recorded_switches": statistics.median(seen),
        "tokens_per_second": statistics.median(plain["tokens"] for _, plain in pairs),
    }
    for name, found in (("recorded", pairs), ("alike", alike)):
        for figure in ("tokens", "p50", "p99"):
            ratios = [one[figure] / other[figure] for one, other in found]
            low, high = interval(ratios)
            answer[f"{name}_{figure}"] = [round(x, 4) for x in (statistics.median(ratios), low, high)]
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
