"""Files that appear whole or not at all, directories for studies, and where a user's own are."""

from __future__ import annotations

import datetime
import os
import tempfile
from pathlib import Path

from ._errors import CommandError


def replace(path: Path, text: str) -> None:
    """Writes a file, whole or not at all. Raises `CommandError` when it cannot be written."""
    try:
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            file.write(text)
        os.chmod(file.name, 0o644)
        os.replace(file.name, path)
    except OSError as error:
        raise CommandError(
            f"cannot write {path} ({error.strerror}); is the disk full or read-only?"
        ) from None


def make_directory(asked: Path | None, default: str) -> Path:
    """Makes a directory: the one asked for, or the first free of `default`, `default-2` ... Raises `CommandError` when it cannot be made."""
    try:
        if asked is not None:
            asked.mkdir(parents=True, exist_ok=True)
            return asked
        number = 1
        while True:
            directory = Path(default if number == 1 else f"{default}-{number}")
            try:
                directory.mkdir()
                return directory
            except FileExistsError:
                number += 1
    except OSError as error:
        raise CommandError(
            f"cannot create the directory {error.filename} ({error.strerror}); give another with --out"
        ) from None


def user_directory(variable: str, below_home: str) -> Path:
    """The directory `swtch` of the user's caches or state, which may not be there yet. Raises `CommandError` for a user without a home directory.

    variable: what names another place, where it is absolute (XDG Base Directory Specification). below_home: where it is otherwise.
    """
    named = os.environ.get(variable)
    try:
        base = Path(named) if named and os.path.isabs(named) else Path.home() / below_home
    except RuntimeError:
        raise CommandError(
            f"this user has no home directory; set {variable} to a directory that you can write to"
        ) from None
    return base / "swtch"


def now() -> str:
    """The time as documents have it, to the second, in UTC."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
