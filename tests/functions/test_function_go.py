"""The function in Go: its own tests, every adapter on loopback, and the quota from inside."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dependencies import GO as MODULES
from dependencies import listed, of_text, permitted
from quota_check import check_quotas
from serving import (
    ROOT,
    TARGET,
    check_local_server,
    check_platform,
    check_runtime,
    free_port,
    local,
    run_or_skip,
)

GO = ROOT / "functions" / "go"
BUILT = TARGET / "go"
PROGRAMS = {
    "swtch-function": "./cmd/swtch-function",
    "lambda": "./adapters/lambda",
    "gcf": "./adapters/gcf/cmd",
    "knative": "./adapters/knative/cmd",
    "openfaas": "./adapters/openfaas/cmd",
}


@pytest.fixture(scope="module")
def built() -> Path:
    """The folder of the programs."""
    if not shutil.which("go"):
        pytest.skip("go is not here")
    run_or_skip(["go", "mod", "download"], GO, "the modules of functions/go/go.sum cannot be had")
    for name, package in PROGRAMS.items():
        command = ["go", "build", "-trimpath", "-o", str(BUILT / name), package]
        outcome = subprocess.run(command, cwd=GO, capture_output=True, text=True)
        assert outcome.returncode == 0, outcome.stderr
    return BUILT


def test_its_own_tests_and_lints(built: Path) -> None:
    for command in (["go", "vet", "./..."], ["go", "test", "./..."]):
        outcome = subprocess.run(command, cwd=GO, capture_output=True, text=True)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    unformatted = subprocess.run(["gofmt", "-l", "."], cwd=GO, capture_output=True, text=True).stdout
    assert unformatted == ""


def test_licences_of_what_is_linked(built: Path) -> None:
    """Of all modules, those that others bring too; the direct ones are those of the list."""
    form = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}"
    outcome = subprocess.run(
        ["go", "list", "-deps", "-f", form, "./..."], cwd=GO, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr
    modules = dict(line.split("\t") for line in outcome.stdout.splitlines() if line)
    licences = {name: of_text(Path(folder)) for name, folder in modules.items()}
    wanted = {name: row.licence for name, row in listed(MODULES).items()}
    assert {name: licences[name] for name in wanted} == wanted
    assert [f"{name}: {licence}" for name, licence in licences.items() if not permitted(licence)] == []


def test_the_local_server(built: Path) -> None:
    check_local_server([str(built / "swtch-function")], "go")


def test_channels_make_hardly_a_switch(built: Path) -> None:
    with local([str(built / "swtch-function")]) as server:
        _, found = server.post({"methods": ["channel"], "time_limit_ms": 200, "spin_ms": 0})
        assert found["measurements"][0]["switches"]["per_expected"] < 0.5


@pytest.mark.parametrize("platform", ["gcf", "knative", "openfaas"])
def test_by_http(built: Path, platform: str) -> None:
    port = free_port()
    variables = {
        "gcf": {"HOST": "127.0.0.1", "PORT": str(port), "FUNCTION_TARGET": "Measure", "K_SERVICE": "f"},
        "knative": {"LISTEN_ADDRESS": f"127.0.0.1:{port}", "K_SERVICE": "f"},
        "openfaas": {"PORT": str(port), "OPENFAAS_NAME": "f"},
    }
    check_platform(platform, "go", [str(built / platform)], variables[platform], port)


def test_lambda(built: Path) -> None:
    check_runtime([str(built / "lambda")], "go")


def test_the_quota_from_inside_is_the_groups(built: Path) -> None:
    check_quotas([str(built / "swtch-function")], "go")
