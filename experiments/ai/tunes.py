"""Whether `swtch ai tune` may be believed: tunes of settings that are all alike, and of a model beside a competitor on one CPU.

    python experiments/ai/tunes.py alike [--tunes 40]
    python experiments/ai/tunes.py competitor [--trials 5]

`alike`: the workload ignores its settings, so every tune that recommends a change is wrong. Exit status 0: at most 5 % did.
`competitor`: a model of three dense layers, beside a process that takes CPU 1 for 0.3 s every 2 s. After each tune for p99, a plain program
measures all settings in turn, without swtch. Exit status 0: in four of five trials the pick was the best of them, or not distinguishable from
the best by an exact rank test at the 5 % level.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ALIKE = """\
import hashlib, os, time
from swtch.ai.contract import Workload
os.sched_setaffinity(0, range(os.cpu_count()))
workload = Workload()
workload.ready(model="alike")
if workload.wait_for_go():
    end = time.monotonic() + workload.duration_s
    while time.monotonic() < end:
        with workload.unit():
            hashlib.pbkdf2_hmac("sha256", b"x", b"y", 2000)
    workload.finish()
"""
PLAIN = """\
import sys, time, os, numpy, onnxruntime
path, threads, spinning, cpus, seconds = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5])
if cpus:
    os.sched_setaffinity(0, map(int, cpus.split(",")))
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
options.add_session_config_entry("session.intra_op.allow_spinning", spinning)
session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
data = {"x": numpy.random.default_rng(0).random((64, 512), numpy.float32)}
for _ in range(20):
    session.run(None, data)
took, end = [], time.monotonic() + seconds
while time.monotonic() < end:
    began = time.perf_counter_ns()
    session.run(None, data)
    took.append(time.perf_counter_ns() - began)
took.sort()
print(took[min(len(took) - 1, int(0.99 * len(took)))])
"""
COMPETITOR = """\
import os, time
os.sched_setaffinity(0, {1})
while os.getppid() == PARENT:
    end = time.monotonic() + 0.3
    while time.monotonic() < end:
        pass
    time.sleep(1.7)
