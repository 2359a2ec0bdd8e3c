"""Sweeps in an object store: the same bytes as on one machine, whatever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cluster import until
from s3_server import Bucket, bucket
from test_sweep_engines import SOME, one_machine, with_program

URL = "s3://bucket/some/grid"
pytest.importorskip("obstore", reason="obstore is not installed: pip install 'swtch[store]'")


@pytest.fixture
def store() -> Iterator[Bucket]:
    with bucket() as one:
        yield one


@pytest.fixture
def machine(tmp_path: Path, store: Bucket) -> dict[str, str]:
    """An environment in which the command finds this package's program, with a cache of its own."""
    (tmp_path / "grid.toml").write_text(SOME)
    cache = str(tmp_path / "cache")
    found = with_program(tmp_path, "swtch-sweep-store", "swtch._sweep_store")
    return {**found, **store.environment(), "XDG_CACHE_HOME": cache}


def sweep(
    program: Path, home: Path, machine: dict[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, "sweep", *words], cwd=home, env=machine, capture_output=True, text=True, timeout=120
    )


def plan(program: Path, home: Path, machine: dict[str, str], *words: str) -> None:
    done = sweep(program, home, machine, "plan", "grid.toml", URL, "--shard-time", "30ms", *words)
    assert done.returncode == 0 and f"Next: swtch sweep work {URL}" in done.stdout, done.stderr


def children(of: int, what: str = "") -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(of), "-f", what], capture_output=True, text=True).stdout
    return [int(pid) for pid in found.split()]


def merged(program: Path, home: Path, machine: dict[str, str]) -> bytes:
    done = sweep(program, home, machine, "merge", URL, "-o", "store.parquet")
    assert done.returncode == 0, done.stderr
    return (home / "store.parquet").read_bytes()


def test_one_command_makes_the_table_of_one_machine(
    program: Path,
    tmp_path: Path,
    store: Bucket,
    machine: dict[str, str],
) -> None:
    words = ["grid.toml", URL, "--shard-time", "30ms", "--jobs", "2", "-o", "store.parquet"]
    done = sweep(program, tmp_path, machine, "run", *words)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "store.parquet").read_bytes() == one_machine(program, tmp_path)
    assert store.names("some/grid/claims/") == []
    parts = store.names("some/grid/parts/")
    assert len(parts) > 3
    again = sweep(program, tmp_path, machine, "run", *words)
    assert again.returncode == 0 and store.names("some/grid/parts/") == parts
    found = json.loads(sweep(program, tmp_path, machine, "status", URL, "--json").stdout)
    assert (found["runs"], found["done"], found["claimed"]) == (24, 24, 0)
    assert sweep(program, tmp_path, machine, "gaps", URL).stdout == ""


