"""Functions of the user's own, in any language: how they are named on the command line, and what runs them in a tier.

A function in Python, Node.js, Go or Java is called by a small program of its language, which has requests as lines and no HTTP server. A command
and a container image answer HTTP by themselves, at the port that the environment variable `PORT` names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._errors import CommandError, WrongUsage
from .builds import Recipe, cache, made, said_by, tool
from .containers import container
from .directories import NAMES, directory
from .languages import Command, server

COMMAND, IMAGE = "command", "image"
"""What answers HTTP, in place of a language."""
_NODE = (".js", ".mjs", ".cjs", "/index.js", "/index.mjs", "/index.cjs")
_CLASSES = ("target/classes", "build/classes/java/main", ".")
_JARS = ("target/dependency/*", "target/*.jar", "build/libs/*", "lib/*")


@dataclass(frozen=True)
class OwnFunction:
    """A function of the user's, which is a variant where there are several."""

    name: str
    """As the study calls it."""
    language: str
    """One of the languages, `command` or `image`."""
    what: str
    """`module:function`, `./package:Function`, `Class::method`, a command line, or an image."""

    @property
    def over_http(self) -> bool:
        """Whether it answers HTTP instead of lines."""
        return self.language in (COMMAND, IMAGE)

    def command(self) -> Command:
        """How it is started. Compilers run here, so that none is measured. Raises `CommandError`."""
        if self.language == COMMAND:
            return _of_words(shlex.split(self.what))
        return {"python": _python, "node": _node, "go": _go, "java": _java, IMAGE: container}[self.language](
            self.what
        )


def functions_of(handlers: Sequence[str], commands: Sequence[str], images: Sequence[str], words: Sequence[str], language: str | None) -> tuple[OwnFunction, ...]:  # fmt: skip
    """The functions that a command line names, in its order. Raises `WrongUsage`.

    words: a command after `--`. language: of handlers whose name does not tell it.
    """
    found = []
    for text in handlers:
        name, what = _named(text)
        found.append(OwnFunction(name or what, _language(what, language), what))
    for kind, texts in ((COMMAND, commands), (IMAGE, images)):
        for text in texts:
            name, what = _named(text)
            found.append(OwnFunction(name or what, kind, what))
    if words:
        found.append(OwnFunction(words[0], COMMAND, shlex.join(words)))
    for one in found:
        _check(one)
    # Each has a directory in the study.
    names = [directory_name(one.name) for one in found]
    twice = next((one.name for one in found if names.count(directory_name(one.name)) > 1), None)
    if twice is not None:
        raise WrongUsage(f"two functions are called {twice!r}; give each a name of its own: NAME=...")
    return tuple(found)


def directory_name(function: str) -> str:
    """The name of a function's directory in a study of several.

    >>> directory_name("two threads"), directory_name("./app:Handle")
    ('two-threads', 'app-Handle')
    """
    return re.sub(r"[^\w.+]+", "-", function).strip("-.") or "function"


def _named(text: str) -> tuple[str | None, str]:
    """`NAME=WHAT`, or only what.

    >>> _named("two threads=app:two"), _named("./pkg:Handle"), _named("node server.js --a=b")
    (('two threads', 'app:two'), (None, './pkg:Handle'), (None, 'node server.js --a=b'))
    """
    found = re.match(r"([\w][\w .+-]{0,39})=(\S.*)", text)
    # An option of a command has an equals sign too.
    if found is None or re.search(r"\s-", found[1]) or found[1].startswith("-"):
        return None, text
    return found[1].strip(), found[2]


def _check(one: OwnFunction) -> None:
    if one.language == COMMAND:
        try:
            words = shlex.split(one.what)
        except ValueError as error:
            raise WrongUsage(f"the command {one.what!r} cannot be read: {error}") from None
        if not words:
            raise WrongUsage("the command is empty; give a program that answers HTTP at the port $PORT")
    elif one.language == "java":
        if not all(one.what.partition("::")[::2]):
            raise WrongUsage(f"{one.what!r} is not CLASS::METHOD, such as com.example.App::handle")
    elif one.language == "go":
        if not all(_split(one.what)):
            raise WrongUsage(f"{one.what!r} is not PACKAGE:FUNCTION, such as ./app:Handle")
    elif one.language != IMAGE and not all(_split(one.what)):
        raise WrongUsage(f"{one.what!r} is not MODULE:FUNCTION, such as my_module:my_function")


def _split(what: str) -> tuple[str, str]:
    module, _, function = what.rpartition(":")
    return module, function


def _language(what: str, asked: str | None) -> str:
    """The language of a handler, by its form and by the files that are here. Raises `WrongUsage` where several fit."""
    if asked is not None:
        return asked
    if "::" in what:
        return "java"
    module, _ = _split(what)
    if not module:
        return "python"
    fits = []
    here = Path(module.replace(".", "/"))
    is_path = module.startswith((".", "/"))
    if not is_path and (here.with_name(here.name + ".py").is_file() or (here / "__init__.py").is_file()):
        fits.append("python")
    if module.endswith(_NODE[:3]) or any(Path(f"{module}{end}").is_file() for end in _NODE):
        fits.append("node")
    # A package has its directory, so that a module of Python of the same name is another one.
    if is_path and any(Path(module).glob("*.go")):
        fits.append("go")
    if len(fits) > 1:
        raise WrongUsage(f"{what!r} may be in {' or '.join(fits)}; give --language")
    # A module of Python may be installed anywhere.
    return fits[0] if fits else "go" if module.startswith(("./", "../")) else "python"


