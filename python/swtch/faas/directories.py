"""Where the handlers of the project are, by language."""

from __future__ import annotations

import os
import sysconfig
from pathlib import Path

from .._errors import CommandError

DIRECTORY_VARIABLE = "SWTCH_FUNCTIONS"
"""The environment variable that names the directory `functions` where neither the package nor the sources have it."""
LANGUAGES = ("python", "node", "go", "java", "rust")
NAMES = {"python": "Python", "node": "Node.js", "go": "Go", "java": "Java", "rust": "Rust"}
"""As people write them."""


def functions() -> Path:
    """The directory with the handlers. Raises `CommandError` when it is not here."""
    named = os.environ.get(DIRECTORY_VARIABLE)
    if named:
        if not Path(named).is_dir():
            raise CommandError(
                f"{DIRECTORY_VARIABLE} names {named}, which is not a directory; correct or unset it"
            )
        return Path(named).resolve()
    top = Path(__file__).resolve().parents[3]
    installed = Path(sysconfig.get_path("data")) / "share" / "swtch" / "functions"
    # A package that runs from its sources uses the handlers next to it, even where others are installed.
    for directory in (top / "functions" if (top / "pyproject.toml").is_file() else installed, installed):
        if directory.is_dir():
            return directory
    raise CommandError(
        f"the handlers are not installed; set {DIRECTORY_VARIABLE} to the directory `functions` of the project"
    )


def directory(language: str) -> Path:
    """A language's handler. Raises `CommandError` when it is not here."""
    found = functions() / language
    if not found.is_dir():
        raise CommandError(f"there is no handler in {language} in {found.parent}")
    return found
