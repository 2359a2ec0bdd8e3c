"""SPADE: Park, Liu, Wang, Zhu, "Semantic Image Synthesis with Spatially-Adaptive Normalization", CVPR 2019: section 3 and, for
the generator, figures 4 and 11 to 13 (appendix A). Built from the paper, not from its authors' program.

As the study ran it, the label map comes as an image of three channels. The convolutions that turn it into a scale and a shift
are 5 x 5 (3 x 3 in the paper). Images grow bilinearly, and normalisation takes its statistics from what it normalises.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

LATENT = 256
"""Random numbers that an image is made from."""
BLOCKS = (1024, 1024, 1024, 512, 256, 128, 64)
"""Channels that come out of each block; the image doubles between two."""
MODULATION_CHANNELS = 128
"""Between the label map and the scale and shift."""
MODULATION_KERNEL = 5
"""Of both convolutions there."""
SLOPE = 0.2
"""Of the rectifiers, below zero."""


def spade(b: Builder, labels: Tensor) -> Tensor:
    """An image of the size of `labels`, from -1 to 1. Adds an input `latent` of (batch, 256) normal numbers."""
    batch = labels.shape[0]
    doublings = len(BLOCKS) - 1
    start = (labels.size[0] >> doublings, labels.size[1] >> doublings)
    latent = b.input((batch, LATENT), "latent")
    x = b.dense(latent, BLOCKS[0] * start[0] * start[1])
    x = b.reshape(x, (batch, BLOCKS[0], *start))
    for at, channels in enumerate(BLOCKS):
        if at > 0:
            x = b.resize(x, (2 * x.size[0], 2 * x.size[1]))
        with b.scope(f"block_{at + 1}"):
            x = _block(b, x, labels, channels)
    return b.tanh(b.conv(b.leaky_relu(x, SLOPE), 3, 3))


def _block(b: Builder, x: Tensor, labels: Tensor, channels: int) -> Tensor:
    """Figure 4: two modulated convolutions and a shortcut, which is modulated too where the number of channels changes."""
    middle = min(x.channels, channels)
    hidden = b.conv(b.leaky_relu(_modulated(b, x, labels), SLOPE), middle, 3)
    hidden = b.conv(b.leaky_relu(_modulated(b, hidden, labels), SLOPE), channels, 3)
    shortcut = x
    if x.channels != channels:
        shortcut = b.conv(_modulated(b, x, labels), channels, 1, bias=False)
    return b.add(shortcut, hidden)


def _modulated(b: Builder, x: Tensor, labels: Tensor) -> Tensor:
    """Figure 2 and equation 1: normalised, then times a scale and plus a shift that depend on the labels of each pixel."""
    with b.scope("modulation"):
        small = b.resize(labels, x.size, mode="nearest")
        seen = b.relu(b.conv(small, MODULATION_CHANNELS, MODULATION_KERNEL))
        scale = b.conv(seen, x.channels, MODULATION_KERNEL)
        shift = b.conv(seen, x.channels, MODULATION_KERNEL)
        return b.add(b.multiply(b.instance_norm(x, affine=False), b.plus(scale, 1.0)), shift)
