"""The example programs keep the contract."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from workload_host import ROOT, run_workload

EXAMPLES = ROOT / "examples" / "contract"
THREE = {"SWTCH_CONTRACT_INFERENCES": "3", "SWTCH_CONTRACT_DURATION_S": "30"}


def kept(ended, count: int = 3) -> None:
    assert ended.status == 0, ended.stderr
    assert ended.said.truncated is None and ended.said.error is None
    assert len(list(ended.said.latencies_ns())) == count and all(
        latency > 0 for latency in ended.said.latencies_ns()
    )


def test_onnxruntime(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx", reason="onnx is not installed; tools/setup test installs it")
    from swtch.ai.graphs.builder import Builder
    from swtch.ai.graphs.onnx_model import serialised

    b = Builder("softmax")
    (tmp_path / "model.onnx").write_bytes(serialised(b.output(b.softmax(b.input((1, 1000))))))
    command = [sys.executable, EXAMPLES / "onnxruntime_workload.py"]
    ended = run_workload([*command, tmp_path / "model.onnx", "2"], THREE)
    kept(ended)
    assert ended.said.ready["threads"] == 2 and ended.said.metrics == {"inferences": 3}
    assert onnx.load(tmp_path / "model.onnx").graph.name == "softmax"

    ended = run_workload([*command, tmp_path / "missing.onnx"])
    assert ended.status == 1 and "missing.onnx cannot be loaded" in ended.said.error
    assert run_workload(command).status == 2


def test_llama_cpp(tmp_path: Path) -> None:
    for package in ("xllamacpp", "gguf"):
        pytest.importorskip(package, reason=f"{package} is not installed; tools/setup test installs it")
    command = [sys.executable, EXAMPLES / "llama_cpp_workload.py"]
    ended = run_workload([*command, "--threads", "2", "--threads-batch", "1", "--spin", "0"], THREE)
    kept(ended)
    assert ended.said.ready["runtime"] == "llama.cpp" and ended.said.ready["poll"] == 0
    assert (ended.said.ready["threads"], ended.said.ready["threads_batch"]) == (2, 1)
    assert ended.said.metrics["inferences"] == 3 and ended.said.metrics["first_token_ns"] > 0
    # A token begins when the one before it has come.
    assert ended.said.begin_ns[1:] == ended.said.end_ns[:-1]

    ended = run_workload([*command, tmp_path / "missing.gguf"])
    assert ended.status == 1 and "missing.gguf cannot be loaded" in ended.said.error


def test_pytorch_missing(tmp_path: Path) -> None:
    program = f"import sys, runpy; sys.modules['torch'] = None; sys.argv = ['x']; runpy.run_path({str(EXAMPLES / 'pytorch_workload.py')!r}, run_name='__main__')"
    ended = run_workload([sys.executable, "-c", program])
    assert ended.status == 1 and ended.said.ready is None
    assert ended.said.error == "PyTorch is not installed; pip install torch"
    assert ended.stderr == "pytorch_workload: PyTorch is not installed; pip install torch\n"


def test_pytorch_with_a_stand_in(tmp_path: Path) -> None:
    """PyTorch takes 5 GB, so a stand-in with the few names that are used shows that the contract is kept."""
    (tmp_path / "torch.py").write_text(
        textwrap.dedent("""
            import contextlib, time
            __version__ = "0"
            class Layer:
                def __init__(self, width, heads, batch_first): pass
                def eval(self): return self
                def __call__(self, tokens): time.sleep(0.001); return tokens
            class nn: TransformerEncoderLayer = Layer
            class Tensor:
                def mean(self): return 0.5
            def rand(*shape): return Tensor()
            def set_num_threads(count): assert count == 3
            def manual_seed(seed): pass
            inference_mode = contextlib.nullcontext
        """)
    )
    script = EXAMPLES / "pytorch_workload.py"
    program = f"import sys, runpy; sys.path.insert(0, {str(tmp_path)!r}); sys.argv = ['x', '3']; runpy.run_path({str(script)!r}, run_name='__main__')"
    ended = run_workload([sys.executable, "-c", program], THREE)
    kept(ended)
    assert ended.said.metrics == {"inferences": 3, "output_mean": 0.5}


def test_c(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("clang") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no C compiler; tools/setup names the package")
    program = tmp_path / "sort_workload"
    subprocess.run(
        [compiler, "-Wall", "-Wextra", "-Werror", "-O2", "-o", program, EXAMPLES / "sort_workload.c"],
        check=True,
        timeout=60,
    )
    ended = run_workload([program], THREE)
    kept(ended)
    assert ended.said.metrics == {"sorts": 3}
    timed = run_workload([program], {"SWTCH_CONTRACT_DURATION_S": "0.2"})
    assert timed.status == 0 and timed.said.end_ns[-1] - timed.said.begin_ns[0] > 0.15e9
    assert run_workload([program], go="stop\n").status == 1
