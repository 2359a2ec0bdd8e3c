"""The sixteen models as data: their names, how they are found, and their layers."""

from __future__ import annotations

import doctest

import pytest

import swtch.ai.catalogue
import swtch.ai.contract
from swtch.ai.catalogue import MODELS, QUICK, find
from swtch.ai.errors import AiError, UnknownModel
from swtch.ai.graphs.builder import Builder
from swtch.ai.graphs.srcnn import srcnn_9_5_5

OUTPUTS = {
    **dict.fromkeys(range(1, 8), (1, 1000)),
    8: (1, 3, 512, 512),
    9: (1, 3, 512, 512),
    10: (1, 3, 512, 512),
    11: (1, 3, 256, 256),
    12: (1, 3, 512, 512),
    13: (1, 3, 128, 128),
    14: (1, 3, 1024, 1536),
    15: (1, 3, 90, 90),
    16: (1, 3, 64, 64),
}
"""As the study's own graphs have them, but for the batch."""
# Multiplications with additions, in billions, where a paper gives them for the size that is built here.
PUBLISHED_MACS = {1: 0.300, 7: 15.5}
EXACT = {
    8: 668_227,
    9: 1_562_755,
    11: 401_475,
    12: 31_043_651,
    13: 138_029_827 - 9_024,
    14: 6_685_775,
    15: 46_707_139,
    16: 42_721_356,
}
"""Learned numbers in the graphs that the study ran, without those of spectral normalisation."""


def numbers(text: str) -> list[int]:
    return [model.number for model in find(text)]


def test_the_catalogue_is_the_studys() -> None:
    assert [model.number for model in MODELS] == list(range(1, 17))
    assert len({model.slug for model in MODELS}) == len({model.name for model in MODELS}) == 16
    assert {model.number for model in MODELS if model.group == "image recognition"} == set(range(1, 8))
    assert [model.number for model in MODELS if model.task == "segmentation"] == [14, 15, 16]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.slug)
def test_parameters_are_the_published_ones(model) -> None:
    built = model.build().parameters
    assert built == pytest.approx(model.published_parameters, rel=model.tolerance), model.source
    if model.number in EXACT:
        assert built == EXACT[model.number]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.slug)
def test_shapes_are_the_studys_and_follow_the_batch(model) -> None:
    one, three = model.build(), model.build(batch=3)
    assert one.inputs[0].shape == model.input_shape
    assert one.outputs[0].shape == OUTPUTS[model.number]
    assert three.inputs[0].shape == (3, *model.input_shape[1:])
    assert three.outputs[0].shape == (3, *OUTPUTS[model.number][1:])
    assert three.parameters == one.parameters
    assert three.macs == 3 * one.macs
    assert [vars(item) for item in three.initialisers] == [vars(item) for item in one.initialisers]


@pytest.mark.parametrize("number", PUBLISHED_MACS)
def test_work_is_the_published_one(number: int) -> None:
    assert find(str(number))[0].build().macs / 1e9 == pytest.approx(PUBLISHED_MACS[number], rel=0.01)


def test_srcnn_on_luminance_has_the_weights_of_the_paper() -> None:
    builder = Builder("luminance")
    graph = builder.output(srcnn_9_5_5(builder, builder.input((1, 1, 33, 33))))
    assert sum(one.elements for one in graph.initialisers if one.role == "kernel") == 57_184


@pytest.mark.parametrize("module", [swtch.ai.catalogue, swtch.ai.contract])
def test_examples_in_docstrings_run(module) -> None:
    found = doctest.testmod(module)
    assert found.failed == 0 < found.attempted


def test_finding() -> None:
    assert numbers("1,5,7") == [1, 5, 7]
    assert numbers("7, 5 ,7,mobilenet-v2") == [7, 5, 1]
    assert numbers("1-4") == [1, 2, 3, 4]
    assert numbers("14-16,all") == [14, 15, 16, *range(1, 14)]
    assert numbers("quick") == list(QUICK)
    assert numbers("VGG-16") == numbers("vgg16") == [7]
    for model in MODELS:
        assert find(model.slug) == find(model.name) == find(str(model.number)) == [model]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mobilenet", "there is no model 'mobilenet'; did you mean mobilenet-v2?"),
        ("resnet-50", "did you mean resnet-50-v2"),
        ("vgg", "did you mean vgg-16 or vgg-19-super-resolution?"),
        ("0", "a number from 1 to 16"),
        ("17", "a number from 1 to 16"),
        ("1-17", "a number from 1 to 16"),
        ("1-999999999", "a number from 1 to 16"),
        ("4-1", "did you mean 1-4?"),
        ("", "`swtch ai list` names them all"),
        ("1,,2", "there is no model ''"),
        ("gpt", "`swtch ai list` names them all"),
        ("٣", "there is no model '٣'"),
    ],
)
def test_an_unknown_model_names_near_ones(text: str, words: str) -> None:
    with pytest.raises(UnknownModel) as caught:
        find(text)
    assert words in str(caught.value)
    assert isinstance(caught.value, (AiError, ValueError)) and "\n" not in str(caught.value)


def test_names_of_weights_are_unique_and_so_are_tensors() -> None:
    for model in MODELS:
        graph = model.build()
        names = [one.name for one in graph.initialisers]
        assert len(set(names)) == len(names)
        produced = [name for node in graph.nodes for name in node.outputs]
        assert len(set(produced)) == len(produced)
        known = {*names, *graph.constants, *(one.name for one in graph.inputs), ""}
        for node in graph.nodes:
            assert known.issuperset(node.inputs), node
            known.update(node.outputs)


def test_more_images_need_more_memory() -> None:
    pspnet = find("pspnet")[0]
    graph = pspnet.build()
    assert graph.weights_bytes > 4 * graph.parameters
    assert pspnet.predicted_peak_bytes(4) > pspnet.predicted_peak_bytes() + 2 * graph.activations_bytes()
