"""Prices, rows and advice from invocations that are made up."""

from __future__ import annotations

import datetime
import json
import re

import pytest

from swtch.faas import study, summary
from swtch.faas.advice import advise
from swtch.faas.figures import estimate, look
from swtch.faas.plan import QUOTA, SWITCHES, WORK, Plan
from swtch.faas.price import find, prices
from swtch.faas.rows import cells, quota_check, rows
from swtch.faas.tier_sets import Tier, named

GCF = find("gcf-1")


@pytest.mark.parametrize(
    ("memory_mb", "ghz", "usd"),
    [
        (128, 0.2, 2.31e-6),
        (256, 0.4, 4.63e-6),
        (512, 0.8, 9.25e-6),
        (1024, 1.4, 1.65e-5),
        (2048, 2.4, 2.9e-5),
    ],
)
def test_prices_of_the_first_generation_are_the_published_ones(memory_mb, ghz, usd):
    assert float(f"{GCF.usd_per_second(memory_mb, ghz / 2.4):.3g}") in (usd, pytest.approx(usd, rel=2e-3))
    tier = next(tier for tier in named("gcf-1", 64, "x86_64").tiers if tier.memory_mb == memory_mb)
    assert tier.cpus == pytest.approx(ghz / 2.4)
    assert GCF.usd_per_second(tier.memory_mb, tier.cpus) == pytest.approx(usd, rel=2e-3)


@pytest.mark.parametrize(
    ("name", "duration_ms", "billed_ms"),
    [
        ("gcf-1", 1, 100), ("gcf-1", 100, 100), ("gcf-1", 100.1, 200), ("cloud-run", 250, 300), ("lambda-x86", 2.1, 3),
        ("lambda-arm", 3, 3), ("azure-consumption", 3, 100), ("azure-flex", 20, 1000), ("azure-flex", 1000.5, 1001),
    ],
)  # fmt: skip
def test_time_is_billed_as_each_platform_rounds(name, duration_ms, billed_ms):
    assert find(name).billed_ms(duration_ms * 1e6) == billed_ms


def test_prices_of_the_others():
    assert find("lambda-x86").usd_per_second(1024, 1024 / 1769) == pytest.approx(1.66667e-5)
    assert find("lambda-arm").usd_per_second(512, 0.3) == pytest.approx(1.33334e-5 / 2)
    assert find("cloud-run").usd_per_second(2048, 1) == pytest.approx(2.4e-5 + 5e-6)
    # 129 MB are billed as 256 MB.
    assert find("azure-consumption").usd_per_second(129, 1) == pytest.approx(1.6e-5 / 4)


def test_every_table_has_its_day_and_its_source():
    for one in prices():
        assert datetime.date.fromisoformat(one.dated) and one.source and one.rounding_ms > 0
    day = datetime.date.fromisoformat(GCF.dated)
    assert GCF.warning(day + datetime.timedelta(days=365)) is None
    assert "366 days old; check them" in GCF.warning(day + datetime.timedelta(days=366))


def test_lambdas_tiers_are_those_that_the_machine_can_be():
    assert [tier.memory_mb for tier in named("lambda", 2, "x86_64").tiers] == [
        128,
        256,
        512,
        1024,
        1769,
        3008,
        3538,
    ]
    assert named("lambda", 8, "aarch64").tiers[-1].memory_mb == 10240
    assert named("lambda", 8, "aarch64").price == "lambda-arm"
    assert named("lambda", 1, "x86_64").tiers[-1] == Tier("1769 MB", 1769, 1.0)


def plan(**more):
    tiers = (Tier("128 MB", 128, 1 / 12), Tier("2048 MB", 2048, 1.0))
    values = {
        "kind": "handler", "subjects": ("python",), "name": "swtch handler", "tier_set": "gcf-1", "tier_source": "x", "tiers": tiers,
        "price": "gcf-1", "period_us": 100_000, "works_ms": (10.0,), "repeats": 8, "seed": 0, "limit_s": 1.0,
    }  # fmt: skip
    return Plan(**{**values, **more})


def line(tier, latency_ms, repeat, purpose=WORK, work_ms=10.0, **more):
    found = {
        "subject": "python", "purpose": purpose, "tier": tier, "work_ms": work_ms, "repeat": repeat, "outcome": "complete", "why": None,
        "started_at": "2026-11-22T04:00:00.000+00:00", "latency_ns": round(latency_ms * 1e6), "cold": False, "response": None,
        "group": {"periods": 3, "periods_throttled": 2, "throttled_ns": round(latency_ms * 5e5), "cpu_ns": 1, "memory_peak_bytes": 2},
    }  # fmt: skip
    return {**found, **more}


