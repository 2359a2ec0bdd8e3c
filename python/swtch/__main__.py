"""`python -m swtch`: the command that the package includes."""

from __future__ import annotations

import os
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path


def command() -> Path | None:
    """The command of this very package, wherever it was installed to; not just any `swtch` on PATH."""
    try:
        files = distribution("swtch").files or []
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if file.name == "swtch" and file.parent.name == "bin"]
    return next((path for path in found if path.is_file()), None)


def main() -> None:
    """Becomes the command, with the arguments of this process."""
    program = command()
    if program is None:
        sys.exit(
            "swtch: the command is not part of this installation; install the wheel with: pip install swtch"
        )
    os.execv(program, ["swtch", *sys.argv[1:]])


if __name__ == "__main__":
    main()
