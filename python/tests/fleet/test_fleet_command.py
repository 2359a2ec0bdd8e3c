"""The command: its examples, Traces and OTLP as sources, and what it refuses."""

from __future__ import annotations

import doctest
import importlib
import json
import os
import pkgutil
import re
import shlex
import shutil
import sys

import pytest
from command_examples import GUIDES, ROOT, all_examples, installed
from fleet_host import messages
from rights import each, open_directory, shown, tried
from schema_check import faults

import swtch.fleet
from swtch.fleet import prometheus, store
from swtch.fleet.command import _parser, main

PAGE = ROOT / "docs" / "fleet.md"


def test_the_installation_brings_the_program():
    assert installed("swtch-fleet") is main
    extra = re.search(r"^fleet = (\[.*\])$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert extra is not None and any(one.startswith("duckdb") for one in json.loads(extra[1]))


@pytest.mark.parametrize("name", sorted(one.name for one in pkgutil.iter_modules(swtch.fleet.__path__)))
def test_examples_in_the_documentation_of_modules_run(name):
    assert doctest.testmod(importlib.import_module(f"swtch.fleet.{name}")).failed == 0


@pytest.mark.parametrize("example", all_examples("swtch fleet", _parser(), [PAGE, *GUIDES], 12))
def test_every_example_runs(example, at, small, monkeypatch, capsys):
    """On a small fleet; a Prometheus is another test's."""
    shutil.copytree(small[0], at / "fleet")
    service = next(iter(small[1]["regressions"]))
    (at / "deploys.csv").write_text(f"service,at,version\n{service},2026-11-10T12:00:00Z,2.0\n")
    (at / "machines.csv").write_text("machine,instance_type\nmachine-0001,m7i.large\n")

    def fetch(database, server, directory, begin_s, end_s, step_s, show):
        for path in small[0].glob("*.parquet"):
            shutil.copy(path, directory)
        return 1, 0

    monkeypatch.setattr(prometheus, "fetch", fetch)
    words = shlex.split(example.split(" | ")[0])[2:]
    assert main(words) == 0, capsys.readouterr().err
    out = capsys.readouterr().out
    if "--json" in words:
        json.loads(out)
    assert out


def test_the_page_shows_what_json_has(at, small, capsys):
    assert main([str(small[0]), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "(schemas/fleet-1.json)" in PAGE.read_text()
    first = document["services"][0]
    released = next(one["since_release"] for one in document["services"] if one["since_release"])
    names = {*document, *first, *released, *document["outliers"][0]}
    page = PAGE.read_text()
    assert not {name for name in names if f"`{name}`" not in page}


def test_the_output_that_the_page_shows_is_that_of_the_small_fleet(small, capsys):
    """`SWTCH_WRITE_PAGES=1` writes it into the page."""
    assert main([str(small[0]), "--top", "3"]) == 0
    out = capsys.readouterr().out
    begin, _, rest = PAGE.read_text().partition("<!-- begin fleet -->\n")
    written, _, end = rest.partition("<!-- end fleet -->")
    block = f"```text\n{out}```\n"
    if os.environ.get("SWTCH_WRITE_PAGES"):
        PAGE.write_text(f"{begin}<!-- begin fleet -->\n{block}<!-- end fleet -->{end}")
    else:
        assert written == block


def test_traces_of_machines_are_a_source(at, capsys):
    pytest.importorskip("duckdb")
    assert main(["traces", "--json", "--price", "0.05"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert faults(document, json.loads((ROOT / "docs/schemas/fleet-1.json").read_text())) == []
    trace = swtch.Trace.load(at / "traces" / "web-2" / "waits.swtch")
    switches = sum(row["voluntary"] + row["involuntary"] for row in trace.tasks.rows() if row["in_scope"])
    mine = [
        one for one in document["services"] for row in one["busiest_machines"] if row["machine"] == "web-2"
    ]
    assert document["machines"] == 2 and mine
    assert document["traces"] == {
        machine: [f"traces/{machine}/{name}.swtch"]
        for machine, name in (("web-1", "machine"), ("web-2", "waits"))
    }
    # The rows are of as many steps as the Traces began in; each machine has one.
    steps = round((document_time(document["to"]) - document_time(document["from"])) / 3600)
    rate = sum(
        row["switches_per_second"]
        for one in document["services"]
        for row in one["busiest_machines"]
        if row["machine"] == "web-2"
    )
    steps = 1 if steps == 1 else 2
    assert rate * steps == pytest.approx(switches / (trace.duration_ns / 1e9), rel=1e-6)
    # Without the machines' Profiles the cost is at least what was measured in place.
    assert mine[0]["cpu_share"]["low"] > 0 and mine[0]["cpu_share"]["high"] is None
    assert main(["traces", "-o", "fleet.html"]) == 0
    assert "<code>swtch report traces/web-2/waits.swtch</code>" in (at / "fleet.html").read_text()


def document_time(text):
    from swtch.fleet.deploys import instant

    return instant(text)


def test_a_profile_beside_traces_gives_both_ends_of_the_cost(at, capsys):
    pytest.importorskip("duckdb")
    for machine in ("web-1", "web-2"):
        shutil.copy(ROOT / "fixtures" / "profiles" / "vm.json", at / "traces" / machine / "profile.json")
    assert main(["traces", "--json"]) == 0
    share = json.loads(capsys.readouterr().out)["services"][0]["cpu_share"]
    assert 0 < share["low"] < share["high"]


@pytest.mark.parametrize("resets", [False, True])
def test_otlp_of_processes_and_of_serve_is_a_source(resets, at, capsys):
    pytest.importorskip("duckdb")
    lines = [json.dumps(one) for one in messages(resets)]
    (at / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    assert main(["import", "metrics.jsonl", "-o", "kept", "--step", "60s"]) == 0
    out = capsys.readouterr().out
    assert ("counters began anew" in out) is resets
    assert main(["kept", "--json", "--price", "0.05"]) == 0
    services = {one["service"]: one for one in json.loads(capsys.readouterr().out)["services"]}
    assert set(services) == {"billing", "shop/cart"}
    rates = {name: one["switches_per_second"] for name, one in services.items()}
    # A message every 10 s. Of the interval in which a counter began anew only what came after that counts: nothing, of one in five of the first minute.
    seen = (4 / 5 + 1) / 2 if resets else 1
    assert rates["billing"] == pytest.approx(100 * seen, rel=0.02) and rates["shop/cart"] == pytest.approx(
        50, rel=0.02
    )
    share = services["shop/cart"]["cpu_share"]
    assert share["low"] == pytest.approx(1e-4 / 0.5) and share["high"] == pytest.approx(4e-4 / 0.5)
    assert services["billing"]["cpu_share"] is None


def test_otlp_as_one_document_with_deltas(at, capsys):
    pytest.importorskip("duckdb")
    parts = messages(temporality=1)
    whole = {"resourceMetrics": [part for one in parts for part in one["resourceMetrics"]]}
    (at / "whole.json").write_text(json.dumps(whole, indent=1))
    assert main(["import", "whole.json", "-o", "kept", "--step", "1h", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sources"][0]["counters_restarted"] == 0
    database = store.connect()
    sums = dict(
        database.execute("SELECT service, sum(switches) FROM 'kept/services-*.parquet' GROUP BY 1").fetchall()
    )
    # 10 + 20 + ... + 60 seconds of deltas.
    assert sums == {"billing": pytest.approx(210 * 100), "shop/cart": pytest.approx(210 * 50)}


def test_importing_a_source_again_replaces_its_rows(at, capsys):
    pytest.importorskip("duckdb")
    for _ in range(2):
        assert main(["import", "traces", "-o", "kept"]) == 0
    assert len(list((at / "kept").glob("services-*.parquet"))) == 1
    assert main(["import", "traces", "-o", "kept", "--step", "60s"]) == 1
    assert "kept holds steps of 3600 s, not of 60 s" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("empty.jsonl", "", "is not OTLP/JSON"),
        ("words.jsonl", "hello\n", "is not OTLP/JSON"),
        ("spans.jsonl", '{"resourceSpans": []}\n', "not metrics of OTLP/JSON"),
        ("none.jsonl", '{"resourceMetrics": []}\n', "has no swtch.* metric and no process.context_switches"),
    ],
)
def test_files_that_are_no_metrics_are_one_line(name, text, words, at, capsys):
    pytest.importorskip("duckdb")
    (at / name).write_text(text)
    assert main([name]) == 1
    err = capsys.readouterr().err
    assert words in err and err.count("\n") == 1


def test_sources_that_are_not_there_are_one_line(at, capsys):
    pytest.importorskip("duckdb")
    (at / "nothing").mkdir()
    for source, words in (("elsewhere", "there is no elsewhere"), ("nothing", "holds neither")):
        assert main([source]) == 1
        err = capsys.readouterr().err
        assert words in err and err.count("\n") == 1
    header = at / "traces" / "web-1" / "machine.swtch" / "header.json"
    header.write_text("{")
    assert main(["traces"]) == 1
    err = capsys.readouterr().err
    assert "web-1" in err and err.count("\n") == 1


def test_without_duckdb_it_says_what_to_install(at, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert main(["traces"]) == 1
    assert capsys.readouterr().err == "swtch fleet: duckdb is not installed; pip install 'swtch[fleet]'\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "see swtch fleet --help"),
        (["x", "--since", "soon"], "'soon' is not a time"),
        (["x", "--step", "0h"], "'0h' is not a time"),
        (["x", "--memory", "much"], "'much' is not a size"),
        (["x", "--price", "cheap"], "--price: "),
        (["http://127.0.0.1:9", "--header", "nothing"], "is not a header"),
        (["import", "x"], "-o/--out"),
    ],
)
def test_wrong_usage_is_one_line(words, said, capsys):
    if "--header" in words:
        pytest.importorskip("duckdb")
    try:
        status = main(words)
    except SystemExit as end:
        status = end.code
    err = capsys.readouterr().err
    assert status == 2 and said in err and err.count("\n") == 1, err


@each
def test_it_needs_no_rights(rights):
    pytest.importorskip("duckdb")
    with open_directory() as at:
        shutil.copytree(ROOT / "fixtures" / "traces" / "procfs.swtch", at / "m" / "procfs.swtch")
        done = tried(rights, "fleet", "m", "--price", "0.05", at=at)
        assert shown("fleet", rights) == ("yes" if done.returncode == 0 else "no"), done.stderr
