"""The examples of the documentation run, one after the other as a reader types them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from notebook_shell import run_notebook

import swtch

DOCS = Path(__file__).resolve().parents[2] / "docs"
#: The sweep that a page names.
GRID = """machines = [2, 4]
policies = ["eevdf", "rr"]
seeds = [1, 2]
workloads = ["spin:tasks=4,work_ns=1ms"]
"""


@pytest.mark.parametrize(
    "page",
    [
        "python.md",
        "simulate.md",
        "sweep.md",
        "tutorials/schedulers.md",
        "howto/notebook.md",
        "howto/slow-requests.md",
    ],
)
def test_every_example_in_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    Path("grid.toml").write_text(GRID)
    text = (DOCS / page).read_text()
    if 'mode="events"' in text:
        try:
            swtch.record(["true"], mode="events")
        except (swtch.RecordError, swtch.UsageError) as why:
            pytest.skip(f"single switches cannot be recorded here: {why}")
    blocks = [*re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    assert len(blocks) == text.count("```python\n") > 0
    names: dict[str, Any] = {}
    for block in blocks:
        # The lines of a failure are those of the page.
        lines = "\n" * text.count("\n", 0, block.start(1)) + block.group(1)
        exec(compile(lines, str(DOCS / page), "exec"), names)
    if page == "howto/slow-requests.md":
        slow = names["why"]
        assert (slow["slowest"][0]["id"], slow["slow"]["causes"][0]["cause"]) == ("7", "blocked")


def test_the_notebook_runs() -> None:
    pytest.importorskip("pandas")
    names = run_notebook(DOCS / "tutorials" / "notebook.ipynb")
    # Each message is waited for on either side; samples see all of it as well, since the threads of the caller stay.
    assert names["switches"][1] > 2_000 and names["switches"][1] > 3 * names["switches"][100]
    assert names["tasks"]["voluntary"].sum() > 2_000 and names["bill"] is not None
    assert list(names["groups"]["name"])


def test_the_notebook_of_a_sweep_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)
    names = run_notebook(DOCS / "tutorials" / "policy-map.ipynb")
    over_best = names["over_best"]
    assert over_best.shape == (12, 4) and (over_best.min(axis=1) == 1).all()
    assert set(names["winners"].stack()) <= {"eevdf", "cfs", "fifo", "flsched", "undecided"}
    assert names["policy_map"].to_html().count("background-color") > 10
