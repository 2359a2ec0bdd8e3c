"""The quota of simulated timelines, with any seed: what `functions/vectors` has some of, and `crates/faas` infers."""

import importlib.util
import json
import random
import sys

import pytest
from faas_host import ROOT

from swtch._native import complete_answer

VECTORS = ROOT / "functions" / "vectors"
RAW = json.loads((ROOT / "fixtures/faas/rust.json").read_text())


@pytest.fixture(scope="module")
def simulator():
    """`functions/vectors/make_gaps.py`, which simulates the kernel's bandwidth control."""
    spec = importlib.util.spec_from_file_location("make_gaps", VECTORS / "make_gaps.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def inferred(spinners):
    """What a handler's answer with this timeline has of a quota, and the reason where there is none."""
    throttling = {**RAW["throttling"], "spun": {**RAW["throttling"]["spun"], "intervals": spinners}}
    document = json.loads(complete_answer(json.dumps({**RAW, "throttling": throttling, "unavailable": []})))
    why = [row["why"] for row in document["unavailable"] if row["what"] == "throttling.inferred.quota_ns"]
    return document["throttling"]["inferred"], why


@pytest.mark.parametrize("seed", range(20))
def test_a_quota_is_inferred_whatever_the_seed(simulator, seed):
    rng = random.Random(seed)
    period_ns = rng.choice((20, 50, 100)) * 1_000_000
    cpus = rng.choice(list(simulator.TIERS.values()))
    scenario = simulator.Scenario(
        "any",
        round(cpus * period_ns),
        period_ns,
        2 if cpus >= 1 else 1,
        others=rng.choice((0, 0.05, 0.1, 0.2)),
        phase_ns=rng.randrange(period_ns),
    )
    found, why = inferred(simulator.simulate(scenario, seed))
    assert why == []
    assert found["period_ns"] == pytest.approx(period_ns, rel=simulator.TOLERANCE)
    assert found["quota_ns"] == pytest.approx(scenario.quota_ns, rel=simulator.TOLERANCE)
    assert found["quota_ci_low_ns"] <= found["quota_ns"] <= found["quota_ci_high_ns"]


@pytest.mark.parametrize("seed", range(20))
def test_what_a_program_of_a_higher_class_leaves_is_no_quota(simulator, seed):
    """Where it is less than the kernel's smallest, or the program leaves all of a cycle now and then."""
    rng = random.Random(seed)
    cycle_ns = rng.choice((20, 40, 50, 100)) * 1_000_000
    tiny = seed % 2 == 0
    scenario = simulator.Scenario(
        "any",
        None,
        span_ns=40 * cycle_ns,
        left_ns=rng.randrange(30_000, 850_000) if tiny else cycle_ns // rng.randrange(5, 12),
        cycle_ns=cycle_ns,
        skipped=() if tiny else tuple(rng.sample(range(3, 38), 3)),
    )
    found, why = inferred(simulator.simulate(scenario, seed))
    assert (found["period_ns"], found["quota_ns"]) == (None, None)
    assert len(why) == 1 and ("smallest" if tiny else "would not have let") in why[0]
