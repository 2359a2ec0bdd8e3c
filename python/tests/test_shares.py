"""Shares of fast cores."""

from __future__ import annotations

import pytest

import swtch


def test_every_policy_spends_the_budget():
    for policy in swtch._shares.Policy.__args__:
        found = swtch.shares(2, 4, (3, 2.5, 2, 1.5, 1.2, 1), policy)
        assert found.policy == policy
        assert sum(found.shares) == pytest.approx(2)
        assert (found.sequence is not None) == (policy == "guaranteed")
        assert found.to_dict()["shares"] == list(found.shares)


def test_parameters_reach_the_policy():
    assert swtch.shares(1, 2, [3, 2.9, 1.5], min_fairness=0.95).min_fairness == pytest.approx(0.95)
    assert swtch.shares(1, 2, [3, 2.9, 1.5], "r-fair", r=0.5, variant="greedy").throughput == pytest.approx(
        1.044898
    )
    assert swtch.shares(1, 2, [3, 2.9, 1.5], "max-perf", ddof=0).uniformity == pytest.approx(
        0.530145, abs=1e-6
    )
    assert len(swtch.shares(1, 2, [3, 2.9, 1.5], "guaranteed", intervals=7).sequence) == 7


def test_weights_and_threads_are_what_each_is_entitled_to_by() -> None:
    found = swtch.shares(2, 4, [3, 2, 1.5], "max-fair", weights=[2, 1, 1], threads=[1, 3, 4])
    assert (found.weights, found.threads) == ((2, 1, 1), (1, 3, 4))
    assert found.cpus == pytest.approx((1, 2.5, 2.5))
    assert found.equal_shares == found.shares == pytest.approx((1, 0.2, 0.2))
    assert swtch.shares(2, 4, [3, 2, 1.5], "max-fair").cpus is None
    # Without weights each thread counts as much as any other.
    by_threads = swtch.shares(2, 4, [3, 2, 1.5], threads=[2, 2, 4])
    assert by_threads.cpus == pytest.approx((1.5, 1.5, 3))


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((0, 0, [2]), {}, "a machine needs a core"),
        ((1, 1, []), {}, "name at least one"),
        ((1, 1, [float("nan")]), {}, "the speedup of application 0 is NaN"),
        ((1, 1, [2], "fair"), {}, "the policies are max-fair"),
        ((1, 1, [2], "max-fair"), {"r": 0.5}, "r is not a parameter of max-fair"),
        ((1, 1, [2], "r-fair"), {"variant": "odd"}, "unknown variant 'odd'"),
        ((1, 1, [2]), {"min_fairness": 2.0}, "must be from 0 to 1"),
        ((1, 1, [2]), {"ddof": 2}, "ddof is 2"),
        ((1, 1, [2]), {"weights": [1, 2]}, "weights: 2 where 1 are needed"),
        ((1, 1, [2]), {"weights": [0]}, "the weight of application 0 is 0"),
        ((1, 1, [2]), {"threads": [0]}, "application 0 has no threads"),
    ],
)
def test_what_cannot_be_shared_is_a_usage_error(arguments, options, words):
    with pytest.raises(swtch.UsageError, match=words):
        swtch.shares(*arguments, **options)


def test_a_notebook_shows_one_line() -> None:
    assert repr(swtch.shares(1, 2, [3, 2, 1.5], "max-perf")).startswith(
        "<swtch.Shares: max-perf, throughput 1."
    )
