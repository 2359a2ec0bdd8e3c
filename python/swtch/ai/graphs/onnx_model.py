"""A `Graph` as an ONNX model without its weights: they are declared external, and supplied in memory when it is loaded."""

from __future__ import annotations

import onnx
from onnx import TensorProto, helper

from .graph import Graph, Initialiser

OPSET = 17
"""Of the standard operators: ONNX Runtime 1.12 and later know it."""
IR_VERSION = 8
"""Of the file format: that of opset 17."""
LOCATION = "weights"
"""The file that initialisers claim to be in; it does not exist."""


def serialised(graph: Graph) -> bytes:
    """The model in ONNX's binary format. Its size does not depend on the number of parameters."""
    initialisers = [external(one) for one in graph.initialisers]
    for name, constant in graph.constants.items():
        kind = TensorProto.INT64 if constant.integer else TensorProto.FLOAT
        axes = [] if constant.scalar else [len(constant.values)]
        initialisers.append(helper.make_tensor(name, kind, axes, constant.values))
    made = helper.make_graph(
        [
            helper.make_node(
                node.operator, node.inputs, node.outputs, name=node.outputs[0], **node.attributes
            )
            for node in graph.nodes
        ],
        graph.name,
        [helper.make_tensor_value_info(one.name, TensorProto.FLOAT, one.shape) for one in graph.inputs],
        [helper.make_tensor_value_info(one.name, TensorProto.FLOAT, one.shape) for one in graph.outputs],
        initialisers,
    )
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="swtch")
    model.ir_version = IR_VERSION
    return bytes(model.SerializeToString())


def external(initialiser: Initialiser) -> onnx.TensorProto:
    """A weight that is supplied when the model is loaded."""
    tensor = TensorProto()
    tensor.name = initialiser.name
    tensor.data_type = TensorProto.FLOAT
    tensor.dims.extend(initialiser.shape)
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", LOCATION
    return tensor
