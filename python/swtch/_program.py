"""The program `swtch`: the package's own, or another on this machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from . import __main__ as package
from ._errors import CommandError

BINARY_VARIABLE = "SWTCH_BIN"
"""The environment variable that names the program `swtch` where the package has none."""


def binary() -> Path:
    """The program `swtch`: of this package, of `SWTCH_BIN`, or on PATH. Raises `CommandError` when there is none."""
    own = package.command()
    if own is not None:
        return own
    named = os.environ.get(BINARY_VARIABLE)
    if named:
        if not os.access(named, os.X_OK):
            raise CommandError(
                f"{BINARY_VARIABLE} names {named}, which is not a program; correct or unset it"
            )
        return Path(named)
    found = shutil.which("swtch")
    if found is None:
        raise CommandError(
            f"cannot record: the program swtch is not installed; pip install swtch, or set {BINARY_VARIABLE}"
        )
    return Path(found)
