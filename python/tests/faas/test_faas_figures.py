"""Prices, rows and advice from invocations that are made up."""

from __future__ import annotations

import datetime
import io
import json
import re
from dataclasses import replace

import pytest

from swtch import _native
from swtch._checks import Refused, refuse
from swtch._errors import WrongUsage
from swtch._machine import host, host_document
from swtch.faas import cold, study, summary
from swtch.faas.advice import advise
from swtch.faas.figures import estimate, look
from swtch.faas.plan import COLD, QUOTA, SWITCHES, WORK, Plan
from swtch.faas.price import find, prices
from swtch.faas.rows import cells, quota_check, rows
from swtch.faas.tier_sets import Tier, ask, named

GCF = find("gcf-1")
FACTS = {
    "provenance": {"swtch_version": "1.2.3", "created_at": "2026-01-01T00:00:00Z", "command": []},
    "host": host_document(host()),
    "machine_name": "here",
}


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
        ("lambda-arm", 3, 3), ("azure-consumption", 3, 100), ("azure-flex", 20, 1000), ("azure-flex", 1000.5, 1100),
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


def test_a_table_from_the_future_is_one_line():
    day = datetime.date.fromisoformat(GCF.dated)
    said = GCF.warning(day - datetime.timedelta(days=30))
    assert f"are dated {GCF.dated}, which is after today" in said and "this machine's clock" in said
    assert "\n" not in said


def test_a_months_free_allowance_is_in_no_bill():
    found = find("lambda-x86")
    # 1 GB for 1 s: 400,000 GB-seconds. For 1 ms, the million of requests ends first.
    assert found.free_invocations(1e9, 1024, 0.5) == 400_000
    assert found.free_invocations(1e6, 1024, 0.5) == 1_000_000
    # 180,000 CPU-seconds at 2 CPUs, and 360,000 GB-seconds at half a GB.
    assert find("cloud-run").free_invocations(1e9, 512, 2) == 90_000
    assert replace(found, free_requests=0, free_gb_seconds=0).free_invocations(1e9, 1024, 1) is None
    assert found.cost_usd(1e9, 1024, 0.5) == pytest.approx(1.66667e-5 + 2e-7)


def test_a_bill_has_its_request_apart():
    small = rows(plan(), lines(), GCF)[0]
    assert small["request_usd"] == pytest.approx(4e-7)
    assert small["cost_usd"]["mean"] > small["request_usd"]
    # 0.2 s of 128 MB, and of 0.2 GHz: requests and memory would last longer.
    assert small["free_per_month"] == 2_000_000
    free = rows(plan(), lines(), GCF)[-1]
    assert (free["tier"], free["request_usd"], free["free_per_month"]) == ("unthrottled", None, None)
    none = replace(GCF, usd_per_million_requests=None)
    assert rows(plan(), lines(), none)[0]["request_usd"] is None


def test_a_study_of_the_version_before_is_read(tmp_path):
    """Its intervals were `low` and `high`, and bills had no part for requests."""
    document = whole()
    text = re.sub(r'"(mean_)?ci_(low|high)"', r'"\1\2"', json.dumps(document))
    old = {**json.loads(text), "schema": study.PREVIOUS_SCHEMA}
    for row in old["rows"]:
        del row["request_usd"], row["free_per_month"]
    for one in old["invocations"]:
        del one["retries"]
    (tmp_path / study.FILE).write_text(json.dumps(old))
    found = study.read(tmp_path)
    assert [{**row, "free_per_month": None} for row in document["rows"]] == found["rows"]


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


def test_sets_have_a_period_with_its_source_and_a_day():
    periods = {
        "lambda": 20_000,
        "cloud-run": 100_000,
        "azure-flex": 100_000,
        "gcf-1": 100_000,
        "knative:500m/256Mi": 100_000,
    }
    for name, period_us in periods.items():
        found = named(name, 64, "x86_64")
        assert (found.period_us, found.burst_us) == (period_us, 0) and found.period_source and found.dated
        assert datetime.date.fromisoformat(found.dated)
    # 1769 MB have one vCPU; a machine with one is enough for the first 2 GB of Cloud Run.
    assert named("cloud-run", 1, "x86_64").tiers[-1] == Tier("2048 MB", 2048, 1.0)
    assert named("knative:500m/256Mi,2/1Gi", 8, "x86_64").tiers == (
        Tier("500m/256Mi", 256, 0.5),
        Tier("2/1Gi", 1024, 2.0),
    )


