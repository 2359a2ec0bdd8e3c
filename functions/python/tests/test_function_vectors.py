"""The cores of all languages compute what the golden vectors say."""

from __future__ import annotations

import json
import random
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
    if wanted["quota_ns"] is not None:
        assert found.why is None
    else:
        assert found.why is not None and "\n" not in found.why
        assert wanted.get("why", "") in found.why


def test_the_simulated_timelines_are_those_of_the_simulator() -> None:
    module = load("make_gaps", VECTORS / "make_gaps.py")
    committed = vectors("gaps.json")["vectors"]
    for seed in (0, 10, 17, -1, -4):
        assert module.vector(module.scenarios()[seed], seed % len(committed)) == committed[seed]
    assert len(committed) == len(module.scenarios())


@pytest.mark.parametrize("seed", range(20))
def test_a_quota_is_inferred_whatever_the_seed(seed: int) -> None:
    module, rng = load("make_gaps", VECTORS / "make_gaps.py"), random.Random(seed)
    period_ns = rng.choice((20, 50, 100)) * 1_000_000
    cpus = rng.choice(list(module.TIERS.values()))
    scenario = module.Scenario(
        "any",
        round(cpus * period_ns),
        period_ns,
        2 if cpus >= 1 else 1,
        others=rng.choice((0, 0.05, 0.1, 0.2)),
        phase_ns=rng.randrange(period_ns),
    )
    found = infer(module.simulate(scenario, seed))
    assert found.why is None
    assert found.period_ns == near(period_ns, module.TOLERANCE)
    assert found.quota_ns == near(scenario.quota_ns, module.TOLERANCE)


@pytest.mark.parametrize("seed", range(20))
def test_what_a_program_of_a_higher_class_leaves_is_no_quota(seed: int) -> None:
    """Where it is less than the kernel's smallest, or the program leaves all of a cycle now and then."""
    module, rng = load("make_gaps", VECTORS / "make_gaps.py"), random.Random(seed)
    cycle_ns = rng.choice((20, 40, 50, 100)) * 1_000_000
    tiny = seed % 2 == 0
    scenario = module.Scenario(
        "any",
        None,
        span_ns=40 * cycle_ns,
        left_ns=rng.randrange(30_000, 850_000) if tiny else cycle_ns // rng.randrange(5, 12),
        cycle_ns=cycle_ns,
        skipped=() if tiny else tuple(rng.sample(range(3, 38), 3)),
    )
    found = infer(module.simulate(scenario, seed))
    assert (found.period_ns, found.quota_ns) == (None, None)
    assert found.why is not None and ("smallest" if tiny else "would not have let") in found.why


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
