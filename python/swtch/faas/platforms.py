"""What each platform wants of a handler: which files in which places, and what runs them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._errors import CommandError
from .languages import folder

PLATFORMS = ("lambda", "gcf", "knative", "openfaas")
NAME = "swtch"
"""What the function is called where it has to be called something."""
_NEVER = ("__pycache__", "node_modules", ".pytest_cache", "tests", "test", "target")


@dataclass(frozen=True)
class Layout:
    """Where things go."""

    adapter: str
    """The adapter's name in `adapters/`."""
    place: str
    """Where the adapter goes in the archive."""
    core: str
    """Below which folder the core goes; with a slash at its end, or empty."""
    requirements: str | None
    """Where the list of packages goes; `None` where nothing is to be installed."""


_PYTHON: Mapping[str, Layout] = {
    "lambda": Layout("lambda_function.py", "lambda_function.py", "", None),
    "gcf": Layout("main.py", "main.py", "", "requirements.txt"),
    "knative": Layout("func.py", "function/func.py", "", None),
    "openfaas": Layout("handler.py", f"{NAME}/handler.py", f"{NAME}/", f"{NAME}/requirements.txt"),
}


def files(language: str, platform: str) -> dict[str, bytes]:
    """Everything that is deployed, by its place. Raises `CommandError` for what is not here."""
    if language != "python":
        return _prepared(language, platform)
    source = folder(language)
    layout = _PYTHON[platform]
    found = {f"{layout.core}swtch_function/{name}": data for name, data in _tree(source / "swtch_function")}
    found[layout.place] = _read(source / "adapters" / layout.adapter)
    if layout.requirements is not None:
        found[layout.requirements] = _read(source / "adapters" / f"requirements-{platform}.txt")
    return found


def how_to_deploy(language: str, platform: str, out: str) -> str:
    """The next step, in one line."""
    return {
        "lambda": f"aws lambda create-function --function-name {NAME} --zip-file fileb://{out} --handler lambda_function.handler --runtime python3.13 --role ROLE --memory-size 128 --timeout 60",
        "gcf": f"gcloud functions deploy {NAME} --no-gen2 --source FOLDER --entry-point handle --runtime python312 --trigger-http --memory 128MB",
        "knative": "func deploy --path FOLDER",
        "openfaas": "faas-cli up -f stack.yaml",
    }[platform]


def _prepared(language: str, platform: str) -> dict[str, bytes]:
    raise CommandError(f"the handler in {language} cannot be packaged for {platform} yet")


def _tree(top: Path) -> list[tuple[str, bytes]]:
    found = []
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top)
        if path.is_file() and not any(part in _NEVER for part in name.parts):
            found.append((name.as_posix(), _read(path)))
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise CommandError(f"{path} cannot be read ({error.strerror}); is the project's folder functions complete?") from None
