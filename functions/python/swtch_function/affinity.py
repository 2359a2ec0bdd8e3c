"""Which CPUs may be used, and keeping a thread on one."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator


def cpus_allowed() -> list[int]:
    """The CPUs that this thread may run on, in order."""
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return list(range(os.cpu_count() or 1))


def pin(cpu: int) -> bool:
    """Keeps this thread, and what it starts, on a CPU; whether that was permitted."""
    try:
        os.sched_setaffinity(0, {cpu})
    except (AttributeError, OSError):
        return False
    return True


@contextlib.contextmanager
def pinned(wanted: bool) -> Iterator[int | None]:
    """Keeps this thread, and what it starts within, on one CPU, the last that is allowed: the first takes more interrupts.

    Yields which, or `None` where that is not wanted or not permitted.
    """
    allowed = cpus_allowed()
    cpu = allowed[-1] if wanted and pin(allowed[-1]) else None
    try:
        yield cpu
    finally:
        if cpu is not None:
            with contextlib.suppress(OSError):
                os.sched_setaffinity(0, allowed)
