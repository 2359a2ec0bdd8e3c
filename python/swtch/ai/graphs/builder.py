"""A thin layer that adds operators to a `Graph` and works out their shapes, parameters and multiplications.

Sources: the operators as ONNX defines them (opset 17). "Same" padding is TensorFlow's. The output has the input's size over
the stride, rounded up. An odd row of padding goes to the bottom and the right.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Union

from .graph import Constant, Graph, Initialiser, Node, Role, Tensor

Pair = Union[int, tuple[int, int]]
"""One number for both axes, or height and width."""
Padding = Literal["same", "valid"]
"""TensorFlow's, or none."""

EPSILON = 1e-3
"""What normalisations add to a variance."""


class Builder:
    """Builds one graph; every method adds an operator and returns its output."""

    def __init__(self, name: str) -> None:
        self.graph = Graph(name)
        """What was built so far."""
        self._scopes: list[str] = []
        self._counts: dict[str, int] = {}

    @contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Names what is built inside it `name/...`; a scope of the same name gets a number."""
        self._scopes.append(self._unique(name).rsplit("/", 1)[-1])
        try:
            yield
        finally:
            self._scopes.pop()

    def input(self, shape: Sequence[int], name: str = "input") -> Tensor:
        """What is fed to the network."""
        tensor = self._tensor(name, tuple(shape))
        self.graph.inputs.append(tensor)
        return tensor

    def output(self, *tensors: Tensor) -> Graph:
        """Says what the network is for, and returns it."""
        self.graph.outputs.extend(tensors)
        return self.graph

    # Layers with weights.

    def conv(
        self,
        x: Tensor,
        channels: int,
        kernel: Pair,
        *,
        stride: Pair = 1,
        padding: Padding = "same",
        dilation: int = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> Tensor:
        """A convolution; `groups` equal to the input's channels makes it depthwise."""
        name = self._unique("conv")
        kernel, stride = _pair(kernel), _pair(stride)
        pads, size = _window(x.size, kernel, stride, padding, dilation)
        fan_in = x.channels // groups * kernel[0] * kernel[1]
        inputs = [x.name, self._kernel(name, (channels, x.channels // groups, *kernel), fan_in)]
        if bias:
            inputs.append(self._initialiser(f"{name}.bias", (channels,), "bias"))
        out = self._tensor(name, (x.shape[0], channels, *size))
        self.graph.macs += out.elements * fan_in
        self._node(
            "Conv",
            inputs,
            out,
            kernel_shape=kernel,
            strides=stride,
            pads=pads,
            dilations=(dilation, dilation),
            group=groups,
        )
        return out

    def conv_transpose(
        self, x: Tensor, channels: int, kernel: int, *, stride: int, bias: bool = True
    ) -> Tensor:
        """A transposed convolution whose output has the input's size times the stride; the kernel is at least the stride."""
        name = self._unique("conv_transpose")
        total = kernel - stride
        pads = (total // 2, total // 2, total - total // 2, total - total // 2)
        inputs = [x.name, self._kernel(name, (x.channels, channels, kernel, kernel), x.channels * kernel**2)]
        if bias:
            inputs.append(self._initialiser(f"{name}.bias", (channels,), "bias"))
        out = self._tensor(name, (x.shape[0], channels, x.size[0] * stride, x.size[1] * stride))
        self.graph.macs += x.elements * channels * kernel**2
        self._node(
            "ConvTranspose", inputs, out, kernel_shape=(kernel, kernel), strides=(stride, stride), pads=pads
        )
        return out

    def dense(self, x: Tensor, units: int) -> Tensor:
        """A fully connected layer on (batch, features)."""
        name = self._unique("dense")
        batch, features = x.shape
        weight = self._kernel(name, (units, features), features)
        bias = self._initialiser(f"{name}.bias", (units,), "bias")
        out = self._tensor(name, (batch, units))
        self.graph.macs += out.elements * features
        self._node("Gemm", [x.name, weight, bias], out, transB=1)
        return out

    def batch_norm(self, x: Tensor, *, scale: bool = True) -> Tensor:
        """A batch normalisation by running statistics; without `scale` only a shift is learned."""
        name = self._unique("batch_norm")
        out = self._tensor(name, x.shape)
        inputs = [
            x.name,
            *self._affine(name, x.channels, scale=scale, shift=True),
            self._initialiser(f"{name}.mean", (x.channels,), "mean"),
            self._initialiser(f"{name}.variance", (x.channels,), "variance"),
        ]
        self._node("BatchNormalization", inputs, out, epsilon=EPSILON)
        return out

    def instance_norm(self, x: Tensor, *, affine: bool = True) -> Tensor:
        """Each image and channel to mean 0 and variance 1, then a learned scale and shift unless not `affine`."""
        name = self._unique("instance_norm")
        out = self._tensor(name, x.shape)
        inputs = [x.name, *self._affine(name, x.channels, scale=affine, shift=affine)]
        self._node("InstanceNormalization", inputs, out, epsilon=EPSILON)
        return out

    # Layers without weights.

    def relu(self, x: Tensor) -> Tensor:
        """Zero below zero."""
        return self._same_shape("Relu", x)

    def relu6(self, x: Tensor) -> Tensor:
        """Zero below zero, six above six."""
        return self._same_shape(
            "Clip", x, self._constant((0.0,), scalar=True), self._constant((6.0,), scalar=True)
        )

    def leaky_relu(self, x: Tensor, slope: float) -> Tensor:
        """The slope below zero."""
        return self._same_shape("LeakyRelu", x, alpha=slope)

    def tanh(self, x: Tensor) -> Tensor:
        """The hyperbolic tangent."""
        return self._same_shape("Tanh", x)

    def softmax(self, x: Tensor) -> Tensor:
        """Over the second axis: features, or the channels of every pixel."""
        return self._same_shape("Softmax", x, axis=1)

    def max_pool(self, x: Tensor, kernel: int, stride: int, padding: Padding = "valid") -> Tensor:
        """The largest of each window."""
        return self._pool("MaxPool", x, _pair(kernel), _pair(stride), padding)

    def average_pool(self, x: Tensor, kernel: Pair, stride: Pair, padding: Padding = "valid") -> Tensor:
        """The mean of each window, padding left out."""
        return self._pool("AveragePool", x, _pair(kernel), _pair(stride), padding, count_include_pad=0)

    def global_average_pool(self, x: Tensor) -> Tensor:
        """The mean of each channel, as (batch, channels)."""
        pooled = self._tensor(self._unique("global_average_pool"), (*x.shape[:2], 1, 1))
        self._node("GlobalAveragePool", [x.name], pooled)
        return self.flatten(pooled)

    def flatten(self, x: Tensor) -> Tensor:
        """(batch, everything else)."""
        out = self._tensor(self._unique("flatten"), (x.shape[0], math.prod(x.shape[1:])))
        self._node("Flatten", [x.name], out, axis=1)
        return out

    def reshape(self, x: Tensor, shape: Sequence[int]) -> Tensor:
        """The same numbers in another shape."""
        out = self._tensor(self._unique("reshape"), tuple(shape))
        if out.elements != x.elements:
            raise ValueError(f"{x.name} {x.shape} cannot take the shape {out.shape}")
        self._node("Reshape", [x.name, self._constant(out.shape)], out)
        return out

    def concat(self, *tensors: Tensor) -> Tensor:
        """The channels of all, one after the other."""
        first = tensors[0]
        if any((one.shape[0], one.shape[2:]) != (first.shape[0], first.shape[2:]) for one in tensors):
            raise ValueError(f"cannot concatenate {[one.shape for one in tensors]}")
        shape = (first.shape[0], sum(one.channels for one in tensors), *first.shape[2:])
        out = self._tensor(self._unique("concat"), shape)
        self._node("Concat", [one.name for one in tensors], out, axis=1)
        return out

    def add(self, *tensors: Tensor) -> Tensor:
        """The sum of tensors of one shape."""
        total = tensors[0]
        for other in tensors[1:]:
            total = self._binary("Add", total, other)
        return total

    def multiply(self, x: Tensor, other: Tensor) -> Tensor:
        """The product of two tensors of one shape, number by number."""
        return self._binary("Mul", x, other)

    def scaled(self, x: Tensor, factor: float) -> Tensor:
        """Times a number."""
        return self._same_shape("Mul", x, self._constant((factor,), scalar=True))

    def plus(self, x: Tensor, term: float) -> Tensor:
        """Plus a number."""
        return self._same_shape("Add", x, self._constant((term,), scalar=True))

    def resize(
        self, x: Tensor, size: tuple[int, int], *, mode: Literal["linear", "nearest"] = "linear"
    ) -> Tensor:
        """An image of another size."""
        out = self._tensor(self._unique("resize"), (*x.shape[:2], *size))
        attributes = {"coordinate_transformation_mode": "half_pixel"}
        if mode == "nearest":
            attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        self._node("Resize", [x.name, "", "", self._constant(out.shape)], out, mode=mode, **attributes)
        return out

    def depth_to_space(self, x: Tensor, factor: int) -> Tensor:
        """Channels to pixels: an image larger by the factor in both axes (sub-pixel convolution)."""
        batch, channels, height, width = x.shape
        shape = (batch, channels // factor**2, height * factor, width * factor)
        out = self._tensor(self._unique("depth_to_space"), shape)
        self._node("DepthToSpace", [x.name], out, blocksize=factor, mode="CRD")
        return out

    # The parts of all of them.

    def _pool(
        self,
        operator: str,
        x: Tensor,
        kernel: tuple[int, int],
        stride: tuple[int, int],
        padding: Padding,
        **attributes: int,
    ) -> Tensor:
        pads, size = _window(x.size, kernel, stride, padding, 1)
        out = self._tensor(self._unique(operator.lower()), (*x.shape[:2], *size))
        self._node(operator, [x.name], out, kernel_shape=kernel, strides=stride, pads=pads, **attributes)
        return out

    def _same_shape(self, operator: str, x: Tensor, *more: str, **attributes: Any) -> Tensor:
        out = self._tensor(self._unique(operator.lower()), x.shape)
        self._node(operator, [x.name, *more], out, **attributes)
        return out

    def _binary(self, operator: str, x: Tensor, other: Tensor) -> Tensor:
        if x.shape != other.shape:
            raise ValueError(f"{operator} of {x.name} {x.shape} and {other.name} {other.shape}")
        return self._same_shape(operator, x, other.name)

    def _node(self, operator: str, inputs: Sequence[str], out: Tensor, **attributes: Any) -> None:
        self.graph.nodes.append(Node(operator, tuple(inputs), (out.name,), attributes))

    def _tensor(self, name: str, shape: tuple[int, ...]) -> Tensor:
        if min(shape) < 1:
            raise ValueError(f"{name} would have the shape {shape}; the input is too small for this network")
        return self.graph.tensors.setdefault(name, Tensor(name, shape))

    def _kernel(self, name: str, shape: tuple[int, ...], fan_in: int) -> str:
        return self._initialiser(f"{name}.weight", shape, "kernel", fan_in)

    def _initialiser(self, name: str, shape: tuple[int, ...], role: Role, fan_in: int = 0) -> str:
        self.graph.initialisers.append(Initialiser(name, shape, role, fan_in))
        return name

    def _affine(self, name: str, channels: int, *, scale: bool, shift: bool) -> tuple[str, str]:
        """The scale and shift of a normalisation: learned, or else ones and zeros."""
        ones, zeros = (1.0,) * channels, (0.0,) * channels
        return (
            self._initialiser(f"{name}.scale", (channels,), "scale") if scale else self._constant(ones),
            self._initialiser(f"{name}.shift", (channels,), "shift") if shift else self._constant(zeros),
        )

    def _constant(self, values: tuple[Any, ...], *, scalar: bool = False) -> str:
        name = self._unique("constant")
        self.graph.constants[name] = Constant(values, isinstance(values[0], int), scalar)
        return name

    def _unique(self, name: str) -> str:
        full = "/".join((*self._scopes, name))
        count = self._counts[full] = self._counts.get(full, 0) + 1
        return full if count == 1 else f"{full}_{count}"


def _pair(value: Pair) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else value


def _window(
    size: tuple[int, int], kernel: tuple[int, int], stride: tuple[int, int], padding: Padding, dilation: int
) -> tuple[tuple[int, int, int, int], tuple[int, int]]:
    """ONNX's pads (top, left, bottom, right), and the size of the output."""
    begins, ends, out = [], [], []
    for axis in (0, 1):
        reach = (kernel[axis] - 1) * dilation + 1
        total = 0
        if padding == "same":
            wanted = (math.ceil(size[axis] / stride[axis]) - 1) * stride[axis] + reach
            total = max(wanted - size[axis], 0)
        begin = total // 2
        begins.append(begin)
        ends.append(total - begin)
        out.append((size[axis] + total - reach) // stride[axis] + 1)
    return (begins[0], begins[1], ends[0], ends[1]), (out[0], out[1])
