"""A network as data: its operators, what they pass on, and what is to be learned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

FLOAT_BYTES = 4
"""Of a float32, which all weights and activations are."""

Role = Literal["kernel", "bias", "scale", "shift", "mean", "variance"]
"""What an initialiser is for; running means and variances are not learned by descent and not counted as parameters."""


@dataclass(frozen=True)
class Tensor:
    """What an operator passes on: float32, images in NCHW."""

    name: str
    """Unique in its graph."""
    shape: tuple[int, ...]
    """Every axis is known; the batch comes first."""

    @property
    def channels(self) -> int:
        """The second axis."""
        return self.shape[1]

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of an image."""
        return self.shape[2], self.shape[3]

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Initialiser:
    """Numbers that come from outside the graph: weights, and statistics of a batch normalisation."""

    name: str
    """Unique in its graph; files of weights use it."""
    shape: tuple[int, ...]
    """As the operator wants it."""
    role: Role
    """What it is for."""
    fan_in: int
    """How many inputs one output adds up; of kernels, and 0 for all others."""

    @property
    def elements(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def learned(self) -> bool:
        """Whether it counts as a parameter."""
        return self.role not in ("mean", "variance")


@dataclass(frozen=True)
class Node:
    """An operator."""

    operator: str
    """The name in ONNX's standard operators."""
    inputs: tuple[str, ...]
    """Names; empty for an optional input that is left out."""
    outputs: tuple[str, ...]
    """Names."""
    attributes: Mapping[str, Any]
    """As ONNX defines them for the operator."""


@dataclass(frozen=True)
class Constant:
    """Small numbers that belong to the graph itself, such as sizes."""

    values: tuple[int, ...] | tuple[float, ...]
    """The numbers."""
    integer: bool
    """int64 or else float32."""
    scalar: bool
    """Whether it has no axis."""


@dataclass
class Graph:
    """A network for one input size and batch."""

    name: str
    """A slug."""
    inputs: list[Tensor] = field(default_factory=list)
    """What is fed."""
    outputs: list[Tensor] = field(default_factory=list)
    """What comes out."""
    nodes: list[Node] = field(default_factory=list)
    """In an order in which they can run."""
    initialisers: list[Initialiser] = field(default_factory=list)
    """What has to be supplied to run it, in the order of first use."""
    constants: dict[str, Constant] = field(default_factory=dict)
    """By name."""
    tensors: dict[str, Tensor] = field(default_factory=dict)
    """Everything passed on, by name, inputs included."""
    macs: int = 0
    """Multiplications with additions of convolutions and dense layers, for the whole batch."""

    @property
    def parameters(self) -> int:
        """How many numbers are learned; running statistics are not."""
        return sum(one.elements for one in self.initialisers if one.learned)

    @property
    def weights_bytes(self) -> int:
        """All initialisers, running statistics included."""
        return FLOAT_BYTES * sum(one.elements for one in self.initialisers)

    def activations_bytes(self, channels_block: int = 1) -> int:
        """The most that is alive at once when operators run in order and unneeded tensors are freed.

        Channels of images are filled up to a multiple of `channels_block`. A runtime that fuses operators needs less, one that
        reuses badly needs more.
        """
        last_use = {name: at for at, node in enumerate(self.nodes) for name in node.inputs}
        last_use.update({one.name: len(self.nodes) for one in self.outputs})
        sizes = {name: _filled_up(one, channels_block) for name, one in self.tensors.items()}
        peak = alive = sum(sizes[one.name] for one in self.inputs)
        for at, node in enumerate(self.nodes):
            alive += sum(sizes[name] for name in node.outputs)
            peak = max(peak, alive)
            ended = {name for name in (*node.inputs, *node.outputs) if last_use.get(name, at) == at}
            alive -= sum(sizes[name] for name in ended if name in sizes)
        return FLOAT_BYTES * peak


def _filled_up(tensor: Tensor, block: int) -> int:
    if len(tensor.shape) != 4:
        return tensor.elements
    return tensor.elements // tensor.channels * -(-tensor.channels // block) * block
