"""A function of the user's own in place of the project's handler, behind the same adapters of platforms, for `package` and `serve`.

AWS Lambda calls functions in Python, Node.js, Go and Java by itself, so that no adapter is between. Elsewhere the core of the project's
handler is replaced by a small one that calls the function. The result is a directory as `functions/LANGUAGE`, with a manifest of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._errors import CommandError, WrongUsage
from .builds import NEVER, cache, said_by, source_files, tool
from .directories import directory
from .own import GoPackage, OwnFunction, functions_of, go_package, java_classes, java_path
from .platforms import MANIFEST

_MOST_BYTES = 250 << 20
"""As AWS Lambda takes them."""
_NOT_USERS = NEVER - {"node_modules", "target"} | {"venv", "env"}
_LAMBDA = "github.com/aws/aws-lambda-go"
_OURS = "github.com/swtch-tools/swtch/functions/go"
_GO_PARTS = ("affinity", "clock", "document", "host", "quota", "request", "stats", "switching", "work")
"""Of the project's handler, which a function of the user's does not need."""


def own_source(handler: str | None, options: argparse.Namespace) -> Path | None:
    """The directory for a function that the command line names; `None` for the project's handler."""
    if handler is None:
        return None
    (own,) = functions_of([handler], [], [], [], options.language)
    return derived(own, options.platform)


def derived(own: OwnFunction, platform: str) -> Path:
    """The directory of the function for a platform. Raises `CommandError` and `WrongUsage`."""
    makers = {"python": _python, "node": _node, "go": _go, "java": _java}
    if own.language not in makers:
        raise WrongUsage("a program or an image is deployed as it is; give --handler")
    into = (
        cache()
        / f"package-{own.language}-{platform}-{re.sub(r'[^A-Za-z0-9]+', '-', f'{Path.cwd()} {own.what}')[-80:]}"
    )
    shutil.rmtree(into, ignore_errors=True)
    try:
        into.mkdir(parents=True)
        makers[own.language](own, platform, into)
    except OSError as error:
        raise CommandError(f"{into} cannot be written ({error.strerror}); set XDG_CACHE_HOME to a directory that you can write to") from None  # fmt: skip
    return into


def _python(own: OwnFunction, platform: str, into: Path) -> None:
    core = directory("python")
    module, _, function = own.what.rpartition(":")
    for part in ("adapters", "deploy", "requirements"):
        shutil.copytree(core / part, into / part)
    shutil.copytree(core / "own" / "swtch_function", into / "swtch_function")
    (into / "swtch_function" / "called.py").write_text(f"HANDLER = {own.what!r}\n")
    _copy_user(into / "user")
    needed = [line for line in _lines(Path("requirements.txt")) if not line.startswith("-")]
    if platform == "lambda":
        handler = f"{module}.{function}"
        serve = ["{python}", "-m", "awslambdaric", handler]
        _write(into, core, platform, files={"./": "user"}, serve=serve, deploy={"handler": handler})
        return
    shutil.copytree(into / "user", into / "swtch_function" / "user")
    for name in ("requirements/gcf.txt", "deploy/openfaas/requirements.txt"):
        text = (into / name).read_text().rstrip("\n")
        (into / name).write_text("\n".join([text, *needed]) + "\n")
    project = into / "deploy/knative/pyproject.toml"
    project.write_text(
        project.read_text().replace("dependencies = []", f"dependencies = {json.dumps(needed)}")
    )
    _write(into, core, platform)


