"""The function in Node.js: its own tests, every adapter on loopback, and the quota from inside."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

from quota_check import check_quotas
from serving import ROOT, TARGET, check_local_server, check_platform, check_runtime, free_port, run_or_skip

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
    if not shutil.which("npm"):
        pytest.skip("npm is not here")
    folder = TARGET / f"node-{platform}"
    stamp = folder / "lock.sha256"
    lock = NODE / "platforms" / platform / "package-lock.json"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    for file in (lock, lock.with_name("package.json")):
        shutil.copy(file, folder)
    # What is compiled finds the headers that lie beside this node; they would otherwise be fetched.
    prefix = Path(shutil.which("node") or "/usr/bin/node").resolve().parents[1]
    headers = (
        {"npm_config_nodedir": str(prefix)} if (prefix / "include" / "node" / "node.h").is_file() else {}
    )
    command = ["npm", "ci", "--no-audit", "--no-fund"]
    run_or_skip(command, folder, f"{platform}'s packages cannot be installed", headers)
    stamp.write_text(digest)
    return folder


def test_its_own_tests() -> None:
    files = sorted(str(file) for file in (NODE / "test").glob("*.test.js"))
    outcome = subprocess.run(["node", "--test", *files], cwd=NODE, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout


def test_the_local_server() -> None:
    check_local_server(SERVER, "node")


def test_google_cloud_functions() -> None:
    folder = installed("gcf")
    port = free_port()
    program = str(folder / "node_modules" / ".bin" / "functions-framework")
    command = [program, "--target=measure", f"--source={ADAPTERS / 'gcf.js'}", f"--port={port}"]
    check_platform("gcf", "node", command, {"K_SERVICE": "f"}, port)


def test_knative() -> None:
    folder = installed("knative")
    port = free_port()
    command = [str(folder / "node_modules" / ".bin" / "faas-js-runtime"), str(ADAPTERS / "knative.js")]
    check_platform("knative", "node", command, {"K_SERVICE": "f", "FUNC_PORT": str(port)}, port, folder)


def test_openfaas() -> None:
    folder = installed("openfaas")
    port = free_port()
    command = ["node", str(NODE / "test" / "openfaas_shim.js"), str(ADAPTERS / "openfaas.js"), str(port)]
    check_platform("openfaas", "node", command, {"OPENFAAS_NAME": "f"}, port, folder)


def test_lambda() -> None:
    folder = installed("lambda")
    program = folder / "node_modules" / "aws-lambda-ric"
    if not (program / "dist" / "rapid-client.node").is_file():
        pytest.skip(
            "aws-lambda-ric has no compiled client: its build needs autoconf, automake, libtool, cmake and a C++ compiler"
        )
    check_runtime(
        [str(folder / "node_modules" / ".bin" / "aws-lambda-ric"), "lambda.handler"], "node", ADAPTERS
    )


def test_the_quota_from_inside_is_the_groups() -> None:
    check_quotas(SERVER, "node")
