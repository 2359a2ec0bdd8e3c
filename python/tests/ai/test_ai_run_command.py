"""The command: what it says, what it refuses, and its examples."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_examples import GUIDES, ROOT, all_examples, installed
from run_host import SLEEPER, needs_runtime, needs_swtch, program

from swtch._program import binary
from swtch.ai import attach, evaluate, overhead, own_model, predict, run, runtime, study, tune, why
from swtch.ai.catalogue import MODELS
from swtch.ai.command import _parser, main
from swtch.ai.errors import MissingRuntime


@pytest.mark.parametrize(
    "example", all_examples("swtch ai", _parser(), [ROOT / "docs" / "ai.md", *GUIDES], 20)
)
def test_every_example_runs(example, tmp_path, monkeypatch, capsys):
    """Everything but the workloads themselves: those would take hours."""
    words = shlex.split(example.split(" | ")[0])[2:]
    monkeypatch.chdir(tmp_path)
    for name in ("my-workload", "my_workload.py"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    of_file = own_model.ModelFile(Path("model.onnx"), (own_model.Input("x", "float32", (1, 4)),), 4)
    monkeypatch.setattr(own_model, "read", lambda path: of_file)
    monkeypatch.setattr(own_model, "feed", lambda *arguments: None)
    explained = [{"id": "resnet-50-v2.t2.spin.r0", "latency_ns": {"p50": 1, "p99": 9}}]
    monkeypatch.setattr(why.result, "read", lambda path: {})
    monkeypatch.setattr(why, "_recorded", lambda directory, document, chosen: explained)
    monkeypatch.setattr(attach, "run", lambda options: print("Waiting.") or 0)
    monkeypatch.setattr(predict, "run", lambda options: print("t2.spin is fastest.") or 0)
    monkeypatch.setattr(why, "_said", lambda *arguments: "{}" if "--json" in arguments else "Waiting.\n\n")
    ran = []

    def instead(job, plan, usable, say=None, look=None, meanwhile=None):
        ran.append(job)
        row = evaluate.blank(job.id, job.subject.to_document(), job.settings.to_document(), job.repeat, None)
        speed = 100.0 / job.settings.threads + job.repeat
        row.update(
            outcome="complete",
            inferences=9,
            images_per_second=speed,
            latency_ns={"p50": 1e9 / speed, "p90": 2e9, "p99": 3e9, "max": 3e9, "mean": 1e9},
        )
        row["per_inference"] = dict.fromkeys(("voluntary", "involuntary", "interrupts", "cpu_ns", "wait_ns"))
        row["cpu"] = {
            "utilisation": 1.0,
            "window_ns": 10,
            "cpu_count": 1,
            "own_ns": 9,
            "measuring_ns": 0,
            "foreign_ns": 1,
            "idle_ns": 0,
            "steal_ns": 0,
            "tolerance_ns": 1,
            "throttled_ns": None,
            "sampling_ns": 1,
        }
        row["trace"] = None if not plan.record else f"{job.id}.swtch"
        return row

    for module in (study, overhead):
        monkeypatch.setattr(module, "run_once", instead)
    for module in (run, tune, overhead):
        monkeypatch.setattr(module, "need_models", lambda device: None)
    monkeypatch.setattr(tune.vm, "compare", lambda *arguments: {"text": "In a virtual machine ..."})
    assert main(words) == 0, capsys.readouterr().err
    assert bool(ran) == (words[0] not in ("list", "why", "gpu", "attach", "predict"))
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("run", "nothing to run; give models"),
        ("run --quick --suite suo", "--quick and --suite exclude each other"),
        ("run --all", "--all is called --suite suo now"),
        ("run 1 --quick", "MODELS and --quick exclude each other"),
        ("run 1 -- true", "MODELS and -- COMMAND exclude each other"),
        ("run mobilenet", "there is no model 'mobilenet'; did you mean mobilenet-v2?"),
        ("run 17", "there is no model '17'"),
        ("run 1 --threads 0", "is not a whole number from 1"),
        ("run 1 --threads two", "is not a whole number from 1"),
        ("run 1 --duration 0s", "is not a time above 0"),
        ("run 1 --spin maybe", "is neither on nor off"),
        ("run 1 --pin 4096", "cannot pin to CPU 4096: this process may use"),
        ("run 1 --quota -1", "is not a quota"),
        ("run 1 --quota 0", "is not a quota"),
        ("run 1 --device tpu", "invalid choice"),
        ("run --device cuda -- true", "a program chooses its own device"),
        ("run --check-overhead 1,2", "--check-overhead takes one model"),
        ("run --check-overhead 1 --threads 1,2", "takes one value of each setting"),
        ("tune", "nothing to tune"),
        ("tune 1,2", "tune takes one model"),
        ("tune 1 -- true", "exclude each other"),
        ("sing", "invalid choice"),
        ("", "required"),
    ],
)
def test_wrong_usage_is_two_and_says_what_would_be_right(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    try:
        status = main(shlex.split(words))
    except SystemExit as ended:
        status = ended.code
    err = capsys.readouterr().err
    assert (status, said in err) == (2, True), err
    assert err.count("\n") == 1
    # Nothing was begun.
    assert list(tmp_path.iterdir()) == []


def test_cuda_without_a_gpu_is_one_line(tmp_path, capsys):
    needs_runtime()
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("there is a GPU's provider here")
    assert main(["run", "1", "--device", "cuda", "--out", str(tmp_path / "out")]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "--device cuda needs ONNX Runtime's CUDAExecutionProvider" in err


def test_without_the_runtime_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr(study, "installed", lambda: dict.fromkeys(runtime.NEEDED))
    with pytest.raises(MissingRuntime, match=r"pip install 'swtch\[ai\]'"):
        study.need_models("cpu")


def test_too_little_memory_ends_with_one(tmp_path, capsys):
    needs_runtime()
    directory = tmp_path / "out"
    assert main(["run", "spade", "--batch", "4096", "--out", str(directory)]) == 1
    assert re.search(
        r"spade\S+: refused: needs up to \d+ MB and \d+ MB are available", capsys.readouterr().out
    )


def test_weights_of_the_wrong_shape_are_told_of(tmp_path, capsys):
    needs_runtime(), needs_swtch()
    import numpy

    numpy.savez(tmp_path / "mobilenet-v2.npz", stray=numpy.zeros(3))
    words = ["run", "1", "--weights", str(tmp_path), "--duration", "100ms", "--out", str(tmp_path / "out")]
    assert main(words) == 1
    assert re.search(r"mobilenet-v2\S+: crashed: the weights .* lack", capsys.readouterr().out)


def test_a_program_that_is_not_there_is_one_line(tmp_path, capsys):
    assert main(["run", "--out", str(tmp_path / "out"), "--", "no-such-program-anywhere"]) == 1
    assert "no-such-program-anywhere" in capsys.readouterr().out


def test_the_list_has_all_sixteen(capsys):
    assert main(["list", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["number"] for one in document["models"]] == list(range(1, 17))
    assert all(one["predicted_peak_bytes"] > 4 * one["parameters"] for one in document["models"])
    assert main(["list"]) == 0
    text = capsys.readouterr().out
    assert all(model.slug in text for model in MODELS)
    assert "aarch64" in text


def test_swtch_runs_it_as_its_own(tmp_path):
    needs_swtch()
    own = tmp_path / "swtch-ai"
    own.write_text(f'#!/bin/sh\nexec {sys.executable} -m swtch.ai.command "$@"\n')
    own.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    directory = tmp_path / "out"
    words = ["run", "--threads", "1", "--duration", "100ms", "--out", str(directory), "--no-record", "--"]
    command = [str(binary()), "ai", *words, sys.executable, str(program(tmp_path, SLEEPER))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (directory / "study.json").exists()
    assert "per s" in done.stdout


def test_the_installation_brings_the_program():
    assert installed("swtch-ai") is main
