"""How many instructions a context switch, a fork and an exec take, by architecture and kernel, and which functions make the difference.

    tools/setup dist && cargo xtask dist --arch aarch64 --arch riscv64 programs
    python experiments/architectures/paths.py [--arch ARCH...] [--kernel VERSION...] [--trace PATH] [--json FILE]

Everything runs in virtual machines that count instructions (`swtch vm --deterministic`), so the figures are the same wherever it runs. The kernel's own
tracer tells which functions are called (function_graph); what it takes itself is estimated from the shortest functions and taken out. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(__file__).with_name("paths.c")
ZIG = {"x86_64": "x86_64-linux-musl", "arm64": "aarch64-linux-musl", "riscv64": "riscv64-linux-musl"}
"""Architectures as `swtch vm` calls them, and their compiler's target."""
ACROSS = "futex-across"
COUNTS_SEVERAL_CPUS = ("x86_64", "arm64")
"""QEMU 7.2 may never let one of several CPUs of riscv64 run where it counts instructions."""
SWITCHES = {"pipe": 2, "futex": 2, ACROSS: 2}
"""Context switches in a round."""
OWN_SWITCHES = {"pipe": 1, "futex": 2, ACROSS: 2}
"""Those of them that the program counts: the other process of the pipe's pair counts its own."""
ROWS = (
    ("call", "a system call (`getppid`)"),
    ("pipe-alone", "a byte through a pipe, without a switch"),
    ("pipe", "a switch by a pipe, two processes"),
    ("futex", "a switch by a futex, two threads"),
    (ACROSS, "the same from CPU to CPU"),
    ("fork", "fork, exit and wait"),
    ("exec", "fork, exec, exit and wait"),
)
LIMIT_S = 90
"""For a guest to boot, and as long again for the program: both take some ten seconds."""
ROUNDS = 20
"""That are traced."""
TOLERANCE = 0.05
"""Switches that may be missing or too many before a figure is refused."""
MOST_FUNCTIONS = 14
RARE = 0.5
"""A function that is called less often in a round is not of the path: ticks, and the beginning and the end of tracing."""
ENDS = 0.1
"""The shortest and the longest calls of a function that are left out: something interrupted them, or the tracer began or ended in them."""
BEGIN = r"\s*\d+\)\s+(?P<task>\S+-\d+)\s*\|\s*"
OPENS = re.compile(BEGIN + r"\|\s+(?P<name>[\w.]+)\(\) \{")
CLOSES = re.compile(BEGIN + r"(?P<us>[\d.]+) us\s*\|\s+\}")
LEAF = re.compile(BEGIN + r"(?P<us>[\d.]+) us\s*\|\s+(?P<name>[\w.]+)\(\);")
TRACER = "__traceiter_"
"""Functions by which the tracer follows a switch."""
SYSTEM_CALL = re.compile(r"^__(x64|arm64|riscv)_sys_")
LOST = "LOST"


class Failed(RuntimeError):
    """A guest that did not do what it was to; the text is one line."""


@dataclass
class Functions:
    """Kernel functions on a path, each over all rounds."""

    calls: Counter[str] = field(default_factory=Counter)
    own_ns: Counter[str] = field(default_factory=Counter)

    @property
    def total_ns(self) -> float:
        """Of a round."""
        return sum(self.own_ns.values()) / ROUNDS

    def of(self, name: str) -> tuple[float, float]:
        """Calls and instructions of a function in a round."""
        return self.calls[name] / ROUNDS, self.own_ns[name] / ROUNDS


