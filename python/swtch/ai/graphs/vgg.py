"""VGG-16: Simonyan, Zisserman, "Very Deep Convolutional Networks for Large-Scale Image Recognition", ICLR 2015, table 1 column D."""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

BLOCKS = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))
"""Convolutions and their channels, before each pooling."""


def vgg_16(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    for count, channels in BLOCKS:
        with b.scope("block"):
            for _ in range(count):
                x = b.relu(b.conv(x, channels, 3))
            x = b.max_pool(x, 2, 2)
    x = b.flatten(x)
    for _ in range(2):
        x = b.relu(b.dense(x, 4096))
    return b.softmax(b.dense(x, classes))
