"""Two studies of a function: made up, so that what differs is known."""

from __future__ import annotations

import json
import random

import pytest
from test_faas_figures import FACTS, line

from swtch._errors import CommandError
from swtch.faas import study
from swtch.faas.command import main
from swtch.faas.compare import compared
from swtch.faas.plan import Plan
from swtch.faas.price import find
from swtch.faas.tier_sets import Tier

N = 20


def made(names, factor, seed, iterations=10_000, cpu=1.0, kind="handler"):
    """A study of two tiers; everything takes `factor` times as long as 50 and 10 ms."""
    tiers = (Tier(names[0], 512, 0.3), Tier(names[1], 1769, 1.0))
    urls = ("http://x/", "http://y/") if kind == "url" else ()
    plan = Plan(
        kind,
        ("python",),
        "swtch handler",
        "lambda",
        "x",
        tiers,
        "lambda-x86",
        20_000,
        (10.0,),
        N,
        0,
        1.0,
        urls=urls,
    )
    noise = random.Random(seed)
    lines = [
        line(
            name, base * factor * noise.uniform(0.98, 1.02), repeat, iterations=iterations,
            function_cpu_ns=round(10e6 * cpu * noise.uniform(0.98, 1.02)), group=None, retries=0,
        )
        for repeat in range(N)
        for name, base in zip(names, (50, 10))
    ]  # fmt: skip
    facts = {**FACTS, "versions": {}, "calibrations": {}}
    return json.loads(json.dumps(study.document(plan, "python", lines, facts, find("lambda-x86"), None, [])))


def test_tiers_are_compared_by_their_memory_with_verdicts_and_intervals():
    here, there = made(("512 MB", "1769 MB"), 1.0, 1), made(("512MB", "big"), 1.5, 2, cpu=1.2, kind="url")
    found = compared(here, there, "local", "deployed")
    assert [row["tier"] for row in found["rows"]] == ["512 MB", "1769 MB"]
    for row in found["rows"]:
        for name, ratio in (("latency_ns", 1.5), ("cpu_ns", 1.2)):
            one = row[name]
            assert one["verdict"] == "worse" and one["ci_low"] <= one["ratio"] <= one["ci_high"]
            assert one["ratio"] == pytest.approx(ratio, rel=0.02)
        # The fee for the request is the same on both sides.
        assert 1.2 < row["cost_usd"]["ratio"] < 1.5 and row["cost_usd"]["verdict"] == "worse"
    assert found["only_old"] == found["only_new"] == []


def test_equal_studies_are_not_told_apart():
    found = compared(made(("512 MB", "1769 MB"), 1.0, 1), made(("512 MB", "1769 MB"), 1.0, 2), "a", "b")
    for row in found["rows"]:
        assert row["latency_ns"]["verdict"] in ("same", "unclear") and row["cost_usd"]["verdict"] == "unclear"


def test_other_work_is_not_compared():
    found = compared(
        made(("512 MB", "1769 MB"), 1.0, 1), made(("512 MB", "1769 MB"), 1.0, 2, iterations=9_000), "a", "b"
    )
    row = found["rows"][0]
    assert (row["latency_ns"], row["cost_usd"]) == (None, None)
    assert row["why_not"].startswith(
        "not the same work, 10000 and 9000 iterations; run the second study with --same-work-as"
    )


def test_studies_without_a_common_tier_are_one_line():
    with pytest.raises(CommandError, match="no tier with the same work: a has 512 MB, 1769 MB, b has"):
        other = made(("512 MB", "1769 MB"), 1.0, 2)
        compared(made(("512 MB", "1769 MB"), 1.0, 1), {**other, "rows": []}, "a", "b")


def test_the_comparison_is_printed_answer_first(tmp_path, capsys):
    for name, factor in (("local", 1.0), ("deployed", 1.3)):
        (tmp_path / name).mkdir()
        study.write(tmp_path / name, made(("512 MB", "1769 MB"), factor, name))
    assert main(["compare", str(tmp_path / "local"), str(tmp_path / "deployed")]) == 0
    out = capsys.readouterr().out.splitlines()
    assert (
        "takes longer at 512 MB, 1769 MB (1.3 times)" in out[0]
        or "takes longer at 512 MB, 1769 MB (1.29 to 1.3" in out[0]
    )
    assert out[2].split()[:3] == ["tier", "work", "n"] and "1.3" in out[3]
    assert main(["compare", str(tmp_path / "local"), str(tmp_path / "deployed"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["schema"] == "swtch/faas-compare/1"
    assert main(["compare", str(tmp_path / "local"), str(tmp_path / "nowhere")]) == 1
