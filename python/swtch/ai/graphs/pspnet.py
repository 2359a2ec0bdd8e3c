"""PSPNet: Zhao, Shi, Qi, Wang, Jia, "Pyramid Scene Parsing Network", CVPR 2017, figure 3, on ResNet-50.

As the study ran it: three classes, scores at an eighth of the image's size.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor
from .residual import normalised, pyramid_level, stage

CLASSES = 3
"""As many as the study's images have channels."""
PYRAMID = (1, 2, 3, 6)
"""Windows along each axis, of each level of the pooling pyramid (section 3.2)."""


def pspnet(b: Builder, x: Tensor) -> Tensor:
    """Scores of (batch, 3, height / 8, width / 8)."""
    for channels, stride in ((64, 2), (64, 1), (128, 1)):
        x = b.relu(normalised(b, x, channels, 3, stride))
    x = b.max_pool(x, 3, 2, "same")
    for name, units, width, stride, dilation in (
        ("stage_2", 3, 64, 1, 1),
        ("stage_3", 4, 128, 2, 1),
        ("stage_4", 6, 256, 1, 2),
        ("stage_5", 3, 512, 1, 4),
    ):
        with b.scope(name):
            x = stage(b, x, units, width, normalised, stride, dilation)
    levels = [x]
    for bins in PYRAMID:
        with b.scope("pyramid"):
            level = b.relu(normalised(b, pyramid_level(b, x, bins), x.channels // len(PYRAMID), 1))
            levels.append(b.resize(level, x.size))
    x = b.relu(normalised(b, b.concat(*levels), 512, 3))
    return b.conv(x, CLASSES, 1)
