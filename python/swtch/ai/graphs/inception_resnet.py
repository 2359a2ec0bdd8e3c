"""Inception-ResNet v2: Szegedy, Ioffe, Vanhoucke, Alemi, "Inception-v4, Inception-ResNet and the Impact of Residual Connections
on Learning", AAAI 2017, figures 15 to 19, with the stem, channels and scales of the authors' published model."""

from __future__ import annotations

from .builder import Builder
from .graph import Tensor
from .inception import TALL, WIDE, chain, layer


def inception_resnet_v2(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    with b.scope("stem"):
        x = _stem(b, x)
    for _ in range(10):
        with b.scope("a"):
            branches = b.concat(
                layer(b, x, 32, 1), chain(b, x, (32, 1), (32, 3)), chain(b, x, (32, 1), (48, 3), (64, 3))
            )
            x = b.relu(_residual(b, x, branches, 0.17))
    with b.scope("reduction_a"):
        double = chain(b, x, (256, 1), (256, 3))
        x = b.concat(
            layer(b, x, 384, 3, 2, "valid"), layer(b, double, 384, 3, 2, "valid"), b.max_pool(x, 3, 2)
        )
    for _ in range(20):
        with b.scope("b"):
            branches = b.concat(layer(b, x, 192, 1), chain(b, x, (128, 1), (160, WIDE), (192, TALL)))
            x = b.relu(_residual(b, x, branches, 0.1))
    with b.scope("reduction_b"):
        x = b.concat(
            layer(b, layer(b, x, 256, 1), 384, 3, 2, "valid"),
            layer(b, layer(b, x, 256, 1), 288, 3, 2, "valid"),
            layer(b, chain(b, x, (256, 1), (288, 3)), 320, 3, 2, "valid"),
            b.max_pool(x, 3, 2),
        )
    for at in range(10):
        with b.scope("c"):
            branches = b.concat(layer(b, x, 192, 1), chain(b, x, (192, 1), (224, (1, 3)), (256, (3, 1))))
            last = at == 9
            total = _residual(b, x, branches, 1.0 if last else 0.2)
            x = total if last else b.relu(total)
    x = layer(b, x, 1536, 1)
    return b.softmax(b.dense(b.global_average_pool(x), classes))


def _stem(b: Builder, x: Tensor) -> Tensor:
    x = layer(b, x, 32, 3, 2, "valid")
    x = layer(b, x, 32, 3, 1, "valid")
    x = b.max_pool(layer(b, x, 64, 3), 3, 2)
    x = layer(b, x, 80, 1)
    x = b.max_pool(layer(b, x, 192, 3, 1, "valid"), 3, 2)
    return b.concat(
        layer(b, x, 96, 1),
        chain(b, x, (48, 1), (64, 5)),
        chain(b, x, (64, 1), (96, 3), (96, 3)),
        layer(b, b.average_pool(x, 3, 1, "same"), 64, 1),
    )


def _residual(b: Builder, x: Tensor, branches: Tensor, scale: float) -> Tensor:
    """What came in, plus the branches brought to its channels and scaled down (section 3.3)."""
    change = b.conv(branches, x.channels, 1)
    return b.add(x, change if scale == 1.0 else b.scaled(change, scale))
