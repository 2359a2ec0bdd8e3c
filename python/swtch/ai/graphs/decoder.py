"""A language model that continues a text, with a cache of keys and values.

Source: Touvron et al., "LLaMA: Open and Efficient Foundation Language Models", 2023, section 2.2 (normalisation before each part, gated
SiLU, rotary positions left out: they cost a few small operators and no weights), and Ainslie et al., "GQA", 2023, for fewer heads of keys
than of queries.

Inputs: `tokens` (1, new), `mask` (new, past + new) with 0 or minus infinity, and for each layer `past_key.N` and `past_value.N` (1, heads,
past, length). Outputs: `next`, the number of the most likely next token, and `key.N` and `value.N` with the new ones at their end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from onnx import TensorProto, helper

from .graph import Graph, Initialiser
from .onnx_model import IR_VERSION, OPSET, external

if TYPE_CHECKING:
    from ..language import Size

EPSILON = 1e-5
"""What a normalisation adds to the mean square."""


def decoder(size: Size) -> tuple[bytes, Graph]:
    """The model without its weights, and a graph that holds only what is to be supplied."""
    build = _Build(size)
    for number in range(size.layers):
        build.layer(number)
    build.end()
    return build.serialised(), build.graph


class _Build:
    def __init__(self, size: Size) -> None:
        self.size = size
        self.graph = Graph(size.slug)
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs = [
            _value("tokens", TensorProto.INT64, [1, "new"]),
            _value("mask", TensorProto.FLOAT, ["new", "all"]),
        ]
        self._outputs: list[Any] = []
        self._count = 0
        self._constant("epsilon", [EPSILON], TensorProto.FLOAT)
        self._constant("scale", [self.size.head**-0.5], TensorProto.FLOAT)
        table = self._weight("table", (size.vocabulary, size.width), size.width)
        self.x = self._add("Gather", [table, "tokens"])

    def layer(self, number: int) -> None:
        size, at = self.size, f"layer{number}"
        x = self._normalised(f"{at}.before", self.x)
        query = self._split(self._matmul(f"{at}.query", x, size.width, size.width), size.heads)
        kept = size.key_heads * size.head
        new = [
            self._split(self._matmul(f"{at}.{what}", x, size.width, kept), size.key_heads)
            for what in ("key", "value")
        ]
        every = []
        for what, one in zip(("key", "value"), new):
            shape: list[int | str] = [1, size.key_heads, "past", size.head]
            self._inputs.append(_value(f"past_{what}.{number}", TensorProto.FLOAT, shape))
            self._nodes.append(
                helper.make_node("Concat", [f"past_{what}.{number}", one], [f"{what}.{number}"], axis=2)
            )
            self._outputs.append(
                _value(f"{what}.{number}", TensorProto.FLOAT, [1, size.key_heads, "all", size.head])
            )
            every.append(self._repeated(f"{what}.{number}"))
        keys = self._add("Transpose", [every[0]], perm=[0, 1, 3, 2])
        scores = self._add("Mul", [self._add("MatMul", [query, keys]), "scale"])
        weights = self._add("Softmax", [self._add("Add", [scores, "mask"])], axis=-1)
        found = self._add("Transpose", [self._add("MatMul", [weights, every[1]])], perm=[0, 2, 1, 3])
        joined = self._add("Reshape", [found, self._shape([1, -1, size.width])])
        self.x = self._add("Add", [self.x, self._matmul(f"{at}.output", joined, size.width, size.width)])
        x = self._normalised(f"{at}.after", self.x)
        gate = self._matmul(f"{at}.gate", x, size.width, size.hidden)
        gate = self._add("Mul", [gate, self._add("Sigmoid", [gate])])
        inner = self._add("Mul", [gate, self._matmul(f"{at}.up", x, size.width, size.hidden)])
        self.x = self._add("Add", [self.x, self._matmul(f"{at}.down", inner, size.hidden, size.width)])

    def end(self) -> None:
        # Only the last token says which one is next.
        last = self._add(
            "Gather",
            [self._normalised("end", self.x), self._constant("last", [-1], TensorProto.INT64)],
            axis=1,
        )
        back = self._add("Transpose", ["table"], perm=[1, 0])
        scores = self._add("MatMul", [last, back])
        self._nodes.append(helper.make_node("ArgMax", [scores], ["next"], axis=-1, keepdims=0))
        self._outputs.insert(0, _value("next", TensorProto.INT64, [1, 1]))

    def serialised(self) -> bytes:
        weights = [external(one) for one in self.graph.initialisers]
        made = helper.make_graph(
            self._nodes, self.size.slug, self._inputs, self._outputs, [*weights, *self._constants]
        )
        model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="swtch")
        model.ir_version = IR_VERSION
        return bytes(model.SerializeToString())

    def _normalised(self, name: str, x: str) -> str:
        self.graph.initialisers.append(Initialiser(f"{name}.scale", (self.size.width,), "scale", 0))
        square = self._add("ReduceMean", [self._add("Mul", [x, x])], axes=[-1])
        root = self._add("Sqrt", [self._add("Add", [square, "epsilon"])])
        return self._add("Mul", [self._add("Div", [x, root]), f"{name}.scale"])

    def _matmul(self, name: str, x: str, wide: int, out: int) -> str:
        return self._add("MatMul", [x, self._weight(name, (wide, out), wide)])

    def _split(self, x: str, heads: int) -> str:
        """(1, new, heads x length) as (1, heads, new, length)."""
        apart = self._add("Reshape", [x, self._shape([1, -1, heads, self.size.head])])
        return self._add("Transpose", [apart], perm=[0, 2, 1, 3])

    def _repeated(self, x: str) -> str:
        """Each head of keys for all heads of queries that share it."""
        size = self.size
        if size.heads == size.key_heads:
            return x
        times = size.heads // size.key_heads
        wide = self._add("Unsqueeze", [x, self._constant("axis2", [2], TensorProto.INT64)])
        wide = self._add("Tile", [wide, self._constant("times", [1, 1, times, 1, 1], TensorProto.INT64)])
        return self._add("Reshape", [wide, self._shape([1, size.heads, -1, size.head])])

    def _weight(self, name: str, shape: tuple[int, ...], fan_in: int) -> str:
        self.graph.initialisers.append(Initialiser(name, shape, "kernel", fan_in))
        return name

    def _shape(self, lengths: list[int]) -> str:
        name = "shape_" + "_".join(str(one) for one in lengths).replace("-", "m")
        return self._constant(name, lengths, TensorProto.INT64)

    def _constant(self, name: str, values: list[Any], kind: int) -> str:
        if all(one.name != name for one in self._constants):
            self._constants.append(helper.make_tensor(name, kind, [len(values)], values))
        return name

    def _add(self, operator: str, inputs: list[str], **attributes: Any) -> str:
        self._count += 1
        out = f"{operator.lower()}_{self._count}"
        self._nodes.append(helper.make_node(operator, inputs, [out], name=out, **attributes))
        return out


def _value(name: str, kind: int, shape: list[int | str]) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)
