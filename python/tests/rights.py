"""The rights that `docs/limits.md` has a column for, and what it says; `tests/cli/common/rights.rs` is the same for the command.

The rights are in `tests/rights.json`: the words before a command that take the other rights away.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RIGHTS: dict[str, list[str]] = json.loads((ROOT / "tests" / "rights.json").read_text())
each = pytest.mark.parametrize("rights", list(RIGHTS))


def shown(command: str, rights: str) -> str:
    """What the page says of a command with some rights."""
    table = [line.strip("|").split("|") for line in (ROOT / "docs/limits.md").read_text().splitlines()]
    cells = [[cell.strip() for cell in line] for line in table if len(line) == len(RIGHTS) + 1]
    column = next(line for line in cells if line[0] == "command").index(rights)
    return next(line for line in cells if line[0] == f"`{command}`")[column]


def tried(rights: str, module: str, *arguments: str, at: Path) -> subprocess.CompletedProcess[str]:
    """A command of the package, run with some rights in a directory."""
    words = RIGHTS[rights]
    if "--reuid=65534" in words:
        # The interpreter may be in a directory that is closed to this user. To read is not what is tried.
        sets = ("--bounding-set=", "--inh-caps=", "--ambient-caps=")
        words = [f"{word},+dac_read_search" if word.startswith(sets) else word for word in words]
        if not any(word.startswith("--ambient-caps=") for word in words):
            words.append("--ambient-caps=+dac_read_search")
    main = f"import sys; from swtch.{module}.command import main; sys.exit(main())"
    return subprocess.run(
        [*words, sys.executable, "-c", main, *arguments],
        cwd=at,
        env={**os.environ, "XDG_STATE_HOME": str(at), "XDG_CACHE_HOME": str(at), "HOME": str(at)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that everyone may write to. Skips where only some rights can be tried."""
    if os.geteuid() != 0:
        pytest.skip("only root can try what root may do")
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o777)
        yield Path(name)
