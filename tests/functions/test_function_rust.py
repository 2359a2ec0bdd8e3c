"""The function in Rust: its own tests and lints, its platforms on loopback, and the quota from inside."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dependencies import CRATES, listed, permitted
from quota_check import check_quotas
from serving import (
    ROOT,
    TARGET,
    check_local_server,
    check_platform,
    check_runtime,
    free_port,
    ready,
    run_or_skip,
)

RUST = ROOT / "functions" / "rust"
BUILDS = {"CARGO_TARGET_DIR": str(TARGET / "rust")}


@pytest.fixture(scope="module")
def built() -> Callable[[str], str]:
    """From a platform to its program, as `swtch faas serve` builds it."""
    if not shutil.which("cargo"):
        pytest.skip("cargo is not here")
    run_or_skip(["cargo", "fetch", "--locked"], RUST, "the crates of functions/rust/Cargo.lock cannot be had")
    return lambda platform: str(Path(ready("rust", platform)["built"]) / "release" / "swtch-function")


def test_its_own_tests_and_lints(built: Callable[[str], str]) -> None:
    for command in (["cargo", "test", "--locked", "--quiet"], ["cargo", "fmt", "--check"]):
        outcome = subprocess.run(
            command, cwd=RUST, env={**os.environ, **BUILDS}, capture_output=True, text=True
        )
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr


def test_licences_of_what_is_linked(built: Callable[[str], str]) -> None:
    """Of all crates; the direct ones are those of the list."""
    outcome = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1"], cwd=RUST, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr
    packages = json.loads(outcome.stdout)["packages"]
    direct = {
        one["name"] for package in packages if package["source"] is None for one in package["dependencies"]
    }
    licences = {package["name"]: package["license"] for package in packages}
    wanted = {name: row.licence for name, row in listed(CRATES).items()}
    assert direct == set(wanted) and {name: licences[name] for name in wanted} == wanted
    bad = [
        f"{name}: {said}"
        for name, said in licences.items()
        if not any(permitted(one.strip("() ")) for one in said.replace("/", " OR ").split(" OR "))
    ]
    assert bad == []


def test_the_local_server(built: Callable[[str], str]) -> None:
    check_local_server([built("local")], "rust")


@pytest.mark.parametrize(
    ("platform", "words", "name"),
    [
        ("gcf", [], "K_SERVICE"),
        ("knative", ["knative"], "K_SERVICE"),
        ("openfaas", ["openfaas"], "OPENFAAS_NAME"),
    ],
)
def test_by_http(built: Callable[[str], str], platform: str, words: list[str], name: str) -> None:
    port = free_port()
    variables = {"HOST": "127.0.0.1", "PORT": str(port), name: "f"}
    check_platform(platform, "rust", [built(platform), *words], variables, port)


def test_lambda(built: Callable[[str], str]) -> None:
    check_runtime([built("lambda")], "rust")


def test_the_quota_from_inside_is_the_groups(built: Callable[[str], str]) -> None:
    check_quotas([built("local")], "rust")
