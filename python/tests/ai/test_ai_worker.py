"""The worker, end to end, and what it says when something is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed; tools/setup test installs it")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed; tools/setup test installs it")

from swtch.ai import runtime  # noqa: E402
from swtch.ai.catalogue import MODELS, find  # noqa: E402
from swtch.ai.errors import MissingRuntime, RuntimeFailed  # noqa: E402
from swtch.ai.graphs.builder import Builder  # noqa: E402
from swtch.ai.graphs.onnx_model import serialised  # noqa: E402
from swtch.ai.weights import random_weights  # noqa: E402
from swtch.ai.worker import _cpus  # noqa: E402


def run_module(*arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """The worker without a host, after some lines of Python."""
    program = f"import sys\n{before}\nfrom swtch.ai.worker import main\nsys.exit(main(sys.argv[1:]))"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


def test_mobilenet_from_beginning_to_end(worker) -> None:
    ended = worker("1", "--threads", "2", "--block", "--duration", "0.5")
    assert ended.status == 0, ended.stderr
    ready, said = ended.said.ready, ended.said
    assert said.truncated is None and said.error is None and ended.stderr == ""
    assert (ready["workload"], ready["threads"], ready["spin"], ready["batch"]) == (
        "mobilenet-v2",
        2,
        False,
        1,
    )
    assert (ready["parameters"], ready["input_shape"]) == (3_504_872, [1, 3, 224, 224])
    assert ready["runtime_version"] == ort.__version__ and ready["providers"] == ["CPUExecutionProvider"]
    assert ready["thread_count"] >= 2 and ready["load_s"] > 0 and ready["graph_bytes"] < 100_000
    assert said.metrics["inferences"] == len(said.begin_ns) > 0
    assert all(latency > 0 for latency in said.latencies_ns())
    assert all(end <= begin for end, begin in zip(said.end_ns, said.begin_ns[1:]))
    # The time asked for, and no inference was begun after it.
    assert said.end_ns[-2] - said.begin_ns[0] < 0.5e9
    assert said.end_ns[-1] - said.begin_ns[0] > 0.4e9
    # A softmax: the probabilities of 1000 classes.
    assert said.metrics["output_mean"] == pytest.approx(1e-3, rel=1e-3)
    weights_bytes = 4 * ready["parameters"]
    assert weights_bytes < said.metrics["peak_rss_bytes"] < find("1")[0].predicted_peak_bytes()


def test_the_host_decides_when_the_command_line_does_not(worker) -> None:
    environment = {"SWTCH_CONTRACT_DURATION_S": "60", "SWTCH_CONTRACT_INFERENCES": "3"}
    ended = worker("1", "--batch", "2", environment=environment)
    assert (ended.status, ended.said.metrics["inferences"], ended.said.metrics["images"]) == (0, 3, 6)
    assert ended.said.ready["input_shape"][0] == 2 and ended.said.ready["spin"] is True


def test_the_seed_decides_the_output(worker) -> None:
    def checksum(seed: str) -> int:
        return worker("1", "--inferences", "1", "--seed", seed).said.metrics["output_crc32"]

    assert checksum("1") == checksum("1") != checksum("2")


def test_no_go_no_inferences(worker) -> None:
    ended = worker("1", "--duration", "5", go="stop\n")
    assert ended.status == 1 and len(ended.said.begin_ns) == 0
    assert ended.said.error == "the host ended before it sent go"


def test_sigterm_ends_it_early_with_everything_written(worker) -> None:
    began = time.monotonic()
    ended = worker("1", "--duration", "600", after_go=lambda process: process.send_signal(signal.SIGTERM))
    assert ended.status == 0, ended.stderr
    assert len(ended.said.begin_ns) == ended.said.metrics["inferences"] > 0
    assert time.monotonic() - began < 100


def test_a_worker_that_is_killed_leaves_what_it_said(worker) -> None:
    ended = worker("1", "--duration", "600", after_go=lambda process: process.kill())
    assert ended.status == -signal.SIGKILL
    assert ended.said.ready["workload"] == "mobilenet-v2" and ended.said.metrics == {}


@pytest.mark.parametrize("number", [5, 10, 11])
def test_memory_is_predicted_before_it_is_taken(worker, number: int) -> None:
    """Weights for the most part (5), activations for the most part (10), little of either (11)."""
    ended = worker(str(number), "--threads", "2", "--inferences", "1")
    assert ended.status == 0, ended.stderr
    predicted = find(str(number))[0].predicted_peak_bytes()
    assert predicted / 3 < ended.said.metrics["peak_rss_bytes"] < predicted


@pytest.mark.parametrize("mebibytes", [300, 600, 900, 1200])
def test_too_little_memory_is_one_line(worker, mebibytes: int) -> None:
    """VGG-16 alone has 528 MiB of weights: a limit of address space stops it somewhere between numpy and the runtime."""
    ended = worker("7", limit_bytes=mebibytes << 20)
    assert ended.status != 0 and ended.said.ready is None and ended.said.truncated is None
    assert len(ended.stderr.splitlines()) == 1, ended.stderr


def test_pinning(worker) -> None:
    cpu = min(os.sched_getaffinity(0))
    assert worker("1", "--pin", str(cpu), "--inferences", "1").said.ready["cpus"] == [cpu]
    ended = worker("1", "--pin", "65000")
    assert ended.status == 1 and ended.said.ready is None
    assert "cannot pin to the CPUs [65000]" in ended.said.error and str(cpu) in ended.said.error


def test_real_weights(worker, tmp_path) -> None:
    graph = find("1")[0].build()
    arrays = random_weights(graph, 5)
    np.savez(tmp_path / "mobilenet-v2.npz", **arrays)
    loaded = worker("1", "--weights", str(tmp_path), "--inferences", "1")
    assert loaded.said.ready["weights"] == str(tmp_path) and loaded.said.ready["seed"] is None
    seeded = worker("1", "--seed", "5", "--inferences", "1")
    assert loaded.said.metrics["output_crc32"] == seeded.said.metrics["output_crc32"]

    arrays["dense.bias"] = np.zeros(7, np.float32)
    np.savez(tmp_path / "mobilenet-v2.npz", **arrays)
    ended = worker("1", "--weights", str(tmp_path))
    assert ended.status == 1 and ended.said.ready is None
    assert "'dense.bias'" in ended.said.error and "shape (7,); the model needs (1000,)" in ended.said.error
    assert ended.stderr == f"swtch ai: {ended.said.error}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mobilnet"], "there is no model 'mobilnet'; did you mean mobilenet-v2?"),
        (["1-3"], "a worker runs one model, and '1-3' names 3"),
        (["1", "--threads", "0"], "0 is not above 0"),
        (["1", "--duration", "-1"], "-1 is not a time in seconds above 0"),
        (["1", "--duration", "nan"], "nan is not a time"),
        (["1", "--pin", "3-1"], "'3-1' is not a list of CPUs"),
        (["1", "--pin", "a"], "'a' is not a list of CPUs"),
        (["1", "--spin", "--block"], "not allowed with argument"),
        (["1", "--device", "tpu"], "invalid choice: 'tpu'"),
    ],
)
def test_wrong_usage(arguments: list[str], words: str) -> None:
    ended = run_module(*arguments)
    assert ended.returncode == 2 and words in ended.stderr and ended.stdout == ""


@pytest.mark.parametrize("package", runtime.NEEDED)
def test_a_missing_package_is_one_line(package: str) -> None:
    ended = run_module("1", before=f"sys.modules[{package!r}] = None")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert f"need {package}" in line and "pip install 'swtch[ai]'" in line


def test_cuda_without_its_provider_is_one_line_before_anything_is_built() -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this ONNX Runtime has the CUDA provider")
    ended = run_module("16", "--device", "cuda")
    assert ended.returncode == 1
    (line,) = ended.stderr.splitlines()
    assert "--device cuda needs ONNX Runtime's CUDAExecutionProvider" in line


# The stand-in of a list is what onnxruntime warns about.
@pytest.mark.filterwarnings("ignore:Specified provider")
def test_a_provider_that_is_listed_and_does_not_load_is_no_silent_cpu(monkeypatch) -> None:
    if "CUDAExecutionProvider" in ort.get_available_providers():
        pytest.skip("this ONNX Runtime has the CUDA provider")
    monkeypatch.setattr(ort, "get_available_providers", lambda: ["CUDAExecutionProvider"])
    with pytest.raises(MissingRuntime, match="--device cuda: CUDAExecutionProvider .*nvidia-smi"):
        runtime.check("cuda")


def test_what_the_runtime_refuses_is_one_line() -> None:
    b = Builder("wrong")
    graph = b.output(b.relu(b.input((1, 2))))
    with pytest.raises(RuntimeFailed, match="could not load the model"):
        runtime.Session(b"no model", {}, runtime.Settings())
    session = runtime.Session(serialised(graph), {}, runtime.Settings())
    with pytest.raises(RuntimeFailed, match="could not infer") as caught:
        session.infer({"input": np.zeros((1, 3), np.float32)})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.slug)
def test_every_model_runs(model) -> None:
    """Whole networks on images a quarter as high and wide (SPADE: half), which keeps this short; the Inceptions need 75 pixels."""
    divisor = {"spade": 2}.get(model.slug, 4)
    _, channels, height, width = model.input_shape
    b = Builder(model.slug)
    x = b.input((1, channels, height // divisor, width // divisor))
    graph = b.output(model.architecture(b, x))
    if graph.nodes[-1].operator == "Softmax":
        # Random weights make probabilities of exactly 0 and 1; what they are made from says more.
        graph.outputs = [graph.tensors[graph.nodes[-1].inputs[0]]]
    threads = len(os.sched_getaffinity(0))
    weights = random_weights(graph, threads=threads)
    session = runtime.Session(serialised(graph), weights, runtime.Settings(threads, inter_op_threads=2))
    generator = np.random.default_rng(0)
    feed = {one.name: generator.random(one.shape, dtype=np.float32) for one in graph.inputs}
    output = session.infer(feed)
    assert output.shape == graph.outputs[0].shape and np.isfinite(output).all()
    # Whatever is fed makes a difference: nothing was left out on the way.
    assert output.std() > 0
    assert not np.array_equal(output, session.infer({**feed, "input": feed["input"][..., ::-1].copy()}))


def test_cpu_lists() -> None:
    assert _cpus("0,2-4") == {0, 2, 3, 4} and _cpus("7") == {7}
