"""Figures: quantiles, intervals, ratios, and what the switches of a Trace say about inferences."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from swtch.ai.figures import Estimate, estimate, latency, per, ratio
from swtch.ai.timeline import Switch, activity, union

A, B, OTHER = 7, 8, 99


def test_quantiles_are_those_of_the_standard_library():
    generator = random.Random(1)
    values = [generator.random() for _ in range(101)]
    expected = statistics.quantiles(values, n=100, method="inclusive")
    found = latency(values)
    for percent in (50, 90, 99):
        assert found[f"p{percent}"] == pytest.approx(expected[percent - 1])


@pytest.mark.parametrize(
    ("n", "low", "high"), [(5, 1, 5), (6, 1, 6), (8, 1, 8), (9, 2, 8), (20, 6, 15), (100, 40, 61)]
)
def test_intervals_are_those_of_the_tables(n, low, high):
    """Ranks of the 95 % interval of a median, e.g. in Conover, Practical Nonparametric Statistics, table A3."""
    found = estimate([float(value) for value in range(1, n + 1)])
    assert (found.ci_low, found.ci_high) == (low, high)


def test_the_interval_covers_the_median_as_often_as_it_says():
    generator = random.Random(5)
    found = [estimate([generator.expovariate(1) for _ in range(12)]) for _ in range(4000)]
    covered = sum(one.ci_low <= math.log(2) <= one.ci_high for one in found) / len(found)
    assert covered == pytest.approx(found[0].confidence, abs=0.01)
    assert found[0].confidence >= 0.95


def test_few_values_are_not_passed_off_as_many():
    assert estimate([]) is None
    assert estimate([3.0]).confidence == 0
    assert estimate([3.0, 4.0]).confidence == 0.5


def test_a_ratio_has_the_extremes_of_both():
    found = ratio(Estimate(6, 5, 7, 0.95), Estimate(3, 2, 4, 0.95))
    assert (found.median, found.ci_low, found.ci_high) == (2, 1.25, 3.5)
    assert found.confidence == pytest.approx(0.9)
    assert ratio(Estimate(6, 5, 7, 0.95), Estimate(0, 0, 0, 0.95)) is None


def test_latency_has_the_distribution():
    found = latency(list(range(1, 102)))
    assert found == {"p50": 51, "p90": 91, "p99": 100, "max": 101, "mean": 51}
    assert latency([]) is None


def test_what_is_unknown_stays_unknown():
    assert per(None, 3) is None
    assert per(3, 0) is None
    assert per(3, 2) == 1.5


def on(at, prev, following, runnable=False, waited=None):
    return Switch(at, prev, following, runnable, waited)


def test_one_thread_that_waits_alone():
    rows = [on(10, OTHER, A, waited=5), on(30, A, OTHER)]
    found = activity(rows, (), frozenset([A]), [(0, 40)], 40)
    assert (found.voluntary, found.involuntary, found.run_ns, found.wait_ns) == (1, 0, 20, 5)
    assert found.wait_share == found.wait_share_low == found.wait_share_high == 5 / 40


def test_two_threads_on_one_cpu_lose_half_of_their_progress():
    # A and B take turns of 10: always one runs and one waits.
    rows = [on(0, OTHER, A, waited=0), on(10, A, B, True, 10), on(20, B, A, True, 10), on(30, A, B, True, 10)]
    found = activity(rows, (), frozenset([A, B]), [(0, 40)], 40)
    assert found.involuntary == 3
    assert found.run_ns == 40
    # At the end A has waited for 10 and has not come back.
    assert found.wait_ns == 40
    assert found.wait_share == pytest.approx(0.5)
    assert (found.wait_share_low, found.wait_share_high) == (0, 1)


def test_three_threads_of_which_two_run():
    rows = [on(0, OTHER, A, waited=0), on(0, OTHER, B, waited=0), on(30, A, 9, True, 30)]
    found = activity(rows, (), frozenset([A, B, 9]), [(0, 30)], 30)
    assert found.wait_share == pytest.approx(1 / 3)


def test_a_thread_that_never_switches_runs_all_the_time():
    rows = [on(20, OTHER, B, waited=20)]
    found = activity(rows, (A,), frozenset([A, B]), [(0, 40)], 40)
    assert found.run_ns == 40 + 20
    # While B waited, A ran: 1 of 2 for half of the time.
    assert found.wait_share == pytest.approx(0.25)
    assert found.wait_share_low == 0


def test_a_thread_seen_leaving_first_had_been_there():
    found = activity([on(25, A, OTHER)], (A,), frozenset([A]), [(5, 40)], 40)
    assert (found.run_ns, found.voluntary) == (20, 1)


def test_only_what_lies_inside_inferences_counts_for_the_share_and_the_window_for_counts():
    rows = [
        on(5, A, OTHER),
        on(12, OTHER, A, waited=4),
        on(35, A, OTHER, True),
        on(60, OTHER, A),
        on(61, A, OTHER),
    ]
    found = activity(rows, (), frozenset([A]), [(10, 20), (30, 40)], 70)
    # Leaving at 5 and 61 is outside of the window from 10 to 40.
    assert (found.voluntary, found.involuntary) == (0, 1)
    # Waiting from 8 to 12 counts from 10; from 35 to 60 up to 40.
    assert found.wait_ns == 2 + 5
    assert found.wait_share == pytest.approx(7 / 20)


def test_the_share_is_at_least_the_time_that_nobody_ran_and_at_most_the_time_that_somebody_waited():
    generator = random.Random(3)
    for _ in range(200):
        rows, at, running = [], 0, None
        for _ in range(40):
            at += generator.randrange(1, 9)
            following = generator.choice([A, B, OTHER])
            prev = OTHER if running is None else running
            if prev == following:
                continue
            rows.append(on(at, prev, following, generator.random() < 0.5, generator.randrange(0, 4)))
            running = None if following == OTHER else following
        found = activity(rows, (), frozenset([A, B]), [(3, 50), (60, at)], at)
        assert 0 <= found.wait_share_low <= found.wait_share <= found.wait_share_high <= 1


def test_a_switch_after_the_end_that_is_given_changes_nothing():
    rows = [on(10, OTHER, A, waited=5), on(30, A, OTHER)]
    # Had the run that begins at 60 its end at 40, one thread less than none would run while one waits.
    later = [*rows, on(60, OTHER, A, waited=15)]
    found, said = (activity(some, (), frozenset([A]), [(0, 40)], 40) for some in (later, rows))
    assert found == said


def test_without_inferences_there_is_no_share():
    found = activity([on(5, OTHER, A)], (), frozenset([A]), [], 10)
    assert found.wait_share is None


def test_overlapping_inferences_are_counted_once():
    assert union([(5, 9), (0, 2), (1, 3), (3, 4)]) == [(0, 4), (5, 9)]
