"""A sweep over a slow and lossy network: two network namespaces, and between them a relay that delays packets and loses some.

    python experiments/sweep/lossy.py dask [--delay 50 --jitter 20 --loss 2]
    python experiments/sweep/lossy.py store

`dask`: scheduler and client on one side, three workers on the other. `store`: the tests' S3 server on one side, `swtch sweep work` on the
other. Packets are real, and so is what the kernel's TCP does about lost ones. The relay is this program, between two TUN devices: it runs where a
kernel has no netem. Needs root. Exit status 0: the table has the bytes of one machine.
"""

from __future__ import annotations

import argparse
import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

SIDES = {"near": "10.77.0.1", "far": "10.77.0.2"}
PORT = 8786
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
TESTS = Path(__file__).resolve().parents[2] / "python/tests"
sys.path.insert(0, str(TESTS))
from cluster import hackbench_grid, running  # noqa: E402

LATEST_S = 900
LOOK_EVERY_S = 0.1


class Relay:
    """Takes packets from each side to the other, later, and not all of them."""

    def __init__(self, ends: list[int], given: argparse.Namespace) -> None:
        self.ends, self.given = ends, given
        self.passed = self.lost = 0
        self.over = threading.Event()
        self._random = random.Random(given.seed)
        self._late: list[tuple[float, int, int, bytes]] = []

    def run(self) -> None:
        """Until it is over."""
        number = 0
        while not self.over.is_set():
            wait = max(0.0, self._late[0][0] - time.monotonic()) if self._late else LOOK_EVERY_S
            for end in select.select(self.ends, [], [], min(wait, LOOK_EVERY_S))[0]:
                packet = os.read(end, 65536)
                if self._random.random() < self.given.loss / 100:
                    self.lost += 1
                    continue
                late_ms = self.given.delay + self._random.uniform(0, self.given.jitter)
                other = self.ends[1 - self.ends.index(end)]
                number += 1
                heapq.heappush(self._late, (time.monotonic() + late_ms / 1e3, number, other, packet))
            while self._late and self._late[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(self._late)
                os.write(end, packet)
                self.passed += 1


@contextmanager
def network(given: argparse.Namespace) -> Iterator[tuple[dict[str, list[str]], Relay]]:
    """What runs a command on each side, and the relay."""
    with ExitStack() as stack:
        inside, ends = {}, []
        for side, address in SIDES.items():
            keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
            stack.callback(keeper.wait)
            stack.callback(keeper.kill)
            inside[side] = ["nsenter", f"--net=/proc/{keeper.pid}/ns/net", "--"]
            own = os.stat("/proc/self/ns/net").st_ino
            while os.stat(f"/proc/{keeper.pid}/ns/net").st_ino == own:
                time.sleep(0.01)
            end = os.open("/dev/net/tun", os.O_RDWR)
            stack.callback(os.close, end)
            name = f"swtch-{side}"
            fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
            ends.append(end)
            subprocess.run(["ip", "link", "set", name, "netns", str(keeper.pid)], check=True)
            for words in (
                ["ip", "link", "set", "lo", "up"],
                ["ip", "addr", "add", f"{address}/24", "dev", name],
                ["ip", "link", "set", name, "up"],
            ):
                subprocess.run([*inside[side], *words], check=True)
        relay = Relay(ends, given)
        thread = threading.Thread(target=relay.run, daemon=True)
        thread.start()
        stack.callback(thread.join)
        stack.callback(relay.over.set)
        yield inside, relay


def dask(given: argparse.Namespace, inside: dict[str, list[str]], home: Path, words: list[str]) -> list[str]:
    """The table's command, with a scheduler near and three workers far."""
    address = f"tcp://{SIDES['near']}:{PORT}"
    python = [sys.executable, "-m"]
    scheduler = [*inside["near"], *python, "distributed.cli.dask_scheduler", "--host", SIDES["near"]]
    given.stack.enter_context(
        running([*scheduler, "--port", str(PORT), "--no-dashboard"], home / "scheduler.log")
    )
    for number in range(3):
        worker = [*inside["far"], *python, "distributed.cli.dask_worker", address, "--host", SIDES["far"]]
        more = ["--nthreads", "1", "--no-dashboard", "--memory-limit", "0", "--local-directory", str(home)]
        given.stack.enter_context(running([*worker, *more], home / f"worker-{number}.log"))
    return [
        *inside["near"],
        given.swtch,
        "sweep",
        "run",
        *words,
        "d",
        "--on",
        f"dask://{address}",
        "-o",
        "far.parquet",
    ]


SERVE = "import sys, s3_server\nwith s3_server.bucket({host!r}) as one:\n    print(one.address, flush=True)\n    sys.stdin.read()\n"


def store(given: argparse.Namespace, inside: dict[str, list[str]], home: Path, words: list[str]) -> list[str]:
    """The table's command, with a store near and the worker far."""
    script = SERVE.format(host=SIDES["near"])
    server = subprocess.Popen(
        [*inside["near"], sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    given.stack.callback(server.wait)
    given.stack.callback(server.kill)
    assert server.stdout is not None
    os.environ |= {
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.stdout.readline().strip(),
        "XDG_CACHE_HOME": str(home / "cache"),
    }
    return [*inside["far"], given.swtch, "sweep", "run", *words, "s3://bucket/grid", "-o", "far.parquet"]


def main() -> int:
    """Runs what is asked for."""
    options = argparse.ArgumentParser(allow_abbrev=False, description=__doc__.splitlines()[0])
    options.add_argument("what", choices=("dask", "store"))
    options.add_argument("--delay", type=float, default=50, help="each way, ms")
    options.add_argument("--jitter", type=float, default=20, help="up to this much more, ms")
    options.add_argument("--loss", type=float, default=2, help="percent of packets, each way")
    options.add_argument("--seeds", type=int, default=60)
    options.add_argument("--seed", type=int, default=0, help="of the network")
    options.add_argument("--swtch", default="swtch")
    given = options.parse_args()
    given.swtch = str(Path(given.swtch).absolute()) if "/" in given.swtch else given.swtch
    with tempfile.TemporaryDirectory() as at, ExitStack() as given.stack:
        home = Path(at)
        (home / "grid.toml").write_text(hackbench_grid(range(given.seeds), 60))
        alone = [given.swtch, "simulate", "--sweep", "grid.toml", "--out", "alone.parquet"]
        began = time.monotonic()
        subprocess.run(alone, cwd=home, check=True, stdout=subprocess.DEVNULL)
        alone_s = time.monotonic() - began
        inside, relay = given.stack.enter_context(network(given))
        words = (dask if given.what == "dask" else store)(given, inside, home, ["grid.toml"])
        words += ["--shard-time", "100ms"]
        began = time.monotonic()
        done = subprocess.run(words, cwd=home, timeout=LATEST_S, stdout=subprocess.DEVNULL)
        took_s = time.monotonic() - began
        far = home / "far.parquet"
        same = done.returncode == 0 and far.read_bytes() == (home / "alone.parquet").read_bytes()
        print(
            f"{given.what}: {4 * given.seeds} runs in {took_s:.1f} s ({alone_s:.1f} s on one machine), {relay.passed} packets, {relay.lost} lost; "
            + (
                "the bytes of one machine"
                if same
                else f"NOT the bytes of one machine, exit status {done.returncode}"
            )
        )
        return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
