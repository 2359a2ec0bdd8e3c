"""Processes of a cluster on this machine, and a SLURM of one node."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

LOOPBACK = "127.0.0.1"


def hackbench_grid(seeds: Iterable[int], loops: int) -> str:
    """A sweep of four runs for each seed: hackbench of two sizes under two policies."""
    return f"""machines = [4]
policies = ["eevdf", "rr"]
seeds = [{", ".join(map(str, seeds))}]
[[grid]]
workload = "hackbench"
groups = [2, 3]
loops = {loops}
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind((LOOPBACK, 0))
        return one.getsockname()[1]


def until(what: str, holds, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


@contextmanager
def running(words: list[object], log: Path, **settings: object) -> Iterator[subprocess.Popen[bytes]]:
    """A process with its children, which ends with the test."""
    with log.open("wb") as output:
        child = subprocess.Popen(
            [str(word) for word in words],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            **settings,
        )
    try:
        yield child
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            if child.poll() is None:
                os.killpg(child.pid, number)
                try:
                    child.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    continue


def no_slurm() -> str | None:
    """Why none can be started; `None` where one can."""
    for name in ("munged", "slurmctld", "slurmd", "sbatch"):
        if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None:
            return f"SLURM is not installed: there is no {name}"
    return None if os.geteuid() == 0 else "only root starts SLURM's daemons"


@contextmanager
def slurm_node(home: Path) -> Iterator[dict[str, str]]:
    """The environment of a SLURM of one node with two CPUs, all of it in a directory."""
    for name in ("state", "spool"):
        (home / name).mkdir(parents=True)
    key = home / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    host = socket.gethostname()
    (home / "slurm.conf").write_text(
        f"""ClusterName=test
SlurmctldHost={host}({LOOPBACK})
SlurmctldPort={free_port()}
SlurmdPort={free_port()}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge.socket
StateSaveLocation={home}/state
SlurmdSpoolDir={home}/spool
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
SchedulerParameters=sched_interval=1,batch_sched_delay=0
NodeName={host} NodeAddr={LOOPBACK} CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
    )
    environment = {
        **os.environ,
        "SLURM_CONF": str(home / "slurm.conf"),
        "PATH": f"{os.environ['PATH']}:/usr/sbin",
    }
    munge = ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={home}/munge.socket"]
    munge += [
        f"--pid-file={home}/munge.pid",
        f"--log-file={home}/munge.log",
        f"--seed-file={home}/munge.seed",
    ]
    with ExitStack() as stack:
        start = lambda words, log: stack.enter_context(running(words, home / log, env=environment))  # noqa: E731
        start(munge, "munged.out")
        until("munge listens", lambda: (home / "munge.socket").exists())
        start(["slurmctld", "-D"], "slurmctld.out")
        start(["slurmd", "-D"], "slurmd.out")
        asks = ["sinfo", "--noheader", "--format=%T"]
        idle = lambda: subprocess.run(asks, env=environment, capture_output=True).stdout.strip() == b"idle"  # noqa: E731
        until("the node is there", idle)
        yield environment
