"""What platforms are given, and the Runtime API in place of Lambda's."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import zipfile

import pytest
from faas_host import ROOT, groups_left, needs_groups

from swtch._errors import CommandError
from swtch.faas.command import main
from swtch.faas.directories import LANGUAGES
from swtch.faas.package import tarred, write, zipped
from swtch.faas.platforms import MANIFEST, PLATFORMS, Platform
from swtch.faas.runtime_api import RuntimeApi

# A runtime client as small as can be: what awslambdaric does, for one function.
CLIENT = """\
import json, os, sys, urllib.request
base = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime"
if "broken" in sys.argv:
    data = json.dumps({"errorType": "ImportError", "errorMessage": "no module\\n named x"}).encode()
    urllib.request.urlopen(urllib.request.Request(f"{base}/init/error", data=data))
    sys.exit(1)
while True:
    with urllib.request.urlopen(f"{base}/invocation/next") as got:
        number, event = got.headers["Lambda-Runtime-Aws-Request-Id"], json.loads(got.read())
        assert int(got.headers["Lambda-Runtime-Deadline-Ms"]) > 0
    kind, answer = ("error", {"errorType": "KeyError", "errorMessage": "x"}) if event.get("fail") else ("response", {"got": event})
    if event.get("proxy"):
        answer = {"statusCode": 418, "body": "tea"}
    urllib.request.urlopen(urllib.request.Request(f"{base}/invocation/{number}/{kind}", data=json.dumps(answer).encode()))