def _node(own: OwnFunction, platform: str, into: Path) -> None:
    core = directory("node")
    module, _, function = own.what.rpartition(":")
    for part in ("adapters", "deploy", "platforms"):
        shutil.copytree(core / part, into / part, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(core / "own" / "src", into / "src")
    shutil.copyfile(core / "own" / "call.js", into / "src" / "call.js")
    shutil.copyfile(core / "package.json", into / "package.json")
    (into / "src" / "called.json").write_text(json.dumps({"handler": own.what}) + "\n")
    if platform == "lambda":
        # Lambda installs nothing.
        _copy_user(into / "user", installed=True)
        handler = f"{re.sub(r'[.][cm]?js$', '', module)}.{function}"
        serve = ["node", "{framework}/node_modules/aws-lambda-ric/bin/index.mjs", handler]
        _write(into, core, platform, files={"./": "user"}, serve=serve, deploy={"handler": handler})
        return
    _copy_user(into / "src" / "user")
    needed = (
        json.loads(Path("package.json").read_text()).get("dependencies", {})
        if Path("package.json").is_file()
        else {}
    )
    for name in ("package.json", "deploy/gcf/package.json", "deploy/knative/package.json"):
        document = json.loads((into / name).read_text())
        document["dependencies"] = {**needed, **document.get("dependencies", {})}
        (into / name).write_text(json.dumps(document, indent=2) + "\n")
    _write(into, core, platform)


def _go(own: OwnFunction, platform: str, into: Path) -> None:
    core = directory("go")
    package, _, function = own.what.rpartition(":")
    found = go_package(package)
    for name, path in source_files(core):
        if name.split("/")[0] not in (*_GO_PARTS, "cmd", "function", "own"):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, into / name)
    (into / "own").mkdir()
    shutil.copyfile(core / "own" / "own.go", into / "own" / "own.go")
    (into / "function").mkdir()
    (into / "function" / "function.go").write_text(
        f'// Package function is a function of the user\'s own over HTTP.\npackage function\n\nimport (\n\t"net/http"\n\n\tuser "{found.path}"\n\n'
        f'\t"{_OURS}/own"\n)\n\n// Handler answers requests of a platform that speaks HTTP.\n'
        f"func Handler(string) http.HandlerFunc {{ return own.Handler(user.{function}) }}\n"
    )
    shutil.rmtree(into / "adapters" / "lambda", ignore_errors=True)
    if platform == "lambda":
        (into / "adapters" / "lambda").mkdir()
        (into / "adapters" / "lambda" / "main.go").write_text(
            f'package main\n\nimport (\n\t"{_LAMBDA}/lambda"\n\n\tuser "{found.path}"\n)\n\nfunc main() {{ lambda.Start(user.{function}) }}\n'
        )
    for name, path in source_files(found.root):
        (into / "user" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, into / "user" / name)
    needs = _required(found)
    for module in ("go.mod", "deploy/knative/go.mod", "deploy/openfaas/go.mod"):
        text = (into / module).read_text()
        where = "./user"
        (into / module).write_text(
            f"{text}\nrequire {found.module} v0.0.0\n\nreplace {found.module} => {where}\n{needs}"
        )
    if needs or platform in ("lambda", "gcf"):
        go = tool("go", "packaging a function in Go")
        # What the adapters and the user's module need together.
        said_by(
            [go, "mod", "tidy"],
            "finding what the function in Go needs",
            {"GOFLAGS": "", "GOWORK": "off"},
            into,
        )
    below = {"knative": "", "openfaas": "function/", "gcf": ""}.get(platform)
    manifest = json.loads((core / MANIFEST).read_text())[platform]
    files = {
        place: name
        for place, name in manifest["files"].items()
        if place.rstrip("/").rpartition("/")[2] not in _GO_PARTS
    }
    if below is not None:
        files |= {f"{below}user/": "user", f"{below}own/": "own"}
    _write(into, core, platform, files=files)


def _required(of: GoPackage) -> str:
    """What the user's module requires: a module that replaces another one by a directory has to require it too."""
    text = (of.root / "go.mod").read_text()
    blocks = re.findall(r"^require\s*\([^)]*\)|^require\s+\S+\s+\S+.*$", text, re.MULTILINE)
    return "".join(f"\n{block}\n" for block in blocks)


