"""The cores of all languages compute what the golden vectors say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import VECTORS

from serving import load
from swtch_function.quota import infer
from swtch_function.request import BadRequest, parse
from swtch_function.statistics import estimate, lag1, median_ranks, shapiro_wilk


def vectors(name: str) -> dict[str, Any]:
    """A file of them."""
    found: dict[str, Any] = json.loads((VECTORS / name).read_text())
    return found


def near(value: float | None, relative: float) -> Any:
    """A figure within a tolerance, or none."""
    return None if value is None else pytest.approx(value, rel=relative)


def by_name(name: str) -> list[Any]:
    """Its vectors, as parameters of a test."""
    return [pytest.param(one, id=one["name"]) for one in vectors(name)["vectors"]]


@pytest.mark.parametrize("vector", by_name("statistics.json"))
def test_statistics(vector: dict[str, Any]) -> None:
    found = estimate(vector["samples"])
    assert found is not None
    for name in ("n", "median", "mean", "minimum", "cov"):
        assert getattr(found, name) == near(vector[name], 1e-9)
    interval, ranks = vector["interval"], median_ranks(vector["n"])
    if interval is None:
        assert ranks is None
        assert (found.low, found.high) == (min(vector["samples"]), max(vector["samples"]))
        assert found.confidence == 1 - 2.0 ** (1 - vector["n"])
    else:
        assert ranks == (interval["low_rank"], interval["high_rank"])
        assert (found.low, found.high) == (interval["low"], interval["high"])
    wanted = vector["shapiro_wilk"]
    assert shapiro_wilk(vector["samples"]) == (
        None
        if wanted is None
        else (pytest.approx(wanted["w"], rel=1e-9), pytest.approx(wanted["p"], rel=1e-6))
    )
    assert lag1(vector["samples"]) == near(vector["lag1"], 1e-9)


@pytest.mark.parametrize("vector", by_name("gaps.json"))
def test_quota(vector: dict[str, Any]) -> None:
    wanted, tolerance = vector["expected"], vectors("gaps.json")["tolerance"]
    found = infer(vector["spinners"])
    assert found.cpus == pytest.approx(wanted["cpus"], rel=tolerance)
    assert found.period_ns == near(wanted["period_ns"], tolerance)
    assert found.quota_ns == near(wanted["quota_ns"], tolerance)
    assert (found.why is None) == (wanted["quota_ns"] is not None)


def test_the_simulated_timelines_are_those_of_the_simulator() -> None:
    module = load("make_gaps", VECTORS / "make_gaps.py")
    committed = vectors("gaps.json")["vectors"]
    for seed in (0, 10, 17):
        assert module.vector(module.scenarios()[seed], seed) == committed[seed]


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
