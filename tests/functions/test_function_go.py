"""The function in Go: its own tests, every adapter on loopback, and the quota from inside."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dependencies import GO as MODULES
from dependencies import listed, of_text, permitted
from quota_check import check_quotas
from serving import (
    ROOT,
    check_local_server,
    check_platform,
    check_runtime,
    free_port,
    local,
    ready,
    run_or_skip,
)

GO = ROOT / "functions" / "go"


@pytest.fixture(scope="module")
def built() -> Callable[[str], str]:
    """From a platform to its program, as `swtch faas serve` builds it."""
    if not shutil.which("go"):
        pytest.skip("go is not here")
    run_or_skip(["go", "mod", "download"], GO, "the modules of functions/go/go.sum cannot be had")
    names = {"local": "swtch-function", "lambda": "bootstrap"}
    return lambda platform: str(Path(ready("go", platform)["built"]) / names.get(platform, platform))


def test_its_own_tests_and_lints(built: Callable[[str], str]) -> None:
    for command in (["go", "vet", "./..."], ["go", "test", "./..."]):
        outcome = subprocess.run(command, cwd=GO, capture_output=True, text=True)
        assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    unformatted = subprocess.run(["gofmt", "-l", "."], cwd=GO, capture_output=True, text=True).stdout
    assert unformatted == ""


def test_licences_of_what_is_linked(built: Callable[[str], str]) -> None:
    """Of all modules, those that others bring too; the direct ones are those of the list."""
    form = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}"
    outcome = subprocess.run(
        ["go", "list", "-deps", "-f", form, "./..."], cwd=GO, capture_output=True, text=True
    )
    assert outcome.returncode == 0, outcome.stderr
    modules = dict(line.split("\t") for line in outcome.stdout.splitlines() if line)
    licences = {name: of_text(Path(directory)) for name, directory in modules.items()}
    wanted = {name: row.licence for name, row in listed(MODULES).items()}
    assert {name: licences[name] for name in wanted} == wanted
    assert [f"{name}: {licence}" for name, licence in licences.items() if not permitted(licence)] == []


def test_the_local_server(built: Callable[[str], str]) -> None:
    check_local_server([built("local")], "go")


def test_channels_make_hardly_a_switch(built: Callable[[str], str]) -> None:
    with local([built("local")]) as server:
        _, found = server.post({"methods": ["channel"], "time_limit_ms": 200, "spin_ms": 0})
        assert found["measurements"][0]["switches"]["per_expected"] < 0.5


@pytest.mark.parametrize("platform", ["gcf", "knative", "openfaas"])
def test_by_http(built: Callable[[str], str], platform: str) -> None:
    port = free_port()
    variables = {
        "gcf": {"HOST": "127.0.0.1", "PORT": str(port), "FUNCTION_TARGET": "Measure", "K_SERVICE": "f"},
        "knative": {"LISTEN_ADDRESS": f"127.0.0.1:{port}", "K_SERVICE": "f"},
        "openfaas": {"PORT": str(port), "OPENFAAS_NAME": "f"},
    }
    check_platform(platform, "go", [built(platform)], variables[platform], port)


def test_lambda(built: Callable[[str], str]) -> None:
    check_runtime([built("lambda")], "go")


def test_the_quota_from_inside_is_the_groups(built: Callable[[str], str]) -> None:
    check_quotas([built("local")], "go")