def main() -> int:
    """Boots the guests one after the other and prints the tables."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", nargs="+", choices=ZIG, default=list(ZIG))
    parser.add_argument(
        "--kernel", nargs="+", default=["6.12", "newest"], help="versions of Debian's, or newest"
    )
    parser.add_argument("--trace", default="pipe", choices=[name for name, _ in ROWS if name != ACROSS])
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures here too")
    options = parser.parse_args()
    figures: dict[str, dict[str, float]] = {}
    functions: dict[str, Functions] = {}
    missing: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        for arch in options.arch:
            program = compiled(SOURCE, arch, Path(directory))
            for kernel in options.kernel:
                try:
                    name, timed = times(arch, kernel, program)
                    functions[name] = traced(arch, kernel, program, options.trace)
                except Failed as error:
                    missing.append(str(error))
                else:
                    figures[name] = timed
                    print(f"{name}: done", file=sys.stderr, flush=True)
    if not figures:
        print(f"error: {missing[0]}", file=sys.stderr)
        return 1
    if options.json:
        document = {
            name: {
                "instructions": figures[name],
                "calls": functions[name].calls,
                "own": functions[name].own_ns,
            }
            for name in figures
        }
        options.json.write_text(json.dumps(document, indent=1) + "\n")
    print(table(figures))
    print(differences(options.trace, figures, functions))
    for why in missing:
        print(f"Not there: {why}")
    return 0


def compiled(source: Path, arch: str, directory: Path) -> Path:
    """A program for an architecture, without libraries."""
    program = directory / arch / source.stem
    program.parent.mkdir(exist_ok=True)
    words = [sys.executable, "-m", "ziglang", "cc", "-target", ZIG[arch], "-static", "-O2"]
    done = subprocess.run([*words, "-o", str(program), str(source)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(
            f"error: {source.name} does not compile for {arch}: {(done.stderr.strip() or '?').splitlines()[0]}"
        )
    return program


def with_programs(arch: str) -> dict[str, str]:
    """An environment in which guests of an architecture have the programs that were built here."""
    programs = {"arm64": "aarch64"}.get(arch, arch)
    return {"SWTCH_GUEST_PROGRAMS": str(ROOT / "target/dist" / programs), **os.environ}


def guest(arch: str, kernel: str, program: Path, cpus: int, *words: str) -> tuple[str, str]:
    """What the program prints in a guest, and the guest's kernel."""
    swtch = os.environ.get("SWTCH_BIN", str(ROOT / "target/release/swtch"))
    command = [swtch, "vm", "--deterministic", "--arch", arch, "--cpus", str(cpus), "--json"]
    if kernel != "newest":
        command += ["--kernel", kernel]
    command += ["--timeout", f"{LIMIT_S}s", "--boot-timeout", f"{LIMIT_S}s", "--", str(program), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=with_programs(arch))
    events = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    said = "".join(e["text"] for e in events if e["event"] == "output" and e["stream"] == "stdout")
    booted = next((e["kernel"] for e in events if e["event"] == "booted"), None)
    if done.returncode or not said or booted is None:
        raise Failed(
            f"{arch}, Linux {kernel}: {(done.stderr.strip() or 'nothing was printed').splitlines()[-1]}"
        )
    return said, booted


def times(arch: str, kernel: str, program: Path) -> tuple[str, dict[str, float]]:
    """The guest's name, and instructions of each path: of a switch where there are some, otherwise of a round. One CPU has as many of its instructions
    counted as nanoseconds pass; several take turns, so only what crosses CPUs is done with them."""
    here = [path for path, _ in ROWS if path != ACROSS]
    said, booted = guest(arch, kernel, program, 1, "time", *here)
    if arch in COUNTS_SEVERAL_CPUS:
        said += guest(arch, kernel, program, 2, "time", ACROSS)[0]
        here.append(ACROSS)
    found = {}
    for line in said.splitlines():
        path, took_ns, rounds, counted = line.split()
        expected = OWN_SWITCHES.get(path, 0) * int(rounds)
        if expected and abs(int(counted) / expected - 1) > TOLERANCE:
            raise Failed(f"{arch}, Linux {kernel}: {path} made {counted} switches instead of {expected}")
        found[path] = int(took_ns) / int(rounds) / SWITCHES.get(path, 1)
    if set(found) != set(here):
        raise Failed(f"{arch}, Linux {kernel}: only {', '.join(found)} were measured")
    return f"{arch}, {'.'.join(booted.split('.')[:2])}", found


def traced(arch: str, kernel: str, program: Path, path: str) -> Functions:
    """The functions of a path."""
    said, _ = guest(arch, kernel, program, 1, "trace", path, str(ROUNDS))
    if LOST in said:
        raise Failed(f"{arch}, Linux {kernel}: the tracer lost events; trace fewer rounds")
    return functions_of(said)


