"""A cgroup with a CPU quota for the time of a block, for tests and experiments with functions."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup/cpu")
"""The cpu controller of cgroups version 1."""
NAME = "swtch-faas-test"
KEPT_NS = 5e6
"""What a CPU may run beyond a quota once: a slice that it holds, or a tick that comes late (`crates/faas/src/quota.rs`)."""


@contextlib.contextmanager
def limited_group(quota_us: int, period_us: int, weight: int) -> Iterator[Path]:
    """Its directory; it is removed whatever happens. `OSError` says why there can be none.

    weight: `cpu.shares`, 1024 for one among the other programs.
    """
    if not (ROOT / "cpu.shares").exists():
        raise OSError(f"there is no cpu controller of cgroups version 1 at {ROOT}")
    directory = ROOT / f"{NAME}-{os.getpid()}"
    directory.mkdir()
    try:
        for name, value in (("cfs_period_us", period_us), ("cfs_quota_us", quota_us), ("shares", weight)):
            (directory / f"cpu.{name}").write_text(str(value))
        yield directory
    finally:
        _remove(directory)


def _remove(directory: Path) -> None:
    """The kernel may answer EBUSY for a while after the last process has gone."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            directory.rmdir()
            return
        time.sleep(0.05)
    raise OSError(f"{directory} cannot be removed")
