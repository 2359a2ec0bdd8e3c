"""U-Net: Ronneberger, Fischer, Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation", MICCAI 2015, figure 1.

As the study ran it: padded, so that the output has the input's size, with instance normalisation, and making an image.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

WIDTHS = (64, 128, 256, 512, 1024)
"""Channels at each resolution, from the finest."""


def unet(b: Builder, x: Tensor) -> Tensor:
    """An image of the input's size, from -1 to 1."""
    skipped = []
    hidden = x
    for width in WIDTHS[:-1]:
        with b.scope("down"):
            hidden = _twice(b, hidden, width)
            skipped.append(hidden)
            hidden = b.max_pool(hidden, 2, 2)
    with b.scope("bottom"):
        hidden = _twice(b, hidden, WIDTHS[-1])
    for width, beside in zip(reversed(WIDTHS[:-1]), reversed(skipped)):
        with b.scope("up"):
            hidden = _twice(b, b.concat(b.conv_transpose(hidden, width, 2, stride=2), beside), width)
    return b.tanh(b.conv(hidden, x.channels, 1))


def _twice(b: Builder, x: Tensor, width: int) -> Tensor:
    for _ in range(2):
        x = b.relu(b.instance_norm(b.conv(x, width, 3)))
    return x
