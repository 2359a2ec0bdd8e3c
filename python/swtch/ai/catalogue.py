"""The sixteen models of the study, by its numbers.

Source: Suo, Shi, Hung, Bobbie, "Quantifying Context Switch Overhead of Artificial Intelligence Workloads on the Cloud and
Edges", SAC 2021, table "Specifications of AI workloads"; input sizes as in the AI Benchmark package 0.1.2, which it ran.

>>> [model.slug for model in find("1,5")]
['mobilenet-v2', 'resnet-50-v2']
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from . import language
from .errors import UnknownModel
from .graphs.builder import Builder
from .graphs.deeplab import deeplab
from .graphs.dped import resnet_dped
from .graphs.graph import Graph, Tensor
from .graphs.icnet import icnet
from .graphs.inception import inception_v3, inception_v4
from .graphs.inception_resnet import inception_resnet_v2
from .graphs.mobilenet import mobilenet_v2
from .graphs.pspnet import pspnet
from .graphs.resnet import resnet_50_v2, resnet_152_v2
from .graphs.spade import spade
from .graphs.srcnn import srcnn_9_5_5
from .graphs.srgan import resnet_srgan
from .graphs.unet import unet
from .graphs.vgg import vgg_16
from .graphs.vgg_super_resolution import vgg_19_super_resolution
from .memory import predicted_peak_bytes

Task = Literal["recognition", "processing", "segmentation"]
"""What a model does. The study shows 1 to 7 as image recognition, the others as image processing and segmentation."""


@dataclass(frozen=True)
class Model:
    """One of the sixteen."""

    number: int
    """As in the study."""
    name: str
    """As in the study."""
    slug: str
    """For command lines and files."""
    task: Task
    """What it does, coarsely."""
    study_task: str
    """What the study says it does."""
    input_shape: tuple[int, int, int, int]
    """Batch (1), channels, height, width."""
    published_parameters: int
    """How many parameters the network has where it was published; that one is built to within `tolerance`."""
    source: str
    """Where that number is from, and which variant is built where there are several."""
    architecture: Callable[[Builder, Tensor], Tensor]
    """Adds the network to a builder."""
    tolerance: float = 0.01
    """How far the number of parameters may be off, relatively."""

    @property
    def group(self) -> str:
        """The figure of the study that it is in."""
        return "image recognition" if self.task == "recognition" else "image processing and segmentation"

    def build(self, batch: int = 1) -> Graph:
        """The network for this many images at once."""
        builder = Builder(self.slug)
        x = builder.input((batch, *self.input_shape[1:]))
        return builder.output(self.architecture(builder, x))

    def predicted_peak_bytes(self, batch: int = 1) -> int:
        """The most memory that a process running it on the CPU will have resident (`swtch.ai.memory` says how that is known)."""
        return predicted_peak_bytes(self.build(batch))


MODELS: tuple[Model, ...] = (
    Model(
        1,
        "MobileNet v2",
        "mobilenet-v2",
        "recognition",
        "Object Recognition",
        (1, 3, 224, 224),
        3_504_872,
        "torchvision, MobileNet_V2_Weights; the paper rounds to 3.4 M (table 4)",
        mobilenet_v2,
    ),
    Model(
        2,
        "Inception v3",
        "inception-v3",
        "recognition",
        "Classification",
        (1, 3, 346, 346),
        23_851_784,
        "Keras Applications, which counts statistics of normalisation; without the auxiliary classifier",
        inception_v3,
    ),
    Model(
        3,
        "Inception v4",
        "inception-v4",
        "recognition",
        "Classification",
        (1, 3, 346, 346),
        42_679_816,
        "timm, inception_v4, whose normalisation also learns scales; without the auxiliary classifier",
        inception_v4,
    ),
    Model(
        4,
        "Inception-ResNet v2",
        "inception-resnet-v2",
        "recognition",
        "Facial Recognition",
        (1, 3, 346, 346),
        55_873_736,
        "Keras Applications, which counts statistics of normalisation; without the auxiliary classifier",
        inception_resnet_v2,
    ),
    Model(
        5,
        "ResNet-50 v2",
        "resnet-50-v2",
        "recognition",
        "Classification",
        (1, 3, 346, 346),
        25_613_800,
        "Keras Applications, which counts statistics of normalisation",
        resnet_50_v2,
    ),
    Model(
        6,
        "ResNet-152 v2",
        "resnet-152-v2",
        "recognition",
        "Classification",
        (1, 3, 256, 256),
        60_380_648,
        "Keras Applications, which counts statistics of normalisation",
        resnet_152_v2,
    ),
    Model(
        7,
        "VGG-16",
        "vgg-16",
        "recognition",
        "Classification",
        (1, 3, 224, 224),
        138_357_544,
        "Keras Applications; the paper rounds to 138 M (table 2)",
        vgg_16,
    ),
    Model(
        8,
        "VGG-19 super-resolution",
        "vgg-19-super-resolution",
        "processing",
        "Super-Resolution",
        (1, 3, 512, 512),
        665_000,
        "Ahn, Kang, Sohn, ECCV 2018 (CARN), for VDSR on luminance; built for three channels, as the study ran it: 668,227",
        vgg_19_super_resolution,
    ),
    Model(
        9,
        "ResNet-SRGAN",
        "resnet-srgan",
        "processing",
        "Super-Resolution",
        (1, 3, 512, 512),
        1_562_755,
        "AI Benchmark 0.1.2, srgan.meta; that variant is built, because it takes and gives 512 x 512; the paper's generator has 1.55 M",
        resnet_srgan,
    ),
    Model(
        10,
        "SRCNN 9-5-5",
        "srcnn-9-5-5",
        "processing",
        "Image Deblurring",
        (1, 3, 512, 512),
        69_249,
        "AI Benchmark 0.1.2, srcnn.meta: three channels are built; the paper's 57,184 weights are for luminance",
        srcnn_9_5_5,
    ),
    Model(
        11,
        "ResNet-DPED",
        "resnet-dped",
        "processing",
        "Image Enhancement",
        (1, 3, 256, 256),
        401_475,
        "AI Benchmark 0.1.2, dped.meta; its authors are the paper's",
        resnet_dped,
    ),
    Model(
        12,
        "U-Net",
        "u-net",
        "processing",
        "Bokeh Simulation",
        (1, 3, 512, 512),
        31_043_651,
        "AI Benchmark 0.1.2, unet.meta: padded, normalised, three channels; the paper's network has 31.0 M",
        unet,
    ),
    Model(
        13,
        "SPADE",
        "spade",
        "processing",
        "Semantic Image Synthesis",
        (1, 3, 128, 128),
        138_029_827,
        "AI Benchmark 0.1.2, spade.meta, with 9,024 numbers of spectral normalisation that inference folds in; 5 x 5 modulation where the paper has 3 x 3",
        spade,
    ),
    Model(
        14,
        "ICNet",
        "icnet",
        "segmentation",
        "Image Segmentation",
        (1, 3, 1024, 1536),
        6_685_775,
        "AI Benchmark 0.1.2, icnet.meta: the compressed network with normalisation folded in",
        icnet,
    ),
    Model(
        15,
        "PSPNet",
        "pspnet",
        "segmentation",
        "Image Segmentation",
        (1, 3, 720, 720),
        46_707_139,
        "AI Benchmark 0.1.2, pspnet.meta: ResNet-50 and three classes",
        pspnet,
    ),
    Model(
        16,
        "DeepLab",
        "deeplab",
        "segmentation",
        "Image Segmentation",
        (1, 3, 512, 512),
        42_721_356,
        "AI Benchmark 0.1.2, deeplab.meta: ResNet-101 and three classes; the study calls it v1, its layers are those of v2",
        deeplab,
    ),
)
"""All of them, in the order of their numbers."""

QUICK = (1, 5, 10, 14)
"""The subset `quick`: recognition, processing and segmentation, small and large, seconds altogether."""


def find(text: str) -> list[Model]:
    """The models that a text asks for, in its order and each once.

    It is a list, parted by commas, of numbers (`7`), ranges (`1-4`), names (`mobilenet-v2`, `MobileNet v2`), `all` and `quick`.
    Raises `UnknownModel`, which suggests names.
    """
    found: dict[int, Model] = {}
    for part in text.split(","):
        for model in _part(part.strip()):
            found.setdefault(model.number, model)
    return list(found.values())


def _part(part: str) -> list[Model]:
    if part == "all":
        return list(MODELS)
    if part == "quick":
        return [_numbered(number, part) for number in QUICK]
    first, dash, last = part.partition("-")
    if _is_number(first) and dash and _is_number(last):
        if int(first) > int(last):
            raise UnknownModel(part, [f"{last}-{first}"])
        # Both ends first: a range of billions must not be walked through to find that out.
        _numbered(int(first), part), _numbered(int(last), part)
        return [_numbered(number, part) for number in range(int(first), int(last) + 1)]
    if _is_number(part):
        return [_numbered(int(part), part)]
    return [_named(part)]


def _numbered(number: int, asked: str) -> Model:
    for model in MODELS:
        if model.number == number:
            return model
    raise UnknownModel(asked, [f"a number from {MODELS[0].number} to {MODELS[-1].number}"])


def _named(name: str) -> Model:
    wanted = _plain(name)
    for model in MODELS:
        if wanted in (_plain(model.slug), _plain(model.name)):
            return model
    by_name = {_plain(model.slug): model.slug for model in MODELS}
    # What a name begins with counts as near, however short it is: "vgg".
    near = [slug for plain, slug in by_name.items() if wanted and plain.startswith(wanted)]
    near += [by_name[plain] for plain in difflib.get_close_matches(wanted, by_name, n=3, cutoff=0.7)]
    if wanted.startswith("llm"):
        near = language.names()
    raise UnknownModel(name, list(dict.fromkeys(near))[:3])


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