"""


@pytest.fixture
def handler():
    """The directory with the Python handler."""
    if not (ROOT / "functions/python/deploy/platforms.json").exists():
        pytest.skip("the handler is not here")
    return ROOT / "functions/python"


@pytest.fixture
def api():
    one = RuntimeApi(20)
    yield one
    one.close()


def client(api, *words):
    environment = {**os.environ, "AWS_LAMBDA_RUNTIME_API": api.api}
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, *words], env=environment, stderr=subprocess.DEVNULL
    )


def posted(url, body):
    try:
        with urllib.request.urlopen(url, data=json.dumps(body).encode()) as got:
            return got.status, got.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def test_the_runtime_api_passes_events_and_answers(api):
    process = client(api)
    try:
        assert posted(api.url, {"a": 1}) == (200, b'{"got": {"a": 1}}')
        assert posted(api.url, {"proxy": True}) == (418, b"tea")
        status, said = posted(api.url, {"fail": True})
        assert (status, json.loads(said)["errorMessage"]) == (500, "x")
        found = []
        several = [
            threading.Thread(target=lambda n=n: found.append(posted(api.url, {"n": n}))) for n in range(5)
        ]
        [one.start() for one in several], [one.join() for one in several]
        assert sorted(json.loads(said)["got"]["n"] for _, said in found) == [0, 1, 2, 3, 4]
    finally:
        process.kill()
        process.wait()


def test_a_function_that_does_not_answer_or_begin_is_told_of(api):
    api.limit_s = 0.2
    status, said = posted(api.url, {})
    assert status == 504 and b"timed out after 0.20 seconds" in said
    assert client(api, "broken").wait() == 1
    assert api.broken == "ImportError: no module named x"
    request = urllib.request.Request(
        f"http://{api.api}/2018-06-01/runtime/invocation/unknown/response", data=b"{}"
    )
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(request)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_packages_have_what_the_platform_wants_and_the_same_bytes(handler, platform, tmp_path, capsys):
    names = []
    for suffix in ("zip", "tar.gz"):
        data = []
        for copy in ("a", "b"):
            out = tmp_path / f"{copy}.{suffix}"
            assert main(["package", "python", "--platform", platform, "-o", str(out)]) == 0
            data.append(out.read_bytes())
            for path in (tmp_path / "a.zip",):
                os.utime(path, (0, 0))
        assert data[0] == data[1]
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert archive.testzip() is None
        names = archive.namelist()
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    wanted = {
        "lambda": ["lambda_function.py", "swtch_function/answer.py"],
        "gcf": ["main.py", "requirements.txt", "swtch_function/answer.py"],
        "knative": [
            "func.yaml",
            "function/func.py",
            "function/__init__.py",
            "pyproject.toml",
            "swtch_function/answer.py",
        ],
        "openfaas": [
            "stack.yaml",
            "function/handler.py",
            "function/requirements.txt",
            "function/swtch_function/answer.py",
        ],
    }[platform]
    assert set(wanted) <= set(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    printed = capsys.readouterr().out
    assert "To deploy it:\n" in printed and "swtch faas tiers --invoke" in printed.splitlines()[-1]
    directory = tmp_path / "directory"
    assert main(["package", "python", "--platform", platform, "-o", str(directory)]) == 0
    found = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*") if path.is_file())
    assert found == sorted([*names, "template.yaml"] if platform == "lambda" else names)
    assert main(["package", "python", "--platform", platform, "-o", str(directory)]) == 1
    assert "exists and is not empty" in capsys.readouterr().err


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_package_can_be_imported_where_it_lies(handler, platform, tmp_path):
    """As the platform's framework imports it; the frameworks themselves are tried by the handlers' own tests."""
    directory = tmp_path / "directory"
    write(directory, Platform("python", platform).files())
    stub = tmp_path / "functions_framework.py"
    stub.write_text("def http(function):\n    return function\n")
    code = {
        "lambda": "from lambda_function import lambda_handler; print(lambda_handler({'methods': [], 'spin_ms': 0}, None)['schema'])",
        "gcf": "from main import measure; print('swtch/faas/2')",
        "knative": "from function import new; new().handle; print('swtch/faas/2')",
        "openfaas": "from function import handler; from types import SimpleNamespace as S;"
        'said = handler.handle(S(body=b\'{"methods": [], "spin_ms": 0}\', query={}, headers={}), None);'
        "import json; print(json.loads(said['body'])['schema'])",
    }[platform]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{directory}{os.pathsep}{tmp_path}"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.stdout == "swtch/faas/2\n", done.stderr


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_its_platforms(language, platform):
    """The served and deployed files, with directories that exist; compilers make the others, in `tests/functions`."""
    manifest = json.loads((ROOT / "functions" / language / MANIFEST).read_text())
    assert [name for name in PLATFORMS if name in manifest] == list(PLATFORMS)
    one = manifest[platform]
    assert one["serve"] and one["deploy"] and one["files"]
    assert set(one) <= KEYS
    builds = "build" in one or "build" in manifest
    assert builds or "{built}" not in json.dumps(one["files"])
    assert builds or "serve_build" in one or "{built}" not in json.dumps(one["serve"])
    text = json.dumps(one)
    for name in [*one["files"].values(), *re.findall(r"\{source\}/([\w./-]+)", text)]:
        assert name.startswith("{built}/") or (ROOT / "functions" / language / name).exists(), name
    for key, has in (("framework", "package-lock.json"), ("install", "")):
        assert key not in one or (ROOT / "functions" / language / one[key] / has).exists()


def test_a_container_has_an_address_too():
    said = "\n".join(Platform("rust", "gcf").how_to_deploy("handler"))
    assert said.startswith("gcloud run deploy swtch ") and "--role roles/run.invoker" in said
    assert said.endswith("512MB=FUNCTION_URL --bearer-from 'gcloud auth print-identity-token'")
    assert "--runtime provided.al2023" in "\n".join(Platform("rust", "lambda").how_to_deploy("handler.zip"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_lines_that_deploy_make_an_address_in_every_language(language):
    """Of one kind: the second generation, an address that takes a token or a signature, and images that can be pushed."""
    said = {name: "\n".join(Platform(language, name).how_to_deploy("handler.zip")) for name in PLATFORMS}
    for permission in ("lambda:InvokeFunctionUrl", "lambda:InvokeFunction --"):
        assert f"--action {permission}" in said["lambda"]
    assert "create-function-url-config" in said["lambda"] and said["lambda"].endswith("=FUNCTION_URL --sigv4")
    if language != "rust":
        assert "--gen2" in said["gcf"] and "add-invoker-policy-binding" in said["gcf"]
    assert said["gcf"].endswith("--bearer-from 'gcloud auth print-identity-token'")
    for name in ("gcf", "knative", "openfaas"):
        assert said[name].startswith("unzip -q handler.zip -d handler\n")
    for name in ("knative", "openfaas"):
        assert "export REGISTRY=docker.io/YOU\n" in said[name]
    if language == "rust":
        assert all(
            'docker build --push -t "$REGISTRY/swtch" handler' in said[name]
            for name in ("knative", "openfaas")
        )
    else:
        stack = (ROOT / "functions" / language / "deploy/openfaas/stack.yaml").read_text()
        assert "image: ${REGISTRY:-docker.io/YOU}/swtch" in stack
        assert f"lang: {Platform(language, 'openfaas').deploy['template']}\n" in stack
    template = Platform(language, "lambda", "arm64").template()["template.yaml"].decode()
    assert "AuthType: AWS_IAM" in template and "Architectures: [arm64]" in template
    assert (
        Platform(language, "lambda")
        .how_to_deploy("a directory")[0]
        .startswith("sam deploy --template-file 'a directory/template.yaml'")
    )


FUNC_REQUIRED = {"specVersion", "created"}
FUNC_KEYS = FUNC_REQUIRED | {
    "name",
    "domain",
    "runtime",
    "registry",
    "image",
    "namespace",
    "invoke",
    "build",
    "run",
    "deploy",
}
"""Of `schema/func_yaml-schema.json` in knative/func at 023aea15. A directory without `created` is not a function to `func deploy`."""


@pytest.mark.parametrize("language", ["python", "node", "go"])
def test_knatives_files_keep_the_schema_of_func(language):
    text = (ROOT / "functions" / language / "deploy/knative/func.yaml").read_text()
    found = dict(line.split(": ", 1) for line in text.splitlines())
    assert FUNC_REQUIRED <= set(found) <= FUNC_KEYS and found["invoke"] in ("http", "cloudevent")
    assert re.fullmatch("[a-z0-9]([-a-z0-9]*[a-z0-9])?", found["name"])


KEYS = {
    "build",
    "build_environment",
    "deploy",
    "environment",
    "files",
    "framework",
    "imports",
    "install",
    "module",
    "serve",
    "serve_build",
}
WANTED = {
    ("node", "lambda"): ["adapters/lambda.js", "src/answer.js", "package.json"],
    ("node", "gcf"): ["adapters/gcf.js", "src/answer.js", "package.json"],
    ("node", "knative"): ["index.js", "adapters/knative.js", "func.yaml", "package.json"],
    ("node", "openfaas"): ["stack.yaml", "function/handler.js", "function/src/answer.js"],
    ("go", "gcf"): ["go.mod", "go.sum", "function.go", "function/answer.go", "affinity/getcpu_arm64.go"],
    ("go", "knative"): ["go.mod", "func.yaml", "handle.go", "function/answer.go"],
    ("go", "openfaas"): [
        "stack.yaml",
        "function/go.mod",
        "function/handler.go",
        "function/function/answer.go",
    ],
    ("java", "openfaas"): [
        "stack.yaml",
        "function/build.gradle",
        "function/src/main/java/com/openfaas/function/Handler.java",
        "function/src/main/java/swtch/function/Answer.java",
    ],
}
"""Packages that no compiler makes, and some of their files."""


@pytest.mark.parametrize(("language", "platform"), WANTED)
def test_packages_of_sources_have_what_the_platform_wants(language, platform, tmp_path, monkeypatch, capsys):
    # Not even looked for.
    monkeypatch.setenv("PATH", "/nonexistent")
    data = []
    for name in ("one.zip", "other.zip"):
        assert main(["package", language, "--platform", platform, "-o", str(tmp_path / name)]) == 0, (
            capsys.readouterr().err
        )
        data.append((tmp_path / name).read_bytes())
    assert data[0] == data[1]
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    assert set(WANTED[language, platform]) <= set(found)
    assert not [name for name in found if re.search(r"node_modules|_test\.go|src/test|/cmd/|\.class$", name)]
    own = re.compile(rb'"github.com/swtch-tools/swtch/functions/go/(\w+)')
    imported = {one for data in found.values() for one in own.findall(data)}
    # Google's builder keeps the module as it is; to the others it is part of theirs.
    assert bool(imported) == ((language, platform) == ("go", "gcf"))
    assert all(f"{name.decode()}/" in "".join(found) for name in imported)


@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_package_in_node_can_be_loaded_where_it_lies(platform, tmp_path):
    found = Platform("node", platform).files()
    adapter = next(name for name in found if name.endswith(f"adapters/{platform}.js"))
    write(tmp_path / "directory", found)
    if shutil.which("node") is None:
        pytest.skip("node is not on PATH")
    done = subprocess.run(
        ["node", "-e", f"require('./{adapter}')"], cwd=tmp_path / "directory", capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_archives_do_not_depend_on_the_order_or_the_machine():
    one = {"b.py": b"#!/bin/sh\n", "a/c.py": b"x"}
    other = dict(reversed(list(one.items())))
    assert zipped(one) == zipped(other) and tarred(one) == tarred(other)
    assert gzip.compress(tarred(one), mtime=0) == gzip.compress(tarred(other), mtime=0)


def test_a_handler_without_a_manifest_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "go").mkdir()
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(tmp_path))
    with pytest.raises(CommandError, match="the handler in go has no deploy/platforms.json"):
        Platform("go", "gcf")


def test_serve_runs_under_a_tier_until_it_is_interrupted(handler, tmp_path):
    """Through a framework that is made up: the real ones need environments of their own."""
    needs_groups()
    (tmp_path / "awslambdaric.py").write_text(FRAMEWORK)
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    words = [
        sys.executable,
        "-m",
        "swtch.faas.command",
        "serve",
        "python",
        "--platform",
        "lambda",
        "--memory",
        "128",
    ]
    environment = {**os.environ, "PYTHONPATH": path}
    process = subprocess.Popen(
        words,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_heeds_sigint,
    )
    try:
        line = process.stdout.readline()
        assert line.startswith("python for lambda under 128 MB: http://127.0.0.1:"), process.stderr.read()
        assert len({directory.name for directory in groups_left(process.pid)}) == 1
        status, said = posted(line.split()[-1], {"methods": [], "spin_ms": 0, "work_ms": 1})
        document = json.loads(said)
        assert (status, document["platform"]["name"], document["platform"]["memory_mb"]) == (
            200,
            "lambda",
            128,
        )
    finally:
        # An impatient user types it again; the last may meet the interpreter's own end.
        for _ in range(5):
            process.send_signal(signal.SIGINT)
            time.sleep(0.005)
        process.communicate(timeout=20)
    assert process.returncode in (0, 130, -signal.SIGINT)
    assert groups_left(process.pid) == []


FRAMEWORK = """\
import importlib, json, os, sys, urllib.request
if __name__ == "__main__":
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    module, _, name = sys.argv[1].rpartition(".")
    function = getattr(importlib.import_module(module), name)
    base = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"
    while True:
        with urllib.request.urlopen(f"{base}/next") as got:
            number, event = got.headers["Lambda-Runtime-Aws-Request-Id"], json.loads(got.read())
        answer = json.dumps(function(event, None)).encode()
        urllib.request.urlopen(urllib.request.Request(f"{base}/{number}/response", data=answer))
"""


def _heeds_sigint():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_serve_takes_no_port_of_somebody_else(handler, capsys):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        for platform in ("lambda", "gcf"):
            assert main(["serve", "python", "--platform", platform, "--port", str(port)]) == 1
            said = f"nothing can listen on port {port} (Address already in use); give another --port\n"
            assert capsys.readouterr().err == f"swtch faas: {said}"


def test_serve_ends_with_its_function(handler, tmp_path):
    (tmp_path / "awslambdaric.py").write_text(
        'import os, sys\nif __name__ == "__main__":\n    sys.exit("it is broken")\n'
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    words = [sys.executable, "-m", "swtch.faas.command", "serve", "python", "--platform", "lambda"]
    started = time.monotonic()
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1 and time.monotonic() - started < 30
    assert "it is broken\n" in done.stderr
    assert (
        done.stderr.splitlines()[-1]
        == "swtch faas: the function ended with status 1; its own output is above"
    )
