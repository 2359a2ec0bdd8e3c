"""A host that keeps the workload contract, as far as tests need one."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from swtch.ai.contract import Collector

ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Ended:
    """What a workload said and how it ended."""

    status: int
    said: Collector
    stderr: str


def run_workload(
    command: Sequence[str | os.PathLike[str]],
    environment: Mapping[str, str] = {},
    go: str = "go\n",
    timeout_s: float = 120,
    after_go: Callable[[subprocess.Popen[str]], None] | None = None,
    limit_bytes: int | None = None,
) -> Ended:
    """Starts a workload, says go (or something else) once it is ready, and collects what it says.

    `after_go` is called a moment after that; `limit_bytes` limits the process's address space.
    """
    read_fd, write_fd = os.pipe()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=[write_fd],
        text=True,
        preexec_fn=limit_bytes
        and (lambda: resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))),
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "SWTCH_CONTRACT_FD": str(write_fd),
            **environment,
        },
    )
    os.close(write_fd)
    said = Collector()
    while said.ready is None and (data := os.read(read_fd, 65536)):
        said.feed(data)
    if said.ready is not None:
        process.stdin.write(go)
        process.stdin.flush()
        if after_go is not None:
            time.sleep(0.3)
            after_go(process)
    while data := os.read(read_fd, 65536):
        said.feed(data)
    said.close()
    os.close(read_fd)
    _, stderr = process.communicate(timeout=timeout_s)
    return Ended(process.returncode, said, stderr)
