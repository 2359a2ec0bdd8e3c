"""ICNet: Zhao, Qi, Shen, Shi, Jia, "ICNet for Real-Time Semantic Segmentation on High-Resolution Images", ECCV 2018, figure
2. It has three branches at a quarter, a half and the full size of the image, joined from coarse to fine.

As the study ran it, this is the compressed network, with normalisation folded into the convolutions. It has 19 classes, and a
last convolution that makes an image of them.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor
from .residual import biased, bottleneck, pyramid_level, stage

CLASSES = 19
"""Of Cityscapes."""
PYRAMID = (1, 2, 3, 6)
"""Windows along each axis, of each level of the pooling pyramid."""


def icnet(b: Builder, x: Tensor) -> Tensor:
    """An image of the input's size, from -1 to 1."""
    with b.scope("medium"):
        medium, coarse = _medium(b, b.resize(x, _times(x.size, 1, 2)))
    with b.scope("coarse"):
        coarse = _coarse(b, coarse)
    with b.scope("fine"):
        fine = x
        for channels in (32, 32, 64):
            fine = b.relu(b.conv(fine, channels, 3, stride=2))
    joined = _fused(b, coarse, b.conv(medium, 128, 1), "fusion_24")
    joined = _fused(b, joined, b.conv(fine, 128, 1), "fusion_12")
    scores = b.conv(b.resize(joined, _times(joined.size, 2, 1)), CLASSES, 1)
    return b.tanh(b.conv(b.resize(scores, x.size), 3, 1))


def _medium(b: Builder, x: Tensor) -> tuple[Tensor, Tensor]:
    """At half the size: features at a sixteenth of the image, and the same at a thirty-second, where the coarse branch continues."""
    x = b.relu(b.conv(x, 32, 3, stride=2))
    x = b.relu(b.conv(x, 32, 3))
    x = b.max_pool(b.relu(b.conv(x, 64, 3)), 3, 2, "same")
    x = stage(b, x, 3, 32, biased)
    with b.scope("entry"):
        x = bottleneck(b, x, 64, biased, 2, project=True)
    return x, b.resize(x, _times(x.size, 1, 2))


def _coarse(b: Builder, x: Tensor) -> Tensor:
    for _ in range(3):
        with b.scope("bottleneck"):
            x = bottleneck(b, x, 64, biased)
    with b.scope("stage_4"):
        x = stage(b, x, 6, 128, biased, dilation=2)
    with b.scope("stage_5"):
        x = stage(b, x, 3, 256, biased, dilation=4)
    levels = [b.resize(pyramid_level(b, x, bins), x.size) for bins in PYRAMID]
    return b.relu(b.conv(b.add(x, *levels), 256, 1))


def _fused(b: Builder, coarse: Tensor, fine: Tensor, name: str) -> Tensor:
    """Figure 3, the cascade feature fusion: the coarse features, twice as large, plus the fine ones."""
    with b.scope(name):
        larger = b.resize(coarse, fine.size)
        return b.relu(b.add(b.conv(larger, fine.channels, 3, dilation=2), fine))


def _times(size: tuple[int, int], factor: int, divisor: int) -> tuple[int, int]:
    return size[0] * factor // divisor, size[1] * factor // divisor
