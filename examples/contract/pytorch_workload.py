"""A transformer layer in PyTorch as a workload: pytorch_workload.py [THREADS]

Speaks the workload contract (docs/workload-contract.md) with nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import sys
import time

DURATION_S = 10.0
"""Unless the host says how long."""
WIDTH, HEADS, TOKENS = 256, 4, 64
"""Of the layer, and of the sequence that it is fed."""


def say(event: dict[str, object]) -> None:
    """Writes one event: to the host, or without one to standard output."""
    fd = int(os.environ.get("SWTCH_CONTRACT_FD", "1"))
    line = json.dumps(event).encode() + b"\n"
    while line:
        line = line[os.write(fd, line) :]


def main(arguments: list[str]) -> int:
    """Runs the layer; returns the exit status."""
    if len(arguments) > 1 or not all(one.isdigit() and int(one) > 0 for one in arguments):
        print("usage: pytorch_workload.py [THREADS]", file=sys.stderr)
        return 2
    try:
        import torch
    except ImportError:
        message = "PyTorch is not installed; pip install torch"
        say({"event": "error", "message": message})
        print(f"pytorch_workload: {message}", file=sys.stderr)
        return 1
    threads = int(arguments[0]) if arguments else 1
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, batch_first=True).eval()
    tokens = torch.rand(1, TOKENS, WIDTH)
    begins, ends = [], []
    with torch.inference_mode():
        model(tokens)
        say(
            {
                "event": "ready",
                "version": 1,
                "pid": os.getpid(),
                "workload": "pytorch",
                "threads": threads,
                "runtime_version": str(torch.__version__),
            }
        )
        if "SWTCH_CONTRACT_FD" in os.environ and sys.stdin.readline().strip() != "go":
            return 1
        most = int(os.environ.get("SWTCH_CONTRACT_INFERENCES", sys.maxsize))
        duration_s = float(os.environ.get("SWTCH_CONTRACT_DURATION_S", DURATION_S))
        deadline_ns = time.monotonic_ns() + int(duration_s * 1e9)
        while len(begins) < most:
            begins.append(time.monotonic_ns())
            output = model(tokens)
            ends.append(time.monotonic_ns())
            if ends[-1] >= deadline_ns:
                break
    for first in range(0, len(begins), 4096):
        last = first + 4096
        say({"event": "spans", "begin_ns": begins[first:last], "end_ns": ends[first:last]})
    say({"event": "metrics", "inferences": len(begins), "output_mean": float(output.mean())})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
