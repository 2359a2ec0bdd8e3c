"""SRCNN 9-5-5: Dong, Loy, He, Tang, "Image Super-Resolution Using Deep Convolutional Networks", TPAMI 2016, section 4.3.2.

The paper's networks work on luminance; the study feeds three channels.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor


def srcnn_9_5_5(b: Builder, x: Tensor) -> Tensor:
    """An image of the input's size."""
    hidden = b.relu(b.conv(x, 64, 9))
    hidden = b.relu(b.conv(hidden, 32, 5))
    return b.conv(hidden, x.channels, 5)
