"""Pages of the reference that are generated: from the command's own help, the Python commands, the schemas and the package."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import subprocess
import sys
import unittest.mock
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class GenerateError(Exception):
    """A page that cannot be generated."""


# What the index says of each page.
LISTED = """\
- [The command line](reference/cli.md): every command's `--help`
- [swtch ai, swtch faas and swtch fleet](reference/python-commands.md): the same of the Python commands
- [The Python API](reference/python-api.md): from the docstrings
- [Schemas](reference/schemas.md): every field of every JSON file
"""


def pages(root: Path, swtch: Path) -> dict[str, str]:
    """All generated pages by their names in the book."""
    return {
        "reference/cli.md": _command_line(swtch),
        "reference/python-commands.md": _python_commands(root),
        "reference/schemas.md": _schemas(root),
        "reference/python-api.md": _PYTHON_API,
    }


_PYTHON_API = """\
# The Python API

Generated from the docstrings. [The Python package](../python.md) shows how to use it.

```{eval-rst}
.. automodule:: swtch
   :members:
   :imported-members:
   :undoc-members:
```
"""


def _help(swtch: Path, words: list[str]) -> str:
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(
        [swtch, *words, "--help"], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise GenerateError(f"{' '.join(['swtch', *words])} --help failed: {done.stderr.strip()}")
    return done.stdout


def _commands(help_text: str) -> list[str]:
    """The commands that a help text of clap lists, under one heading or several."""
    listed = help_text.partition("\nOptions:")[0]
    names = re.findall(r"^  ([a-z][a-z-]*)  ", listed, re.MULTILINE)
    return [name for name in names if name != "help"]


def _command_line(swtch: Path) -> str:
    top = _help(swtch, [])
    parts = [
        "# The command line\n",
        "Generated from `swtch COMMAND --help`. [Commands](../commands.md) explains the most used options.\n",
        f"```text\n{top}```\n",
    ]
    for name in _commands(top):
        # These are listed where they are not installed, too; their own page has them.
        if name in ("ai", "faas", "fleet"):
            continue
        text = _help(swtch, [name])
        parts.append(f"## swtch {name}\n\n```text\n{text}```\n")
        for inner in _commands(text):
            # Those of `swtch sched` that are schedulers run programs of their own, which may not be built.
            try:
                parts.append(f"### swtch {name} {inner}\n\n```text\n{_help(swtch, [name, inner])}```\n")
            except GenerateError:
                continue
    return "\n".join(parts)


def _python_commands(root: Path) -> str:
    # A help text is made of nothing that is compiled.
    sys.path.insert(0, str(root / "python"))
    os.environ["COLUMNS"] = "100"
    parts = [
        "# swtch ai, swtch faas and swtch fleet\n",
        "Generated from their `--help`. [AI workloads](../ai.md), [serverless functions](../faas.md) and [a fleet](../fleet.md) explain them.\n",
    ]
    with unittest.mock.patch.dict(sys.modules, {"swtch._native": unittest.mock.MagicMock()}):
        for name in ("ai", "faas", "fleet"):
            parser = importlib.import_module(f"swtch.{name}.command")._parser()
            parts.extend(_argparse_help(parser, f"swtch {name}", 2))
        for loaded in [module for module in sys.modules if module.partition(".")[0] == "swtch"]:
            if loaded != "swtch._native":
                del sys.modules[loaded]
    return "\n".join(parts)


def _argparse_help(parser: argparse.ArgumentParser, name: str, level: int) -> Iterator[str]:
    yield f"{'#' * level} {name}\n\n```text\n{parser.format_help()}```\n"
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner, one in action.choices.items():
                yield from _argparse_help(one, f"{name} {inner}", level + 1)


def _schemas(root: Path) -> str:
    parts = [
        "# Schemas of the files\n",
        "Generated from the published JSON Schemas. [Files](../formats.md) says what the figures mean.\n",
    ]
    newest: dict[str, list[Path]] = {}
    for path in sorted((root / "docs" / "schemas").glob("*.json")):
        newest.setdefault(path.stem.rpartition("-")[0], []).append(path)
    # The two that everyone meets come first.
    for name in sorted(newest, key=lambda name: (name not in ("profile", "trace"), name)):
        *older, path = newest[name]
        schema = json.loads(path.read_text(encoding="utf-8"))
        parts.append(f"## {path.stem}\n")
        links = [f"[{one.name}](../schemas/{one.name})" for one in (path, *older)]
        also = f" Older, and still read: {', '.join(links[1:])}." if older else ""
        parts.append(f"The whole schema: {links[0]}.{also}\n")
        if "description" in schema:
            parts.append(_cell(schema["description"]) + "\n")
        definitions = schema.get("$defs", schema.get("definitions", {}))
        for name, part in {"the document": schema, **definitions}.items():
            parts.extend(_fields(name, part))
    return "\n".join(parts)


def _fields(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    properties = schema.get("properties")
    if not properties:
        return
    yield f"**{name}**\n"
    required = schema.get("required", [])
    rows = ["| field | type | meaning |", "| --- | --- | --- |"]
    for field, value in properties.items():
        optional = "" if field in required else ", optional"
        value = value if isinstance(value, dict) else {}
        rows.append(f"| `{field}` | {_type(value)}{optional} | {_cell(value.get('description', ''))} |")
    yield "\n".join(rows) + "\n"


def _type(value: Mapping[str, Any]) -> str:
    if "$ref" in value:
        return str(value["$ref"]).rsplit("/", 1)[-1]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in value:
            return " or ".join(dict.fromkeys(_type(one) for one in value[several]))
    if "const" in value or "enum" in value:
        return " or ".join(f"`{json.dumps(one)}`" for one in value.get("enum", [value.get("const")]))
    kind = value.get("type", "any")
    if kind == "array":
        return f"list of {_type(value.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _cell(text: str) -> str:
    text = re.sub(r"\[([^\]]+)\]\(crate[^)]*\)|\[(`[^`]+`)\](?!\()", r"\1\2", text)
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
