"""The builder: shapes against ONNX's own shape inference and numbers worked out by hand."""

from __future__ import annotations

import pytest

from swtch.ai.catalogue import MODELS
from swtch.ai.graphs.builder import Builder
from swtch.ai.graphs.residual import pyramid_level

onnx = pytest.importorskip("onnx", reason="onnx is not installed; tools/setup test installs it")

from swtch.ai.graphs.onnx_model import serialised  # noqa: E402


def builder(height: int = 8, width: int = 8, channels: int = 3, batch: int = 1):
    b = Builder("test")
    return b, b.input((batch, channels, height, width))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.slug)
def test_onnx_agrees_with_every_shape(model) -> None:
    graph = model.build(batch=2)
    proto = onnx.load_from_string(serialised(graph))
    onnx.checker.check_model(_filled(proto), full_check=False)
    inferred = onnx.shape_inference.infer_shapes(proto, check_type=True, strict_mode=True, data_prop=True)
    shapes = {
        one.name: tuple(axis.dim_value for axis in one.type.tensor_type.shape.dim)
        for one in (*inferred.graph.value_info, *inferred.graph.output)
    }
    for node in graph.nodes:
        for name in node.outputs:
            assert shapes[name] == graph.tensors[name].shape, node


def _filled(proto):
    """The same model without weights outside: the checker would look for their file."""
    checked = onnx.ModelProto()
    checked.CopyFrom(proto)
    inside = []
    for one in checked.graph.initializer:
        if one.data_location == onnx.TensorProto.EXTERNAL:
            value = onnx.helper.make_tensor_value_info(one.name, one.data_type, one.dims)
            checked.graph.input.append(value)
        else:
            inside.append(one)
    del checked.graph.initializer[:]
    checked.graph.initializer.extend(inside)
    return checked


def test_a_graph_has_no_weights_in_it() -> None:
    for model in MODELS:
        assert len(serialised(model.build())) < 300_000


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "padding", "dilation", "out"),
    [
        (224, 3, 2, "same", 1, 112),
        (7, 3, 2, "same", 1, 4),
        (7, 3, 2, "valid", 1, 3),
        (346, 3, 2, "valid", 1, 172),
        (8, 5, 1, "same", 1, 8),
        (8, 3, 1, "same", 4, 8),
        (5, 1, 2, "same", 1, 3),
    ],
)
def test_windows(size, kernel, stride, padding, dilation, out) -> None:
    b, x = builder(size, size)
    y = b.conv(x, 4, kernel, stride=stride, padding=padding, dilation=dilation)
    assert y.shape == (1, 4, out, out)
    assert b.graph.macs == out * out * 4 * 3 * kernel * kernel
    assert b.graph.parameters == 4 * 3 * kernel * kernel + 4


def test_odd_padding_goes_to_the_end() -> None:
    b, x = builder(224, 224)
    b.conv(x, 1, 3, stride=2)
    assert b.graph.nodes[0].attributes["pads"] == (0, 0, 1, 1)


def test_what_cannot_be_built_is_refused() -> None:
    b, x = builder()
    with pytest.raises(ValueError, match="too small for this network"):
        b.conv(x, 4, 9, padding="valid")
    with pytest.raises(ValueError, match="cannot concatenate"):
        b.concat(x, b.max_pool(x, 2, 2))
    with pytest.raises(ValueError, match="Add of"):
        b.add(x, b.conv(x, 4, 1))
    with pytest.raises(ValueError, match="cannot take the shape"):
        b.reshape(x, (1, 7))


def test_pyramid_levels_have_the_windows_asked_for() -> None:
    b, x = builder(32, 48)
    for bins in (1, 2, 3, 6):
        assert pyramid_level(b, x, bins).size == (bins, bins)


def test_what_is_alive_at_once() -> None:
    b, x = builder(2, 2, channels=1)
    left = b.relu(x)
    right = b.relu(left)
    graph = b.output(b.add(left, right))
    # At the sum: both terms and the result, 4 numbers each; the input is gone.
    assert graph.activations_bytes() == 4 * 3 * 4
    assert graph.activations_bytes(16) == 16 * 4 * 3 * 4


def test_names_do_not_depend_on_what_comes_after() -> None:
    b, x = builder()
    with b.scope("part"):
        b.conv(x, 1, 1)
    with b.scope("part"):
        b.conv(x, 1, 1)
    b.conv(x, 1, 1)
    assert [one.name for one in b.graph.initialisers if one.role == "kernel"] == [
        "part/conv.weight",
        "part_2/conv.weight",
        "conv.weight",
    ]