"""
REPEATS = 5
LEVEL = 0.05


def main() -> int:
    """Runs what is asked for."""
    options = argparse.ArgumentParser(allow_abbrev=False, description=__doc__.splitlines()[0])
    options.add_argument("what", choices=("alike", "competitor"))
    options.add_argument("--tunes", type=int, default=40)
    options.add_argument("--trials", type=int, default=5)
    options.add_argument("--swtch", default="swtch")
    options.add_argument("--duration", default=None)
    given = options.parse_args()
    return alike(given) if given.what == "alike" else competitor(given)


def alike(given: argparse.Namespace) -> int:
    """Counts the tunes that recommend a change where there is nothing to gain."""
    wrong = undecided = 0
    with tempfile.TemporaryDirectory() as at:
        program = Path(at) / "alike.py"
        program.write_text(ALIKE)
        for number in range(given.tunes):
            words = ["--no-record", "--duration", given.duration or "500ms", "--seed", str(number)]
            found = tuned(given.swtch, at, [*words, "--", sys.executable, str(program)])
            wrong += found["advice"] is not None
            undecided += found["best"] is None
            print(f"{number + 1}: {found['text']}", flush=True)
    print(f"{wrong} of {given.tunes} tunes recommend a change, {undecided} cannot decide")
    return 0 if wrong <= LEVEL * given.tunes else 1


def competitor(given: argparse.Namespace) -> int:
    """Counts the picks that a plain program finds the best, or not distinguishable from it."""
    right = 0
    with tempfile.TemporaryDirectory() as at, competing():
        model = dense(Path(at) / "dense.onnx")
        seconds = 4.0
        for number in range(given.trials):
            words = ["--objective", "p99", "--as-loaded", "--no-record", "--seed", str(number), "--duration", f"{seconds}s", str(model)]  # fmt: skip
            found = tuned(given.swtch, at, words)
            print(f"{number + 1}: {found['text']}", flush=True)
            if found["best"] is None:
                continue
            picked = key(found["best"]["settings"])
            p99_ns = plain(model, seconds, number)
            best = min(p99_ns, key=lambda one: statistics.median(p99_ns[one]))
            chance = 1.0 if best == picked else rank_test(p99_ns[best], p99_ns[picked])
            right += chance > LEVEL
            print(f"   plain: {shown(p99_ns)}")
            print(f"   best {named(best)}, picked {named(picked)}, p {chance:.3f}: {'right' if chance > LEVEL else 'wrong'}", flush=True)  # fmt: skip
    print(f"{right} of {given.trials} picks are the best, or not distinguishable from it")
    return 0 if right >= 0.8 * given.trials else 1


def tuned(swtch: str, at: str, words: list[str]) -> dict[str, Any]:
    """What a tune found."""
    with tempfile.TemporaryDirectory(dir=at) as out:
        command = [swtch, "ai", "tune", "--no-vm", "--json", "-o", f"{out}/study", *words]
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True
        )
        found: dict[str, Any] = json.loads(done.stdout)["tuned"]
        return found


def dense(path: Path) -> Path:
    """A model of three dense layers with seeded weights."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random_numbers = numpy.random.default_rng(0)
    nodes, weights, before = [], [], "x"
    for layer in range(3):
        values = random_numbers.standard_normal((512, 512), numpy.float32) / 23
        weights.append(numpy_helper.from_array(values, f"w{layer}"))
        nodes.append(helper.make_node("MatMul", [before, f"w{layer}"], [f"m{layer}"]))
        nodes.append(helper.make_node("Relu", [f"m{layer}"], [f"y{layer}"]))
        before = f"y{layer}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [64, 512]) for name in ("x", before)]
    graph = helper.make_graph(nodes, "dense", ends[:1], ends[1:], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    return path


Key = tuple[int, bool, str]


def key(settings: dict[str, Any]) -> Key:
    """Threads, spinning and CPUs."""
    return settings["threads"], settings["spinning"], settings["pinned"] or ""


def named(one: Key) -> str:
    """As tune names settings."""
    return f"t{one[0]}.{'spin' if one[1] else 'block'}{f'.pinned-{one[2]}' if one[2] else ''}"


def plain(model: Path, seconds: float, seed: int) -> dict[Key, list[float]]:
    """The p99 of each setting, five runs in turn, by a program of a few lines."""
    cpus = os.cpu_count() or 1
    every: list[Key] = [
        (threads, spinning, "") for threads in (1, cpus, 2 * cpus) for spinning in (True, False)
    ]
    every += [(1, spinning, "0") for spinning in (True, False)]
    found: dict[Key, list[float]] = {one: [] for one in every}
    for repeat in range(REPEATS):
        random.Random(f"{seed} {repeat}").shuffle(every)
        for one in every:
            words = [
                sys.executable,
                "-c",
                PLAIN,
                str(model),
                str(one[0]),
                str(int(one[1])),
                one[2],
                str(seconds),
            ]
            done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
            found[one].append(float(done.stdout))
    return found


def shown(p99_ns: dict[Key, list[float]]) -> str:
    """Medians of p99, best first."""
    ranked = sorted(p99_ns.items(), key=lambda item: statistics.median(item[1]))
    return ", ".join(f"{named(one)} {statistics.median(values) / 1e6:.2f} ms" for one, values in ranked)


def rank_test(one: list[float], other: list[float]) -> float:
    """Two-sided p-value of the exact rank-sum test (Mann and Whitney, 1947)."""
    both = sorted([*one, *other])
    ranks = {value: statistics.mean(at for at, found in enumerate(both) if found == value) for value in both}
    middle = len(one) * (len(both) - 1) / 2
    away = abs(sum(ranks[value] for value in one) - middle)
    sums = [
        sum(ranks[both[at]] for at in at_once)
        for at_once in itertools.combinations(range(len(both)), len(one))
    ]
    return sum(abs(found - middle) >= away - 1e-9 for found in sums) / len(sums)


@contextmanager
def competing() -> Iterator[None]:
    """The competitor, for the time of the block."""
    child = subprocess.Popen([sys.executable, "-c", COMPETITOR.replace("PARENT", str(os.getpid()))])
    try:
        yield
    finally:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
