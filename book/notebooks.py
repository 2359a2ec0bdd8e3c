"""Notebooks as pages: their text, and their cells as blocks of code."""

from __future__ import annotations

import json
from pathlib import PurePosixPath


def page(text: str, origin: str) -> str:
    """A notebook of `docs/` (Jupyter's format 4) as Markdown, with a link to itself."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        else:
            # A magic is not Python.
            language = "" if source.startswith("%") else "python"
            parts.append(f"```{language}\n{source}\n```")
    name = PurePosixPath(origin).name
    return (
        "\n\n".join(
            [
                *parts,
                f"To run it yourself: the notebook [{name}](https://github.com/swtch-tools/swtch/blob/main/{origin}).",
            ]
        )
        + "\n"
    )
