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

from .errors import UnknownModel
from .graphs.builder import Builder
from .graphs.graph import Graph, Tensor
from .graphs.mobilenet import mobilenet_v2

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
        """The network for so many images at once."""
        builder = Builder(self.slug)
        x = builder.input((batch, *self.input_shape[1:]))
        return builder.output(self.architecture(builder, x))


MODELS: tuple[Model, ...] = (
    Model(
        1,
        "MobileNet v2",
        "mobilenet-v2",
        "recognition",
        "Object Recognition",
        (1, 3, 224, 224),
        3_504_872,
        "torchvision, MobileNet_V2_Weights; the paper says 3.4 M (table 4)",
        mobilenet_v2,
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
    near += [by_name[plain] for plain in difflib.get_close_matches(wanted, by_name, n=3)]
    raise UnknownModel(name, list(dict.fromkeys(near))[:3])


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter.isalnum())


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10
