"""What each platform wants of a handler: which files in which places, and what runs them here (`functions/LANGUAGE/deploy/platforms.json`).

A manifest has for each platform, and for `local` where the local server takes more than Python:

- `files`: place in the archive to place in the language's directory; with a slash at its end, everything below. Tests are left out.
- `imports`: what import paths in Go begin with, to what they begin with there.
- `build`: a command line that makes the contents of `{built}`, which `files` and `serve` name, with `build_environment`. It is
  at the top of the manifest for all platforms.
- `serve`: a command line that serves the files in the directory where they lie, with `environment`. `serve_build` takes the
  place of `build` where it takes something else.
- `framework`: a directory with `package-lock.json` that npm installs to serve; its place is `{framework}`. `module` and `install`:
  what Python must have to serve, and the list that pip takes.
- `deploy`: what the platform calls it, for the lines that deploy it (`deploy.py`).

`{port}`, `{memory_mb}`, `{python}`, `{source}` (the language's directory), `{architecture}` and `{out}` are filled in.
"""

from __future__ import annotations

import json
import os
import platform as machine
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._errors import CommandError
from . import deploy
from .builds import Recipe, made, source_files, tool
from .directories import NAMES, directory

PLATFORMS = ("lambda", "gcf", "knative", "openfaas")
LOCAL = "local"
"""The handler's own server, for `swtch faas measure` and `tiers`."""
MANIFEST = "deploy/platforms.json"
ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}
"""As Go calls what programs are compiled for, to as AWS does."""
_HERE = {"x86_64": "amd64", "aarch64": "arm64"}
_TOOLS = {"go": ("go",), "java": ("mvn", "java"), "rust": ("cargo",)}
"""What `build` takes; its own first word is the first of them."""


class Platform:
    """A language's handler on a platform. Raises `CommandError` when its directory does not say how."""

    def __init__(
        self, language: str, name: str, architecture: str | None = None, source: Path | None = None
    ) -> None:
        """architecture: the one to compile for; this machine's when `None`. source: in place of the language's directory, with a function of
        the user's own."""
        self.source = source or directory(language)
        """The language's directory."""
        self.language, self.name = language, name
        self.architecture = architecture or _HERE.get(machine.machine(), machine.machine())
        """As Go calls it."""
        path = self.source / MANIFEST
        try:
            manifest = json.loads(path.read_text())
        except OSError:
            raise CommandError(
                f"the handler in {language} has no {MANIFEST}, which describes the platforms"
            ) from None
        except ValueError as error:
            raise CommandError(f"{path} is not JSON ({error})") from None
        if name not in manifest:
            have = ", ".join(one for one in manifest if one in PLATFORMS)
            raise CommandError(f"the handler in {language} has no adapter for {name}; it has {have}")
        shared = {key: manifest[key] for key in ("build", "build_environment") if key in manifest}
        self._of: dict[str, Any] = {**shared, **manifest[name]}
        self._done: dict[str, Path] = {}

    @property
    def module(self) -> str | None:
        """What Python must be able to import to serve it."""
        found: str | None = self._of.get("module")
        return found

    @property
    def requirements(self) -> Path:
        """Where the packages are listed that it needs to be served."""
        return self.source / str(self._of.get("install", ""))

    @property
    def framework(self) -> Path | None:
        """The directory with the list of what npm installs to serve it."""
        found = self._of.get("framework")
        return None if found is None else self.source / found

    @property
    def is_compiled_for_one(self) -> bool:
        """Whether what is deployed is a program for one architecture."""
        return "build" in self._of and "{architecture}" in json.dumps(self._of.get("build_environment"))

    def files(self) -> dict[str, bytes]:
        """Everything that is deployed, by its place. Raises `CommandError` for what is not there, or cannot be built."""
        given = {"built": str(self._built("build"))} if "{built}" in json.dumps(self._of["files"]) else {}
        found: dict[str, bytes] = {}
        for place, name in self._of["files"].items():
            path = self.source / _filled(name, given)
            if place.endswith("/"):
                below = {inside: _read(file) for inside, file in source_files(path)}
                if not below:
                    raise CommandError(
                        f"{path} is empty or missing; is the project's directory functions complete?"
                    )
                found |= {f"{place.lstrip('./')}{inside}": data for inside, data in below.items()}
            else:
                found[place] = _read(path)
        return {place: self._renamed(place, data) for place, data in found.items()}

    def command(self, values: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The command line that serves it in its directory, and its environment. Variables without a value are left out."""
        if "serve" not in self._of:
            raise CommandError(
                f"the handler in {self.language} cannot be served for {self.name} here; package it"
            )
        given = {**values, "source": str(self.source), **self.prepare()}
        words = [_filled(word, given) for word in self._of["serve"]]
        if os.sep not in words[0]:
            words[0] = tool(words[0], f"serving the handler in {NAMES[self.language]}")
        environment = {}
        for name, text in self._of.get("environment", {}).items():
            if all(f"{{{key}}}" not in text for key in ("memory_mb",) if key not in given):
                environment[name] = _filled(text, given)
        return words, environment

    def prepare(self) -> dict[str, str]:
        """Builds what serving takes, which may take minutes the first time; returns its place for the command line."""
        if "{built}" not in json.dumps(self._of.get("serve")):
            return {}
        return {"built": str(self._built("serve_build" if "serve_build" in self._of else "build"))}

    @property
    def deploy(self) -> dict[str, str]:
        """What the platform calls it."""
        found: dict[str, str] = self._of["deploy"]
        return found

    def how_to_deploy(self, out: str) -> list[str]:
        """The next steps, a command a line."""
        return deploy.lines(self.name, self.deploy, out, self._architecture)

    def template(self) -> dict[str, bytes]:
        """What a directory has besides, from which the platform's own tool makes the function; nothing but for Lambda."""
        if self.name != "lambda":
            return {}
        return {deploy.TEMPLATE: deploy.template(self.deploy, self._architecture).encode()}

    @property
    def _architecture(self) -> str:
        """As AWS calls it."""
        return ARCHITECTURES.get(self.architecture, self.architecture)

    def _built(self, which: str) -> Path:
        """The directory with what was compiled."""
        if which in self._done:
            return self._done[which]
        values = {"architecture": self.architecture}
        environment = self._of.get("build_environment", {})
        recipe = Recipe(
            name=self.language,
            doing=f"compiling the handler in {NAMES[self.language]}",
            tools=_TOOLS[self.language],
            words=tuple(_filled(word, values) for word in self._of[which][1:]),
            sources=self._sources,
            environment={name: _filled(text, values) for name, text in environment.items()},
        )
        self._done[which] = made(recipe)
        return self._done[which]

    @property
    def _sources(self) -> Path:
        """What is compiled: of a function in Java, which Lambda calls by itself, only what serves it here."""
        return (
            self.source
            if (self.source / "pom.xml").is_file() or self.language != "java"
            else directory("java")
        )

    def _renamed(self, place: str, data: bytes) -> bytes:
        """A file in Go as it is in the module that the platform wants it in."""
        if place.endswith(".go"):
            for before, after in self._of.get("imports", {}).items():
                data = data.replace(f'"{before}'.encode(), f'"{after}'.encode())
        return data


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(
            f"{path} cannot be read ({error.strerror}); is the project's directory functions complete?"
        ) from None
