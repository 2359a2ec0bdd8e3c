"""AI Benchmark under the recorder, with a small package in its place."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from run_host import check_leaves_once_an_inference, needs_root, needs_swtch
from schema_check import faults

from swtch.ai.errors import AiError
from swtch.ai.timeline import Switch

ROOT = Path(__file__).resolve().parents[3]
# A program of its own, whose modules are beside it.
sys.path.insert(0, str(ROOT / "experiments" / "ai" / "ai_benchmark"))
import environment  # noqa: E402
import run as suite  # noqa: E402

UTILS = """
import time
from ai_benchmark.update_utils import update_info
def getTimeMillis():
    return int(round(time.time() * 1000))
def printTestResults(prefix, batch_size, dimensions, mean, std, verbose):
    print(prefix, mean, std)
def run_tests():
    update_info("launch", None)
    for section in (1, 2):
        for kind in ("inference", "training "):
            for _ in range(5):
                begin = getTimeMillis()
                time.sleep(0.003)
                passed = getTimeMillis() - begin
            sub = 1 if kind == "inference" else 2
            printTestResults("%d.%d - %s" % (section, sub, kind), 1, [1, 2, 2], 3.0 * section, 0.5, 1)
    update_info("scores", None)
"""
PACKAGE = {
    "ai_benchmark/__init__.py": """
from ai_benchmark.utils import *
from ai_benchmark import utils
class AIBenchmark:
    def __init__(self, use_CPU, verbose_level):
        pass
    def run(self):
        utils.run_tests()
        update_info("scores", None)
    run_micro = run
""",
    "ai_benchmark/utils.py": UTILS,
    "ai_benchmark/update_utils.py": """
import os
def update_info(mode, testInfo):
    patch(mode, None, None)
def patch(url, data, connection):
    open(os.environ["UPLOADED"], "a").write(url)
make_patch_request = patch
""",
    "ai_benchmark/config.py": """
class _Test:
    def __init__(self, id, model):
        self.id, self.model = id, model
class TestConstructor:
    def getTests(self):
        return [_Test(1, "MobileNet-V2"), _Test(2, "Inception-V3")]
""",
    "tensorflow.py": "__version__ = '2.12.1'\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package that uploads, and a Python that has it."""
    for name, text in PACKAGE.items():
        path = tmp_path / "packages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path / "packages"} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("UPLOADED", str(tmp_path / "uploaded"))
    monkeypatch.setattr(suite, "python", lambda install: python)
    return python


def test_the_package_would_upload(package, tmp_path):
    """Otherwise the next test would prove nothing."""
    os.spawnv(
        os.P_WAIT,
        package,
        [str(package), "-c", "import ai_benchmark; ai_benchmark.AIBenchmark(True, 1).run()"],
    )
    assert (tmp_path / "uploaded").read_text() == "launchscoresscores"


def test_the_suite_is_recorded_test_by_test_and_uploads_nothing(package, tmp_path, capsys):
    needs_swtch(), needs_root()
    directory = tmp_path / "study"
    assert suite.main(["--part", "micro", "--out", str(directory), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert not (tmp_path / "uploaded").exists()
    assert faults(document, json.loads((ROOT / "docs" / "schemas" / "study-2.json").read_text())) == []
    tests, whole = document["runs"][:-1], document["runs"][-1]
    assert [run["workload"]["slug"] for run in tests] == [
        "ai-benchmark-1-1-inference",
        "ai-benchmark-1-2-training",
        "ai-benchmark-2-1-inference",
        "ai-benchmark-2-2-training",
    ]
    assert tests[0]["workload"]["name"] == "MobileNet-V2 (inference)"
    assert whole["inferences"] == sum(run["inferences"] for run in tests) == 20
    for run in tests:
        # Each pass sleeps once.
        assert run["inferences"] == 5
        check_leaves_once_an_inference(run)
        assert run["latency_ns"]["p50"] >= 3e6
        assert run["trace"] == whole["trace"]
    assert [run["facts"]["mean_ms"] for run in tests] == [3, 3, 6, 6]
    assert whole["facts"]["runtime_version"] == "2.12.1"


def test_passes_that_belong_to_no_test_are_noticed():
    told = {"inference_1_1_passes": 1, "inference_1_1_mean_ms": 1.0, "inference_1_1_sd_ms": 0.0}
    with pytest.raises(AiError, match="reported 2 passes, and its tests 1"):
        suite.parted(told, [(0, 1), (2, 3)])


def test_switches_are_parted_among_tests():
    rows = [Switch(at, 7, 0, False, None) for at in (1, 5, 12, 15, 25, 40)]
    found = dict(
        suite.cut(
            rows,
            frozenset([7]),
            [("a", [(0, 10)]), ("none", [(10, 11)]), ("b", [(11, 20)]), ("c", [(30, 50)])],
        )
    )
    assert {slug: one.voluntary for slug, one in found.items()} == {"a": 2, "none": 0, "b": 2, "c": 1}


def test_nothing_is_downloaded_without_consent(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert suite.main(["--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert "add --install to download it" in err and "GB" in err
    assert list(tmp_path.iterdir()) == []


def test_a_cut_off_installation_is_begun_again(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    place = environment.directory()
    (place / "bin").mkdir(parents=True)
    steps = []
    monkeypatch.setattr(environment, "_step", lambda command, what: steps.append(what))
    assert environment.python(install=True) == place / "bin" / "python"
    assert steps == ["make an environment", "download the packages"]
    environment.python(install=False)
    assert len(steps) == 2


def test_a_disk_that_is_too_small_is_said_before(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(environment.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 10**9}))
    with pytest.raises(AiError, match=r"GB and 1.0 GB are free"):
        environment.python(install=True)
