"""Ways of waiting for a GPU, with a driver that is made up: no machine of the tests has a GPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from run_host import needs, needs_swtch

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    """The directory of a made-up libcuda.so.1."""
    needs("cc")
    directory = tmp_path_factory.mktemp("driver")
    made = [
        "cc",
        "-O2",
        "-shared",
        "-fPIC",
        "-o",
        str(directory / "libcuda.so.1"),
        str(HERE / "made_up_cuda.c"),
    ]
    subprocess.run(made, check=True)
    return directory


def gpu(words, directory, **variables):
    program = "import sys; from swtch.ai.command import main; sys.exit(main())"
    return subprocess.run(
        [sys.executable, "-c", program, "gpu", *words],
        env={**os.environ, **({"LD_LIBRARY_PATH": str(directory)} if directory else {}), **variables},
        capture_output=True,
        text=True,
    )


def test_the_three_ways_differ_as_they_must(driver, tmp_path):
    needs_swtch()
    study = tmp_path / "study"
    words = "--work 2ms --processes 1 --duration 500ms --price 0.05/vcpu-hour"
    done = gpu([*words.split(), "--out", str(study)], driver)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Work of 2 ms: blocking instead of spinning frees "), done.stdout
    assert " CPUs, $" in done.stdout and "made-up GPU, CUDA 12.4" in done.stdout
    runs = {one["facts"]["wait"]: one for one in json.loads((study / "study.json").read_text())["runs"]}
    assert set(runs) == {"spin", "yield", "block"}
    for one in runs.values():
        assert one["latency_ns"]["p50"] >= 2e6 and one["inferences"] > 10
    busy = {wait: one["per_inference"]["cpu_ns"] / one["latency_ns"]["mean"] for wait, one in runs.items()}
    assert busy["block"] < 0.5 * busy["spin"], busy
    if os.geteuid() == 0:
        # A thread that sleeps switches once for each wait; one that spins does not ask for it.
        assert runs["block"]["per_inference"]["voluntary"] >= 0.9 > runs["spin"]["per_inference"]["voluntary"]


@pytest.mark.parametrize(
    ("variables", "why"),
    [({}, "cannot be loaded"), ({"MADE_UP_DEVICES": "0"}, "the driver counts 0 devices")],
)
def test_without_a_gpu_there_is_a_plain_line(driver, tmp_path, variables, why):
    done = gpu(["--out", str(tmp_path / "study")], driver if variables else None, **variables)
    if done.returncode == 0 and "no GPU here" not in done.stdout:
        pytest.skip("this machine has a GPU")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")
    assert done.stdout.startswith("no GPU here: ") and why in done.stdout
    found = json.loads(gpu(["--json"], driver if variables else None, **variables).stdout)
    assert found["gpu"] is None and why in found["why"]
    assert not (tmp_path / "study").exists()


def test_what_is_no_way_of_waiting_is_refused():
    done = gpu(["--wait", "hope"], None)
    assert done.returncode == 2 and "'hope' is none of spin, yield, block" in done.stderr
