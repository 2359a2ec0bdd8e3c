"""What the tests of functions in all languages share: programs for the time of a test, and what every adapter must answer."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
TARGET = ROOT / "target" / "functions"
sys.path[:0] = [str(ROOT / "tests" / "functions"), str(ROOT / "python" / "tests")]

from schema_check import faults  # noqa: E402


def load(name: str, path: Path) -> ModuleType:
    """A file as a module, without the package that it is in."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look their module up.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


# Lambda's, as `swtch faas serve` has it. The package around it wants its native half, which these tests do without.
RuntimeApi = load("runtime_api", ROOT / "python" / "swtch" / "faas" / "runtime_api.py").RuntimeApi
SHORT = {"time_limit_ms": 60, "min_batches": 5, "spin_ms": 100}
"""A measurement that is over in half a second; enough for its shape, not for its figures."""
READY_S = 60
CACHE = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
PLACES = {
    "SWTCH_FUNCTIONS": str(ROOT / "functions"),
    "XDG_CACHE_HOME": str(TARGET / "cache"),
    # What tools keep for all projects stays where it is.
    "GOCACHE": os.environ.get("GOCACHE") or f"{CACHE}/go-build",
    "PIP_CACHE_DIR": os.environ.get("PIP_CACHE_DIR") or f"{CACHE}/pip",
}
"""For `swtch faas`: these sources, and what is made of them beside everything else that is built."""
CANNOT_BE_HAD = (
    "is not on PATH",
    "Could not transfer",
    "Could not resolve",
    "Unknown host",
    "dial tcp",
    "proxyconnect",
)
"""What `swtch faas` says of a tool that is not here, and Maven and Go when they cannot reach what they need."""
os.environ.update(PLACES)
LOCAL = {"SWTCH_FUNCTION_NAME": "f", "SWTCH_FUNCTION_MEMORY_MB": "128", "SWTCH_FUNCTION_CPUS": "0.0833"}
"""What `swtch faas` says of a tier."""
METHODS = ["pipe", "condvar", "ring"]


class Served:
    """A program that answers by HTTP."""

    def __init__(self, address: str, process: subprocess.Popen[str] | None) -> None:
        self.address, self.process = address, process

    def post(self, body: Any = b"", path: str = "/") -> tuple[int, Any]:
        """A status, and what came as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if data else {}
        request = urllib.request.Request(
            f"http://{self.address}{path}", data=data, headers=headers, method="POST"
        )
        try:
            # A Java function under the smallest quota takes up to two minutes where page faults are slow.
            with urllib.request.urlopen(request, timeout=300) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)
        except TimeoutError:
            where, starved = self._whereabouts()
            if starved:
                # Seen in whole runs on a virtual machine with Linux 6.18: for a minute one CPU ran none of the tasks that are pinned to it.
                pytest.skip(
                    f"the machine ran these threads not at all for a second, although they could run: {starved}"
                )
            raise AssertionError(f"no answer; where its threads are: {where}") from None

    def _whereabouts(self) -> tuple[str, str]:
        """Every thread of the server and of what it started, twice, in one line, those first that did something in between or wait for something but
        a lock: CPU time in ticks, switches, and the kernel function it waits in. Programs in Python then print where each thread is, and end. And those
        threads that could run and got nothing of a CPU in between."""
        looks = [self._threads()]
        quotas = [self._quota()]
        time.sleep(1)
        looks.append(self._threads())
        quotas.append(self._quota())
        for tid, (name, *_) in looks[1].items():
            if name.startswith(("python", "gunicorn")):
                with contextlib.suppress(OSError):
                    os.kill(tid, signal.SIGABRT)
        time.sleep(1)
        starved = [tid for tid, row in looks[1].items() if row[1] == "R" and looks[0].get(tid) == row]
        busiest_first = sorted(
            looks[1], key=lambda tid: (looks[0].get(tid) == looks[1][tid], "futex" in looks[1][tid][-1])
        )
        rows = [
            f"{tid} {' '.join(looks[0].get(tid, ()))} -> {' '.join(looks[1][tid])}" for tid in busiest_first
        ]
        where = "; ".join([f"quota {' -> '.join(quotas)}", *rows])
        return where, ", ".join(f"{tid} {' '.join(looks[1][tid])}" for tid in starved)

    def _quota(self) -> str:
        """What the kernel has counted of the quota of the server's cgroup, where there is one."""
        if self.process is None:
            return "not known"
        with contextlib.suppress(OSError, IndexError):
            groups = Path(f"/proc/{self.process.pid}/cgroup").read_text().splitlines()
            named = [line.split(":") for line in groups]
            paths = [path for _, controllers, path in named if "cpu" in controllers.split(",")]
            return " ".join(Path(f"/sys/fs/cgroup/cpu{paths[0]}/cpu.stat").read_text().split())
        return "not known"

    def _threads(self) -> dict[int, tuple[str, ...]]:
        threads = {}
        for tid in Path("/proc").glob("[0-9]*/task/[0-9]*"):
            with contextlib.suppress(OSError, IndexError):
                name, _, rest = (tid / "stat").read_text().rpartition(")")
                of = rest.split()
                if self.process and int(of[3]) == self.process.pid:
                    status = (tid / "status").read_text().splitlines()
                    switches = [line.split()[1] for line in status if "ctxt_switches" in line]
                    threads[int(tid.name)] = (
                        name.partition("(")[2],
                        of[0],
                        f"user {of[11]} system {of[12]} cpu {of[36]}",
                        f"switches {'+'.join(switches)}",
                        (tid / "wchan").read_text(),
                    )
        return threads


