"""The schemas of documents about functions, and what of this project's files must keep them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from faas_host import OWN, ROOT, STUB
from schema_check import faults

from swtch.faas.answer import completed

CALL = {
    "schema": "swtch/faas-call/1",
    "result": None,
    "wall_ns": 1,
    "cpu_ns": 0,
    "usage": {"wall_ns": 1, "cpu_ns": 0, "voluntary": None, "involuntary": 2, "max_rss_bytes": None},
}
ERROR = {"schema": "swtch/faas-error/1", "error": "KeyError: 'value'", "where": "own.py:9"}


def schema(name):
    return json.loads((ROOT / "docs/schemas" / f"{name}.json").read_text())


def test_the_recorded_study_of_tiers_keeps_its_schema():
    document = json.loads((ROOT / "fixtures/faas/gcf/tiers.json").read_text())
    assert faults(document, schema("faas-tiers-3")) == []
    answers = [one["response"] for one in document["invocations"] if one["response"] is not None]
    assert len(answers) > 50
    assert [fault for one in answers for fault in faults(one, schema("faas-1"))] == []


@pytest.mark.parametrize("language", ["python", "node", "go", "java"])
def test_the_recorded_answers_keep_their_schema_and_that_of_this_version_once_completed(language):
    document = json.loads((ROOT / "fixtures/faas" / f"{language}.json").read_text())
    assert document["handler"]["language"] == language
    assert faults(document, schema("faas-1")) == []
    assert faults(completed(document), schema("faas-2")) == []


def test_a_raw_answer_keeps_its_schema_with_figures_and_without():
    document = json.loads((ROOT / "fixtures/faas/rust.json").read_text())
    assert faults(document, schema("faas-2")) == []
    assert faults(completed(document), schema("faas-2")) == []
    assert completed({"schema": "swtch/faas/9"}) is completed(["no answer"]) is None
    assert completed({"schema": "swtch/faas/2"}) is None


def test_the_answer_that_tests_make_up_keeps_its_schema():
    assert faults(json.loads(Path(__file__).with_name("response.json").read_text()), schema("faas-2")) == []


def test_calls_and_errors_have_schemas():
    assert faults(CALL, schema("faas-call-1")) == []
    assert faults(ERROR, schema("faas-error-1")) == []
    without_place = {key: value for key, value in ERROR.items() if key != "where"}
    assert faults(without_place, schema("faas-error-1")) == []


@pytest.mark.parametrize(
    ("name", "document", "fault"),
    [
        ("faas-call-1", {**CALL, "usage": {}}, "cpu_ns is missing"),
        ("faas-call-1", {**CALL, "wall_ns": -1}, "out of range"),
        ("faas-call-1", {**CALL, "cpu_ns": 0.5}, "is not integer"),
        ("faas-call-1", {**CALL, "answer": 1}, "answer is not in the schema"),
        ("faas-call-1", {key: value for key, value in CALL.items() if key != "result"}, "result is missing"),
        ("faas-error-1", {**ERROR, "error": "two\nlines"}, "does not match"),
        ("faas-error-1", {**ERROR, "error": ""}, "does not match"),
        ("faas-error-1", {**ERROR, "where": "own.py"}, "does not match"),
        ("faas-error-1", {**ERROR, "schema": "swtch/faas-call/1"}, "is not 'swtch/faas-error/1'"),
        ("faas-error-1", {"schema": "swtch/faas-error/1"}, "error is missing"),
    ],
)
def test_the_schemas_of_calls_and_errors_refuse_what_is_none(name, document, fault):
    found = faults(document, schema(name))
    assert len(found) > 0 and fault in found[0]


def test_the_small_function_calls_and_fails_as_the_handlers_server_does(tmp_path):
    """What these tests rest on elsewhere; the handler's own are checked in `functions/python/tests`."""
    (tmp_path / "own.py").write_text(OWN)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(STUB / "python"), str(tmp_path)])}
    for name, status, kept in (("fine", 200, "faas-call-1"), ("raises", 500, "faas-error-1")):
        command = [sys.executable, "-m", "swtch_function", "--handler", f"own:{name}"]
        server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            url = f"http://{json.loads(server.stdout.readline())['listening']}/"
            found, document = posted(url, b'{"a": 1}')
        finally:
            server.kill()
            server.communicate()
        assert found == status
        assert faults(document, schema(kept)) == []


def posted(url, body):
    try:
        with urllib.request.urlopen(url, data=body, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)
