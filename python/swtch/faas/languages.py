"""How the local server of a handler is started, by language."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from .directories import directory
from .platforms import LOCAL, Platform


@dataclass(frozen=True)
class Command:
    """How a program is started."""

    words: tuple[str, ...]
    """Its command line."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs besides the environment of this process."""


def server(language: str, handler: str | None = None) -> Command:
    """The local server of a language's handler, or of the user's function. Raises `CommandError` for a missing tool.

    Where there is something to compile, that is done here, so that the compiler is not measured.
    handler: `module:function`, in Python only; modules are looked for in the current directory first.
    """
    if language == "python":
        extra = [] if handler is None else ["--handler", handler]
        own = [] if handler is None else [os.getcwd()]
        path = os.pathsep.join(
            [*own, str(directory("python")), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        return Command((sys.executable, "-m", "swtch_function", *extra), {"PYTHONPATH": path})
    words, environment = Platform(language, LOCAL).command({})
    return Command(tuple(words), environment)
