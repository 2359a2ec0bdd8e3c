"""The handlers of the project, by language: where they are and how their local servers are started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._errors import CommandError
from .invoke import one_line

FOLDER_VARIABLE = "SWTCH_FUNCTIONS"
"""The environment variable that names the folder `functions` where neither the package nor the sources have it."""
LANGUAGES = ("python", "node", "go", "java")
_BUILD_LIMIT_S = 600


@dataclass(frozen=True)
class Command:
    """How a program is started."""

    words: tuple[str, ...]
    """Its command line."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs besides the environment of this process."""


def functions() -> Path:
    """The folder with the handlers. Raises `CommandError` when it is not here."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named:
        if not Path(named).is_dir():
            raise CommandError(f"{FOLDER_VARIABLE} names {named}, which is no folder; correct or unset it")
        return Path(named).resolve()
    installed = Path(sysconfig.get_path("data")) / "share" / "swtch" / "functions"
    sources = Path(__file__).resolve().parents[3] / "functions"
    for folder in (installed, sources):
        if folder.is_dir():
            return folder
    raise CommandError(f"the handlers are not here; set {FOLDER_VARIABLE} to the project's folder functions")


def folder(language: str) -> Path:
    """A language's handler. Raises `CommandError` when it is not here."""
    found = functions() / language
    if not found.is_dir():
        raise CommandError(f"there is no handler in {language} in {found.parent}")
    return found


def server(language: str, handler: str | None = None) -> Command:
    """The local server of a language's handler, or of a function of one's own. Raises `CommandError` for what is not installed.

    handler: `module:function`, in Python only; modules are looked for in the current folder first.
    """
    if language == "python":
        extra = [] if handler is None else ["--handler", handler]
        own = [] if handler is None else [os.getcwd()]
        path = os.pathsep.join([*own, str(folder("python")), *filter(None, [os.environ.get("PYTHONPATH")])])
        return Command((sys.executable, "-m", "swtch_function", *extra), {"PYTHONPATH": path})
    made = {"node": _node, "go": _go, "java": _java}[language]()
    return Command(made)


def _node() -> tuple[str, ...]:
    return (_tool("node", "node"), str(folder("node") / "src" / "server.js"))


def _go() -> tuple[str, ...]:
    """Compiled into the cache, so that the compiler is no part of what is measured."""
    source = folder("go")
    ready = source / "swtch-function"
    if ready.is_file():
        return (str(ready),)
    binary = _cache() / "go" / "swtch-function"
    binary.parent.mkdir(parents=True, exist_ok=True)
    _build("go", [_tool("go", "go"), "build", "-o", str(binary), "./cmd/swtch-function"], source)
    return (str(binary),)


def _java() -> tuple[str, ...]:
    source = folder("java")
    java = _tool("java", "java")
    jars = _jars(source)
    if not jars:
        _build("java", [_tool("mvn", "java"), "-q", "-B", "-DskipTests", "package"], source)
        jars = _jars(source)
    if not jars:
        raise CommandError(f"there is no .jar in {source / 'target'} after building it")
    return (java, "-jar", str(jars[0]))


def _jars(source: Path) -> list[Path]:
    """The one with everything in it first."""
    found = (source / "target").glob("*.jar")
    usable = [one for one in found if not one.name.startswith("original-") and "sources" not in one.name]
    return sorted(usable, key=lambda one: -one.stat().st_size)


def _build(language: str, command: list[str], where: Path) -> None:
    try:
        done = subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=_BUILD_LIMIT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"the handler in {language} cannot be built: {one_line(str(error))}") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise CommandError(
            f"the handler in {language} cannot be built: {one_line(said[-1] if said else 'no reason was given')}"
        )


def _tool(name: str, language: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise CommandError(f"{name} is not on PATH, which the handler in {language} needs; install it")
    return found


def _cache() -> Path:
    state = os.environ.get("XDG_CACHE_HOME")
    return (Path(state) if state and os.path.isabs(state) else Path.home() / ".cache") / "swtch" / "functions"
