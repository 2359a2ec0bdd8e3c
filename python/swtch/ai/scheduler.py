"""Another scheduler for the time of a run: `swtch sched` loads it, where the kernel and this user allow it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from .. import _cgroup as cgroup
from .. import _native
from .._program import binary
from .errors import AiError

STOCK = "stock"
"""The kernel's own."""
_LOAD_LIMIT_S = 15.0
_END_LIMIT_S = 15.0


PROGRAM = "swtch-ai-scheduler"
"""Names of the cgroups that are made on trial begin with this."""


def why_not(name: str, whole_machine: bool = False) -> str | None:
    """Why a scheduler cannot be loaded here, in one line; `None` when it probably can.

    whole_machine: whether it may schedule every task of the machine, where no cgroup can be made for the workload.
    """
    if name == STOCK:
        return None
    status = _status()
    if not status["sched_ext"]:
        reasons = [row["why"] for row in status["unavailable"]]
        return reasons[0] if reasons else "this kernel has no sched_ext"
    if os.geteuid() != 0:
        return "loading a scheduler needs root"
    if status["state"] == "enabled":
        return f"the scheduler {status['ops']} is loaded already; stop it first"
    try:
        program(name)
    except AiError as error:
        return str(error)
    if whole_machine:
        return None
    with cgroup.group(PROGRAM, "probe") as group:
        return None if group.directory is not None else _for_all(name, group.why)


def _for_all(name: str, why: str | None) -> str:
    return f"{name} would schedule every task of the machine ({why}); --whole-machine allows that"


def program(name: str) -> Path:
    """A scheduler's own program, next to swtch or on PATH. Raises `AiError` when there is none."""
    beside = binary().resolve().parent / f"scx_{name}"
    found = str(beside) if beside.exists() else shutil.which(f"scx_{name}")
    if found is None:
        raise AiError(
            f"there is no program scx_{name} next to swtch or on PATH; "
            "build it with `make build` in swtch's source tree, and add its directory to PATH"
        )
    return Path(found)


def lacks_kernel() -> bool:
    """Whether no scheduler can be loaded because this kernel has no sched_ext; a virtual machine's has."""
    return not _status()["sched_ext"]


@contextlib.contextmanager
def loaded(name: str, group: Path | None, whole_machine: bool = False) -> Iterator[None]:
    """The scheduler runs while the block does: for the cgroup's processes only, or, if `whole_machine` allows that, for all
    without one.

    Raises `AiError` when it cannot be loaded.
    """
    if name == STOCK:
        yield
        return
    if group is None and not whole_machine:
        raise AiError(_for_all(name, "no cgroup could be made"))
    only = [] if group is None else ["--only-cgroup", str(group)]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [str(binary()), "sched", name, *only],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            _wait(process, name, log)
            yield
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            try:
                process.wait(_END_LIMIT_S)
            except subprocess.TimeoutExpired:
                # It dies with this process: then the kernel's own scheduler is back.
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], name: str, log: IO[str]) -> None:
    deadline = time.monotonic() + _LOAD_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AiError(f"the scheduler {name} ended before it was loaded: {_last_line(log)}")
        if _status()["state"] == "enabled":
            return
        time.sleep(0.05)
    raise AiError(
        f"the scheduler {name} was not loaded within {_LOAD_LIMIT_S:.0f} s; try: swtch sched {name}"
    )


def _last_line(log: IO[str]) -> str:
    log.seek(0)
    lines = log.read().strip().splitlines()
    return lines[-1] if lines else "it printed nothing"


def _status() -> dict[str, Any]:
    """As `swtch sched status --json` prints it."""
    return dict(json.loads(_native.sched_status()))
