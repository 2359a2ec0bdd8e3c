"""ResNet-SRGAN: the generator of Ledig et al., "Photo-Realistic Single Image Super-Resolution Using a Generative Adversarial
Network", CVPR 2017, figure 4, as the study ran it.

The paper's takes a small image, with a 9 x 9 convolution at each end and parametric rectifiers. The study's takes an image of
the size that comes out. Its first convolution is 7 x 7 with stride 4, rectifiers are plain, and the last is 1 x 1.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor

BLOCKS = 16
"""Residual blocks."""


def resnet_srgan(b: Builder, x: Tensor) -> Tensor:
    """An image of the input's size, from -1 to 1."""
    hidden = b.relu(b.conv(x, 64, 7, stride=4))
    entry = hidden = b.relu(b.conv(hidden, 64, 3))
    for _ in range(BLOCKS):
        with b.scope("block"):
            inner = b.relu(b.batch_norm(b.conv(hidden, 64, 3, bias=False)))
            hidden = b.add(hidden, b.batch_norm(b.conv(inner, 64, 3, bias=False)))
    hidden = b.add(entry, b.batch_norm(b.conv(hidden, 64, 3, bias=False)))
    for _ in range(2):
        with b.scope("upsample"):
            hidden = b.relu(b.depth_to_space(b.conv(hidden, 256, 3), 2))
    return b.tanh(b.conv(hidden, x.channels, 1))
