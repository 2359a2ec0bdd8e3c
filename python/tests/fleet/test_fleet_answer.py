"""What the answer finds in a fleet whose faults are known, and what it does with data that cannot be used."""

from __future__ import annotations

import json
import math
import random
import statistics

import pytest
from command_examples import ROOT
from schema_check import faults

from swtch.fleet import odd, releases
from swtch.fleet.command import main
from swtch.fleet.student import two_sided_point

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'swtch[fleet]'")
np = pytest.importorskip("numpy")

SCHEMA = ROOT / "docs/schemas/fleet-1.json"


def answered(capsys, *words):
    assert main([*map(str, words), "--json"]) == 0, capsys.readouterr().err
    document = json.loads(capsys.readouterr().out)
    assert faults(document, json.loads(SCHEMA.read_text())) == []
    return document


def test_all_regressions_and_odd_machines_are_found_and_at_most_one_more(small, capsys):
    directory, truth = small
    document = answered(capsys, directory)
    worse = {
        one["service"]: one["since_release"]
        for one in document["services"]
        if (one["since_release"] or {}).get("verdict") == "worse"
    }
    odd_ones = {(one["machine"], one["metric"]) for one in document["outliers"]}
    assert set(truth["regressions"]) <= set(worse) and set(truth["odd"].items()) <= odd_ones
    false = (set(worse) - set(truth["regressions"])) | (
        {machine for machine, _ in odd_ones} - set(truth["odd"])
    )
    assert len(false) <= 1, false
    for service, factor in truth["regressions"].items():
        found = worse[service]
        assert found["ratio"] == pytest.approx(factor, rel=0.1)
        assert found["machines_up"] > 2 * found["machines_down"] and found["version"] == "v3"
    assert len(document["services"]) == 30 and document["machines"] == 60
    assert document["answer"].startswith(
        f"{document['services'][0]['service']} pays most for context switches: "
    )
    for one in document["services"]:
        assert 0 < one["cpu_share"]["low"] < one["cpu_share"]["high"] < 1
        assert one["usd_per_month"]["high"] == pytest.approx(3.5 * one["usd_per_month"]["low"])


def test_sums_are_those_of_a_plain_query(small, capsys):
    directory, _ = small
    document = answered(capsys, directory, "--price", "0.05/vcpu-hour")
    rows = duckdb.sql(f"""SELECT service, sum(switches / seconds) / (SELECT count(DISTINCT began) FROM '{directory}/services-*.parquet')
        FROM '{directory}/services-*.parquet' WHERE switches >= 0 AND seconds >= 1 GROUP BY service""").fetchall()
    assert {one["service"]: one["switches_per_second"] for one in document["services"]} == pytest.approx(
        dict(rows)
    )
    # The costs of all services are those of all machines, but for the rows that were left out.
    cost, run = duckdb.sql(
        f"SELECT sum(cost_low_seconds), sum(run_seconds + direct_seconds) FROM '{directory}/machines-*.parquet'"
    ).fetchall()[0]
    month = sum(one["usd_per_month"]["low"] for one in document["services"])
    hours = 16 * 24
    assert month == pytest.approx(cost / 3600 * 0.05 / hours * 730, rel=0.03)
    assert document["prices"]["usd_per_vcpu_hour"] == 0.05 and 0 < cost / run < 0.2


def test_deployments_of_a_file_take_the_place_of_versions(small, tmp_path, capsys):
    directory, truth = small
    service = max(truth["regressions"], key=truth["regressions"].get)
    released = next(
        one["since_release"]["released"]
        for one in answered(capsys, directory)["services"]
        if one["service"] == service
    )
    (tmp_path / "deploys.csv").write_text(
        f"service,at,version\n{service},{released},2.0\nnot-there,{released},1\n"
    )
    document = answered(capsys, directory, "--deploys", tmp_path / "deploys.csv")
    compared = {one["service"]: one["since_release"] for one in document["services"] if one["since_release"]}
    assert (
        list(compared) == [service]
        and compared[service]["verdict"] == "worse"
        and compared[service]["version"] == "2.0"
    )
    assert any("not-there" in note for note in document["notes"])


def test_a_page_folds_out_the_machines(small, tmp_path, capsys):
    directory, truth = small
    assert main([str(directory), "-o", str(tmp_path / "fleet.html")]) == 0
    out = capsys.readouterr().out
    page = (tmp_path / "fleet.html").read_text()
    assert out.splitlines()[0] in page and page.count("<details>") == 30 and "<script" not in page
    assert all(machine in page and machine in out for machine in truth["odd"])