def test_machines_that_are_killed_lose_their_shards_and_no_row(
    program: Path,
    tmp_path: Path,
    store: Bucket,
    machine: dict[str, str],
) -> None:
    plan(program, tmp_path, machine, "--lease", "2s")
    work = lambda: subprocess.Popen(  # noqa: E731
        [program, "sweep", "work", URL, "--jobs", "1", "--json"],
        cwd=tmp_path, env=machine, stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    killed = work()
    # Before, one pulls the plan.
    until("it has started what claims", lambda: children(killed.pid, "swtch-sweep-store work"))
    (mine,) = children(killed.pid, "swtch-sweep-store work")

    def is_stopped_with_a_claim() -> list[str]:
        os.kill(mine, signal.SIGSTOP)
        time.sleep(0.1)
        held = store.names("some/grid/claims/")
        if not held:
            os.kill(mine, signal.SIGCONT)
        return held

    until("it has claimed a shard", is_stopped_with_a_claim)
    (claim,) = store.names("some/grid/claims/")
    # The command, the program that speaks with the store, and their workers: all that a machine has.
    for pid in (killed.pid, mine, *children(mine)):
        # A worker ends on its own when its parent is gone.
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    killed.communicate()
    others = [work() for _ in range(2)]
    printed = [json.loads(other.communicate(timeout=120)[0]) for other in others]
    died = store.names("some/grid/claims/")
    assert f"{claim}.died" in died and all(name.endswith(".died") for name in died)
    # On a machine that is busy for longer than a lease, one that lives may be taken for dead: its runs are made twice, its rows are not.
    deaths = sum(one["deaths"] for one in printed)
    assert deaths == len(died)
    assert not any(one["left"] for one in printed)
    assert sum(one["run_now"] for one in printed) <= 24 or deaths > 1
    assert merged(program, tmp_path, machine) == one_machine(program, tmp_path)
    found = json.loads(sweep(program, tmp_path, machine, "status", URL, "--json").stdout)
    assert (found["done"], found["deaths"]) == (24, deaths)


def test_a_worker_that_is_asked_to_end_leaves_the_rest_to_others(
    program: Path,
    tmp_path: Path,
    store: Bucket,
    machine: dict[str, str],
) -> None:
    plan(program, tmp_path, machine)
    words = [program, "sweep", "work", URL, "--jobs", "1", "--json"]
    asked = subprocess.Popen(words, cwd=tmp_path, env=machine, stdout=subprocess.PIPE, text=True)
    until("a shard is claimed", lambda: store.names("some/grid/claims/"))
    asked.terminate()
    printed = json.loads(asked.communicate(timeout=60)[0])
    assert asked.returncode == 0 and printed["left"] and printed["run_now"] < 24
    assert store.names("some/grid/claims/") == []
    gaps = sweep(program, tmp_path, machine, "gaps", URL).stdout
    assert gaps.startswith("--array=")
    first = gaps.split("=")[1].split(",")[0].split("-")[0].strip()
    one = sweep(program, tmp_path, machine, "work", URL, "--shards", first, "--json")
    assert one.returncode == 0 and 0 < json.loads(one.stdout)["run_now"] < 24
    assert sweep(program, tmp_path, machine, "work", URL).returncode == 0
    assert merged(program, tmp_path, machine) == one_machine(program, tmp_path)


def test_what_cannot_be_is_one_line(
    program: Path,
    tmp_path: Path,
    store: Bucket,
    machine: dict[str, str],
) -> None:
    def refused(status: int, says: str, *words: str, **variables: str | None) -> None:
        given = {name: value for name, value in {**machine, **variables}.items() if value is not None}
        done = sweep(program, tmp_path, given, *words)
        assert done.returncode == status and len(done.stderr.splitlines()) == 1, done.stderr
        assert done.stderr.startswith("swtch: ") and says in done.stderr, done.stderr

    refused(2, f"{URL} has no manifest.json; plan the sweep first: swtch sweep plan", "work", URL)
    refused(2, f"{URL} has no manifest.json", "status", URL)
    refused(
        2, "start 'swtch sweep work s3://bucket/some/grid' on each", "run", "grid.toml", URL, "--on", "dask"
    )
    refused(1, "there is no such bucket", "work", "s3://other/grid")
    refused(2, "is not the address of an object store", "work", "nosuch://bucket/grid")
    refused(2, "pip install 'swtch[store]'", "work", URL, PATH="/nowhere")
    store.refuses_writes = True
    refused(1, "403 Forbidden (AccessDenied); finished shards are kept", "plan", "grid.toml", URL)
    store.refuses_writes = False
    plan(program, tmp_path, machine)
    refused(
        1,
        "24 of 24 runs are missing; see swtch sweep status s3://bucket/some/grid",
        "merge",
        URL,
        "-o",
        "t.parquet",
    )
    (tmp_path / "grid.toml").write_text(SOME.replace("60", "61"))
    refused(2, f"{URL} has the plan of another sweep", "plan", "grid.toml", URL)
    (tmp_path / "grid.toml").write_text(SOME)
    name = "some/grid/manifest.json"
    text, *rest = store.objects[name]
    store.objects[name] = (json.dumps({**json.loads(text), "version": "9.0.0"}).encode(), *rest)
    refused(2, f"{URL} was planned by swtch 9.0.0", "work", URL)
    store.objects[name] = (b"{", *rest)
    refused(2, "is not a manifest; plan the sweep into a new place", "status", URL)
    refused(
        1, "cannot open s3://bucket/some/grid: Missing AccessKeyId", "status", URL, AWS_ACCESS_KEY_ID=None
    )
    refused(
        1,
        "cannot read s3://bucket/some/grid/manifest.json: HTTP error",
        "status",
        URL,
        AWS_ENDPOINT_URL="http://127.0.0.1:9",
    )
