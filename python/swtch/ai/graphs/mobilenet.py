"""MobileNet v2: Sandler, Howard, Zhu, Zhmoginov, Chen, "MobileNetV2: Inverted Residuals and Linear Bottlenecks", CVPR 2018,
table 2, with width multiplier 1."""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

BOTTLENECKS = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
"""Expansion t, channels c, repetitions n, stride s of the first: table 2."""


def mobilenet_v2(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    x = _conv(b, x, 32, 3, stride=2)
    for expansion, channels, repetitions, stride in BOTTLENECKS:
        for repetition in range(repetitions):
            with b.scope("bottleneck"):
                x = _bottleneck(b, x, channels, expansion, stride if repetition == 0 else 1)
    x = _conv(b, x, 1280, 1)
    return b.softmax(b.dense(b.global_average_pool(x), classes))


def _bottleneck(b: Builder, x: Tensor, channels: int, expansion: int, stride: int) -> Tensor:
    """Figure 4 (d): widen, filter each channel, narrow without a non-linearity."""
    hidden = x if expansion == 1 else _conv(b, x, x.channels * expansion, 1)
    hidden = _conv(b, hidden, hidden.channels, 3, stride=stride, groups=hidden.channels)
    narrow = b.batch_norm(b.conv(hidden, channels, 1, bias=False))
    return b.add(x, narrow) if x.shape == narrow.shape else narrow


def _conv(b: Builder, x: Tensor, channels: int, kernel: int, *, stride: int = 1, groups: int = 1) -> Tensor:
    return b.relu6(b.batch_norm(b.conv(x, channels, kernel, stride=stride, groups=groups, bias=False)))
