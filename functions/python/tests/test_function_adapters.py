"""Every adapter answers through what its platform calls it with, on loopback."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from conftest import PYTHON, check_document

from serving import SHORT, RuntimeApi, Served, at_port, check_error, free_port, on_lambda

ADAPTERS = PYTHON / "adapters"
PATHS = {"PYTHONPATH": f"{ADAPTERS}:{PYTHON}", "PYTHONDONTWRITEBYTECODE": "1"}
ASKED = {**SHORT, "methods": ["pipe", "ring"]}
KNATIVE = "from func import new; from func_python.http import serve; serve(new)"
Environment = Callable[[str, Path], str]


def requirements(platform: str) -> Path:
    """The file with the versions."""
    return PYTHON / "requirements" / f"{platform}.txt"


def command(platform: str, python: str, port: int) -> tuple[list[str], dict[str, str]]:
    """What the platform runs, and its variables."""
    if platform == "gcf":
        source = str(ADAPTERS / "main.py")
        asked = [f"--source={source}", "--target=measure", "--host=127.0.0.1", f"--port={port}"]
        return [python, "-m", "functions_framework", *asked], {"FUNCTION_MEMORY_MB": "256", "K_SERVICE": "f"}
    if platform == "knative":
        return [python, "-c", KNATIVE], {"LISTEN_ADDRESS": f"127.0.0.1:{port}", "K_SERVICE": "f"}
    return [python, str(PYTHON / "tests" / "openfaas_shim.py"), str(port)], {"OPENFAAS_NAME": "f"}


@pytest.fixture(params=["gcf", "knative", "openfaas"])
def http(
    request: pytest.FixtureRequest, environment: Environment, tmp_path: Path
) -> Iterator[tuple[str, Served]]:
    """A platform that calls by HTTP, and its server."""
    platform: str = request.param
    python = environment(platform, requirements(platform))
    port = free_port()
    words, variables = command(platform, python, port)
    with at_port(words, {**PATHS, **variables}, port, tmp_path) as server:
        yield platform, server


def test_by_http(http: tuple[str, Served]) -> None:
    platform, server = http
    status, found = server.post(ASKED)
    assert status == 200
    check_document(found, platform)
    assert found["platform"]["function"] == "f" and found["invocation"]["cold"]
    assert [one["method"] for one in found["measurements"]] == ["pipe", "ring"]
    status, found = server.post(path="/?methods=pipe&time_limit_ms=20&spin_ms=0")
    assert status == 200 and found["request"]["methods"] == ["pipe"] and found["invocation"]["number"] == 2
    check_error(server.post({"colour": "red"}), 400, "colour")


@pytest.fixture
def api(environment: Environment) -> Iterator[RuntimeApi]:
    """Lambda's Runtime API, with the runtime's client and the handler at it."""
    python = environment("lambda", requirements("lambda"))
    with on_lambda(
        [python, "-m", "awslambdaric", "lambda_function.lambda_handler"], PATHS, ADAPTERS
    ) as server:
        yield server


def test_lambda(api: RuntimeApi) -> None:
    invocation = api.deliver(json.dumps(ASKED).encode())
    found = json.loads(invocation.answer)
    assert not invocation.failed
    check_document(found, "lambda")
    assert found["platform"]["cpus"] == 1 and found["invocation"]["id"] == invocation.id
    assert api.broken is None
    refused = api.deliver(b'{"colour": "red"}')
    assert refused.failed
    error = json.loads(refused.answer)
    assert error["errorType"] == "BadRequest" and "colour" in error["errorMessage"]


def test_lambda_by_a_function_url(api: RuntimeApi) -> None:
    event: dict[str, Any] = {
        "requestContext": {},
        "rawQueryString": "spin_ms=0&methods=pipe&time_limit_ms=20",
    }
    found = json.loads(api.deliver(json.dumps(event).encode()).answer)
    assert found["statusCode"] == 200
    check_document(json.loads(found["body"]), "lambda")
    event["body"] = "eyJjb2xvdXIiOiAxfQ=="
    event["isBase64Encoded"] = True
    found = json.loads(api.deliver(json.dumps(event).encode()).answer)
    assert found["statusCode"] == 400 and "colour" in json.loads(found["body"])["error"]


def test_the_runtime_api_by_http(api: RuntimeApi) -> None:
    server = Served(urlsplit(api.url).netloc, None)
    status, found = server.post({**SHORT, "methods": [], "spin_ms": 0})
    assert status == 200
    check_document(found, "lambda")


def test_the_runtime_api_gives_up() -> None:
    api = RuntimeApi(0.05)
    with contextlib.closing(api), pytest.raises(TimeoutError):
        api.deliver(b"{}")
