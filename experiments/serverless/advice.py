"""Functions of ten lines with one fault each, what `swtch faas tiers` says of them, and whether what it promises is true.

    python experiments/serverless/advice.py [--runs 16] [--language python,node,go,java] [SENTENCE...]

Needs root, or a cgroup that is delegated to this user, two CPUs, and the languages' tools. For each fault the function runs in two tiers and
unthrottled; then the sentence is followed, and the latency before and after is printed. Exit status 0: every sentence came, and every
promise held. The two about the quota's size are tried in Python only: how long 58 ms of work is must be known well for them.
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
LEAK = int(os.environ.get("LEAK_BYTES", 0))

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
    KEPT.append(bytearray(os.urandom(LEAK)))

def leaks_not(event, context):
    bytearray(os.urandom(LEAK))
"""
NODE = """\
const crypto = require('node:crypto');
const kept = [];
const rounds = (ms) => Math.round(ms * Number(process.env.ROUNDS_PER_MS));
// Of one thread each, of the four that Node.js has for it.
const cpu = (ms) => new Promise((done) => crypto.pbkdf2('x', 'y', rounds(ms), 32, 'sha256', done));
exports.slow_dependency = async () => { await cpu(2); await new Promise((done) => setTimeout(done, 200)); };
exports.four_threads = () => Promise.all([cpu(250), cpu(250), cpu(250), cpu(250)]);
exports.one_thread = () => cpu(1000);
exports.leaks = () => { kept.push(Buffer.alloc(Number(process.env.LEAK_BYTES), 1)); };
exports.leaks_not = () => { Buffer.alloc(Number(process.env.LEAK_BYTES), 1); };
"""
GO = """\
package faults

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"os"
	"strconv"
	"sync"
	"time"
)

var kept [][]byte
var leak, _ = strconv.Atoi(os.Getenv("LEAK_BYTES"))
var rounds, _ = strconv.ParseFloat(os.Getenv("ROUNDS_PER_MS"), 64)

func cpu(ms float64) { pbkdf2.Key(sha256.New, "x", []byte("y"), int(ms*rounds), 32) }
func SlowDependency(event any) (any, error) { cpu(2); time.Sleep(200 * time.Millisecond); return nil, nil }
func OneThread(event any) (any, error) { cpu(1000); return nil, nil }
func FourThreads(event any) (any, error) {
	var all sync.WaitGroup
	for range 4 { all.Go(func() { cpu(250) }) }
	all.Wait()
	return nil, nil
}
func some() []byte { bytes := make([]byte, leak); for at := range bytes { bytes[at] = 1 }; return bytes }
func Leaks(event any) (any, error) { kept = append(kept, some()); return nil, nil }
func LeaksNot(event any) (any, error) { return len(some()), nil }
"""
JAVA = """\
import java.util.*;
import java.util.stream.IntStream;
import javax.crypto.SecretKeyFactory;
import javax.crypto.spec.PBEKeySpec;

public class Faults {
    static final List<byte[]> KEPT = new ArrayList<>();
    static final int LEAK = Integer.parseInt(System.getenv("LEAK_BYTES"));
    static final double ROUNDS = Double.parseDouble(System.getenv("ROUNDS_PER_MS"));
    static void cpu(double ms) throws Exception {
        var work = new PBEKeySpec("x".toCharArray(), new byte[] {1}, (int) (ms * ROUNDS / 2), 256);
        SecretKeyFactory.getInstance("PBKDF2WithHmacSHA256").generateSecret(work);
    }
    public Object slow_dependency(Object event) throws Exception { cpu(2); Thread.sleep(200); return null; }
    public Object one_thread(Object event) throws Exception { cpu(1000); return null; }
    public Object four_threads(Object event) throws Exception {
        Thread[] all = new Thread[4];
        for (int at = 0; at < 4; at++) (all[at] = new Thread(() -> { try { cpu(250); } catch (Exception e) { throw new Error(e); } })).start();
        for (Thread one : all) one.join();
        return null;
    }
    public Object leaks(Object event) { KEPT.add(new byte[LEAK]); return null; }
    public Object leaks_not(Object event) { return new byte[LEAK].length; }
}
"""
FAULTS = (
    # The function, the one that follows the sentence, the tier that counts, the sentence, and its promise.
    ("slow_dependency", None, (128, 0.1), "waits", "a larger tier is not faster"),
    ("four_threads", "one_thread", (256, 1.0), "threads", "no slower with one thread"),
    ("a_little_much", "a_little_less", (128, 0.5), "quota step", "done within one period"),
    ("leaks", "leaks_not", (64, 0.5), "memory", "no memory left, and enough without the leak"),
    ("a_little_much", None, (64, 0.05), "quota tick", "calls take several periods"),
)
OF_EACH = ("waits", "threads", "memory")
"""Sentences that are tried in every language."""
CALLS_TO_LIMIT = 12
"""Calls of a function that leaks which fill the tier's memory."""
SMALLEST_MB = {"go": 64, "java": 256, "node": 128, "python": 64}
"""A tier in which the language's runtime has room, and little more."""


