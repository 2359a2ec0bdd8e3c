"""`swtch faas serve`, `measure` and `package` with the platforms' real frameworks, compilers and package managers."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import PLACES, ROOT, Served, check_document, python_with, ready

LANGUAGES = ("python", "node", "go", "java")
PLATFORMS = ("lambda", "gcf", "knative", "openfaas")
ASKED = {"methods": ["pipe"], "time_limit_ms": 20, "min_batches": 5, "spin_ms": 0, "work_ms": 1}
FAAS = [sys.executable, "-m", "swtch.faas.command"]
ANYWHERE = "127.0.0.2"
"""What listens on all addresses answers here, and what listens on loopback's usual one does not."""


def heeds_sigint() -> None:
    """A shell that runs tests in the background ignores it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def serve(language: str, platform: str, *more: str) -> Iterator[tuple[str, Served]]:
    """`swtch faas serve` until Ctrl-C: what it says, and where it answers."""
    if language == "python":
        requirements = ROOT / "functions" / "python" / "requirements" / f"{platform}.txt"
        more = (*more, "--python", python_with(platform, requirements))
    else:
        ready(language, platform)
    process = subprocess.Popen(
        [*FAAS, "serve", language, "--platform", platform, *more],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=heeds_sigint,
    )
    assert process.stdout
    try:
        line = process.stdout.readline()
        assert line, f"it ended with status {process.wait()}"
        yield line, Served(line.split("http://")[1].strip("/\n"), None)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=30)
        finally:
            process.kill()
            process.stdout.close()
    assert process.returncode == 0


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_it_answers_through_the_platforms_framework(language: str, platform: str) -> None:
    with serve(language, platform) as (line, server):
        assert line.startswith(f"{language} for {platform}: ")
        status, found = server.post(ASKED)
        assert status == 200, found
        check_document(found, platform, language)
        assert found["platform"]["function"] == "swtch"
        assert [one["method"] for one in found["measurements"]] == ["pipe"], found["unavailable"]
        status, found = server.post({"colour": "red"})
        assert status in (400, 500) and "colour" in json.dumps(found)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection((ANYWHERE, int(server.address.split(":")[1])), timeout=5)


def test_it_answers_under_a_tier() -> None:
    from swtch import _cgroup as cgroup

    with cgroup.group("swtch-faas", "probe", cgroup.Limits(quota_us=10_000)) as group:
        if group.directory is None:
            pytest.skip(f"no cgroup with a quota: {group.why}")
    with serve("go", "lambda", "--memory", "128") as (line, server):
        assert line.startswith("go for lambda under 128 MB: ")
        status, found = server.post({**ASKED, "methods": []})
        assert status == 200, found
        check_document(found, "lambda", "go")
        assert found["platform"]["memory_mb"] == 128
        assert found["throttling"]["platform"]["quota_ns"] < found["throttling"]["platform"]["period_ns"]


@pytest.mark.parametrize("language", ["node", "go", "java"])
def test_an_invocation_of_the_local_server(language: str) -> None:
    ready(language, "local")
    words = ["measure", language, "--json", "--request", json.dumps(ASKED)]
    done = subprocess.run([*FAAS, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    check_document(json.loads(done.stdout), "local", language)


def packaged(language: str, platform: str, out: Path, **variables: str) -> bytes:
    """An archive that `swtch faas package` writes."""
    words = [*FAAS, "package", language, "--platform", platform, "-o", str(out)]
    done = subprocess.run(words, env={**os.environ, **variables}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out.read_bytes()


@pytest.mark.parametrize(
    ("language", "platforms"), [("go", ["lambda"]), ("java", ["lambda", "gcf", "knative"])]
)
def test_what_is_compiled_has_the_same_bytes_wherever_that_is_done(
    language: str, platforms: list[str], tmp_path: Path
) -> None:
    """As from an installed package, whose directory nothing may be written into; and with nothing in the cache."""
    copy = tmp_path / "functions" / language
    kept = shutil.ignore_patterns("target", "test", "*_test.go")
    shutil.copytree(ROOT / "functions" / language, copy, ignore=kept)
    before = sorted(copy.rglob("*"))
    elsewhere = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "SWTCH_FUNCTIONS": str(copy.parent)}
    for platform in platforms:
        ready(language, platform)
        one = packaged(language, platform, tmp_path / "one.zip", **PLACES)
        assert packaged(language, platform, tmp_path / "other.zip", **elsewhere) == one
    assert sorted(copy.rglob("*")) == before


@pytest.mark.parametrize(("architecture", "machine"), [("amd64", 62), ("arm64", 183)])
def test_go_for_lambda_is_a_static_program_for_that_machine(
    architecture: str, machine: int, tmp_path: Path
) -> None:
    ready("go", "lambda")
    out = tmp_path / "out.zip"
    words = ["package", "go", "--platform", "lambda", "--architecture", architecture, "-o", str(out)]
    done = subprocess.run([*FAAS, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"--architectures {'x86_64' if architecture == 'amd64' else 'arm64'}" in done.stdout
    with zipfile.ZipFile(out) as archive:
        assert archive.namelist() == ["bootstrap"]
        assert (archive.getinfo("bootstrap").external_attr >> 16) & 0o777 == 0o755
        program = archive.read("bootstrap")
    # ELF: e_machine, and no program header that names an interpreter (PT_INTERP, 3).
    assert program[:5] == b"\x7fELF\x02" and int.from_bytes(program[18:20], "little") == machine
    start, size, count = (int.from_bytes(program[a:b], "little") for a, b in ((32, 40), (54, 56), (56, 58)))
    kinds = [int.from_bytes(program[start + n * size :][:4], "little") for n in range(count)]
    assert kinds and 3 not in kinds


FRAMEWORK = "github.com/GoogleCloudPlatform/functions-framework-go/funcframework"
# What the platforms' builders put around the directory: a program, the name by which it imports the function, and the function's place.
AROUND = {
    "gcf": (f'import (\n\t_ "%s"\n\t"{FRAMEWORK}"\n)\n\nfunc main() {{ funcframework.Start("8080") }}\n', "github.com/swtch-tools/swtch/functions/go", "."),
    "knative": ('import (\n\t"net/http"\n\n\tf "%s"\n)\n\nfunc main() { http.HandleFunc("/", f.Handle) }\n', "function", "f"),
    "openfaas": ('import (\n\t"net/http"\n\n\tf "%s"\n)\n\nfunc main() { http.HandleFunc("/", f.Handle) }\n', "handler/function", "function"),
}  # fmt: skip


@pytest.mark.parametrize("platform", ["gcf", "knative", "openfaas"])
def test_what_platforms_compile_in_go_compiles_as_they_do_it(platform: str, tmp_path: Path) -> None:
    ready("go", platform)
    out = tmp_path / "package"
    words = [*FAAS, "package", "go", "--platform", platform, "-o", str(out)]
    subprocess.run(words, check=True, capture_output=True)
    unformatted = subprocess.run(["gofmt", "-l", str(out)], capture_output=True, text=True, check=True)
    # The template golang-middleware refuses what is not formatted.
    assert unformatted.stdout == ""
    program, name, place = AROUND[platform]
    top = tmp_path / "top"
    shutil.copytree(out / "function" if platform == "openfaas" else out, top / place)
    main = top / "functions.local" / "app" if platform == "gcf" else top
    main.mkdir(parents=True, exist_ok=True)
    (main / "main.go").write_text(f"package main\n\n{program % name}")
    if platform == "knative":
        required = f"require {name} v0.0.0\n\nreplace {name} => ./{place}\n"
        (top / "go.mod").write_text(f"module s\n\ngo 1.24.0\n\n{required}")
    elif platform == "openfaas":
        (top / "go.mod").write_text("module handler\n\ngo 1.24.0\n")
        (top / "go.work").write_text("go 1.24.0\n\nuse (\n\t.\n\t./function\n)\n")
    done = subprocess.run(
        ["go", "build", "-o", str(tmp_path / "program"), "."], cwd=main, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_what_openfaas_compiles_in_java_compiles(tmp_path: Path) -> None:
    built = Path(ready("java", "openfaas")["built"])
    if shutil.which("javac") is None:
        pytest.skip("javac is not here")
    subprocess.run(
        [*FAAS, "package", "java", "--platform", "openfaas", "-o", str(tmp_path / "package")],
        check=True,
        capture_output=True,
    )
    sources = [str(path) for path in (tmp_path / "package" / "function").rglob("*.java")]
    path = str(built / "swtch-function-openfaas" / "lib" / "model-0.1.1.jar")
    words = ["javac", "--release", "17", "-d", str(tmp_path / "classes"), "-cp", path, *sources]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
