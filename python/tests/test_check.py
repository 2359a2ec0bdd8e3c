"""What `swtch check` writes for other programs, read back by readers of those formats."""

from __future__ import annotations

import csv
import datetime
import json
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import junitparser
import pytest
from schema_check import faults

BUDGET = """[[budget]]
name = "{name}"
command = "sleep 0.001"
where = "here"
runs = 6
switches = {{ max = {most} }}
"cpu.time" = {{}}
"""
FORMATS = "markdown,junit,bmf,github-action-benchmark,otava"
#: bencher.dev/bmf.json, with what it says of names of any length.
BMF = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
            "required": ["value"],
        },
    },
}
#: What github-action-benchmark asks of an entry of customSmallerIsBetter.
ENTRIES = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "unit": {"type": "string"},
            "value": {"type": "number"},
            "range": {"type": "string"},
            "extra": {"type": "string"},
        },
        "required": ["name", "unit", "value"],
    },
}
#: Jenkins' junit-10.xsd: what an element may hold, and its attributes, those that are needed with a `!`.
JUNIT = {
    "testsuites": ({"testsuite"}, {"name", "tests", "failures", "errors", "time", "disabled"}),
    "testsuite": (
        {"properties", "testcase", "system-out", "system-err"},
        {"!name", "!tests", "failures", "errors", "time", "timestamp", "skipped", "hostname", "id"},
    ),
    "testcase": (
        {"skipped", "error", "failure", "system-out", "system-err"},
        {"!name", "classname", "time", "assertions", "status"},
    ),
    "failure": (set(), {"type", "message"}),
    "system-out": (set(), set()),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if "SWTCH_BIN" not in os.environ:
        pytest.skip("SWTCH_BIN names no swtch to check with")
    binary = Path(os.environ["SWTCH_BIN"]).resolve()
    home = tmp_path_factory.mktemp("check")
    budgets = BUDGET.format(name="kept", most=100000) + BUDGET.format(name="broken", most=0)
    (home / "swtch-budget.toml").write_text(budgets)
    words = [binary, "check", "--format", FORMATS, "-o", "out", "--json=out/check.json"]
    for _ in range(2):
        done = subprocess.run(words, cwd=home, capture_output=True, text=True, check=False)
        assert done.returncode == 3, done.stderr
    return home / "out"


def figures(results: Path) -> dict[tuple[str, str], float]:
    document = json.loads((results / "check.json").read_text())
    return {(b["name"], m["metric"]): m["value"] for b in document["budgets"] for m in b["metrics"]}


def check_element(element: ElementTree.Element) -> None:
    children, attributes = JUNIT[element.tag]
    assert set(element.keys()) <= {name.lstrip("!") for name in attributes}, element.tag
    assert {name[1:] for name in attributes if name.startswith("!")} <= set(element.keys()), element.tag
    for child in element:
        assert child.tag in children, (element.tag, child.tag)
        check_element(child)


def test_junit_is_as_its_schema_says(results: Path):
    root = ElementTree.parse(results / "junit.xml").getroot()
    check_element(root)
    (suite,) = root
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    datetime.datetime.fromisoformat(suite.get("timestamp"))
    cases = {case.get("name"): case for case in suite}
    assert cases["kept"].find("failure") is None
    assert "context switches (limit 0)" in cases["broken"].find("failure").get("message")
    assert all(float(case.get("time")) >= 0 for case in cases.values())


def test_bmf_and_the_actions_list_are_as_their_schemas_say(results: Path):
    bmf = json.loads((results / "bmf.json").read_text())
    assert faults(bmf, BMF) == []
    assert {(b, m): v["value"] for b, measures in bmf.items() for m, v in measures.items()} == figures(
        results
    )
    entries = json.loads((results / "benchmark.json").read_text())
    assert faults(entries, ENTRIES) == []
    assert {tuple(e["name"].split(": ")): e["value"] for e in entries} == figures(results)


def test_otava_has_a_row_a_check(results: Path):
    with (results / "otava.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2
    names = [f"{budget}.{metric}" for budget, metric in figures(results)]
    assert list(rows[0]) == ["time", "commit", *names]
    for row in rows:
        datetime.datetime.fromisoformat(row["time"])
    last = {tuple(name.split(".", 1)): float(rows[-1][name]) for name in names}
    assert last == figures(results)


def test_junit_is_read_by_junitparser(results: Path) -> None:
    [path] = results.glob("*.xml")
    [suite] = junitparser.JUnitXml.fromfile(str(path))
    cases = {case.name: case for case in suite}
    assert (suite.tests, suite.failures, suite.errors) == (2, 1, 0)
    assert cases["kept"].is_passed
    [failure] = cases["broken"].result
    assert isinstance(failure, junitparser.Failure) and "switches" in failure.message
