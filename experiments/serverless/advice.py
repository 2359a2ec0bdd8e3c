"""Functions of ten lines with one fault each, what `swtch faas tiers` says of them, and whether what it promises is true.

    python experiments/serverless/advice.py [--runs 16] [SENTENCE...]

Needs root, or a cgroup that is delegated to this user, and two CPUs. For each fault the function runs in two tiers and unthrottled; then
the sentence is followed, and the latency before and after is printed. Exit status 0: every sentence came, and every promise held.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

FUNCTIONS = """\
import hashlib, os, threading, time

KEPT = []

def cpu(ms):
    # Of one thread; Python's lock is not held meanwhile.
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", int(ms * ROUNDS))

def begun():
    began = time.thread_time()
    hashlib.pbkdf2_hmac("sha256", b"x", b"y", 200_000)
    return 200_000 / (time.thread_time() - began) / 1e3

ROUNDS = float(os.environ.get("ROUNDS_PER_MS") or begun())

def slow_dependency(event, context):
    cpu(2)
    time.sleep(0.2)

def four_threads(event, context):
    threads = [threading.Thread(target=cpu, args=(250,)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

def one_thread(event, context):
    cpu(1000)

def a_little_much(event, context):
    cpu(58)

def a_little_less(event, context):
    cpu(42)

def leaks(event, context):
    KEPT.append(bytearray(os.urandom(3 << 20)))

def leaks_not(event, context):
    bytearray(os.urandom(3 << 20))
"""
FAULTS = (
    # The function, the one that follows the sentence, the tier that counts, the sentence, and its promise.
    ("slow_dependency", None, (128, 0.1), "waits", "a larger tier is not faster"),
    ("four_threads", "one_thread", (256, 1.0), "threads", "no slower with one thread"),
    ("a_little_much", "a_little_less", (128, 0.5), "quota step", "done within one period"),
    ("leaks", "leaks_not", (64, 0.5), "memory", "killed at the limit, and not without the leak"),
    ("a_little_much", None, (64, 0.05), "quota tick", "calls take several periods"),
)


def main() -> int:
    """Runs them all."""
    options = argparse.ArgumentParser(allow_abbrev=False, description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=16)
    options.add_argument(
        "sentences", nargs="*", metavar="SENTENCE", help="waits, threads, memory, ... [default: all]"
    )
    given = options.parse_args()
    print(
        "| function | tier | sentence | latency ms | then | promise |\n| --- | --- | --- | --- | --- | --- |"
    )
    held = [
        _fault(*fault, given.runs) for fault in FAULTS if not given.sentences or fault[3] in given.sentences
    ]
    return 0 if all(held) else 1


def _fault(
    name: str, better: str | None, tier: tuple[int, float], what: str, promise: str, runs: int
) -> bool:
    period = "20ms" if what == "quota tick" else "100ms"
    before = _study(name, tier, period, runs)
    after = before if better is None else _study(better, tier, period, runs)
    said = [one["text"] for one in before["advice"] if one["what"] == what]
    small, then = _latencies(before, 0), _latencies(after, 0)
    if what == "waits":
        then = _latencies(before, 1)
        true = statistics.median(then) > 0.9 * statistics.median(small)
    elif what == "threads":
        true = statistics.median(then) <= 1.1 * statistics.median(small)
    elif what == "quota step":
        true = statistics.median(then) < 60 < statistics.median(small)
    elif what == "memory":
        true = _killed(before) > 0 == _killed(after)
    else:
        true = statistics.median(small) > 3 * 20
    shown = f"{statistics.median(small):.1f}", f"{statistics.median(then):.1f}"
    print(f"| `{name}` | {tier[0]} MB, {tier[1]:g} CPU, {period} | {said[0] if said else 'none'} | {shown[0]} | {shown[1]} | {promise}: {'holds' if true else 'does not hold'} |")  # fmt: skip
    return bool(said) and true


def _study(name: str, tier: tuple[int, float], period: str, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as at:
        place = Path(at)
        (place / "faults.py").write_text(FUNCTIONS)
        tiers = [{"memory_mb": tier[0], "cpus": tier[1]}, {"memory_mb": 512, "cpus": 1.5}]
        (place / "tiers.json").write_text(json.dumps({"tiers": tiers}))
        words = ["tiers", "--handler", f"faults:{name}", "--tiers", "tiers.json", "--period", period, "--runs", str(runs), "-o", "out", "--json"]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "swtch.faas.command", *words],
            cwd=place, env={**os.environ, "ROUNDS_PER_MS": _rounds()}, stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
        return found


_known: list[str] = []


def _rounds() -> str:
    """How much a millisecond is, the same for all."""
    if not _known:
        script = (
            FUNCTIONS.split("def slow_dependency")[0] + "print(statistics.median(begun() for _ in range(5)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", f"import statistics\n{script}"], capture_output=True, text=True, check=True
        )
        _known.append(done.stdout.strip())
    return _known[0]


def _latencies(study: dict[str, Any], place: int) -> list[float]:
    name = study["tiers"][place]["name"]
    return [
        one["latency_ns"] / 1e6
        for one in study["invocations"]
        if one["tier"] == name and one["outcome"] == "complete"
    ]


def _killed(study: dict[str, Any]) -> int:
    name = study["tiers"][0]["name"]
    return sum(one["outcome"] == "oom" for one in study["invocations"] if one["tier"] == name)


if __name__ == "__main__":
    sys.exit(main())
