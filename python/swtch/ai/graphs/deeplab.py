"""DeepLab: Chen, Papandreou, Kokkinos, Murphy, Yuille, "DeepLab: Semantic Image Segmentation with Deep Convolutional Nets,
Atrous Convolution, and Fully Connected CRFs", TPAMI 2018, figure 7, on ResNet-101.

The study calls it DeepLab v1. The network that it ran has the residual backbone and the four parallel dilated convolutions
(ASPP-L) of this later paper. It has three classes and scores at an eighth of the image's size.
"""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor
from .residual import normalised, stage

CLASSES = 3
"""As many as the study's images have channels."""
RATES = (6, 12, 18, 24)
"""Dilations of the parallel convolutions (section 4.1.2)."""


def deeplab(b: Builder, x: Tensor) -> Tensor:
    """Scores of (batch, 3, height / 8, width / 8)."""
    x = b.max_pool(b.relu(normalised(b, x, 64, 7, 2)), 3, 2, "same")
    for name, units, width, stride, dilation in (
        ("stage_2", 3, 64, 1, 1),
        ("stage_3", 4, 128, 2, 1),
        ("stage_4", 23, 256, 1, 2),
        ("stage_5", 3, 512, 1, 4),
    ):
        with b.scope(name):
            x = stage(b, x, units, width, normalised, stride, dilation)
    return b.add(*(b.conv(x, CLASSES, 3, dilation=rate) for rate in RATES))