def main() -> int:
    """Runs them all."""
    options = argparse.ArgumentParser(allow_abbrev=False, description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=16)
    options.add_argument(
        "sentences", nargs="*", metavar="SENTENCE", help="waits, threads, memory, ... [default: all]"
    )
    options.add_argument("--language", default="python,node,go,java")
    given = options.parse_args()
    print(
        "| language | function | tier | sentence | latency ms | then | promise |\n| --- | --- | --- | --- | --- | --- | --- |"
    )
    held = [
        _fault(language, *fault, given.runs)
        for language in given.language.split(",")
        for fault in FAULTS
        if (not given.sentences or fault[3] in given.sentences)
        and (language == "python" or fault[3] in OF_EACH)
    ]
    return 0 if all(held) else 1


def _fault(
    language: str, name: str, better: str | None, tier: tuple[int, float], what: str, promise: str, runs: int
) -> bool:
    period = "20ms" if what == "quota tick" else "100ms"
    tier = (max(tier[0], SMALLEST_MB[language]), tier[1])
    before = _study(language, name, tier, period, runs)
    after = before if better is None else _study(language, better, tier, period, runs)
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
    print(f"| {language} | `{name}` | {tier[0]} MB, {tier[1]:g} CPU, {period} | {said[0] if said else 'none'} | {shown[0]} | {shown[1]} | {promise}: {'holds' if true else 'does not hold'} |", flush=True)  # fmt: skip
    return bool(said) and true


def _study(language: str, name: str, tier: tuple[int, float], period: str, runs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as at:
        place = Path(at)
        handler = _written(place, language, name)
        tiers = [{"memory_mb": tier[0], "cpus": tier[1]}, {"memory_mb": 512, "cpus": 1.5}]
        (place / "tiers.json").write_text(json.dumps({"tiers": tiers}))
        words = ["tiers", "--handler", handler, "--language", language, "--tiers", "tiers.json", "--period", period, "--runs", str(runs), "-o", "out", "--json"]  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-m", "swtch.faas.command", *words],
            cwd=place, env={**os.environ, "ROUNDS_PER_MS": _rounds(), "LEAK_BYTES": str((tier[0] << 20) // CALLS_TO_LIMIT)}, stdout=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def _written(place: Path, language: str, name: str) -> str:
    """The handler whose source is written there."""
    if language == "python":
        (place / "faults.py").write_text(FUNCTIONS)
        return f"faults:{name}"
    if language == "node":
        (place / "faults.js").write_text(NODE)
        return f"faults:{name}"
    if language == "go":
        (place / "go.mod").write_text("module faults\n\ngo 1.25\n")
        (place / "faults.go").write_text(GO)
        return f".:{name.title().replace('_', '')}"
    (place / "Faults.java").write_text(JAVA)
    subprocess.run(["javac", "Faults.java"], cwd=place, check=True)
    os.environ["CLASSPATH"] = str(place)
    return f"Faults::{name}"


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
    """Calls that ended for want of memory: by the kernel, or of Java by its own heap."""
    name = study["tiers"][0]["name"]
    of = [one for one in study["invocations"] if one["tier"] == name]
    return sum(one["outcome"] == "oom" or "OutOfMemoryError" in (one["why"] or "") for one in of)


if __name__ == "__main__":
    sys.exit(main())
