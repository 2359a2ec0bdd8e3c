"""A small fleet that never was, and files that examples name."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest
from fleet_host import messages

ROOT = Path(__file__).resolve().parents[3]
TRACES = ROOT / "fixtures" / "traces"


def generator() -> ModuleType:
    """`experiments/fleet/generate.py`."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "experiments" / "fleet" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """Its directory, and what is wrong with it."""
    pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'swtch[fleet]'")
    directory = tmp_path_factory.mktemp("fleet") / "fleet"
    truth = generator().generate(directory, machines=60, days=16, services=30, per_machine=10, seed=3)
    return directory, truth


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current directory with `traces/` of two machines and `metrics.jsonl`."""
    monkeypatch.chdir(tmp_path)
    for machine, name in (("web-1", "machine"), ("web-2", "waits")):
        shutil.copytree(TRACES / f"{name}.swtch", tmp_path / "traces" / machine / f"{name}.swtch")
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in messages()))
    return tmp_path
