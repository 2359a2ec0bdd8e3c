"""`swtch-sweep-dask`: hands the shards of a sweep to Dask. `swtch sweep run --on dask` starts it.

Rows never pass through Dask: a task runs `swtch sweep work`, which writes them into the sweep's directory, and gives back a few numbers.
The directory says what is done, so it does not matter whether Dask runs a task twice or forgets one.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ._command import Parser, run
from ._errors import CommandError

IN_FLIGHT = 2
"""Shards in flight for each thread of a worker: one runs, and one waits."""
ANSWER_S = 15
"""A scheduler answers within this time, and has a worker within twice as long."""
LOOK_EVERY_S = 0.5
"""How often it is looked for a signal, where no shard comes back."""
COUNT_EVERY_S = 5.0
"""How often workers are counted: they come and go."""


def make_shard(program: str, directory: str, shard: int) -> dict[str, Any]:
    """Makes the runs of a shard in a child, which also survives a run that kills its worker. On a worker of Dask."""
    found = program if os.access(program, os.X_OK) else shutil.which("swtch")
    if found is None:
        return {"error": f"there is no program swtch at {program} or on PATH of a worker of Dask"}
    # Its standard input stays open: when this process is killed it ends, and the child leaves the shard to others.
    child = subprocess.Popen(
        [
            found,
            "sweep",
            "work",
            "--until-eof",
            "--json",
            "--jobs",
            "1",
            "--shards",
            str(shard),
            "--",
            directory,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdout is not None and child.stderr is not None
        printed, complaint = child.stdout.read(), child.stderr.read()
        status = child.wait()
    if status != 0:
        lines = complaint.strip().splitlines() or [f"swtch sweep work ended with status {status}"]
        return {"error": lines[-1].removeprefix("swtch: ")}
    made: dict[str, Any] = json.loads(printed)
    return made


# Functions of a main program travel by value: schedulers and workers need the program swtch, but not this package.
make_shard.__module__ = "__main__"


def missing(program: str, directory: Path) -> list[int]:
    """The shards that are not done."""
    found = subprocess.run(
        [program, "sweep", "status", "--json", "--", str(directory)], capture_output=True, text=True
    )
    if found.returncode != 0:
        raise CommandError(found.stderr.strip().removeprefix("swtch: "))
    return [one["shard"] for one in json.loads(found.stdout)["shards"] if one["state"] != "done"]


@contextmanager
def client_of(address: str | None, workers: int | None) -> Iterator[Any]:
    """A client of the cluster at an address, or of one on this machine that ends with it."""
    import dask
    import distributed

    if address is not None:
        try:
            client = distributed.Client(address, timeout=ANSWER_S)
        except (OSError, TimeoutError, ValueError) as error:
            raise CommandError(f"Dask's scheduler at {address} does not answer: {_first(error)}") from None
        with client:
            try:
                client.wait_for_workers(1, timeout=2 * ANSWER_S)
            except TimeoutError:
                raise CommandError(f"Dask's scheduler at {address} has no worker; start one") from None
            yield client
        return
    # On loopback only: any program that reaches a scheduler can run any code. Memory is not watched: shards are processes of their own.
    settings = {"distributed.admin.log-format": "%(message)s", "logging.distributed": "critical"}
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=None,
            memory_limit=0,
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def place(client: Any, program: str, directory: Path, shards: Sequence[int], stop: threading.Event) -> None:
    """Hands shards to the cluster until each came back once, whatever became of it."""
    import distributed

    left = list(reversed(shards))
    flying: dict[Any, int] = {}
    task = 0
    slots, counted = 1, float("-inf")
    while (left or flying) and not stop.is_set():
        if time.monotonic() - counted > COUNT_EVERY_S:
            slots, counted = max(sum(client.nthreads().values()), 1), time.monotonic()
        while left and len(flying) < IN_FLIGHT * slots:
            shard = left.pop()
            task += 1
            key = f"swtch-shard-{shard}-{os.getpid()}-{task}"
            flying[client.submit(make_shard, program, str(directory), shard, key=key, pure=False)] = shard
        try:
            done, _ = distributed.wait(list(flying), timeout=LOOK_EVERY_S, return_when="FIRST_COMPLETED")
        except (TimeoutError, distributed.TimeoutError):
            if client.status != "running":
                raise CommandError("Dask's scheduler is gone; the same command continues") from None
            continue
        for future in done:
            del flying[future]
            if future.status == "cancelled":
                raise CommandError(
                    "Dask's scheduler is gone or cancelled a shard; the same command continues"
                )
            error = future.exception() if future.status == "error" else None
            # Workers of Dask that are killed too often are Dask's concern: the next look at the directory finds what is left.
            if error is not None and not isinstance(error, distributed.KilledWorker):
                raise CommandError(f"a worker of Dask failed: {_first(error)}")
            if error is None and "error" in (made := future.result()):
                raise CommandError(made["error"])
    for future in flying:
        future.cancel()


def until_done(client: Any, program: str, directory: Path, stop: threading.Event) -> None:
    """Hands out what is left until nothing is, as long as that gets on."""
    shards = missing(program, directory)
    while shards and not stop.is_set():
        place(client, program, directory, shards, stop)
        before, shards = shards, missing(program, directory)
        if shards == before and not stop.is_set():
            raise CommandError(f"Dask's workers leave {len(shards)} shards undone; see its logs")


def _first(error: BaseException) -> str:
    """The first line of an error."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def command(words: Sequence[str] | None = None) -> int:
    """The program."""
    parser = Parser(prog="swtch-sweep-dask", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--swtch", required=True, metavar="PROGRAM", help="the program swtch")
    parser.add_argument("--address", help="the scheduler's address; a cluster on this machine without it")
    parser.add_argument("--workers", type=int, metavar="N", help="workers of that cluster")
    parser.add_argument("directory", type=Path, metavar="DIR", help="the directory of swtch sweep plan")
    options: argparse.Namespace = parser.parse_args(words)
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise CommandError(f"cannot import {error.name}: pip install 'swtch[dask]'") from None
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    try:
        with client_of(options.address, options.workers) as client:
            until_done(client, options.swtch, options.directory.resolve(), stop)
    except (OSError, TimeoutError, CancelledError) as error:
        raise CommandError(
            f"Dask's scheduler is gone ({_first(error)}); the same command continues"
        ) from None
    return 130 if stop.is_set() else 0


def main() -> None:
    """`swtch-sweep-dask`."""
    sys.exit(run("swtch", command))


if __name__ == "__main__":
    main()
