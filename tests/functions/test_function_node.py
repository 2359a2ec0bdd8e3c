"""The function in Node.js: its own tests, every adapter on loopback, and the quota from inside."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from quota_check import check_quotas
from serving import ROOT, check_local_server, check_platform, check_runtime, free_port, ready

NODE = ROOT / "functions" / "node"
ADAPTERS = NODE / "adapters"
SERVER = ["node", str(NODE / "src" / "server.js")]


@pytest.fixture(autouse=True)
def node() -> None:
    """Nothing here without it."""
    if not shutil.which("node"):
        pytest.skip("node is not here")


def installed(platform: str) -> Path:
    """What the platform runs functions in, at the versions of its lock file."""
    return Path(ready("node", platform)["framework"])


def test_its_own_tests() -> None:
    files = sorted(str(file) for file in (NODE / "test").glob("*.test.js"))
    outcome = subprocess.run(["node", "--test", *files], cwd=NODE, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout


def test_the_local_server() -> None:
    check_local_server(SERVER, "node")


def test_google_cloud_functions() -> None:
    directory = installed("gcf")
    port = free_port()
    program = str(directory / "node_modules" / ".bin" / "functions-framework")
    command = [program, "--target=measure", f"--source={ADAPTERS / 'gcf.js'}", f"--port={port}"]
    check_platform("gcf", "node", command, {"K_SERVICE": "f"}, port)


def test_knative() -> None:
    directory = installed("knative")
    port = free_port()
    command = [str(directory / "node_modules" / ".bin" / "faas-js-runtime"), str(ADAPTERS / "knative.js")]
    check_platform("knative", "node", command, {"K_SERVICE": "f", "FUNC_PORT": str(port)}, port, directory)


def test_openfaas() -> None:
    directory = installed("openfaas")
    port = free_port()
    command = [
        "node",
        str(NODE / "deploy" / "openfaas" / "serve.js"),
        str(ADAPTERS / "openfaas.js"),
        str(port),
    ]
    variables = {"NODE_PATH": str(directory / "node_modules"), "OPENFAAS_NAME": "f"}
    check_platform("openfaas", "node", command, variables, port)


def test_lambda() -> None:
    directory = installed("lambda")
    check_runtime(
        [str(directory / "node_modules" / ".bin" / "aws-lambda-ric"), "lambda.handler"], "node", ADAPTERS
    )


def test_the_quota_from_inside_is_the_groups() -> None:
    check_quotas(SERVER, "node")