def test_a_file_of_tiers_may_have_a_period_and_a_burst(tmp_path):
    path = tmp_path / "mine.json"
    tiers = [{"memory_mb": 128, "cpus": 0.1}]
    path.write_text(json.dumps({"tiers": tiers, "period_ms": 20, "burst_ms": 2.5, "dated": "2026-11-26"}))
    found = named(str(path), 2, "x86_64")
    assert (found.period_us, found.burst_us, found.period_source) == (20_000, 2_500, "the file")
    for wrong in ({"period_ms": 0.5}, {"burst_ms": -1}, {"period_ms": "20ms"}):
        path.write_text(json.dumps({"tiers": tiers, **wrong}))
        with pytest.raises(WrongUsage, match=next(iter(wrong))):
            named(str(path), 2, "x86_64")


def test_a_set_is_asked_for_on_a_terminal_only(monkeypatch, capsys):
    assert ask() == "lambda"
    terminal = io.StringIO("aws\ncloud-run\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr("sys.stdin", terminal)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    assert ask() == "cloud-run"
    # At the end of the input it is the default.
    assert ask() == "lambda"
    assert "existing functions only" in capsys.readouterr().err


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
        "iterations": round(1000 * work_ms) if purpose == WORK and work_ms else None, "function_cpu_ns": 900_000 if purpose == WORK else None,
        "group": {"periods": 3, "periods_throttled": 2, "throttled_ns": round(latency_ms * 5e5), "cpu_ns": 1_000_000, "memory_peak_bytes": 2},
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
    assert small["slowdown"]["ci_low"] == pytest.approx(small["slowdown"]["ci_high"])
    # Summed over CPUs it is a time; a share is one of periods.
    assert small["throttled_cpu_ns"]["median"] == pytest.approx(110e6 * 1.035 / 2)
    assert small["throttled_periods_share"]["ci_high"] == pytest.approx(2 / 3)
    # The function's own CPU time, and apart from it what else was used in the cgroup.
    assert (small["cpu_ns"]["median"], small["overhead_cpu_ns"]["median"]) == (900_000, 100_000)
    assert small["iterations"] == large["iterations"] == free["iterations"] == 10_000
    # 110 ms are billed as 200, and 10 as 100.
    assert small["cost_usd"]["median"] == pytest.approx(0.2 * 2.3125e-6 + 0.4e-6)
    assert small["cost_unthrottled_usd"]["median"] == pytest.approx(0.1 * 2.3125e-6 + 0.4e-6)
    assert small["extra_usd"]["against"] == "the same work unthrottled at this tier"
    assert small["extra_usd"]["usd"]["mean"] == pytest.approx(0.1 * 2.3125e-6)
    assert small["extra_cheapest"] is None
    assert large["extra_cheapest"]["against"] == "the same work at 128 MB"
    assert large["extra_cheapest"]["usd"]["mean"] == pytest.approx(0.1 * 2.9e-5 - 0.2 * 2.3125e-6)
    assert (free["slowdown"], free["cost_usd"], free["extra_usd"]) == (None, None, None)
    assert small["latency_ns"]["n"] == 8 and small["p90_ns"] > small["latency_ns"]["median"]


def test_a_start_is_billed_where_the_platform_bills_it():
    found = [
        {**line("128 MB", 30, repeat, COLD), "runtime_ns": 40e6 if repeat else None, "init_ns": 60e6}
        for repeat in range(2)
    ]
    (row,) = cold.rows(plan(), found, find("lambda-x86"))
    assert (row["n"], row["init_billed"]) == (2, True)
    assert (row["runtime_ns"]["n"], row["init_ns"]["median"], row["total_ns"]["median"]) == (1, 60e6, 110e6)
    # 90 and 130 ms of 128 MB, and the request.
    assert row["cost_usd"]["mean"] == pytest.approx(0.11 * 1.66667e-5 / 8 + 2e-7)
    (apart,) = cold.rows(plan(), found, replace(GCF, bills_init=False))
    assert apart["cost_usd"]["mean"] == pytest.approx(0.1 * 2.3125e-6 + 4e-7)
    assert cold.rows(plan(), lines(), GCF) == [] and cold.text([]) == []
    assert cold.text([row])[2].split() == ["128", "MB", "2", "40", "60", "30", "110", "$0.429"]


def test_failures_and_cold_starts_are_not_in_the_figures():
    found = lines()
    found[0] = {**found[0], "outcome": "oom", "why": "killed"}
    found[3] = {**found[3], "cold": True}
    small = rows(plan(), found, GCF)[0]
    assert (small["n"], small["failed"]) == (6, 1)
    cold = [{**one, "cold": True} for one in lines()]
    assert rows(plan(), cold, GCF)[0]["n"] == 8


def many(latency_ms, tier="2048 MB", count=40, **more):
    return [line(tier, latency_ms + repeat / 1000, repeat, **more) for repeat in range(count)]


def test_advice_names_the_cheapest_and_the_one_that_meets_the_target():
    found = many(110, "128 MB") + many(10)
    cheapest, meets = advise(cells(plan(repeats=40), found, GCF), 20e6, 0.4)
    assert (cheapest["what"], cheapest["tier"]) == ("cheapest", "128 MB")
    # The ratio is that of the bills, request fee included: 0.8625 and 3.3 dollars.
    assert cheapest["text"] == (
        "10 ms of work costs least at 128 MB: $0.863 a million invocations ($0.863 to $0.863), $0.4 of it for requests; "
        "2048 MB costs 3.8 times as much."
    )
    assert cheapest["evidence"]["others"][0]["more_usd"]["ci_low"] > 0
    assert (meets["what"], meets["tier"]) == ("meets target", "2048 MB")
    assert meets["text"].startswith(
        "10 ms of work is done within 20 ms at 2048 MB: its p90 is 10 ms (at most 10"
    )
    none = advise(cells(plan(repeats=40), found, GCF), 1e6)[1]
    assert none["tier"] is None
    assert (
        "No tier has 10 ms of work done within 1 ms; the fastest is 2048 MB: its p90 is 10 ms" in none["text"]
    )
    failing = [
        {**one, "outcome": "failed"} if (one["tier"], one["repeat"]) == ("2048 MB", 0) else one
        for one in found
    ]
    assert advise(cells(plan(repeats=40), failing, GCF), 20e6)[1]["tier"] is None


def test_a_target_is_met_with_80_percent_confidence_only_else_the_number_of_missing_invocations_is_said():
    (undecided,) = advise(cells(plan(repeats=6), many(10, count=6), None), 20e6)
    assert undecided["tier"] is None and undecided["evidence"]["undecided"] == {"2048 MB": 16}
    assert undecided["text"].startswith("Cannot decide whether any tier has 10 ms of work done within 20 ms")
    assert "2048 MB (it takes about 16 invocations)" in undecided["text"]
    # 1 - 0.9^16 is 81 %, and 1 - 0.9^15 is 79 %.
    (met,) = advise(cells(plan(repeats=16), many(10, count=16), None), 20e6)
    assert met["tier"] == "2048 MB" and "(81.4 % confidence, 16 seen)" in met["text"]
    assert advise(cells(plan(repeats=15), many(10, count=15), None), 20e6)[0]["tier"] is None
    # Four of 40 are slower: just nine of ten are within the target, which decides nothing.
    near = [line("2048 MB", 30 if repeat < 4 else 10, repeat) for repeat in range(40)]
    (found,) = advise(cells(plan(repeats=40), near, None), 20e6)
    assert found["tier"] is None and found["evidence"]["undecided"]["2048 MB"] is None
    # Seven of 40: it is missed.
    beyond = [line("2048 MB", 30 if repeat < 7 else 10, repeat) for repeat in range(40)]
    (missed,) = advise(cells(plan(repeats=40), beyond, None), 20e6)
    assert missed["text"].startswith("No tier has") and re.search(
        r"9\d(\.\d)? % confidence, 40 seen", missed["text"]
    )


def test_one_percentile_is_in_the_table_and_in_the_sentence():
    found = [
        line("2048 MB", latency_ms, repeat)
        for repeat, latency_ms in enumerate([10.0] * 35 + [20, 30, 40, 50, 60])
    ]
    (row,) = rows(plan(repeats=40), found, GCF)
    (meets,) = advise(cells(plan(repeats=40), found, None), 100e6)
    assert meets["evidence"]["p90_ns"] == row["p90_ns"]
    assert f"its p90 is {row['p90_ns'] / 1e6:.3g} ms (at most 60 ms at 95 %, 40 seen)" in meets["text"]


def test_nothing_is_said_of_how_much_dearer_a_tier_is_that_may_be_as_cheap():
    found = many(110, "128 MB") + [line("2048 MB", 10 if repeat % 2 else 500, repeat) for repeat in range(40)]
    cheap = [{**one, "latency_ns": 10_000_000} if one["tier"] == "2048 MB" else one for one in found]
    (told,) = advise(cells(plan(repeats=40), cheap, GCF), None)
    assert "times as much" in told["text"] and "not distinguishable" not in told["text"]
    noisy = [line("128 MB", 250 if repeat % 2 else 110, repeat) for repeat in range(40)]
    noisy += [line("256 MB", 10 if repeat % 4 else 150, repeat) for repeat in range(40)]
    tiers = (Tier("128 MB", 128, 1 / 12), Tier("256 MB", 256, 1 / 6))
    (said,) = advise(cells(plan(repeats=40, tiers=tiers), noisy, GCF), None)
    assert "not distinguishable from it: " in said["text"] and "times as much" not in said["text"]


def test_what_was_seen_too_seldom_tells_no_tiers_apart():
    once = [one for one in lines() if one["repeat"] == 0]
    (cheapest,) = advise(cells(plan(repeats=1), once, GCF), None)
    assert cheapest["text"].endswith("; seen once, too few to distinguish tiers.")
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
    found = [line("128 MB", latency_ms, repeat, work_ms=1500.0) for repeat in range(36)]
    (meets,) = advise(cells(plan(works_ms=(1500.0,)), found, None), 86_400e9)
    assert meets["text"] == (
        f"1.5 s of work is done within 86,400 s at 128 MB: its p90 is {said} (at most {said} at 95 %, 36 seen)."
    )


def test_a_tier_that_costs_hundreds_of_times_as_much_is_said_without_powers_of_ten():
    price = replace(GCF, usd_per_million_requests=None)
    found = many(100, "128 MB", 8) + many(1_270, count=8)
    (cheapest,) = advise(
        cells(plan(), [{**one, "latency_ns": one["latency_ns"] // 10**7 * 10**7} for one in found], price),
        None,
    )
    assert ", requests not included; 2048 MB costs 160 times as much" in cheapest["text"]


def test_work_that_is_faster_throttled_than_unthrottled_saves_no_money():
    """Other programs had the CPUs: the difference is not printed, and the reason is."""
    found = many(110, "128 MB", 8) + [line("unthrottled", 500, repeat) for repeat in range(8)]
    facts = {**FACTS, "versions": {}}
    document = study.document(plan(), "python", found, facts, GCF, None, [])
    assert document["rows"][0]["extra_usd"] is None
    assert any(row["what"] == "rows.extra_usd of 128 MB" for row in document["unavailable"])


def test_a_difference_of_bills_has_its_interval():
    found = [line("128 MB", 110 + 100 * (repeat % 3), repeat) for repeat in range(12)]
    found += many(10, "unthrottled", 12)
    facts = {**FACTS, "versions": {}}
    document = study.document(plan(repeats=12), "python", found, facts, GCF, None, [])
    extra = document["rows"][0]["extra_usd"]["usd"]
    assert extra["mean_ci_low"] < extra["mean"] < extra["mean_ci_high"]
    assert re.search(r"\+\$0\.46\d \(\+\$0\.\d+ to \+\$0\.\d+\)", summary.text(document))


def test_the_sentence_and_the_table_judge_a_difference_by_one_interval():
    # The median difference is nothing, and the mean is clearly above it: a bill is a sum.
    found = many(10, "128 MB") + [
        line("256 MB", 2000 if repeat % 4 == 0 else 10, repeat) for repeat in range(40)
    ]
    tiers = (Tier("128 MB", 128, 1 / 12), Tier("256 MB", 128, 1 / 12))
    of = plan(repeats=40, tiers=tiers)
    (said,) = advise(cells(of, found, GCF), None)
    over = next(row["extra_cheapest"]["usd"] for row in rows(of, found, GCF) if row["tier"] == "256 MB")
    assert over["ci_low"] <= 0 < over["mean_ci_low"]
    assert "not distinguishable" not in said["text"] and "256 MB costs" in said["text"]


def whole():
    """A study that holds."""
    facts = {**FACTS, "versions": {}}
    return json.loads(json.dumps(study.document(plan(), "python", lines(), facts, GCF, None, [])))


def test_a_study_that_holds_is_not_refused():
    refuse(_native.check_tiers, whole())


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (
            ("invocations", 0, "iterations"),
            20_000,
            "10 ms of work is 20000 iterations at 128 MB and 10000 iterations at 2048 MB: they cannot be compared",
        ),
        (("invocations", 1, "iterations"), None, "an unknown number of iterations at 2048 MB"),
        (("rows", 1, "iterations"), 3_415_277, "3415277 iterations at 2048 MB"),
        (
            ("rows", 0, "throttled_periods_share", "ci_high"),
            1.17,
            "rows.throttled_periods_share: 1.17 is more than all periods",
        ),
        (
            ("invocations", 0, "group", "throttled_ns"),
            10**10,
            "invocations.group.throttled_ns: 10000000000 is more than latency times CPUs",
        ),
        (
            ("invocations", 0, "group", "periods_throttled"),
            5,
            "invocations.group.periods_throttled: 5 is more than the periods",
        ),
        (("invocations", 0, "group", "cpu_ns"), -1, "the counter went backwards"),
        (("invocations", 0, "function_cpu_ns"), 10**10, "invocations.function_cpu_ns"),
        (("rows", 0, "p90_ns"), 1.0, "rows.p90_ns: median, p90 and p99 are"),
        (("rows", 0, "latency_ns", "mean"), 1e6, "rows.latency_ns.mean"),
        (("rows", 0, "latency_ns", "ci_low"), 1e12, "rows.latency_ns: median"),
        (("rows", 0, "n"), 9, "rows.n: 9 is not the number of invocations"),
        (("rows", 0, "extra_usd", "usd", "mean"), -1.98e-6, "is not the difference of both bills"),
        (("rows", 0, "extra_usd", "usd", "ci_high"), -1e-6, "throttling saves"),
    ],
)
def test_a_figure_that_cannot_be_true_is_refused_with_what_it_contradicts(place, value, words):
    document = whole()
    where = document
    for key in place[:-1]:
        where = where[key]
    where[place[-1]] = value
    with pytest.raises(Refused) as refused:
        refuse(_native.check_tiers, document)
    assert "\n" not in str(refused.value)
    assert any(
        words in f"{figure}: {reason}" for figure, reason in _native.check_tiers(json.dumps(document))
    ), str(refused.value)


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
    assert (seen["median"], seen["ci_low"], seen["ci_high"], seen["confidence"]) == (100.5, 86, 115, 0.95)
    assert seen["mean_ci_low"] < 100.5 < seen["mean_ci_high"]
    assert estimate([]) is None
    assert estimate([5.0])["confidence"] == 0
    assert estimate([0.0, 0.0])["cov"] == 0


def test_the_text_of_a_study(capsys):
    facts = {**FACTS, "versions": {"128 MB": 1}}
    found = lines()
    found[0] = {**found[0], "outcome": "timeout", "why": "no answer within 1 s"}
    document = study.document(
        plan(), "python", found, facts, GCF, 20e6, [{"what": "memory limit of 128 MB", "why": "it has none"}]
    )
    text = summary.text(json.loads(json.dumps(document)))
    assert "A million" not in text and "measuring CPU ms" in text
    disturbed = text.index(
        "Unthrottled work waited for a CPU for 90 % of its time: other programs used this machine"
    )
    assert disturbed < text.index("10 ms of work:\n")
    assert "worse than they are without.\n" in text
    assert text.startswith("10 ms of work costs least at 2048 MB")
    assert (
        "In no bill: a month's free allowance, which pays 833,333 invocations of 10 ms of work at 2048 MB.\n"
        in text
    )
    assert "128 MB: 1 timeout: no answer within 1 s" in text
    assert "not available: memory limit of 128 MB: it has none" in text
    assert "7 (+1 failed)" in text and "+$0.231" in text