def _python(what: str) -> Command:
    return server("python", what)


def _node(what: str) -> Command:
    node = tool("node", "calling a function in Node.js")
    return Command((node, str(directory("node") / "own" / "lines.js"), what))


def _java(what: str) -> Command:
    java = tool("java", "calling a function in Java")
    return Command((java, "-cp", f"{java_classes()}{os.pathsep}{java_path()}", "swtch.own.Lines", what))


def java_classes() -> Path:
    """The directory with the compiled program that calls a function in Java."""
    core = directory("java")
    return made(
        Recipe(
            name="java-own",
            doing="compiling what calls a function in Java",
            tools=("javac", "java"),
            words=(
                "--release", "17", "-d", "{built}",
                str(core / "core/src/main/java/swtch/function/Json.java"),
                *sorted(map(str, (core / "own").rglob("*.java"))),
            ),
            sources=core / "own",
        )
    )  # fmt: skip


def java_path() -> str:
    """Where the user's classes are: `CLASSPATH`, or where Maven and Gradle put them."""
    named = os.environ.get("CLASSPATH")
    if named:
        return os.pathsep.join(
            os.path.abspath(one) if one else os.getcwd() for one in named.split(os.pathsep)
        )
    here = Path.cwd()
    found = [here / one for one in _CLASSES if (here / one).is_dir()]
    for pattern in _JARS:
        found += sorted(one for one in here.glob(pattern) if one.suffix == ".jar")
    return os.pathsep.join(map(str, found))


@dataclass(frozen=True)
class GoPackage:
    """A package of the user's module."""

    path: str
    """Its import path."""
    module: str
    """The module's path."""
    root: Path
    """Its directory."""


def go_package(package: str) -> GoPackage:
    """The package that is named. Raises `CommandError` for one that cannot be imported."""
    go = tool("go", "calling a function in Go")
    words = [
        go,
        "list",
        "-f",
        "{{.Name}}\t{{.ImportPath}}\t{{with .Module}}{{.Path}}\t{{.Dir}}{{end}}",
        package,
    ]
    done = said_by(words, f"finding the package {package}", {"GOFLAGS": ""})
    name, path, *module = done.strip().split("\t")
    if name == "main":
        raise CommandError(
            f"the package {package} is a program (package main), from which nothing can be imported; "
            "put the function into a package of its own, or give the program as --command where it answers HTTP"
        )
    if len(module) < 2 or not module[1]:
        raise CommandError(f"the package {package} is in no module; run go mod init in its directory")
    return GoPackage(path, module[0], Path(module[1]))


def _go(what: str) -> Command:
    package, function = _split(what)
    found = go_package(package)
    return Command((str(go_built(found, f"own.Lines(user.{function})", "calls") / "calls"),))


def go_built(package: GoPackage, statement: str, name: str) -> Path:
    """A directory with a program whose `main` is that statement; `user` is the package, and `own` is what calls functions.

    Nothing is written beside the user's sources: the program is a module of its own in a workspace with theirs. Go's own cache knows
    whether anything has changed.
    """
    go = tool("go", "calling a function in Go")
    own = directory("go") / "own"
    digest = hashlib.sha256(f"{package.root} {package.path} {statement}".encode()).hexdigest()[:16]
    into = cache() / f"go-own-{digest}"
    try:
        into.mkdir(parents=True, exist_ok=True)
        version = (
            said_by([go, "env", "GOVERSION"], "asking go for its version")
            .strip()
            .removeprefix("go")
            .split()[0]
        )
        (into / "go.mod").write_text(f"module swtch.invalid/calls\n\ngo {version}\n")
        uses = "\n".join(f"use {json.dumps(str(one))}" for one in (into, own, package.root))
        (into / "go.work").write_text(f"go {version}\n\n{uses}\n")
        (into / "main.go").write_text(
            f'package main\n\nimport (\n\tuser "{package.path}"\n\n\t"github.com/swtch-tools/swtch/functions/go/own"\n)\n\n'
            f"func main() {{ {statement} }}\n"
        )
    except OSError as error:
        raise CommandError(f"{into} cannot be written ({error.strerror}); set XDG_CACHE_HOME to a directory that you can write to") from None  # fmt: skip
    environment = {
        "GOWORK": str(into / "go.work"),
        "GOFLAGS": "",
        "CGO_ENABLED": os.environ.get("CGO_ENABLED", "0"),
    }
    words = [go, "build", "-trimpath", "-buildvcs=false", "-o", str(into / name), "."]
    said_by(words, f"compiling the function in {NAMES['go']}", environment, into)
    return into


def _of_words(words: Sequence[str]) -> Command:
    found = shutil.which(words[0])
    if found is None:
        raise CommandError(
            f"{words[0]} is not on PATH and --command starts it; install it, or correct its name"
        )
    return Command((found, *words[1:]))
