"""ResNet-DPED: the generator of Ignatov et al., "DSLR-Quality Photos on Mobile Devices with Deep Convolutional Networks",
ICCV 2017, figure 5, with instance normalisation in its residual blocks as in the study."""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

BLOCKS = 4
"""Residual blocks."""


def resnet_dped(b: Builder, x: Tensor) -> Tensor:
    """An image of the input's size, from -1 to 1."""
    hidden = b.relu(b.conv(x, 64, 9))
    for _ in range(BLOCKS):
        with b.scope("block"):
            inner = hidden
            for _ in range(2):
                inner = b.relu(b.instance_norm(b.conv(inner, 64, 3)))
            hidden = b.add(inner, hidden)
    for _ in range(2):
        hidden = b.relu(b.conv(hidden, 64, 3))
    return b.tanh(b.conv(hidden, x.channels, 9))
