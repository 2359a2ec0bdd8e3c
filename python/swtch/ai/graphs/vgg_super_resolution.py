"""VGG-19 super-resolution: Kim, Lee, Lee, "Accurate Image Super-Resolution Using Very Deep Convolutional Networks", CVPR 2016
(VDSR). It is a chain of 3 x 3 convolutions, as VGG has them, that learns what an interpolated image lacks.

The study feeds three channels; the paper's network works on luminance alone.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

HIDDEN_LAYERS = 19
"""Convolutions with 64 channels; one more makes the image."""


def vgg_19_super_resolution(b: Builder, x: Tensor) -> Tensor:
    """An image of the input's size."""
    hidden = x
    for _ in range(HIDDEN_LAYERS):
        hidden = b.relu(b.conv(hidden, 64, 3))
    return b.add(b.conv(hidden, x.channels, 3), x)
