"""The local server, and a user's own function in it that does what it should not."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import PYTHON, check_document, served

from serving import SHORT, Served, check_error, check_lines, check_schema

OWN = """
import os, sys, time

def double(event, context):
    print("printed")
    return {"twice": 2 * event["value"]}

def fails(event, context):
    return event["value"]

def hangs(event, context):
    time.sleep(600)

def forks(event, context):
    while True:
        if os.fork() == 0:
            time.sleep(600)

def no_json(event, context):
    return {1, 2}

def ends(event, context):
    os._exit(7)

def leaves(event, context):
    if os.fork() == 0:
        time.sleep(600)
    return None
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A directory with a module of a user's functions."""
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def in_session_of(directory: Path) -> int:
    """Processes that work in a directory."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found += (process / "cwd").resolve() == directory.resolve() and "Z" not in (
                process / "stat"
            ).read_text().split()
        except OSError:
            continue
    return found


def test_it_measures() -> None:
    with served() as server:
        status, found = server.post({**SHORT, "methods": ["pipe", "ring"]})
        assert status == 200
        check_document(found, "local")
        status, found = server.post(path="/?methods=pipe&spin_ms=0&time_limit_ms=20")
        assert status == 200 and found["invocation"]["number"] == 2 and found["cpu"] is None


@pytest.mark.parametrize(
    ("body", "path", "status", "word"),
    [
        ({"colour": "red"}, "/", 400, "colour"),
        (b"{", "/", 400, "JSON"),
        ({}, "/?interval=0", 400, "interval"),
        ({}, "/elsewhere", 404, "elsewhere"),
    ],
)
def test_what_is_not_understood(body: Any, path: str, status: int, word: str) -> None:
    with served() as server:
        found = server.post(body, path)
    check_error(found, status, word)
    assert "where" not in found[1]


def test_an_own_function(own: Path) -> None:
    with served("--handler", "own:double", cwd=own) as server:
        for _ in range(2):
            status, found = server.post({"value": 21})
            assert status == 200
            check_schema(found, "faas-call-1")
            assert found["result"] == {"twice": 42} and found["wall_ns"] > 0 and found["cpu_ns"] >= 0
    assert in_session_of(own) == 0


@pytest.mark.parametrize(
    ("handler", "status", "word"),
    [
        ("own:fails", 500, "KeyError: 'value'"),
        ("own:hangs", 504, "did not return within 1 s"),
        ("own:forks", 500, "more than 20 processes"),
        ("own:no_json", 500, "is not JSON"),
        ("own:ends", 500, "exit status 7"),
        ("own:nowhere", 500, "own has no function nowhere"),
        ("nowhere:f", 500, "nowhere cannot be imported"),
        ("nowhere", 500, "is not module:function"),
    ],
)
def test_an_own_function_that_does_not_work(own: Path, handler: str, status: int, word: str) -> None:
    with served("--handler", handler, "--timeout", "1", "--processes", "20", cwd=own) as server:
        # Twice: what was ended is started again.
        for _ in range(2):
            found = server.post({})
            check_error(found, status, word)
            if handler == "own:fails":
                assert found[1]["where"] == f"{own / 'own.py'}:9"
    assert in_session_of(own) == 0


def test_what_an_own_function_leaves_behind_ends_with_the_server(own: Path) -> None:
    with served("--handler", "own:leaves", cwd=own) as server:
        assert server.post({})[0] == 200
        assert in_session_of(own) >= 3
    wait_until(lambda: in_session_of(own) == 0)


def test_spinning_ends_with_the_server(tmp_path: Path) -> None:
    with served(cwd=tmp_path) as server:
        asked = {"methods": [], "spin_ms": 600_000, "spinners": 2}
        threading.Thread(target=quietly, args=(server, asked), daemon=True).start()
        wait_until(lambda: in_session_of(tmp_path) == 3)
        server.process.kill()
    wait_until(lambda: in_session_of(tmp_path) == 0)


def quietly(server: Served, asked: dict[str, Any]) -> None:
    """Posts to a server that will not answer."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        server.post(asked)


def wait_until(done: Callable[[], bool]) -> None:
    """Until that is so; a failure after a while."""
    deadline = time.monotonic() + 60
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command."""
    return subprocess.run(
        [sys.executable, "-m", "swtch_function", *arguments],
        cwd=PYTHON,
        capture_output=True,
        text=True,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (["{}x"], 2, "JSON"),
        (["--listen", "nowhere"], 2, "HOST:PORT"),
        (["--listen", "192.0.2.1:1"], 1, "cannot be used to listen"),
        (["--handler", "a:b"], 2, "--listen"),
    ],
)
def test_wrong_commands(arguments: list[str], status: int, word: str) -> None:
    outcome = run(*arguments)
    assert outcome.returncode == status and word in outcome.stderr and outcome.stdout == ""


def test_lines_instead_of_a_server() -> None:
    check_lines([sys.executable, "-m", "swtch_function"], "python", {"PYTHONPATH": str(PYTHON)})


def test_the_answer_of_an_own_function_comes_before_what_it_took(own: Path) -> None:
    """Asking for its CPU time makes the kernel charge it, which may stop it before it has answered."""
    outcome = subprocess.run(
        [sys.executable, "-m", "swtch_function", "--lines", "--handler", "own:double"],
        input='{"value": 21}\n{}\n{"value": 1}\n',
        cwd=own,
        env={**os.environ, "PYTHONPATH": str(PYTHON)},
        capture_output=True,
        text=True,
        timeout=30,
    )
    ready, first, took, failed, again, _ = map(json.loads, outcome.stdout.splitlines())
    assert ready["ready"] and ready["began_ns"] > 0 and first["more"] and "more" not in failed
    assert first["document"] == {"schema": "swtch/faas-call/1", "result": {"twice": 42}}
    check_schema({**first["document"], **took}, "faas-call-1")
    check_error((failed["status"], failed["document"]), 500, "KeyError: 'value'")
    assert again["document"]["result"] == {"twice": 2}


def test_one_measurement_by_hand() -> None:
    outcome = run('{"methods": [], "spin_ms": 0}')
    assert outcome.returncode == 0 and outcome.stdout.startswith('{"schema":"swtch/faas/2"')
