"""ResNet v2 50 and 152: He, Zhang, Ren, Sun, "Identity Mappings in Deep Residual Networks", ECCV 2016; depths from table 1 of
their "Deep Residual Learning for Image Recognition", CVPR 2016.

As the study ran it, a stage halves the image in its last unit, and the last stage not at all.
"""

from __future__ import annotations

from collections.abc import Sequence

from .builder import Builder
from .graph import Tensor

DEPTHS_50 = (3, 4, 6, 3)
"""Units of each stage, for 50 layers."""
DEPTHS_152 = (3, 8, 36, 3)
"""Units of each stage, for 152 layers."""
WIDTHS = (64, 128, 256, 512)
"""Channels inside the units of each stage; four times as many come out."""


def resnet_50_v2(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    return _resnet_v2(b, x, DEPTHS_50, classes)


def resnet_152_v2(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    return _resnet_v2(b, x, DEPTHS_152, classes)


def _resnet_v2(b: Builder, x: Tensor, depths: Sequence[int], classes: int) -> Tensor:
    x = b.max_pool(b.conv(x, 64, 7, stride=2), 3, 2, "same")
    for stage, (depth, width) in enumerate(zip(depths, WIDTHS)):
        last_stage = stage == len(depths) - 1
        with b.scope(f"stage_{stage + 1}"):
            for unit in range(depth):
                last_unit = unit == depth - 1
                with b.scope(f"unit_{unit + 1}"):
                    x = _unit(b, x, width, 2 if last_unit and not last_stage else 1)
    x = b.relu(b.batch_norm(x))
    return b.softmax(b.dense(b.global_average_pool(x), classes))


def _unit(b: Builder, x: Tensor, width: int, stride: int) -> Tensor:
    """Figure 4 (e): normalise and rectify before each convolution, and add what came in untouched."""
    ready = b.relu(b.batch_norm(x))
    if x.channels != 4 * width:
        shortcut = b.conv(ready, 4 * width, 1, stride=stride)
    else:
        shortcut = b.max_pool(x, 1, stride) if stride > 1 else x
    hidden = b.relu(b.batch_norm(b.conv(ready, width, 1, bias=False)))
    hidden = b.relu(b.batch_norm(b.conv(hidden, width, 3, stride=stride, bias=False)))
    return b.add(shortcut, b.conv(hidden, 4 * width, 1))
