"""Another scheduler for the time of a run: `swtch sched` loads it, where the kernel and this user allow it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from .._errors import CommandError
from .._program import binary
from .errors import AiError

STOCK = "stock"
"""The kernel's own."""
_LOAD_LIMIT_S = 15.0
_END_LIMIT_S = 15.0


def why_not(name: str) -> str | None:
    """Why a scheduler cannot be loaded here, in one line; `None` when it probably can."""
    if name == STOCK:
        return None
    try:
        status = _status()
    except CommandError as error:
        return str(error)
    if not status.get("sched_ext"):
        reasons = [row["why"] for row in status.get("unavailable", [])]
        return reasons[0] if reasons else "the kernel here has no sched_ext"
    if os.geteuid() != 0:
        return "loading a scheduler takes root"
    if status.get("state") == "enabled":
        return f"the scheduler {status.get('ops')} is loaded already; end it first"
    return None


def lacks_kernel() -> bool:
    """Whether no scheduler can be loaded because the kernel here has no sched_ext; a virtual machine's has."""
    try:
        return not _status().get("sched_ext")
    except CommandError:
        return False


@contextlib.contextmanager
def loaded(name: str, group: Path | None) -> Iterator[None]:
    """The scheduler runs for as long as the block lasts: for the control group's processes only, or for all without one.

    Raises `AiError` when it cannot be loaded.
    """
    if name == STOCK:
        yield
        return
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
                # It is tethered to this process: the kernel's own is back when it is gone.
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], name: str, log: IO[str]) -> None:
    deadline = time.monotonic() + _LOAD_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise AiError(f"the scheduler {name} ended before it was loaded: {_last_line(log)}")
        if _status().get("state") == "enabled":
            return
        time.sleep(0.05)
    raise AiError(
        f"the scheduler {name} was not loaded within {_LOAD_LIMIT_S:.0f} s; try: swtch sched {name}"
    )


def _last_line(log: IO[str]) -> str:
    log.seek(0)
    lines = log.read().strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _status() -> dict[str, Any]:
    done = subprocess.run([str(binary()), "sched", "status", "--json"], capture_output=True, text=True)
    try:
        return dict(json.loads(done.stdout))
    except ValueError:
        lines = done.stderr.strip().splitlines()
        raise AiError(f"swtch sched status failed: {lines[-1] if lines else 'it said nothing'}") from None
