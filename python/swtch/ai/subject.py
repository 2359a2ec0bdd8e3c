"""What is run: a model of the suite or of a file by this package's worker, or any program that keeps the workload contract."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .catalogue import Model
from .language import LanguageModel
from .settings import Settings


@dataclass(frozen=True)
class Subject:
    """A workload, and how it is started."""

    slug: str
    """For names of files."""
    name: str
    """For people."""
    command: tuple[str, ...]
    """Its program and arguments; `{threads}`, `{inter_op}`, `{batch}` and `{spin}` (1 or 0) stand for settings."""
    number: int | None = None
    """In the study; `None` for a program."""
    group: str = "other workloads"
    """The figure that it is in."""
    variables: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Of its environment; placeholders as in the command."""
    model: Model | None = field(default=None, compare=False)
    """Of the suite; `None` for another."""
    spoken: LanguageModel | None = field(default=None, compare=False)
    """A language model; `None` for another."""
    by_worker: bool = False
    """Whether this package's worker runs it."""

    def to_document(self) -> dict[str, Any]:
        """`workload` of `swtch/study/2`."""
        return {"name": self.name, "number": self.number, "slug": self.slug, "group": self.group}

    def arguments(self, settings: Settings) -> list[str]:
        """The command with those settings."""
        return [_filled(word, settings) for word in self.command] + self._worker_arguments(settings)

    def environment(self, settings: Settings) -> dict[str, str]:
        """Variables that the program gets in addition to those of this process."""
        if self.by_worker:
            return of_package()
        # What libraries of other runtimes go by when the program does not say otherwise.
        filled = {name: _filled(value, settings) for name, value in self.variables.items()}
        return {"OMP_NUM_THREADS": str(settings.threads), **filled}

    def predicted_peak_bytes(self, settings: Settings) -> int | None:
        """The most memory that all copies will have resident; `None` when it is not known beforehand."""
        if self.spoken is not None:
            return self.spoken.predicted_peak_bytes() * settings.co_located
        if self.model is None:
            return None
        return self.model.predicted_peak_bytes(settings.batch) * settings.co_located

    def _worker_arguments(self, settings: Settings) -> list[str]:
        if not self.by_worker:
            return []
        return [
            *("--threads", str(settings.threads)),
            *("--inter-op", str(settings.inter_op_threads)),
            *("--batch", str(settings.batch)),
            *("--device", settings.device),
            "--spin" if settings.spinning else "--block",
        ]


def of_package() -> dict[str, str]:
    """Variables with which a worker finds the very package that started it."""
    return {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def of_model(model: Model, weights: Path | None = None, seed: int = 0) -> Subject:
    """A model of the suite, with trained weights from a directory or random ones."""
    command = [sys.executable, "-m", "swtch.ai.worker", model.slug]
    command += ["--weights", str(weights.absolute())] if weights is not None else ["--seed", str(seed)]
    return Subject(
        model.slug, model.name, tuple(command), model.number, model.group, model=model, by_worker=True
    )


def of_language(model: LanguageModel, seed: int = 0) -> Subject:
    """A language model in one of its phases, with random weights."""
    command = (sys.executable, "-m", "swtch.ai.worker", model.slug, "--seed", str(seed))
    return Subject(model.slug, model.name, command, group="language models", spoken=model, by_worker=True)


def of_file(path: Path, shapes: Sequence[str] = (), arrays: Path | None = None) -> Subject:
    """A model of the user's own, from its ONNX file; with shapes as on the command line, and inputs from a file."""
    command = [sys.executable, "-m", "swtch.ai.worker", str(path.absolute())]
    command += [word for one in shapes for word in ("--shape", one)]
    command += ["--input", str(arrays.absolute())] if arrays is not None else []
    return Subject(_slug(path.stem), path.name, tuple(command), group="own models", by_worker=True)


def of_program(command: Sequence[str]) -> Subject:
    """A program that keeps the workload contract. Named after its last word that is a file, else after the program."""
    files = [word for word in command if Path(word).is_file()]
    name = Path(files[-1] if files else command[0]).stem
    return Subject(_slug(name), shlex.join(command), tuple(command))


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_" else "-" for letter in name) or "program"


def _filled(word: str, settings: Settings) -> str:
    values = {
        "{threads}": str(settings.threads),
        "{inter_op}": str(settings.inter_op_threads),
        "{batch}": str(settings.batch),
        "{spin}": str(int(settings.spinning)),
    }
    for placeholder, value in values.items():
        word = word.replace(placeholder, value)
    return word
