"""Residual stages that keep the image's size by dilating, as networks for segmentation have them.

He et al., CVPR 2016, figure 5 (bottleneck); dilation after Chen et al., "DeepLab", ICLR 2015.
"""

from __future__ import annotations

from typing import Protocol

from .builder import Builder
from .graph import Tensor


class Layer(Protocol):
    """A convolution with whatever the network puts behind it, up to the non-linearity."""

    def __call__(
        self, b: Builder, x: Tensor, channels: int, kernel: int, stride: int = 1, dilation: int = 1
    ) -> Tensor:
        """Adds it."""


def normalised(
    b: Builder, x: Tensor, channels: int, kernel: int, stride: int = 1, dilation: int = 1
) -> Tensor:
    """A convolution without bias, and a batch normalisation."""
    return b.batch_norm(b.conv(x, channels, kernel, stride=stride, dilation=dilation, bias=False))


def biased(b: Builder, x: Tensor, channels: int, kernel: int, stride: int = 1, dilation: int = 1) -> Tensor:
    """A convolution with a bias, into which a normalisation was merged."""
    return b.conv(x, channels, kernel, stride=stride, dilation=dilation)


def stage(
    b: Builder, x: Tensor, units: int, width: int, layer: Layer, stride: int = 1, dilation: int = 1
) -> Tensor:
    """This many bottlenecks with `4 * width` channels, the first with a projection and the stride."""
    for unit in range(units):
        with b.scope(f"unit_{unit + 1}"):
            x = bottleneck(b, x, width, layer, stride if unit == 0 else 1, dilation, project=unit == 0)
    return x


def bottleneck(
    b: Builder,
    x: Tensor,
    width: int,
    layer: Layer,
    stride: int = 1,
    dilation: int = 1,
    *,
    project: bool = False,
) -> Tensor:
    """Narrow, filter, widen, and add what came in."""
    shortcut = layer(b, x, 4 * width, 1, stride) if project else x
    hidden = b.relu(layer(b, x, width, 1, stride))
    hidden = b.relu(layer(b, hidden, width, 3, 1, dilation))
    return b.relu(b.add(layer(b, hidden, 4 * width, 1), shortcut))


def pyramid_level(b: Builder, x: Tensor, bins: int) -> Tensor:
    """Means over a grid of `bins` x `bins` windows that cover the image, overlapping where it does not divide evenly."""
    strides = (x.size[0] // bins, x.size[1] // bins)
    windows = (x.size[0] - (bins - 1) * strides[0], x.size[1] - (bins - 1) * strides[1])
    return b.average_pool(x, windows, strides)
