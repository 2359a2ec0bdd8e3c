"""A model under another scheduler in a virtual machine, where the kernel here has no sched_ext: `swtch vm` with this very Python in it.

The guest is emulated, and slower by tens of times. Its figures are compared with those of the kernel's own scheduler in the same guest,
never with those of this machine.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .._program import BINARY_VARIABLE, binary
from . import in_guest, scheduler
from .advice import of_the_switches
from .catalogue import Model
from .errors import AiError
from .figures import ratio
from .scheduler import STOCK
from .settings import Settings
from .summarise import Summary, summarise

REPEATS = 3
"""Runs under each scheduler."""
DURATION_S = 4.0
"""A measured phase, in the guest's time."""
_LIMIT = "20m"
_HANG = "5m"
_BASE_BYTES = 1_500_000_000
"""Memory of the guest in addition to the model's: its files are in it."""
_MODULES = ("numpy", "onnx", "onnxruntime", "swtch.ai.in_guest", "swtch.ai.worker", "swtch.ai.sweep")
"""What is imported there; where these lie is what travels."""
_LEFT_OUT = frozenset({"test", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "site-packages"})
"""Of Python's library, what a model has no use for."""


def compare(model: Model, settings: Settings, names: Sequence[str], seed: int, cpus: int) -> dict[str, Any]:
    """Runs a model in a guest with this many CPUs under the kernel's own scheduler and others, in turn; returns `tuned.in_vm`.

    Raises `AiError` when the guest, the schedulers or the runs fail.
    """
    turns = [name for repeat in range(REPEATS) for name in _rotated([STOCK, *names], repeat)]
    # The guest may not have the other tuned settings.
    plain = replace(settings, pinned=None, cpu_quota=None, scheduler=STOCK)
    asked = {
        "model": model.slug,
        "seed": seed,
        "duration_s": DURATION_S,
        "settings": [replace(plain, scheduler=name).to_document() for name in turns],
    }
    memory_bytes = model.predicted_peak_bytes(settings.batch) + _BASE_BYTES
    rows = list(_rows(_command(asked, [scheduler.program(name) for name in names], cpus, memory_bytes)))
    failed = next((row for row in rows if row["outcome"] != "complete"), None)
    if failed is not None:
        raise AiError(f"in the virtual machine {failed['id']} failed: {failed['error']}")
    if len(rows) < len(turns):
        raise AiError(
            f"the virtual machine ended after {len(rows)} of {len(turns)} runs; try: swtch vm -- true"
        )
    return verdict(summarise(rows), cpus)


def verdict(summaries: Sequence[Summary], cpus: int) -> dict[str, Any]:
    """A sentence for each scheduler, and what it rests on. Pure."""
    stock = next(one for one in summaries if one.settings.scheduler == STOCK)
    sentences = []
    for one in summaries:
        before, after = stock.figures["images_per_second"], one.figures["images_per_second"]
        if one is stock or before is None or after is None:
            continue
        gain = ratio(after, before)
        if gain is None:
            continue
        sentences.append(
            f"{one.settings.scheduler} gives {gain.median:.2f} x the images a second of {STOCK} "
            f"({gain.ci_low:.2f} to {gain.ci_high:.2f}, {one.runs} runs of each){of_the_switches(stock, one)}"
        )
    text = (
        f"In a virtual machine of {cpus} emulated CPUs, with {stock.settings.label}: {'; '.join(sentences)}"
    )
    return {"text": text, "cpus": cpus, "summaries": [one.to_document() for one in summaries]}


def _rotated(names: Sequence[str], by: int) -> list[str]:
    """Another one is first each time."""
    by %= len(names)
    return [*names[by:], *names[:by]]


def _command(asked: dict[str, Any], programs: Sequence[Path], cpus: int, memory_bytes: int) -> list[str]:
    python = Path(sys.executable).resolve()
    paths = [path for path in sys.path if path]
    # PATH: where the schedulers and swtch find each other.
    directories = os.pathsep.join(dict.fromkeys(str(one.parent) for one in programs))
    script = (
        f"import os, sys; sys.path[:0] = {paths!r}; os.environ[{BINARY_VARIABLE!r}] = {str(binary())!r}; "
        f"os.environ['PATH'] += os.pathsep + {directories!r}; "
        f"from swtch.ai.in_guest import main; sys.exit(main([{json.dumps(asked)!r}]))"
    )
    travels = [binary(), *programs, *_library(), *_packages()]
    return [
        str(binary()), "vm", "--cpus", str(cpus), "--memory", str(memory_bytes), "--timeout", _LIMIT, "--hang-after", _HANG,
        *(word for path in travels for word in ("--copy", str(path))),
        "--", str(python), "-c", script,
    ]  # fmt: skip


def _library() -> Iterator[Path]:
    """Python's own."""
    directory = Path(sysconfig.get_paths()["stdlib"])
    for entry in sorted(directory.iterdir()):
        if entry.name not in _LEFT_OUT and not entry.name.startswith("config-"):
            yield entry


def _packages() -> list[Path]:
    """Directories and files of all imports in the guest, and the libraries of wheels."""
    for name in _MODULES:
        importlib.import_module(name)
    library = Path(sysconfig.get_paths()["stdlib"])
    found: set[Path] = set()
    for name, module in list(sys.modules.items()):
        places = [*getattr(module, "__path__", []), getattr(module, "__file__", None)]
        if "." in name or name == "__main__" or not places[0]:
            continue
        place = Path(places[0])
        if library in place.parents and "site-packages" not in place.parts:
            continue
        found.add(place)
        beside = place.parent / f"{name}.libs"
        if beside.is_dir():
            found.add(beside)
    return sorted(found)


def _rows(command: Sequence[str]) -> Iterator[dict[str, Any]]:
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        output, complaint = process.communicate()
    for line in output.splitlines():
        if line.startswith(in_guest.ROW):
            yield json.loads(line[len(in_guest.ROW) :])
    if process.returncode:
        lines = [line for line in complaint.splitlines() if line.strip()]
        raise AiError(f"the virtual machine failed: {lines[-1] if lines else f'status {process.returncode}'}")