@contextlib.contextmanager
def started(
    command: list[str], environment: dict[str, str], cwd: Path | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own, ended with everything in it."""
    process = subprocess.Popen(
        command,
        # Python then prints where its threads are when it is aborted.
        env={**os.environ, "PYTHONFAULTHANDLER": "1", **environment},
        cwd=cwd,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=5)
        if process.stdout:
            process.stdout.close()


@contextlib.contextmanager
def local(
    command: list[str], environment: dict[str, str] = LOCAL, cwd: Path | None = None
) -> Iterator[Served]:
    """The local server, by the line that it prints when it is ready."""
    with started([*command, "--listen", "127.0.0.1:0"], environment, cwd) as process:
        assert process.stdout
        assert select.select([process.stdout], [], [], READY_S)[0], "the server did not say that it is ready"
        told = json.loads(process.stdout.readline())
        assert told["pid"] == process.pid
        yield Served(told["listening"], process)


@contextlib.contextmanager
def at_port(
    command: list[str], environment: dict[str, str], port: int, cwd: Path | None = None
) -> Iterator[Served]:
    """A platform's own server at a given port."""
    with started(command, environment, cwd) as process:
        wait_for(port, process)
        yield Served(f"127.0.0.1:{port}", process)


def wait_for(port: int, process: subprocess.Popen[str]) -> None:
    """Waits until a program listens there."""
    deadline = time.monotonic() + READY_S
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        assert process.poll() is None, f"the server ended with status {process.returncode}"
        time.sleep(0.05)
    pytest.fail(f"the server did not listen within {READY_S} s")


@contextlib.contextmanager
def on_lambda(
    command: list[str], environment: dict[str, str], cwd: Path | None = None
) -> Iterator[RuntimeApi]:
    """Lambda's Runtime API, with a runtime at it."""
    api = RuntimeApi(READY_S)
    variables = {
        "AWS_LAMBDA_RUNTIME_API": api.api,
        "AWS_LAMBDA_FUNCTION_NAME": "f",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
    }
    try:
        with started(command, {**variables, **environment}, cwd):
            yield api
    finally:
        api.close()


def free_port() -> int:
    """A port that no program listens at just now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def run_or_skip(command: list[str], cwd: Path, why: str, environment: dict[str, str] | None = None) -> None:
    """What a test needs built or fetched; without it the test is skipped, with the last line of output."""
    outcome = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, env={**os.environ, **(environment or {})}
    )
    if outcome.returncode:
        said = (outcome.stderr.strip() or outcome.stdout.strip() or "no message").splitlines()[-1]
        pytest.skip(f"{why}: {said}")


def check_schema(document: Any, name: str) -> None:
    """That it keeps the published schema."""
    schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text())
    assert faults(document, schema) == []


def check_error(answer: tuple[int, Any], status: int, word: str) -> None:
    """That an answer refuses something, or says what failed, as the schema of errors has it."""
    found, document = answer
    assert found == status, document
    check_schema(document, "faas-error-1")
    assert word in document["error"] and "\n" not in document["error"]


def python_with(name: str, requirements: Path) -> str:
    """The Python of an environment with those packages; skips where they cannot be had."""
    directory = TARGET / f"python-{name}"
    python, stamp = directory / "bin" / "python", directory / "requirements.sha256"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.is_file() and stamp.read_text() == digest:
        return str(python)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(directory)],
        [*pip, "--only-binary", ":all:", "-r", str(requirements)],
    ):
        run_or_skip(command, ROOT, f"{requirements.name} cannot be installed")
    stamp.write_text(digest)
    return str(python)


def ready(language: str, name: str) -> dict[str, str]:
    """What `swtch faas serve` makes before it serves: the places of `{built}` and `{framework}`; skips where that cannot be had."""
    # Here, since the tests of Python's function do without the package.
    from swtch._errors import CommandError
    from swtch.faas import frameworks
    from swtch.faas.platforms import Platform

    platform = Platform(language, name)
    try:
        return {**frameworks.ready(platform, sys.executable), **platform.prepare()}
    except CommandError as error:
        # Packages of npm that are not here, or that need a compiler; what does not compile of ours is a failure.
        if language == "node" or any(words in str(error) for words in CANNOT_BE_HAD):
            pytest.skip(str(error))
        raise


def check_document(document: Any, platform: str, language: str) -> None:
    """That it is an answer of that platform's adapter, and keeps the schema."""
    check_schema(document, "faas-2")
    assert document["platform"]["name"] == platform
    assert document["handler"]["language"] == language
    missing = {each["what"] for each in document["unavailable"]}
    for place, one in enumerate(document["measurements"]):
        counted = one["switches"]["per_expected"]
        assert counted is None or counted > 0.5, "a method that did not switch"
        assert one["pinned"] or not document["request"]["pin"] or f"measurements.{place}.cpu" in missing
        assert one["check"] is None or one["check"]["ok"]


def check_http(server: Served, platform: str, language: str) -> None:
    """What every platform that calls by HTTP must get."""
    status, found = server.post({**SHORT, "ring_tasks": 3, "work_ms": 2, "samples": True})
    assert status == 200, found
    check_document(found, platform, language)
    assert found["platform"]["function"] == "f" and found["invocation"]["cold"]
    assert [one["method"] for one in found["measurements"]] == METHODS, found["unavailable"]
    # A CPU that shares its core may be twice as slow while the work is calibrated: an eighth rules out a wrong unit, not that.
    assert found["work"]["iterations"] > 0 and found["work"]["cpu_ns"] > 250_000, found["work"]
    status, found = server.post(path="/?methods=pipe&time_limit_ms=20&spin_ms=0&pin=false")
    assert status == 200, found
    check_document(found, platform, language)
    assert (
        found["request"]["methods"] == ["pipe"]
        and found["invocation"]["number"] == 2
        and found["cpu"] is None
    )
    check_error(server.post({"colour": "red"}), 400, "colour")


def check_refusals(server: Served) -> None:
    """What is refused, each with one line; afterwards the server still answers."""
    for body in (b"{", b"[1]", b'{"spin_ms": -1}', b'"' + b"a" * 2**21):
        check_error(server.post(body), 400, "")
    check_error(server.post(path="/elsewhere"), 404, "there is nothing")
    with urllib.request.urlopen(f"http://{server.address}/healthz", timeout=10) as answer:
        assert answer.status == 200
    status, found = server.post({"methods": [], "spin_ms": 0})
    assert found["platform"]["memory_mb"] == 128 and found["platform"]["cpus"] == 0.0833
    assert status == 200 and found["measurements"] == [] and found["throttling"]["spun"] is None


def check_bad_arguments(command: list[str]) -> None:
    """A server that cannot listen ends with one line."""
    for arguments in (["--listen", "nowhere"], ["--listen", "127.0.0.1:99999"], ["--colour"]):
        outcome = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=60)
        assert outcome.returncode != 0 and outcome.stdout == ""
        assert outcome.stderr and "\tat " not in outcome.stderr and "    at " not in outcome.stderr, (
            outcome.stderr
        )


