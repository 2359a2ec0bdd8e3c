"""`swtch ai list`: the models, and what is installed to run them."""

from __future__ import annotations

import argparse
import json
import platform
from typing import Any

from .._machine import available_memory_bytes
from .._text import table
from . import language, runtime
from .catalogue import MODELS, QUICK, Model
from .memory import predicted_peak_bytes

_WHEELS = {
    "numpy": "wheels for x86_64 and aarch64",
    "onnx": "wheels for x86_64 and aarch64",
    "onnxruntime": "wheels for x86_64 and aarch64, none for 32-bit Arm",
}
"""On the package index, for Linux."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser = commands.add_parser(
        "list",
        help="list the models and the packages that run them",
        description="List the sixteen models by the study's numbers, the memory that each needs, and the packages that run them.",
        epilog="examples:\n  swtch ai list\n  swtch ai list --json | jq '.models[] | select(.group == \"image recognition\") | .slug'",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints them; returns the exit status."""
    installed = runtime.installed()
    document = {
        "schema": "swtch/ai-list/1",
        "models": [_document(model) for model in MODELS],
        "language_models": [
            {
                "name": language.PREFIX + one.slug,
                "parameters": one.parameters,
                "predicted_peak_bytes": language.LanguageModel(one.slug, "token").predicted_peak_bytes(),
                "like": one.like,
            }
            for one in language.SIZES
        ],
        "packages": [
            {"name": name, "version": version, "offers": _WHEELS[name]} for name, version in installed.items()
        ],
        "architecture": platform.machine(),
        "available_memory_bytes": available_memory_bytes(),
    }
    print(json.dumps(document, indent=1) if options.json else _text(document))
    return 0


def _document(model: Model) -> dict[str, Any]:
    graph = model.build()
    return {
        "number": model.number,
        "name": model.name,
        "slug": model.slug,
        "group": model.group,
        "task": model.study_task,
        "input_shape": list(model.input_shape),
        "parameters": graph.parameters,
        "macs": graph.macs,
        "predicted_peak_bytes": predicted_peak_bytes(graph),
        "quick": model.number in QUICK,
        "source": model.source,
    }


def _text(document: dict[str, Any]) -> str:
    rows = [
        [
            str(one["number"]),
            one["slug"],
            one["task"],
            "x".join(str(side) for side in one["input_shape"][2:]),
            f"{one['parameters'] / 1e6:.2f}",
            f"{one['macs'] / 1e9:.1f}",
            f"{one['predicted_peak_bytes'] / 1e6:.0f}",
            "yes" if one["quick"] else "",
        ]
        for one in document["models"]
    ]
    lines = table(
        ["#", "name", "task", "input", "parameters (M)", "GMAC", "memory, at most (MB)", "--quick"], rows, 3
    )
    lines += ["", "Language models, each with a prompt phase and a token phase:"]
    lines += table(
        ["name", "parameters (M)", "memory, about (MB)", "like"],
        [
            [
                one["name"],
                f"{one['parameters'] / 1e6:.0f}",
                f"{one['predicted_peak_bytes'] / 1e6:.0f}",
                one["like"],
            ]
            for one in document["language_models"]
        ],
        1,
    )
    lines += ["A model of your own: swtch ai run model.onnx", ""]
    for package in document["packages"]:
        found = package["version"] or "missing: pip install 'swtch[ai]'"
        lines.append(f"{package['name']} {found} ({package['offers']})")
    return "\n".join(lines)
