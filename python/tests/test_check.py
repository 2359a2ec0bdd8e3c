"""What `swtch check` writes for other programs, read back by readers of those formats."""

from __future__ import annotations

import csv
import datetime
import io
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest

BUDGET = """[[budget]]
name = "{name}"
command = "sleep 0.001"
where = "here"
runs = 6
switches = {{ max = {most} }}
"cpu.time" = {{}}
"""
FORMATS = "markdown,junit,bmf,github-action-benchmark,otava"
#: What readers of the formats ask, with where it is from: fixtures/formats/README.md.
FORMATS_OF_OTHERS = Path(__file__).parents[2] / "fixtures/formats"
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


def checked(results: Path, name: str, schema: str) -> Any:
    """A document of the check that its reader's schema accepts."""
    document = json.loads((results / name).read_text())
    rules = json.loads((FORMATS_OF_OTHERS / schema).read_text())
    jsonschema.Draft7Validator.check_schema(rules)
    jsonschema.Draft7Validator(rules).validate(document)
    return document


def test_bmf_is_as_benchers_schema_says(results: Path) -> None:
    bmf = checked(results, "bmf.json", "bmf.json")
    metrics = {(b, m): metric for b, measures in bmf.items() for m, metric in measures.items()}
    assert {key: metric["value"] for key, metric in metrics.items()} == figures(results)
    for metric in metrics.values():
        assert metric["lower_value"] <= metric["value"] <= metric["upper_value"]


def test_the_actions_list_is_as_its_source_says(results: Path) -> None:
    entries = checked(results, "benchmark.json", "github-action-benchmark.json")
    assert {tuple(e["name"].split(": ")): e["value"] for e in entries} == figures(results)
    # The action finds an entry's earlier value by its name (src/write.ts), and would scale a range that begins so (src/extractRangeInfo.ts).
    assert len({entry["name"] for entry in entries}) == len(entries)
    assert not any(re.match(r"\+-|±", entry.get("range", "")) for entry in entries)


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ("bmf.json", {"b": {"switches": {"lower_value": 1}}}),
        ("bmf.json", {"b": {"switches": 1}}),
        ("bmf.json", {"b": {"x" * 65: {"value": 1}}}),
        ("github-action-benchmark.json", []),
        ("github-action-benchmark.json", [{"name": "b: switches", "unit": "count", "value": "1"}]),
        ("github-action-benchmark.json", {"name": "b", "unit": "count", "value": 1}),
    ],
)
def test_the_schemas_refuse_what_readers_refuse(schema: str, document: Any) -> None:
    rules = json.loads((FORMATS_OF_OTHERS / schema).read_text())
    assert not jsonschema.Draft7Validator(rules).is_valid(document)


def read_as_otava_does(text: str) -> tuple[list[float], list[str], dict[str, list[float]]]:
    """Times, commits and metrics: as many values as columns, times that are dates with a zone, and numbers in all columns but the first two."""
    header, *rows = csv.reader(io.StringIO(text, newline=""), delimiter=",", quotechar='"')
    assert all(len(row) == len(header) for row in rows)
    time, commit = header.index("time"), header.index("commit")
    moments = [datetime.datetime.fromisoformat(row[time]) for row in rows]
    assert all(moment.tzinfo is not None for moment in moments)
    names = [name for name in header if name not in ("time", "commit")]
    metrics = {name: [float(row[header.index(name)]) for row in rows] for name in names}
    return [moment.timestamp() for moment in moments], [row[commit] for row in rows], metrics


def test_otava_reads_a_row_a_check(results: Path) -> None:
    times, commits, metrics = read_as_otava_does((results / "otava.csv").read_text())
    assert len(times) == len(commits) == 2 and times == sorted(times)
    assert list(metrics) == [f"{budget}.{metric}" for budget, metric in figures(results)]
    last = {tuple(name.split(".", 1)): values[-1] for name, values in metrics.items()}
    assert last == figures(results)


def test_junit_is_read_by_junitparser(results: Path) -> None:
    [path] = results.glob("*.xml")
    [suite] = junitparser.JUnitXml.fromfile(str(path))
    cases = {case.name: case for case in suite}
    assert (suite.tests, suite.failures, suite.errors) == (2, 1, 0)
    assert cases["kept"].is_passed
    [failure] = cases["broken"].result
    assert isinstance(failure, junitparser.Failure) and "switches" in failure.message