def functions_of(text: str) -> Functions:
    """Own times of the functions of a trace, without what the tracer takes.

    A call makes its caller longer by what is recorded of it and by what the tracer does before and after that. Both are taken from the shortest functions: one
    that calls nothing, and the difference between one with a single call and that call.
    """
    called: list[tuple[str, float, list[float]]] = []
    own: dict[str, list[float]] = defaultdict(list)
    open_calls: dict[str, list[tuple[str, list[float]]]] = defaultdict(list)

    def close(task: str, name: str, ns: float, inside: list[float]) -> None:
        called.append((name, ns, inside))
        if open_calls[task]:
            open_calls[task][-1][1].append(ns)

    for line in text.splitlines():
        if match := LEAF.match(line):
            close(match["task"], match["name"], float(match["us"]) * 1000, [])
        elif match := OPENS.match(line):
            open_calls[match["task"]].append((match["name"], []))
        elif (match := CLOSES.match(line)) and open_calls[match["task"]]:
            name, inside = open_calls[match["task"]].pop()
            close(match["task"], name, float(match["us"]) * 1000, inside)
    recorded, around = tracer_ns(called)
    for name, ns, inside in called:
        if not name.startswith(TRACER):
            own[SYSTEM_CALL.sub("sys_", name)].append(ns - sum(inside) - recorded - len(inside) * around)
    found = Functions()
    for name, times in own.items():
        if len(times) >= RARE * ROUNDS:
            at_each_end = math.ceil(len(times) * ENDS)
            usual = sorted(times)[at_each_end:-at_each_end]
            found.calls[name] = len(times)
            found.own_ns[name] = statistics.fmean(usual) * len(times)
    return found


def tracer_ns(called: list[tuple[str, float, list[float]]]) -> tuple[float, float]:
    """What the tracer adds to a function itself, and to its caller besides."""
    leaves, callers = defaultdict(list), defaultdict(list)
    for name, ns, inside in called:
        if not inside:
            leaves[name].append(ns)
        elif len(inside) == 1:
            callers[name].append(ns - inside[0])
    # Where the clock is coarse, only means of many calls tell.
    often = [
        [statistics.fmean(times) for times in kind.values() if len(times) >= ROUNDS]
        for kind in (leaves, callers)
    ]
    if not all(often):
        raise Failed("too few functions were called often enough to tell what the tracer takes")
    recorded, with_one = map(min, often)
    return recorded, with_one - recorded


def table(figures: dict[str, dict[str, float]]) -> str:
    """A column for each guest."""
    lines = [
        "| instructions | " + " | ".join(figures) + " |",
        "| --- |" + " --- |" * len(figures),
    ]
    for path, meaning in ROWS:
        cells = " | ".join(f"{of[path]:,.0f}" if path in of else "–" for of in figures.values())
        lines.append(f"| {meaning} | {cells} |")
    return "\n".join(lines) + "\n"


def differences(path: str, figures: dict[str, dict[str, float]], functions: dict[str, Functions]) -> str:
    """The functions whose instructions differ most between guests, in a round."""

    def width(name: str) -> float:
        own = [of.of(name)[1] for of in functions.values()]
        return max(own) - min(own)

    names = {name for of in functions.values() for name in of.calls}
    largest = sorted(names, key=width, reverse=True)[:MOST_FUNCTIONS]
    lines = [
        f"| {path}, a round: calls, instructions | " + " | ".join(functions) + " |",
        "| --- |" + " --- |" * len(functions),
        "| calls of all functions | "
        + " | ".join(f"{sum(of.calls.values()) / ROUNDS:,.0f}" for of in functions.values())
        + " |",
        "| instructions in them, of all in the round | "
        + " | ".join(
            f"{of.total_ns:,.0f} of {figures[name][path] * SWITCHES.get(path, 1):,.0f}"
            for name, of in functions.items()
        )
        + " |",
    ]
    for name in largest:
        cells = []
        for of in functions.values():
            calls, own = of.of(name)
            cells.append(f"{calls:.3g}, {own:,.0f}" if calls else "–")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