def check_local_server(command: list[str], language: str) -> None:
    """What `swtch faas` runs."""
    with local(command) as server:
        check_http(server, "local", language)
        check_refusals(server)
    check_lines(command, language)
    check_bad_arguments(command)


def check_lines(command: list[str], language: str, environment: dict[str, str] | None = None) -> None:
    """Without a server: a line for a line, and exactly the iterations that were asked for. The end of the work is reported before its costs."""
    asked = [{"methods": [], "spin_ms": 0, "work_ms": 1, "iterations": count} for count in (123_456, 7)]
    lines = [json.dumps(one) for one in (*asked, {"colour": "red"})]
    outcome = subprocess.run(
        [*command, "--lines"],
        input="\n".join(lines) + "\n",
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=60,
    )
    ready, *answers = map(json.loads, outcome.stdout.splitlines())
    # A handler may say when its runtime was up.
    assert ready["ready"] is True and set(ready) <= {"ready", "began_ns"} and len(answers) == 5, outcome
    assert answers[0] == answers[2] == {"status": 200, "document": {}, "more": True}, outcome
    for answer, one in zip(answers[1::2], asked):
        assert answer["status"] == 200
        check_document(answer["document"], "local", language)
        assert answer["document"]["work"]["iterations"] == one["iterations"]
        assert answer["document"]["request"]["iterations"] == one["iterations"]
    check_error((answers[4]["status"], answers[4]["document"]), 400, "colour")