# What cannot be used.


def write(
    directory,
    services,
    machines="SELECT * FROM (VALUES (TIMESTAMP '2026-11-01', 'a', 1.0)) AS t(began, machine, seconds) LIMIT 0",
):
    directory.mkdir()
    (directory / "fleet.json").write_text('{"schema": "swtch/fleet-data/1", "step_seconds": 3600}')
    absent = ", ".join(
        f"NULL::DOUBLE AS {name}"
        for name in (
            "switches",
            "involuntary",
            "run_seconds",
            "wait_seconds",
            "steal_seconds",
            "cpu_seconds",
            "direct_seconds",
            "cost_low_seconds",
            "cost_high_seconds",
        )
    )
    duckdb.sql(f"COPY ({services}) TO '{directory}/services-1.parquet' (FORMAT parquet)")
    duckdb.sql(
        f"COPY (SELECT *, NULL::VARCHAR AS instance_type, 4 AS cpus, {absent} FROM ({machines})) TO '{directory}/machines-1.parquet' (FORMAT parquet)"
    )
    return directory


ROW = "SELECT TIMESTAMP '2026-11-01' AS began, 'a' AS machine, 'web' AS service, NULL::VARCHAR AS version, 3600.0 AS seconds, {} AS switches, 10.0 AS run_seconds"


def refused(capsys, *words):
    assert main([*map(str, words)]) == 1
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1 and not captured.out
    return captured.err


def test_rows_whose_counter_went_back_are_left_out_and_counted(tmp_path, capsys):
    both = f"{ROW.format('7200.0')} UNION ALL {ROW.format('-5.0')}"
    document = answered(capsys, write(tmp_path / "some", both))
    assert document["rejected_rows"] == 1 and document["services"][0]["switches_per_second"] == 2
    assert any("1 of 2 rows were left out: a counter went back" in note for note in document["notes"])
    assert document["services"][0]["usd_per_month"] is None and document["answer"].startswith(
        "web switches most: 2 switches a second"
    )
    err = refused(capsys, write(tmp_path / "all", ROW.format("-5.0")))
    assert "no row can be used: all 1 have a counter that went back" in err and "import a longer time" in err


def test_tables_that_are_empty_or_have_other_columns_are_one_line(tmp_path, capsys):
    assert "the tables are empty" in refused(
        capsys, write(tmp_path / "empty", ROW.format("1.0") + " LIMIT 0")
    )
    err = refused(capsys, write(tmp_path / "other", "SELECT 1 AS began, 'a' AS machine"))
    assert "has no column run_seconds; it is not what 'swtch fleet import' writes" in err
    broken = write(tmp_path / "broken", ROW.format("1.0"))
    (broken / "services-1.parquet").write_bytes(b"PAR1 and nothing more")
    assert "cannot be read" in refused(capsys, broken)
    (broken / "fleet.json").write_text('{"schema": "swtch/fleet-data/9", "step_seconds": 3600}')
    assert "is not swtch/fleet-data/1" in refused(capsys, broken)
    other = write(tmp_path / "minutes", ROW.format("1.0"))
    (other / "fleet.json").write_text('{"schema": "swtch/fleet-data/1", "step_seconds": 60}')
    assert "steps of different lengths (60 s, 3600 s)" in refused(capsys, tmp_path / "empty", other)


LIST = {
    "name": "mine",
    "title": "Mine",
    "dated": "2026-01-01",
    "source": "me",
    "instances": {"big": {"vcpus": 2, "usd_per_hour": 1.0}},
}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"instances": {"big": {"vcpus": 0, "usd_per_hour": 1}}}, "vcpus must be above 0"),
        ({"instances": {"big": {"usd_per_hour": 1}}}, "it has no 'vcpus'"),
        ({"dated": "soon"}, "is not a price list"),
        ({"colour": "red"}, "'colour' is not a field"),
    ],
)
def test_price_lists_that_cannot_be_used_are_one_line(changed, words, tmp_path, capsys):
    (tmp_path / "list.json").write_text(json.dumps({**LIST, **changed}))
    err = refused(capsys, tmp_path, "--price-table", tmp_path / "list.json")
    assert words in err and "docs/fleet.md" in err


