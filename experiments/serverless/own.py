"""Functions of a user by `swtch faas tiers --handler`, against the same function in a plain loop and behind a plain HTTP server in the same cgroup.

    python experiments/serverless/own.py [--rounds N] [--tiers 256,512,1769] [--period 100ms] [--work-ms N] [--out FILE] [--limit-s N]

The functions are those of `functions/`: a loop in Python, a loop in Node.js, and hashing in one and in two threads. The plain loop is the
function's own language calling it for each line, timed by its own clock; the plain server is `http.server` or `node:http`, asked over a
connection that was opened before. In each round every tier and function has all three once, in random order, with the same event, and all begin at
the same place in the quota's period. Events differ between rounds by a quarter up or down. Each result is a line of FILE at once, and
the same command goes on where it was stopped, also by --limit-s.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import random
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loop import invoked, wait_for

from swtch.faas.own import OwnFunction
from swtch.faas.plan import Plan
from swtch.faas.runner import Place
from swtch.faas.tier_sets import LAMBDA_MB_PER_CPU, Tier

HERE = Path(__file__).resolve().parent / "functions"
WAYS = ("swtch", "loop", "http")
FUNCTIONS = {
    "Python": ("python", "users:loop"),
    "Node.js": ("node", "users.js:loop"),
    "one thread": ("python", "users:one_thread"),
    "two threads": ("python", "users:two_threads"),
}
VARIANTS = ("one thread", "two threads")
TOLERANCE = 0.05
_SPREAD = 0.25


def main() -> int:
    """Prints a row for each tier and function; 1 when a ratio is further off than 5 %."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--tiers", default="256,512,1769")
    parser.add_argument("--period", default="100ms")
    parser.add_argument("--work-ms", type=float, default=40.0)
    parser.add_argument("--out", type=Path, default=Path("own.jsonl"))
    parser.add_argument("--limit-s", type=float, default=math.inf)
    options = parser.parse_args()
    deadline = time.monotonic() + options.limit_s
    period_us = int(options.period.removesuffix("ms")) * 1000
    tiers = [
        Tier(f"{text} MB", int(text), int(text) / LAMBDA_MB_PER_CPU) for text in options.tiers.split(",")
    ]
    whole = True
    for tier in tiers:
        whole &= measure(tier, period_us, options.rounds, options.work_ms, options.out.resolve(), deadline)
    lines = read(options.out)
    ok = table(lines)
    if not whole:
        print("not finished: the same command goes on", file=sys.stderr)
    return int(not (whole and ok))


def read(out: Path) -> list[dict[str, Any]]:
    """What a file has."""
    return [json.loads(text) for text in out.read_text().splitlines()] if out.exists() else []


def measure(tier: Tier, period_us: int, rounds: int, work_ms: float, out: Path, deadline: float) -> bool:
    """All functions in a tier, as far as FILE has not. Returns whether that was all."""
    done = {(line["function"], line["round"]) for line in read(out) if line["tier"] == tier.name}
    todo = [(number, name) for number in range(rounds) for name in FUNCTIONS if (name, number) not in done]
    if not todo:
        return True
    with contextlib.ExitStack() as stack, contextlib.chdir(HERE):
        every = {name: Subject(name, tier, period_us, work_ms, stack) for name in FUNCTIONS}
        file = stack.enter_context(open(out, "a"))
        for number in range(rounds):
            drawn = random.Random(number)
            phase_ns = round((number + 0.5) / rounds * period_us * 1000)
            for name in drawn.sample(list(FUNCTIONS), len(FUNCTIONS)):
                factor, ways = drawn.uniform(1 - _SPREAD, 1 + _SPREAD), drawn.sample(WAYS, len(WAYS))
                if (number, name) not in todo:
                    continue
                if time.monotonic() + 5 > deadline:
                    return False
                line: dict[str, Any] = {"tier": tier.name, "function": name, "round": number}
                for way in ways:
                    wait_for(phase_ns, period_us * 1000)
                    line[way] = every[name].run(way, factor)
                file.write(json.dumps(line) + "\n")
                file.flush()
    return True