def check_platform(
    platform: str,
    language: str,
    command: list[str],
    environment: dict[str, str],
    port: int,
    cwd: Path | None = None,
) -> None:
    """A platform's own server with the function in it, at a given port."""
    with at_port(command, environment, port, cwd) as server:
        check_http(server, platform, language)


def check_runtime(command: list[str], language: str, cwd: Path | None = None) -> None:
    """A runtime of Lambda's with the function in it."""
    with on_lambda(command, {}, cwd) as api:
        check_lambda(api, language)


def check_lambda(api: RuntimeApi, language: str) -> None:
    """What Lambda must get."""
    invocation = api.deliver(json.dumps({**SHORT, "ring_tasks": 3}).encode())
    found = json.loads(invocation.answer)
    assert not invocation.failed, found
    check_document(found, "lambda", language)
    assert found["platform"]["cpus"] == 1 and found["invocation"]["id"] == invocation.id
    assert [one["method"] for one in found["measurements"]] == METHODS, found["unavailable"]
    refused = api.deliver(b'{"colour": "red"}')
    assert refused.failed and "colour" in json.loads(refused.answer)["errorMessage"]
    event: dict[str, Any] = {
        "requestContext": {},
        "rawQueryString": "spin_ms=0&methods=pipe&time_limit_ms=20",
    }
    found = json.loads(api.deliver(json.dumps(event).encode()).answer)
    assert found["statusCode"] == 200
    check_document(json.loads(found["body"]), "lambda", language)
    event = {"requestContext": {}, "body": "eyJjb2xvdXIiOiAxfQ==", "isBase64Encoded": True}
    found = json.loads(api.deliver(json.dumps(event).encode()).answer)
    assert found["statusCode"] == 400 and "colour" in json.loads(found["body"])["error"]
    assert api.broken is None
