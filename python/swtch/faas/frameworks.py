"""The program that a platform runs functions in: whether it is here, or installed for this."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .._errors import CommandError
from .builds import Recipe, made, tool
from .directories import NAMES
from .platforms import Platform


def ready(platform: Platform, python: str) -> dict[str, str]:
    """The values for `Platform.command`. Raises `CommandError` when the framework is missing and cannot be installed.

    python: the interpreter that has Python's. Those of Node.js are installed into the cache, at the versions of their lock files.
    """
    if platform.module is not None:
        _check(platform, platform.module, python)
        return {"python": python}
    if platform.framework is None:
        return {}
    return {"framework": str(installed(platform, platform.framework))}


def installed(platform: Platform, listed: Path) -> Path:
    """The directory with `node_modules`.

    listed: the directory with `package-lock.json`.
    """
    node = Path(tool("node", f"serving the handler in {NAMES[platform.language]}"))
    # Compilers use the headers of this node; npm would otherwise fetch them.
    prefix = node.resolve().parents[1]
    here = (prefix / "include" / "node" / "node.h").is_file()
    return made(
        Recipe(
            name=f"node-{platform.name}",
            doing=f"installing {platform.name}'s framework for {NAMES[platform.language]}",
            tools=("npm", "node"),
            words=("ci", "--no-audit", "--no-fund"),
            sources=listed,
            copied=True,
            environment={"npm_config_nodedir": str(prefix)} if here else {},
        )
    )


def _check(platform: Platform, module: str, python: str) -> None:
    try:
        there = subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0
    except OSError as error:
        raise CommandError(f"{python} cannot be run ({error.strerror}); give another --python") from None
    if not there:
        raise CommandError(
            f"{platform.name} needs {module}, which {python} does not have; {python} -m pip install -r {platform.requirements}"
        )