class Subject:
    """A function in a tier's cgroup, three times."""

    def __init__(
        self, name: str, tier: Tier, period_us: int, work_ms: float, stack: contextlib.ExitStack
    ) -> None:
        language, what = FUNCTIONS[name]
        own = OwnFunction(name, language, what)
        self._plan = Plan(
            kind="own", subjects=(name,), name=name, tier_set="own", tier_source="", tiers=(tier,), price=None, period_us=period_us,
            works_ms=(0.0,), repeats=1, seed=0, limit_s=60.0, functions=(own,),
        )  # fmt: skip
        program = [sys.executable, "users.py"] if language == "python" else ["node", "users.js"]
        self._words = [*program, what.rpartition(":")[2]]
        self._n = self._calibrated(work_ms)
        slug = "".join(letter if letter.isalnum() else "-" for letter in name)
        self._place = Place(f"own-{slug}", own.command(), self._body(0.01), self._plan, tier, stack)
        # A function that starts anew ends what is in its cgroup, so that the others come after it.
        invoked(self._place, self._body(1), 60)
        self._loop = self._started(stack)
        self._port = _free_port()
        stack.callback(
            _end, subprocess.Popen(self._place.group.into([*self._words, "--http", str(self._port)]))
        )
        self._connection = self._connected()
        for way in WAYS * 3:
            self.run(way, 1)

    def run(self, way: str, factor: float) -> int:
        """How long it took one way, in ns."""
        body = self._body(factor)
        if way == "swtch":
            reply, _ = invoked(self._place, body, 60)
            return reply.latency_ns
        # As long as an invocation waits before it is sent, so that all begin at the same place.
        self._place.group.settled_counters()
        if way == "loop":
            return self._asked(self._loop, body)
        # A server may close connections that were idle for some seconds.
        self._connection.close()
        self._connection = self._connected()
        begin = time.monotonic_ns()
        self._connection.request("POST", "/", body)
        self._connection.getresponse().read()
        return time.monotonic_ns() - begin

    def _body(self, factor: float) -> bytes:
        return json.dumps({"n": max(2, round(self._n * factor))}).encode()

    @staticmethod
    def _asked(process: subprocess.Popen[bytes], body: bytes) -> int:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(body + b"\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def _started(self, stack: contextlib.ExitStack, limited: bool = True) -> subprocess.Popen[bytes]:
        words = self._place.group.into(self._words) if limited else self._words
        process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        stack.callback(_end, process)
        return process

    def _calibrated(self, work_ms: float) -> int:
        """How many take that long here, unthrottled."""
        self._n = 10_000
        with contextlib.ExitStack() as stack:
            process = self._started(stack, limited=False)
            for n in (10_000, 100_000, 100_000):
                self._n = n
                fastest_ns = min(self._asked(process, self._body(1)) for _ in range(5))
        return round(self._n * work_ms * 1e6 / fastest_ns)

    def _connected(self) -> http.client.HTTPConnection:
        found = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        for _ in range(600):
            with contextlib.suppress(OSError):
                found.connect()
                found.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return found
            time.sleep(0.05)
        raise SystemExit(f"{self._words} does not listen")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def table(lines: list[dict[str, Any]]) -> bool:
    """Prints what was measured; whether every ratio is within the tolerance, and the order of variants is the same."""
    print(
        "| tier | function | rounds | swtch, ms | plain loop, ms | plain server, ms | to the loop | 95 % interval | to the server | 95 % interval |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    ok = True
    for tier in dict.fromkeys(line["tier"] for line in lines):
        medians: dict[str, dict[str, float]] = {way: {} for way in WAYS}
        for name in FUNCTIONS:
            same = [line for line in lines if (line["tier"], line["function"]) == (tier, name)]
            if not same:
                continue
            for way in WAYS:
                medians[way][name] = statistics.median(line[way] for line in same) / 1e6
            cells = [f"{medians[way][name]:.4g}" for way in WAYS]
            for way in ("loop", "http"):
                ratios = [line["swtch"] / line[way] for line in same]
                drawn = random.Random(1)
                many = sorted(statistics.median(drawn.choices(ratios, k=len(ratios))) for _ in range(1000))
                cells += [f"{statistics.median(ratios):.3f}", f"{many[25]:.3f} to {many[974]:.3f}"]
                ok &= abs(statistics.median(ratios) - 1) <= TOLERANCE
            print(f"| {tier} | {name} | {len(same)} | {' | '.join(cells)} |")
        # Only these do the same work.
        orders = {way: sorted(VARIANTS, key=lambda name: found[name]) for way, found in medians.items()}
        same_order = len({tuple(order) for order in orders.values()}) == 1
        ok &= same_order
        print(
            f"{tier}: the order of variants is {'the same' if same_order else f'not the same: {orders}'}",
            file=sys.stderr,
        )
    return ok


if __name__ == "__main__":
    sys.exit(main())
