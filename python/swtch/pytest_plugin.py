"""A plugin of pytest: what the context switches of each test cost.

`pytest --swtch` records each test and prints its switches, waits and bill. `@pytest.mark.swtch(max_involuntary=10)` fails a test above its
budget, with or without that option.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from typing import Any

import pytest

from ._record import recording
from ._trace import Trace

FIGURES = {
    "voluntary": ("voluntary", 1),
    "involuntary": ("involuntary", 1),
    "wait_ms": ("wait_ns", 1e-6),
}
"""Figures of a test: the column of the table `tasks` that is summed, and its unit."""
BUDGETS = {f"max_{name}": name for name in FIGURES}
SHOWN = 20
"""Tests in the terminal summary, those with most waiting first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--swtch`."""
    group = parser.getgroup("swtch", "context switches")
    group.addoption("--swtch", action="store_true", help="record each test: its switches, waits and bill")


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker."""
    names = ", ".join(f"{name}=N" for name in BUDGETS)
    config.addinivalue_line("markers", f"swtch({names}): fail the test above these figures of its process")


def budgets(item: pytest.Item) -> dict[str, float]:
    """What the test's markers allow; the nearest one counts."""
    found: dict[str, float] = {}
    for mark in item.iter_markers("swtch"):
        unknown = set(mark.kwargs) - set(BUDGETS)
        if mark.args or unknown:
            raise pytest.UsageError(f"{item.nodeid}: swtch takes {', '.join(BUDGETS)}, each with a number")
        found = {**mark.kwargs, **found}
    return found


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Records the test, without its fixtures."""
    allowed = budgets(item)
    if not allowed and not item.config.getoption("swtch"):
        return (yield)
    with recording(pids=os.getpid(), mode="counts") as running:
        result = yield
    found = figures(running.trace, running.recorder_tid)
    item.user_properties.append(("swtch", found))
    over = [
        f"{name} {found[name]:g}, allowed {allowed[budget]:g}"
        for budget, name in BUDGETS.items()
        if budget in allowed and found[name] is not None and found[name] > allowed[budget]
    ]
    unknown = [name for budget, name in BUDGETS.items() if budget in allowed and found[name] is None]
    if unknown:
        raise pytest.fail.Exception(
            f"swtch: {', '.join(unknown)} cannot be counted here: {found['why']}", pytrace=False
        )
    if over:
        raise pytest.fail.Exception(f"swtch: above the budget: {'; '.join(over)}", pytrace=False)
    return result


def figures(trace: Trace, recorder_tid: int | None) -> dict[str, Any]:
    """What the tasks of this process did and paid, without the thread that recorded them."""
    tasks = [row for row in trace.table("tasks").rows() if row["in_scope"] and row["tid"] != recorder_tid]
    missing = {one.what: one.why for one in trace.unavailable}
    found: dict[str, Any] = {"source": trace.provenance.recorder, "why": trace.provenance.why}
    for name, (column, unit) in FIGURES.items():
        why = missing.get(f"tasks.{column}")
        found[name] = None if why else sum(row[column] for row in tasks) * unit
        found["why"] = why or found["why"]
    direct = trace.bill().direct_ns
    found["cost_ms"] = None if direct is None else [direct.low * 1e-6, direct.high * 1e-6]
    return found


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the figures of the tests that were recorded."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    recorded = [
        (report.nodeid, dict(report.user_properties)["swtch"])
        for report in reports
        if getattr(report, "when", None) == "call" and "swtch" in dict(report.user_properties)
    ]
    if not recorded:
        return
    recorded.sort(key=lambda one: (-(one[1]["wait_ms"] or 0), one[0]))
    terminalreporter.section("context switches (swtch)")
    terminalreporter.write_line("voluntary  involuntary  waited ms       switch cost ms  test")
    for test, found in recorded[:SHOWN]:
        terminalreporter.write_line(_line(test, found))
    if len(recorded) > SHOWN:
        terminalreporter.write_line(f"and {len(recorded) - SHOWN} more tests, which waited less")


def _line(test: str, found: Mapping[str, Any]) -> str:
    def shown(name: str, digits: int) -> str:
        return "n/a" if found[name] is None else f"{found[name]:,.{digits}f}"

    cost = found["cost_ms"]
    bill = "n/a" if cost is None else f"{cost[0]:.3f} to {cost[1]:.3f}"
    return f"{shown('voluntary', 0):>9}  {shown('involuntary', 0):>11}  {shown('wait_ms', 3):>9}  {bill:>19}  {test}"
