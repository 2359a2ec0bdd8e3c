"""The function in Java: built with its own tests by Maven, every adapter on loopback, and the quota from inside."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dependencies import MAVEN, listed, manifests, of_maven, of_pom
from quota_check import check_quotas
from serving import ROOT, TARGET, check_local_server, check_platform, check_runtime, free_port, run_or_skip

JAVA = ROOT / "functions" / "java"
BUILT = TARGET / "java"
VERSION = "0.1.0"
UNREACHABLE = ("Could not transfer", "Could not resolve", "Unknown host")
"""What Maven says when it cannot have something."""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """The jars, once their own tests have passed."""
    for program in ("java", "mvn"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not here")
    outcome = subprocess.run(["mvn", "-B", "-q", "package"], cwd=JAVA, capture_output=True, text=True)
    for line in outcome.stdout.splitlines() if outcome.returncode else []:
        if any(word in line for word in UNREACHABLE):
            pytest.skip(f"Maven cannot have what is needed: {line}")
    assert outcome.returncode == 0, outcome.stdout


def jar(module: str) -> Path:
    """What a module became."""
    return BUILT / module / f"{module}-{VERSION}.jar"


def path_of(module: str) -> str:
    """A module with its libraries, as a class path."""
    return f"{jar(module)}:{BUILT / module / 'lib' / '*'}"


SERVER = ["java", "-jar", str(jar("swtch-function"))]


def test_licences_of_what_is_used(tmp_path: Path) -> None:
    """As the poms say, which Maven has put into its local repository to build and test."""
    artifacts = [one for path in manifests("pom.xml") for one in of_maven(path)]
    repository = local_repository(tmp_path / "classpath.txt")
    plugins = [one for one in artifacts if one.name.startswith("org.apache.maven.plugins:")]
    # What runs in no phase up to `package` is fetched when it is first asked for something.
    unused = [
        f"{one.name}:{one.version}:help"
        for one in plugins
        if not (repository / one.name.replace(".", "/").replace(":", "/") / one.version).is_dir()
    ]
    if unused:
        run_or_skip(["mvn", "-B", "-q", "-N", *unused], JAVA, "Maven cannot have its own plugins")
    wanted = listed(MAVEN)
    assert {one.name: of_pom(repository, one) for one in artifacts} == {
        name: row.licence for name, row in wanted.items()
    }


def local_repository(into: Path) -> Path:
    """Where Maven keeps what it downloaded, by the place of a library that every module has."""
    goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath"
    command = ["mvn", "-B", "-q", "-N", goal, f"-Dmdep.outputFile={into}"]
    outcome = subprocess.run(command, cwd=JAVA, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout
    jar = next(Path(one) for one in into.read_text().split(":") if "/org/junit/" in one)
    return Path(str(jar).partition("/org/junit/")[0])


def test_the_local_server() -> None:
    check_local_server(SERVER, "java")


def test_google_cloud_functions() -> None:
    port = free_port()
    (invoker,) = (BUILT / "swtch-function-gcf" / "invoker").glob("*.jar")
    target = ["--target", "swtch.function.gcf.Handler", "--port", str(port)]
    command = ["java", "-jar", str(invoker), "--classpath", path_of("swtch-function-gcf"), *target]
    check_platform("gcf", "java", command, {"K_SERVICE": "f"}, port)


def test_knative() -> None:
    port = free_port()
    variables = {"LISTEN_ADDRESS": f"127.0.0.1:{port}", "K_SERVICE": "f"}
    check_platform("knative", "java", [*SERVER, "--knative"], variables, port)


def test_openfaas() -> None:
    # Its entry point listens there and nowhere else.
    port = 8082
    command = ["java", "-cp", path_of("swtch-function-openfaas"), "com.openfaas.entrypoint.App"]
    check_platform("openfaas", "java", command, {"OPENFAAS_NAME": "f"}, port)


def test_lambda() -> None:
    client = "com.amazonaws.services.lambda.runtime.api.client.AWSLambda"
    command = ["java", "-cp", path_of("swtch-function-lambda"), client, "swtch.function.lambda.Handler"]
    check_runtime(command, "java")


def test_the_quota_from_inside_is_the_groups() -> None:
    check_quotas(SERVER, "java")
