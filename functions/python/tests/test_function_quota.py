"""The quota and the period that the spinners infer are those of the cgroup, within 0.5 %, on this kernel."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import check_document

from limited_group import KEPT_NS, limited_group
from swtch_function import document
from swtch_function.counters import cpu_group
from swtch_function.processes import Child
from swtch_function.request import from_values

TOLERANCE = 0.005
PERIOD_TOLERANCE = 0.0075
"""Others may delay an end by a tick, which is this much of ten periods of 100 ms, with some to spare."""
TIERS = {128: 0.0833, 256: 0.1667, 512: 0.3333, 1024: 0.5833, 2048: 1.0}
"""CPUs of generation-1 Cloud Functions by MB."""
WEIGHT = 20480
"""Of the group, so that what else runs here does not keep it from using its quota up."""
SPINS_MS = (1000, 2000, 4000)
"""Of which one must show a quota that was used up throughout; a busy machine may not let it each time, and what it lets a CPU keep counts less
in a longer one."""


def no_group(error: OSError) -> str:
    """Why a test cannot run."""
    return f"no cgroup with a quota can be made: {error.strerror or error}"


def invoke_in(directory: Path, asked: dict[str, Any]) -> Any:
    """An answer from within a group."""

    def work() -> dict[str, Any]:
        (directory / "cgroup.procs").write_text("0")
        return document.invoke(from_values(asked))

    return completed(Child(work).result())


def completed(answer: dict[str, Any]) -> Any:
    """With the figures that `crates/faas` makes; here, since the other tests of the handler do without the package."""
    from swtch._native import complete_answer

    return json.loads(complete_answer(json.dumps(answer)))


@pytest.mark.parametrize("period_ms", [100, 20])
@pytest.mark.parametrize("memory_mb", list(TIERS))
def test_the_quota_from_inside_is_the_groups(memory_mb: int, period_ms: int) -> None:
    spinners = 2 if TIERS[memory_mb] >= 1 else 1
    if len(os.sched_getaffinity(0)) < spinners:
        pytest.skip("one CPU cannot use up a quota of one CPU")
    quota_us = round(TIERS[memory_mb] * period_ms * 1000)
    busy, wrong = "", None
    with contextlib.ExitStack() as stack:
        try:
            directory = stack.enter_context(limited_group(quota_us, period_ms * 1000, WEIGHT))
        except OSError as error:
            pytest.skip(no_group(error))
        for spin_ms in SPINS_MS:
            found = invoke_in(directory, {"methods": [], "spin_ms": spin_ms, "spinners": spinners})
            check_document(found, "local")
            numbers, inferred = found["throttling"]["platform"], found["throttling"]["inferred"]
            assert (numbers["quota_ns"], numbers["period_ns"]) == (quota_us * 1000, period_ms * 1_000_000)
            periods = spin_ms / period_ms
            if numbers["periods_throttled"] < 0.8 * periods:
                busy = (
                    f"the group was throttled in {numbers['periods_throttled']} of {periods:g} periods only"
                )
                continue
            seen = (inferred["period_ns"], inferred["quota_ns"])
            if seen[0] is None:
                busy = "gaps of others hid the period"
                continue
            busy = f"the kernel may have let it run {seen[1]:.0f} ns of {quota_us * 1000} on average"
            wrong = None if abs(seen[1] - quota_us * 1000) <= spinners * KEPT_NS / periods else seen
            if seen[0] == pytest.approx(numbers["period_ns"], rel=PERIOD_TOLERANCE) and seen[
                1
            ] == pytest.approx(quota_us * 1000, rel=TOLERANCE):
                # In a period without the quota used up it had less, and as much as nothing.
                used_up = min(1.0, numbers["periods_throttled"] / periods)
                assert (
                    TIERS[memory_mb] * used_up * 0.8 < found["cpu"]["share"]["mean"] < TIERS[memory_mb] * 1.2
                )
                return
    assert wrong is None, f"period and quota of {period_ms} and {quota_us / 1000} ms seen as {wrong} ns"
    pytest.skip(f"this machine is too busy: {busy}")


def test_without_a_quota_none_is_inferred() -> None:
    found = completed(document.invoke(from_values({"methods": [], "spin_ms": 500, "spinners": 1})))
    limited = cpu_group()
    if limited is not None and limited.numbers()["quota_ns"] is not None:
        pytest.skip("this machine's own cgroup has a quota")
    if found["cpu"]["share"]["median"] < 0.9:
        pytest.skip("this machine is too busy: turns with other programs look like a quota")
    assert found["throttling"]["inferred"]["quota_ns"] is None
    assert "throttling.inferred.quota_ns" in [one["what"] for one in found["unavailable"]]