def lines():
    found = []
    for repeat in range(8):
        slower = 1 + repeat / 100
        found += [
            line("128 MB", 110 * slower, repeat),
            line("2048 MB", 10 * slower, repeat),
            line("unthrottled", 10 * slower, repeat),
        ]
    return found


def test_slow_down_and_money_are_of_the_same_round():
    small, large, free = rows(plan(), lines(), GCF)
    assert (small["tier"], large["tier"], free["tier"]) == ("128 MB", "2048 MB", "unthrottled")
    # Whatever disturbs a round, its ratio stays.
    assert small["slowdown"]["median"] == pytest.approx(11)
    assert small["slowdown"]["low"] == pytest.approx(small["slowdown"]["high"])
    assert small["throttled_share"]["median"] == pytest.approx(0.5)
    # 110 ms are billed as 200, and 10 as 100.
    assert small["cost_usd"]["median"] == pytest.approx(0.2 * 2.3125e-6)
    assert small["cost_unthrottled_usd"]["median"] == pytest.approx(0.1 * 2.3125e-6)
    assert small["extra_usd"]["against"] == "the same work unthrottled at this tier"
    assert small["extra_usd"]["usd"]["mean"] == pytest.approx(0.1 * 2.3125e-6)
    assert small["extra_cheapest"] is None
    assert large["extra_cheapest"]["against"] == "the same work at 128 MB"
    assert large["extra_cheapest"]["usd"]["mean"] == pytest.approx(0.1 * 2.9e-5 - 0.2 * 2.3125e-6)
    assert (free["slowdown"], free["cost_usd"], free["extra_usd"]) == (None, None, None)
    assert small["latency_ns"]["n"] == 8 and small["p90_ns"] > small["latency_ns"]["median"]


def test_failures_and_cold_starts_are_not_in_the_figures():
    found = lines()
    found[0] = {**found[0], "outcome": "oom", "why": "killed"}
    found[3] = {**found[3], "cold": True}
    small = rows(plan(), found, GCF)[0]
    assert (small["n"], small["failed"]) == (6, 1)
    cold = [{**one, "cold": True} for one in lines()]
    assert rows(plan(), cold, GCF)[0]["n"] == 8


def test_advice_names_the_cheapest_and_the_one_that_meets_the_target():
    found = advise(cells(plan(), lines(), GCF), 20e6)
    cheapest, meets = found
    assert (cheapest["what"], cheapest["tier"]) == ("cheapest", "128 MB")
    assert cheapest["text"] == (
        "10 ms of work costs least at 128 MB: $0.463 a million invocations; 2048 MB costs 6.3 times as much."
    )
    assert cheapest["evidence"]["others"][0]["more_usd"]["low"] > 0
    assert (meets["what"], meets["tier"]) == ("meets target", "2048 MB")
    assert (
        "10 ms of work is done within 20 ms at 2048 MB: 90 % of invocations take at most 10.7 ms (8 seen, confidence 57 %)."
        == meets["text"]
    )
    none = advise(cells(plan(), lines(), GCF), 1e6)[1]
    assert (
        none["tier"] is None
        and "No tier has 10 ms of work done within 1 ms; the fastest is 2048 MB" in none["text"]
    )
    failing = [
        {**one, "outcome": "failed"} if one["tier"] == "2048 MB" and one["repeat"] == 0 else one
        for one in lines()
    ]
    assert advise(cells(plan(), failing, GCF), 20e6)[1]["tier"] is None


def test_what_was_seen_too_seldom_tells_no_tiers_apart():
    once = [one for one in lines() if one["repeat"] == 0]
    (cheapest,) = advise(cells(plan(repeats=1), once, GCF), None)
    assert cheapest["text"].endswith("; seen once, too seldom to tell tiers apart.")
    assert cheapest["evidence"]["n"] == 1


def test_advice_is_whole_sentences_that_a_person_can_read():
    """Whatever the size of its figures: no powers of ten, a capital and a full stop."""
    for factor in (1e-3, 1.0, 40.0, 1e3, 1e6):
        found = [
            line(one["tier"], one["latency_ns"] / 1e6 * factor, one["repeat"], work_ms=10 * factor)
            for one in lines()
        ]
        for target_ns in (1e3, 20e6 * factor, 86_400e9):
            for one in advise(cells(plan(works_ms=(10 * factor,)), found, GCF), target_ns):
                text = one["text"]
                assert not re.search(r"\de[+-]", text), text
                assert text[0] == text[0].upper() and text.endswith(".") and not text.endswith(".."), text


