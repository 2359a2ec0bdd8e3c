"""A notebook without Jupyter: its cells run one after the other in one namespace, with the magics that swtch defines."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any


class Shell:
    """What IPython's shell has that an extension uses."""

    def __init__(self) -> None:
        self.magics: dict[tuple[str, str], Any] = {}
        self.names: dict[str, Any] = {}

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        self.magics[kind, name] = function

    def run_cell(self, cell: str) -> None:
        exec(compile(cell, "cell", "exec"), self.names)

    def push(self, names: dict[str, Any]) -> None:
        self.names.update(names)

    def run(self, cell: str) -> None:
        """Runs a cell as it stands in a notebook."""
        first, _, rest = cell.partition("\n")
        if first.startswith("%load_ext "):
            importlib.import_module(first.split()[1]).load_ipython_extension(self)
        elif first.startswith("%%"):
            name, _, line = first[2:].partition(" ")
            self.magics["cell", name](line, rest)
        else:
            self.run_cell(cell)


def run_notebook(path: Path) -> dict[str, Any]:
    """Runs all cells of a notebook; the names that they defined."""
    notebook = json.loads(path.read_text())
    assert notebook["nbformat"] == 4 and len({cell["id"] for cell in notebook["cells"]}) == len(
        notebook["cells"]
    )
    shell = Shell()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            # Nothing that one machine printed is kept.
            assert cell["outputs"] == [] and cell["execution_count"] is None
            shell.run("".join(cell["source"]))
    return shell.names