def test_a_price_list_from_the_future_or_long_ago_warns(small, tmp_path, capsys):
    for dated, words in (("2999-01-01", "which is after today"), ("2020-01-01", "days old; check them")):
        (tmp_path / "list.json").write_text(json.dumps({**LIST, "dated": dated}))
        assert main([str(small[0]), "--price-table", str(tmp_path / "list.json"), "--json"]) == 0
        captured = capsys.readouterr()
        assert captured.err.startswith("swtch fleet: warning: the prices of Mine ") and words in captured.err
        document = json.loads(captured.out)
        assert any(words in note for note in document["notes"])
        # No machine is of its only type.
        assert document["services"][0]["usd_per_month"] is None
        assert any("60 of 60 machines are of a type without a price" in note for note in document["notes"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("service,when\na,1\n", "has no column 'at'"),
        ("service,at\na,soon\n", "'soon' is not a time"),
        ("service,at\na\n", "a value is missing"),
        ("service,at\n", "has no deployment"),
    ],
)
def test_lists_of_deployments_that_cannot_be_used_are_one_line(text, words, tmp_path, capsys):
    (tmp_path / "deploys.csv").write_text(text)
    assert words in refused(capsys, tmp_path, "--deploys", tmp_path / "deploys.csv")


# The tests themselves.


def test_services_that_did_not_change_are_seldom_called_worse():
    """Of 25 fleets of 30 services whose days wander at random, with a release that changes nothing."""
    generator, called = np.random.default_rng(5), 0
    times = np.arange(20 * 24) * 3600.0
    for _ in range(25):
        courses = {}
        for number in range(30):
            days = np.repeat(generator.normal(0, 0.05, 20), 24)
            load = np.log(100 + 50 * np.sin(times / 86_400 * 2 * math.pi)) + generator.normal(
                0, 0.1, times.size
            )
            courses[str(number)] = releases.Course(
                times, 6 + days - 0.2 * load + generator.normal(0, 0.05, times.size), load, {}
            )
        at = 12 * 86_400.0
        changes = releases.compare(
            courses, [releases.Release(name, "2", 0.0, at, at, at) for name in courses], 3600
        )
        called += any(one.verdict in ("worse", "better") for one in changes.values())
    # 5 in 100 by the confidence of all intervals together; by chance five of 25 are rare (0.7 %).
    assert called <= 4, called


def test_a_change_at_another_time_is_not_the_releases():
    generator = np.random.default_rng(1)
    times = np.arange(20 * 24) * 3600.0
    at = 9 * 86_400.0
    for days_off, verdict in ((0, "worse"), (2, "unclear"), (-2, "unclear")):
        values = generator.normal(0, 0.01, times.size) + np.where(times >= at + days_off * 86_400, 0.7, 0)
        course = releases.Course(times, values, generator.normal(0, 0.1, times.size), {})
        change = releases.compare({"web": course}, [releases.Release("web", "2", 0.0, at, at, at)], 3600)[
            "web"
        ]
        assert change.verdict == verdict, change
        if days_off:
            assert (
                change.why == f"the change began 2.0 days {'after' if days_off > 0 else 'before'} the release"
            )
            assert change.changed_at == at + days_off * 86_400


def test_a_few_machines_do_not_make_a_release_worse():
    release = releases.Release("web", "2", 0.0, 1.0, 1.0, 1.0)
    change = releases.Change(release, 1.4, 1.2, 1.6, "worse")
    releases.agree(change, 5, 45)
    assert change.verdict == "unclear" and "only 5 of 50 machines" in change.why


def test_machines_that_differ_as_machines_do_are_not_odd():
    generator = random.Random(1)
    values = np.array([generator.gauss(0, 0.2) for _ in range(2000)])
    names = np.array([str(number) for number in range(values.size)])
    assert odd._far(names, "x", values, "of") == []
    values[7] = 8 * statistics.pstdev(values.tolist())
    assert [one.machine for one in odd._far(names, "x", values, "of")] == ["7"]


@pytest.mark.parametrize(
    ("confidence", "df", "point"),
    [(0.95, 1, 12.706), (0.99, 5, 4.032), (0.999, 30, 3.646), (0.95, 1000, 1.962)],
)
def test_points_of_students_t_are_those_of_tables(confidence, df, point):
    assert two_sided_point(confidence, df) == pytest.approx(point, abs=5e-4)