@pytest.mark.parametrize(
    ("latency_ms", "said"),
    [(4108.2, "4.11 s"), (999.7, "1 s"), (106.6, "107 ms"), (0.25, "250 µs"), (4_108_200, "4,110 s")],
)
def test_advice_says_times_as_a_person_would(latency_ms, said):
    found = [line("128 MB", latency_ms, 0, work_ms=1500.0)]
    (meets,) = advise(cells(plan(works_ms=(1500.0,)), found, None), 86_400e9)
    assert meets["text"] == (
        f"1.5 s of work is done within 86,400 s at 128 MB: 90 % of invocations take at most {said} (1 seen, confidence 10 %)."
    )


def test_a_tier_that_costs_hundreds_of_times_as_much_is_said_without_powers_of_ten():
    found = [line("128 MB", 100, 0), line("2048 MB", 1_270, 0)]
    (cheapest,) = advise(cells(plan(), found, GCF), None)
    assert "; 2048 MB costs 160 times as much;" in cheapest["text"]


def test_a_target_is_met_with_what_the_number_of_invocations_is_worth():
    many = [line("2048 MB", 10 + repeat / 1000, repeat) for repeat in range(200)]
    found = advise(cells(plan(repeats=200), many, None), 20e6)
    assert [one["what"] for one in found] == ["meets target"]
    # The 189th of 200 is above the 90th percentile with 97.5 %.
    assert found[0]["evidence"]["at_most_ns"] == pytest.approx(10.188e6)
    assert "confidence 95 %" in found[0]["text"]


def test_the_quota_seen_from_inside_stands_beside_the_groups_own():
    inferred = {"period_ns": 100.5e6, "quota_ns": 8.25e6}
    seen = [
        line(
            "128 MB",
            1000,
            repeat,
            QUOTA,
            0,
            response={"throttling": {"inferred": inferred, "platform": None}},
        )
        for repeat in range(5)
    ]
    lucky = [
        line("2048 MB", 1000, 1, QUOTA, 0, response={"throttling": {"inferred": inferred, "platform": None}})
    ]
    blind = lucky + [line("2048 MB", 1000, 2, QUOTA, 0, response={"throttling": None})]
    blind += [line("2048 MB", 1000, 0, QUOTA, 0, response={"throttling": {"inferred": None}})]
    small, large = quota_check(plan(), seen + blind)
    assert (small["quota_us"], small["period_us"], small["n"]) == (8333, 100_000, 5)
    assert small["error_quota"] == pytest.approx(-0.01, abs=1e-4)
    assert small["error_period"] == pytest.approx(0.005)
    assert (large["inferred_quota_us"], large["error_quota"], large["n"]) == (None, None, 0)


def test_medians_and_means_of_switches_are_kept_apart():
    def measured(median, mean):
        one = {"method": "pipe", "gross_ns": {**estimate([median]), "median": median, "mean": mean}}
        return {"measurements": [one]}

    found = [
        line("128 MB", 10, repeat, SWITCHES, response=measured(1300 + repeat, 20_000)) for repeat in range(3)
    ]
    switch = rows(plan(), lines() + found, GCF)[0]["switch_ns"]
    assert (switch["method"], switch["median"]["median"], switch["mean"]["median"]) == ("pipe", 1301, 20_000)


def test_figures_come_from_the_native_half():
    values = [float(value) for value in range(1, 201)]
    seen = look(values)
    # The 95 % ranks of 200 are 86 and 115.
    assert (seen["median"], seen["low"], seen["high"], seen["confidence"]) == (100.5, 86, 115, 0.95)
    assert seen["mean_low"] < 100.5 < seen["mean_high"]
    assert estimate([]) is None
    assert estimate([5.0])["confidence"] == 0
    assert estimate([0.0, 0.0])["cov"] == 0


def test_the_text_of_a_study(capsys):
    facts = {"provenance": {}, "host": {}, "machine_name": "here", "versions": {"128 MB": 1}}
    found = lines()
    found[0] = {**found[0], "outcome": "timeout", "why": "no answer within 1 s"}
    document = study.document(
        plan(), "python", found, facts, GCF, 20e6, [{"what": "memory limit of 128 MB", "why": "it has none"}]
    )
    text = summary.text(json.loads(json.dumps(document)))
    assert "Unthrottled work waited for a CPU for 100 % of its time: other programs used this machine" in text
    assert "worse than they are without.\n" in text
    assert text.startswith("10 ms of work costs least at 2048 MB")
    assert "128 MB: 1 timeout: no answer within 1 s" in text
    assert "not available: memory limit of 128 MB: it has none" in text
    assert "7 (+1 failed)" in text and "+$0.231" in text
