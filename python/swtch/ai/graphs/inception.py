"""Inception v3 and v4.

v3: Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, "Rethinking the Inception Architecture for Computer Vision", CVPR 2016, table 1
and figures 5 to 7. It has the channels of the authors' published model. v4: Szegedy, Ioffe, Vanhoucke, Alemi, "Inception-v4,
Inception-ResNet and the Impact of Residual Connections on Learning", AAAI 2017, figures 3 to 9. Without the auxiliary
classifier, which serves training only. Normalisation learns a shift but no scale, as in the authors' models.
"""

from __future__ import annotations

from .builder import Builder, Padding, Pair
from .graph import Tensor

TALL = (7, 1)
WIDE = (1, 7)


def layer(
    b: Builder, x: Tensor, channels: int, kernel: Pair, stride: int = 1, padding: Padding = "same"
) -> Tensor:
    """Convolution, normalisation, rectifier."""
    return b.relu(
        b.batch_norm(b.conv(x, channels, kernel, stride=stride, padding=padding, bias=False), scale=False)
    )


def chain(b: Builder, x: Tensor, *layers: tuple[int, Pair]) -> Tensor:
    """Layers one after the other, each its channels and its kernel."""
    for channels, kernel in layers:
        x = layer(b, x, channels, kernel)
    return x


def inception_v3(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    x = layer(b, x, 32, 3, 2, "valid")
    x = layer(b, x, 32, 3, 1, "valid")
    x = b.max_pool(layer(b, x, 64, 3), 3, 2)
    x = layer(b, x, 80, 1)
    x = b.max_pool(layer(b, x, 192, 3, 1, "valid"), 3, 2)
    for pooled in (32, 64, 64):
        with b.scope("mixed_35"):
            x = _v3_35(b, x, pooled)
    with b.scope("reduction_35"):
        double = chain(b, x, (64, 1), (96, 3))
        x = b.concat(
            layer(b, x, 384, 3, 2, "valid"), layer(b, double, 96, 3, 2, "valid"), b.max_pool(x, 3, 2)
        )
    for width in (128, 160, 160, 192):
        with b.scope("mixed_17"):
            x = _v3_17(b, x, width)
    with b.scope("reduction_17"):
        single = layer(b, layer(b, x, 192, 1), 320, 3, 2, "valid")
        seven = layer(b, chain(b, x, (192, 1), (192, WIDE), (192, TALL)), 192, 3, 2, "valid")
        x = b.concat(single, seven, b.max_pool(x, 3, 2))
    for _ in range(2):
        with b.scope("mixed_8"):
            x = _v3_8(b, x)
    return b.softmax(b.dense(b.global_average_pool(x), classes))


def _v3_35(b: Builder, x: Tensor, pooled: int) -> Tensor:
    """Figure 5."""
    return b.concat(
        layer(b, x, 64, 1),
        chain(b, x, (48, 1), (64, 5)),
        chain(b, x, (64, 1), (96, 3), (96, 3)),
        layer(b, b.average_pool(x, 3, 1, "same"), pooled, 1),
    )


def _v3_17(b: Builder, x: Tensor, width: int) -> Tensor:
    """Figure 6, with n = 7."""
    return b.concat(
        layer(b, x, 192, 1),
        chain(b, x, (width, 1), (width, WIDE), (192, TALL)),
        chain(b, x, (width, 1), (width, TALL), (width, WIDE), (width, TALL), (192, WIDE)),
        layer(b, b.average_pool(x, 3, 1, "same"), 192, 1),
    )


def _v3_8(b: Builder, x: Tensor) -> Tensor:
    """Figure 7."""
    single = layer(b, x, 384, 1)
    double = chain(b, x, (448, 1), (384, 3))
    return b.concat(
        layer(b, x, 320, 1),
        layer(b, single, 384, (1, 3)),
        layer(b, single, 384, (3, 1)),
        layer(b, double, 384, (1, 3)),
        layer(b, double, 384, (3, 1)),
        layer(b, b.average_pool(x, 3, 1, "same"), 192, 1),
    )


def inception_v4(b: Builder, x: Tensor, classes: int = 1000) -> Tensor:
    """Probabilities of (batch, classes)."""
    with b.scope("stem"):
        x = _v4_stem(b, x)
    for _ in range(4):
        with b.scope("a"):
            x = _v4_a(b, x)
    with b.scope("reduction_a"):
        double = chain(b, x, (192, 1), (224, 3))
        x = b.concat(
            layer(b, x, 384, 3, 2, "valid"), layer(b, double, 256, 3, 2, "valid"), b.max_pool(x, 3, 2)
        )
    for _ in range(7):
        with b.scope("b"):
            x = _v4_b(b, x)
    with b.scope("reduction_b"):
        single = layer(b, layer(b, x, 192, 1), 192, 3, 2, "valid")
        seven = layer(b, chain(b, x, (256, 1), (256, WIDE), (320, TALL)), 320, 3, 2, "valid")
        x = b.concat(single, seven, b.max_pool(x, 3, 2))
    for _ in range(3):
        with b.scope("c"):
            x = _v4_c(b, x)
    return b.softmax(b.dense(b.global_average_pool(x), classes))


def _v4_stem(b: Builder, x: Tensor) -> Tensor:
    """Figure 3."""
    x = layer(b, x, 32, 3, 2, "valid")
    x = layer(b, x, 32, 3, 1, "valid")
    x = layer(b, x, 64, 3)
    x = b.concat(b.max_pool(x, 3, 2), layer(b, x, 96, 3, 2, "valid"))
    short = layer(b, layer(b, x, 64, 1), 96, 3, 1, "valid")
    long = layer(b, chain(b, x, (64, 1), (64, TALL), (64, WIDE)), 96, 3, 1, "valid")
    x = b.concat(short, long)
    return b.concat(layer(b, x, 192, 3, 2, "valid"), b.max_pool(x, 3, 2))


def _v4_a(b: Builder, x: Tensor) -> Tensor:
    """Figure 4."""
    return b.concat(
        layer(b, b.average_pool(x, 3, 1, "same"), 96, 1),
        layer(b, x, 96, 1),
        chain(b, x, (64, 1), (96, 3)),
        chain(b, x, (64, 1), (96, 3), (96, 3)),
    )


def _v4_b(b: Builder, x: Tensor) -> Tensor:
    """Figure 5."""
    return b.concat(
        layer(b, b.average_pool(x, 3, 1, "same"), 128, 1),
        layer(b, x, 384, 1),
        chain(b, x, (192, 1), (224, WIDE), (256, TALL)),
        chain(b, x, (192, 1), (192, WIDE), (224, TALL), (224, WIDE), (256, TALL)),
    )


def _v4_c(b: Builder, x: Tensor) -> Tensor:
    """Figure 6."""
    single = layer(b, x, 384, 1)
    triple = chain(b, x, (384, 1), (448, (1, 3)), (512, (3, 1)))
    return b.concat(
        layer(b, b.average_pool(x, 3, 1, "same"), 256, 1),
        layer(b, x, 256, 1),
        layer(b, single, 256, (1, 3)),
        layer(b, single, 256, (3, 1)),
        layer(b, triple, 256, (3, 1)),
        layer(b, triple, 256, (1, 3)),
    )
