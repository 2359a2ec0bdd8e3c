"""Sweeps on Dask and on SLURM, both real: the same bytes as on one machine, whatever is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cluster import LOOPBACK, free_port, hackbench_grid, no_slurm, running, slurm_node, until

import swtch

#: 2,000 runs of about 0.2 ms.
TINY = """machines = [2]
policies = ["rr", "fifo"]
seeds = [{seeds}]
workloads = ["spin:tasks=2,work_ns=1ms"]
""".format(seeds=",".join(map(str, range(1000))))
#: 24 runs of some tens of ms.
SOME = hackbench_grid(range(1, 7), 60)
#: The same, some times as long.
LONGER = hackbench_grid(range(1, 7), 400)


def one_machine(program: Path, home: Path) -> bytes:
    """The table that one process makes."""
    words = [program, "simulate", "--sweep", "grid.toml", "--out", "alone.parquet"]
    subprocess.run(words, cwd=home, check=True, capture_output=True)
    return (home / "alone.parquet").read_bytes()


def status(program: Path, home: Path) -> dict[str, object]:
    found = subprocess.run(
        [program, "sweep", "status", "d", "--json"], cwd=home, capture_output=True, check=True
    )
    return json.loads(found.stdout)


@pytest.fixture
def with_dask(tmp_path: Path) -> dict[str, str]:
    """An environment in which the command finds this package's program for Dask."""
    pytest.importorskip("distributed", reason="Dask is not installed: pip install 'swtch[dask]'")
    return with_program(tmp_path, "swtch-sweep-dask", "swtch._sweep_dask")


def with_program(home: Path, name: str, module: str) -> dict[str, str]:
    """An environment in which the command finds a program of this package."""
    places = home / "programs"
    places.mkdir()
    script = places / name
    main = f'from {module} import main\n\nif __name__ == "__main__":\n    main()\n'
    script.write_text(f"#!{sys.executable}\n{main}")
    script.chmod(0o755)
    return {**os.environ, "PATH": f"{places}:{os.environ['PATH']}"}


def test_two_thousand_runs_on_dask_with_a_worker_killed_are_those_of_one_machine(
    program: Path, tmp_path: Path, with_dask: dict[str, str]
) -> None:
    (tmp_path / "grid.toml").write_text(TINY)
    address = f"tcp://{LOOPBACK}:{free_port()}"
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    worker = [
        sys.executable,
        "-m",
        "distributed.cli.dask_worker",
        address,
        "--nthreads",
        "1",
        "--no-dashboard",
    ]
    worker += ["--host", LOOPBACK, "--memory-limit", "0", "--local-directory", tmp_path]
    port = address.rpartition(":")[2]
    # The cluster needs the program, but not this package.
    (tmp_path / "swtch.py").write_text('raise ImportError("this package is not on the cluster")\n')
    cluster = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with ExitStack() as stack:
        scheduler = [*dask, "--host", LOOPBACK, "--port", port, "--no-dashboard"]
        stack.enter_context(running(scheduler, tmp_path / "scheduler.log", env=cluster))
        workers = [
            stack.enter_context(running([*worker, "--no-nanny"], tmp_path / f"worker-{one}.log", env=cluster))
            for one in range(2)
        ]
        words = [program, "sweep", "run", "grid.toml", "d", "--on", f"dask://{address}", "-o", "dask.parquet"]
        sweep = subprocess.Popen(
            [*words, "--shard-time", "4ms"], cwd=tmp_path, env=with_dask, stderr=subprocess.PIPE, text=True
        )
        until(
            "some runs are done",
            lambda: (tmp_path / "d/manifest.json").exists() and status(program, tmp_path)["done"],
        )
        workers[0].kill()
        assert status(program, tmp_path)["done"] < 2000
        _, complaint = sweep.communicate(timeout=120)
    assert sweep.returncode == 0, complaint
    assert (tmp_path / "dask.parquet").read_bytes() == one_machine(program, tmp_path)
    assert status(program, tmp_path)["failed"] == 0


def test_a_scheduler_that_does_not_answer_is_one_line(
    program: Path, tmp_path: Path, with_dask: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from swtch import _sweep_dask
    from swtch._errors import CommandError

    monkeypatch.setattr(_sweep_dask, "ANSWER_S", 1)
    address = f"tcp://{LOOPBACK}:{free_port()}"
    with pytest.raises(CommandError, match=f"Dask's scheduler at {address} does not answer"):
        _sweep_dask.command(["--swtch", str(program), "--address", address, str(tmp_path)])


def test_a_table_grows_and_a_sweep_that_was_stopped_goes_on(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Imported now: it takes as long as many runs.
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text(LONGER)
    start = lambda: swtch.sweep("grid.toml", "d", on="here", jobs=1, options=["--shard-time", "1ms"])  # noqa: E731
    with start() as growing:
        first = next(growing.tables(every_s=0.05))
        assert first.num_rows < 24
    stopped = swtch.GrowingSweep("d").status()
    assert stopped["workers"] == 0 and stopped["done"] < 24
    sizes = [table.num_rows for table in start().tables(every_s=0.05)]
    assert sizes == sorted(set(sizes)) and sizes[-1] == 24
    whole = swtch.GrowingSweep("d").to_pandas()
    assert list(whole["run"]) == list(range(24)) and whole["error"].isna().all()
    with pytest.raises(swtch.UsageError, match="the plan of another sweep"):
        Path("grid.toml").write_text(SOME)
        swtch.sweep("grid.toml", "d", on="here").wait()


@pytest.fixture
def slurm(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a SLURM of one node."""
    if why := no_slurm():
        pytest.skip(why)
    with slurm_node(tmp_path / "slurm") as environment:
        yield environment


def test_an_array_of_slurm_with_a_task_that_is_requeued_is_the_table_of_one_machine(
    program: Path, tmp_path: Path, slurm: dict[str, str]
) -> None:
    (tmp_path / "grid.toml").write_text(SOME)
    words = [program, "sweep", "run", "grid.toml", "d", "--on", "slurm:main", "--workers", "2"]
    words += ["--shard-time", "30ms", "-o", "slurm.parquet"]
    ask = lambda *words: subprocess.run(words, env=slurm, capture_output=True, text=True).stdout.split()  # noqa: E731
    sweep = subprocess.Popen(words, cwd=tmp_path, env=slurm, stderr=subprocess.PIPE, text=True)
    until("a task runs", lambda: ask("squeue", "--noheader", "--states=RUNNING", "--format=%A"))
    job = ask("squeue", "--noheader", "--states=RUNNING", "--format=%A")[0]
    requeued = subprocess.run(["scontrol", "requeue", job], env=slurm, capture_output=True, text=True)
    assert requeued.returncode == 0, requeued.stderr
    _, complaint = sweep.communicate(timeout=120)
    assert sweep.returncode == 0, complaint
    assert (tmp_path / "slurm.parquet").read_bytes() == one_machine(program, tmp_path)
    assert "Restarts=1" in " ".join(ask("scontrol", "show", "job", job))
    found = status(program, tmp_path)
    assert found["failed"] == 0 and found["deaths"] == 0


def test_a_partition_that_is_not_there_is_one_line(
    program: Path, tmp_path: Path, slurm: dict[str, str]
) -> None:
    (tmp_path / "grid.toml").write_text(SOME)
    words = [program, "sweep", "run", "grid.toml", "d", "--on", "slurm:nosuch"]
    done = subprocess.run(words, cwd=tmp_path, env=slurm, capture_output=True, text=True)
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("swtch: sbatch refused the job: "), done.stderr
