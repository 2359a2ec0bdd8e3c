"""Requests are understood as in every language, and the golden vectors of timelines are what their simulator makes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import VECTORS

from serving import load
from swtch_function.request import BadRequest, parse


def vectors(name: str) -> dict[str, Any]:
    """A file of them."""
    found: dict[str, Any] = json.loads((VECTORS / name).read_text())
    return found


def test_the_simulated_timelines_are_those_of_the_simulator() -> None:
    module = load("make_gaps", VECTORS / "make_gaps.py")
    committed = vectors("gaps.json")["vectors"]
    for seed in (0, 10, 17, -1, -4):
        assert module.vector(module.scenarios()[seed], seed % len(committed)) == committed[seed]
    assert len(committed) == len(module.scenarios())


@pytest.mark.parametrize("vector", vectors("requests.json")["vectors"], ids=str)
def test_requests(vector: dict[str, Any]) -> None:
    if "refused" in vector:
        with pytest.raises(BadRequest) as refusal:
            parse(vector["body"], vector["query"])
        assert vector["refused"] in str(refusal.value) and "\n" not in str(refusal.value)
        return
    found = parse(vector["body"], vector["query"]).to_document()
    spinners = found.pop("spinners")
    wanted = {**vectors("requests.json")["defaults"], **vector["understood"]}
    assert spinners == wanted.pop("spinners", spinners) >= 1
    assert found == wanted
