"""What each platform wants of a handler: which files in which places, and what runs them here (`functions/LANGUAGE/deploy/platforms.json`).

A manifest has for each platform `files` (place in the archive to place in the language's folder; with a slash at its end, everything
below), `serve` (a command line), `environment` and `deploy`; `module` and `install` name what must be there to serve, in Python.
`{port}`, `{memory_mb}`, `{python}`, `{source}` (the language's folder) and `{out}` are filled in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._errors import CommandError
from .languages import folder

PLATFORMS = ("lambda", "gcf", "knative", "openfaas")
MANIFEST = "deploy/platforms.json"
_NEVER = {"__pycache__", "node_modules", ".pytest_cache", "target"}


class Platform:
    """A language's handler on a platform. Raises `CommandError` when its folder does not say how."""

    def __init__(self, language: str, name: str) -> None:
        self.source = folder(language)
        """The language's folder."""
        self.language, self.name = language, name
        path = self.source / MANIFEST
        try:
            manifest = json.loads(path.read_text())
        except OSError:
            raise CommandError(
                f"the handler in {language} has no {MANIFEST}, which says what platforms want"
            ) from None
        except ValueError as error:
            raise CommandError(f"{path} is no JSON ({error})") from None
        if name not in manifest:
            raise CommandError(
                f"the handler in {language} has no adapter for {name}; it has {', '.join(manifest)}"
            )
        self._of: dict[str, Any] = manifest[name]

    @property
    def module(self) -> str | None:
        """What Python must be able to import to serve it."""
        found: str | None = self._of.get("module")
        return found

    @property
    def requirements(self) -> Path:
        """Where the packages are listed that it needs to be served."""
        return self.source / str(self._of.get("install", ""))

    def files(self) -> dict[str, bytes]:
        """Everything that is deployed, by its place. Raises `CommandError` for what is not there."""
        found: dict[str, bytes] = {}
        for place, name in self._of["files"].items():
            if place.endswith("/"):
                below = dict(_tree(self.source / name))
                if not below:
                    raise CommandError(f"{self.source / name} is empty or missing; was it built?")
                found |= {f"{place.lstrip('./')}{inside}": data for inside, data in below.items()}
            else:
                found[place] = _read(self.source / name)
        return found

    def command(self, values: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
        """The command line that serves it in its folder, and its environment. What has no value is left out of that."""
        if "serve" not in self._of:
            raise CommandError(
                f"the handler in {self.language} cannot be served for {self.name} here; package it"
            )
        given = {**values, "source": str(self.source)}
        words = [_filled(word, given) for word in self._of["serve"]]
        environment = {}
        for name, text in self._of.get("environment", {}).items():
            if all(f"{{{key}}}" not in text for key in ("memory_mb",) if key not in given):
                environment[name] = _filled(text, given)
        return words, environment

    def how_to_deploy(self, out: str) -> str:
        """The next step, in one line."""
        return _filled(self._of.get("deploy", ""), {"out": out})


def _filled(text: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _tree(top: Path) -> list[tuple[str, bytes]]:
    found = []
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top)
        if path.is_file() and not _NEVER & set(name.parts) and path.suffix != ".pyc":
            found.append((name.as_posix(), _read(path)))
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(
            f"{path} cannot be read ({error.strerror}); is the project's folder functions complete?"
        ) from None
