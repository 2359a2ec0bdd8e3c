"""A cgroup with a quota, and whether a function inside it finds the quota."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from limited_group import KEPT_NS
from serving import Served, check_document, local

CPU = Path("/sys/fs/cgroup/cpu")
TOLERANCE = 0.005
PERIOD_TOLERANCE = 0.0075
"""Others may delay an end by a tick, which is this much of ten periods of 100 ms, with some to spare."""
CASES = [(0.0833, 100), (0.3333, 20), (0.5833, 100), (1.0, 20)]
"""CPUs of generation-1 Cloud Functions, and periods. The handler only records its gaps; ten tiers of recorded gaps of every language are in
`crates/faas/tests`."""
WEIGHT = 20480
"""Of the group, so that what else runs here does not keep it from using its quota up."""
SPINS_MS = (1000, 1000, 2000, 4000)
"""Of which one must show a quota that was used up throughout; a busy machine may not let it each time, and what it lets a CPU keep counts less
in a longer one."""


@contextlib.contextmanager
def group() -> Iterator[Path]:
    """A cgroup; removed whatever happens."""
    directory = CPU / f"swtch-faas-test-{os.getpid()}"
    if not (CPU / "cpu.shares").exists():
        pytest.skip("there is no cpu controller of cgroups version 1 at /sys/fs/cgroup/cpu")
    try:
        directory.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup may be made: {error.strerror}")
    try:
        (directory / "cpu.shares").write_text(str(WEIGHT))
        yield directory
    finally:
        for _ in range(100):
            with contextlib.suppress(OSError):
                directory.rmdir()
                break
            time.sleep(0.05)
        assert not directory.exists()


@contextlib.contextmanager
def inside(command: list[str]) -> Iterator[tuple[Served, Path]]:
    """The local server in a group of its own."""
    with group() as directory:
        enter = f'echo $$ > {directory}/cgroup.procs && exec "$@"'
        with local(["sh", "-c", enter, "sh", *command]) as server:
            yield server, directory


def check_quotas(command: list[str], language: str) -> None:
    """That quota and period from inside are the group's own, for every case; skips when the machine was too busy for any."""
    busy = []
    with inside(command) as (server, directory):
        # A first request loads what answers it. Under the smallest quota that takes a virtual machine of Java minutes.
        server.post({"methods": [], "spin_ms": 10, "spinners": 1})
        for cpus, period_ms in CASES:
            spinners = 2 if cpus >= 1 else 1
            if len(os.sched_getaffinity(0)) < spinners:
                continue
            (directory / "cpu.cfs_quota_us").write_text("-1")
            (directory / "cpu.cfs_period_us").write_text(str(period_ms * 1000))
            (directory / "cpu.cfs_quota_us").write_text(str(round(cpus * period_ms * 1000)))
            why = one_case(server, language, spinners, period_ms)
            if why:
                busy.append(f"{cpus} CPUs in {period_ms} ms: {why}")
        (directory / "cpu.cfs_quota_us").write_text("-1")
    if busy:
        pytest.skip(f"this machine is too busy: {'; '.join(busy)}")


def one_case(server: Served, language: str, spinners: int, period_ms: int) -> str | None:
    """`None` when the figures agree; why not to be judged otherwise."""
    wrong = None
    why = None
    for spin_ms in SPINS_MS:
        periods = round(spin_ms / period_ms)
        status, found = server.post({"methods": [], "spin_ms": spin_ms, "spinners": spinners})
        assert status == 200, found
        check_document(found, "local", language)
        own, inferred = found["throttling"]["platform"], _inferred(found)
        if own["periods_throttled"] < 0.9 * periods:
            why = f"throttled in {own['periods_throttled']} of {periods} periods"
            continue
        if inferred["period_ns"] is None:
            why = "gaps of others hid the period"
            continue
        figures = [(inferred[name], own[name]) for name in ("period_ns", "quota_ns")]
        tolerances = (PERIOD_TOLERANCE, TOLERANCE)
        if all(seen == pytest.approx(wanted, rel=rel) for (seen, wanted), rel in zip(figures, tolerances)):
            return None
        others_ns = found["throttling"]["spun"]["others_cpus"] * own["period_ns"]
        if others_ns > TOLERANCE * own["quota_ns"]:
            # They may have run in few of the periods, and a machine that stops for a while has that charged to the thread that runs. More than all is
            # wrong all the same.
            most_ns = (1 + TOLERANCE) * own["quota_ns"] + spinners * KEPT_NS / periods
            assert inferred["quota_ci_low_ns"] <= most_ns, (
                f"{inferred} is more than a quota of {own['quota_ns']} ns lets run"
            )
            return f"other threads of the function had {others_ns:.0f} ns of {own['quota_ns']} in each period"
        kept = abs(inferred["quota_ns"] - own["quota_ns"]) <= spinners * KEPT_NS / periods
        why = f"the kernel may have let it run {inferred['quota_ns']:.0f} ns of {own['quota_ns']} on average"
        wrong = (
            None
            if kept
            else f"{spinners} spinners found period and quota {figures[0][0]}, {figures[1][0]}, not {figures[0][1]}, {figures[1][1]} ns"
        )
    assert wrong is None, wrong
    return why


def _inferred(answer: dict[str, Any]) -> dict[str, Any]:
    """The quota by `crates/faas`; here, since tests of requests do without the package."""
    from swtch._native import complete_answer

    found: dict[str, Any] = json.loads(complete_answer(json.dumps(answer)))["throttling"]["inferred"]
    return found