def _java(own: OwnFunction, platform: str, into: Path) -> None:
    core = directory("java")
    (into / "lib").mkdir()
    for number, name in enumerate(filter(None, java_path().split(os.pathsep))):
        if Path(name).is_dir():
            _jar(Path(name), into / "lib" / f"user-{number}.jar")
        elif Path(name).is_file():
            shutil.copyfile(name, into / "lib" / Path(name).name)
    if not any((into / "lib").iterdir()):
        raise CommandError("there are no classes to package; compile them, or set CLASSPATH")
    if platform == "lambda":
        runtime = "com.amazonaws.services.lambda.runtime.api.client.AWSLambda"
        serve = ["java", "-cp", "lib/*:{built}/swtch-function-lambda/lib/*", runtime, own.what]
        _write(into, core, platform, files={"lib/": "lib"}, serve=serve, deploy={"handler": own.what})
        return
    # Google's and OpenFaaS's own frameworks call a class of their interface, which no class of the user's has. Both take an image as well.
    _jar(java_classes(), into / "lib" / "swtch-own.jar")
    serve = ["java", "-cp", "lib/*", "swtch.own.Http", own.what]
    starts = json.dumps(serve)
    text = (core / "deploy/knative/Dockerfile").read_text()
    text = re.sub(r"#.*\n", "", text, count=1)
    text = re.sub(r"COPY .*", "COPY lib lib", re.sub(r"CMD .*", lambda _: f"CMD {starts}", text))
    (into / "Dockerfile").write_text(text)
    files = {"lib/": "lib", "Dockerfile": "Dockerfile"}
    if platform == "knative":
        service = (core / "deploy/knative/service.yaml").read_text()
        kept = [
            line
            for line in service.splitlines()
            if "containerConcurrency" not in line and "as it measures" not in line
        ]
        (into / "service.yaml").write_text("\n".join(kept) + "\n")
        files["service.yaml"] = "service.yaml"
    deploy = {"how": {"gcf": "container"}.get(platform, "image")}
    environment = {"LISTEN_ADDRESS": "127.0.0.1:{port}"}
    _write(into, core, platform, files=files, serve=serve, deploy=deploy, environment=environment)


def _jar(classes: Path, into: Path) -> None:
    """The classes of a directory, without the times at which they were made."""
    jar = tool("jar", "packaging a function in Java")
    names = sorted(one.relative_to(classes).as_posix() for one in classes.rglob("*.class"))
    if names:
        words = [jar, "--create", "--file", str(into), "--date=1980-02-01T00:00:00Z", *names]
        said_by(words, "packaging classes", at=classes)


def _write(
    into: Path,
    core: Path,
    platform: str,
    files: dict[str, str] | None = None,
    serve: list[str] | None = None,
    deploy: dict[str, str] | None = None,
    environment: dict[str, str] | None = None,
) -> None:
    """The manifest, of that platform only."""
    whole: dict[str, Any] = json.loads((core / MANIFEST).read_text())
    of = {**whole[platform]}
    of["files"] = files or of["files"]
    of["serve"] = serve or of["serve"]
    of["deploy"] = {**of["deploy"], **(deploy or {})}
    if environment:
        of["environment"] = {**of.get("environment", {}), **environment}
    shared = {key: whole[key] for key in ("build", "build_environment") if key in whole}
    path = into / MANIFEST
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**shared, platform: of}, indent=1) + "\n")


def _copy_user(into: Path, installed: bool = False) -> None:
    """The current directory. Raises `CommandError` when it is larger than any platform takes."""
    size = 0
    for name, path in _of_user(Path.cwd(), installed):
        size += path.stat().st_size
        if size > _MOST_BYTES:
            raise CommandError(
                f"{Path.cwd()} has more than {_MOST_BYTES >> 20} MiB, which no platform takes; package from the function's own directory"
            )
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, into / name)


def _of_user(top: Path, installed: bool) -> Iterator[tuple[str, Path]]:
    """Files without hidden ones, environments, and what is installed or made of them."""
    for path in sorted(top.iterdir()):
        skipped = path.name in _NOT_USERS or path.name.startswith(".") or path.suffix == ".pyc"
        if skipped or (path.name == "node_modules" and not installed):
            continue
        if path.is_dir() and not path.is_symlink():
            if not (path / "pyvenv.cfg").is_file():
                yield from ((f"{path.name}/{name}", file) for name, file in _of_user(path, installed))
        elif path.is_file():
            yield path.name, path


def _lines(path: Path) -> list[str]:
    return (
        [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
        if path.is_file()
        else []
    )
