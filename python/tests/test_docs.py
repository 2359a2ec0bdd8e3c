"""The examples of the documentation run, one after the other as a reader types them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["python.md", "simulate.md", "tutorials/schedulers.md", "howto/notebook.md"])
def test_every_example_in_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    text = (DOCS / page).read_text()
    blocks = [*re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]
    assert len(blocks) == text.count("```python\n") > 0
    names: dict[str, object] = {}
    for block in blocks:
        # The lines of a failure are those of the page.
        lines = "\n" * text.count("\n", 0, block.start(1)) + block.group(1)
        exec(compile(lines, str(DOCS / page), "exec"), names)
