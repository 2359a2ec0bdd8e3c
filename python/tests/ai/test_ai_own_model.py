"""A model of the user's own: what its file says, and what is made up or refused."""

from __future__ import annotations

import json

import pytest
from run_host import needs_runtime, needs_swtch

import swtch
import swtch.ai
from swtch.ai import own_model
from swtch.ai.command import main
from swtch.ai.errors import AiError

TABLE = 100


@pytest.fixture
def files(tmp_path):
    """`picture.onnx` takes one array, its batch open; `text.onnx` takes token numbers and a mask, sequence and batch open."""
    needs_runtime()
    import numpy as np
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def write(name, nodes, inputs, output, weights):
        values = [helper.make_tensor_value_info(*one) for one in (*inputs, output)]
        graph = helper.make_graph(nodes, name, values[:-1], values[-1:], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.save(model, str(tmp_path / f"{name}.onnx"))

    square = numpy_helper.from_array(np.eye(8, dtype="float32"), "square")
    node = helper.make_node
    write(
        "picture",
        [node("MatMul", ["x", "square"], ["y"])],
        [("x", TensorProto.FLOAT, ["N", 8])],
        ("y", TensorProto.FLOAT, ["N", 8]),
        [square],
    )
    table = numpy_helper.from_array(np.ones((TABLE, 4), dtype="float32"), "table")
    write(
        "text",
        [
            node("Cast", ["tokens"], ["rows"], to=TensorProto.INT32),
            node("Gather", ["table", "rows"], ["found"]),
            node("ReduceSum", ["found"], ["summed"], keepdims=0),
            node("Cast", ["mask"], ["kept"], to=TensorProto.FLOAT),
            node("Mul", ["summed", "kept"], ["y"]),
        ],
        [
            ("tokens", TensorProto.INT64, ["batch", "sequence"]),
            ("mask", TensorProto.INT64, ["batch", "sequence"]),
        ],
        ("y", TensorProto.FLOAT, ["batch", "sequence"]),
        [table],
    )
    return tmp_path


def test_inputs_are_made_up_by_what_the_file_says(files):
    picture = own_model.read(files / "picture.onnx")
    assert picture.parameters == 64
    fed = own_model.feed(picture, batch=3)
    assert fed.batch == 3 and fed.arrays["x"].shape == (3, 8) and fed.arrays["x"].dtype == "float32"
    assert own_model.feed(picture, shapes={"": (5, 8)}).batch == 5
    text = own_model.read(files / "text.onnx")
    fed = own_model.feed(text, shapes={"sequence": (500,)})
    tokens = fed.arrays["tokens"]
    assert tokens.shape == (1, 500) and tokens.dtype == "int64"
    assert 0 <= tokens.min() < 10 and TABLE - 10 < tokens.max() < TABLE, "rows of the table, all over it"
    assert (fed.arrays["mask"] == 1).all()


def test_what_cannot_be_fed_is_refused_in_one_line(files, capsys):
    import numpy as np

    wrong = files / "wrong.npz"
    np.savez(wrong, x=np.zeros((4, 5), "float32"))
    single = files / "single.npy"
    np.save(single, np.zeros((1, 4), "int64"))
    (files / "text.txt").write_text("no model")
    picture, text = str(files / "picture.onnx"), str(files / "text.onnx")
    cases = [
        ([text], "--shape sequence=128"),
        ([text, "--shape", "1,4"], "say of which the shape is"),
        ([text, "--shape", "words=4"], "no input 'words'; it takes tokens: batch,sequence"),
        ([text, "--input", str(single)], "takes 2; use .npz"),
        ([picture, "--shape", "3,5"], "--shape x=3,5 does not fit"),
        ([picture, "--input", str(wrong)], "x is 4,5"),
        ([picture, "--input", str(files / "none.npz")], "cannot be read"),
        ([picture, "--weights", "."], "a file has its own"),
        ([str(files / "none.onnx")], "is not there"),
        ([str(files / "text.txt")], "is not an ONNX model"),
        (["mobilenet-v2", "--shape", "3,5"], "are for an ONNX file"),
    ]
    for words, expected in cases:
        assert main(["run", *words, "--out", str(files / "study")]) == 2, words
        err = capsys.readouterr().err
        assert expected in err and err.count("\n") == 1, (words, err)
    assert not (files / "study").exists(), "nothing is begun"
    with pytest.raises(SystemExit):
        main(["run", picture, "--shape", "0,3"])
    assert "is not a shape" in capsys.readouterr().err


def test_a_file_runs_with_arrays_of_ones_own(files, capsys):
    needs_swtch()
    import numpy as np

    arrays = files / "arrays.npz"
    np.savez(arrays, x=np.full((2, 8), 3, "float32"))
    directory = files / "study"
    words = [
        "run",
        str(files / "picture.onnx"),
        "--input",
        str(arrays),
        "--inferences",
        "50",
        "--threads",
        "1",
    ]
    assert main([*words, "--out", str(directory)]) == 0, capsys.readouterr()
    run = json.loads((directory / "study.json").read_text())["runs"][0]
    assert run["workload"]["name"] == "picture.onnx"
    facts = run["facts"][0] if isinstance(run["facts"], list) else run["facts"]
    assert facts["batch"] == 2 and facts["parameters"] == 64 and facts["inputs"] == str(arrays)
    loaded = swtch.ai.load(directory)
    if not loaded.runs or run["wait_share_of_latency"] is None:
        pytest.skip("single switches cannot be recorded here")
    table = loaded.inferences()
    assert table["number"] == list(range(50)) and set(table["run"]) == {run["id"]}
    latencies = [end - begin for begin, end in zip(table["begin_ns"], table["end_ns"])]
    assert table["latency_ns"] == latencies
    # One thread: it ran, or it waited, all the time; and the kernel counted no more switches between the first inference and the last.
    for length, ran, waited in zip(latencies, table["run_ns"], table["wait_ns"]):
        assert abs(length - ran - waited) <= 0.05 * length + 20_000
    assert sum(table["voluntary"]) <= run["switches"]["voluntary"]
    assert sum(table["involuntary"]) <= run["switches"]["involuntary"]
    assert all(
        (program is not None) >= (waited > 0) for program, waited in zip(table["behind"], table["wait_ns"])
    )
    with pytest.raises(AiError, match="has no recorded run 'none'"):
        loaded.inferences("none")
