"""The document `swtch/study/2`: a directory with `study.json` and the Traces of its runs (`docs/schemas/study-2.json`)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _native
from .._checks import Refused, refuse
from .._files import make_directory, now, replace
from .errors import AiError

SCHEMA = "swtch/study/2"
OLDER = "swtch/study/1"
"""Read, too. Its CPU times of the workload and of others were read over windows of different length. Its advice was not corrected for the
number of comparisons."""
FILE = "study.json"
REFUSED = "refused.json"
"""Where a study goes whose figures contradict each other."""
DEFAULT_DIRECTORY = "ai-study"
OUTCOMES = ("complete", "crashed", "refused", "timed-out", "interrupted", "impossible")
"""How a run can end."""
_KEYS = (
    "schema",
    "kind",
    "provenance",
    "host",
    "machine_name",
    "runs",
    "summaries",
    "advice",
    "recording_overhead",
    "unavailable",
)


def begin(
    host: Mapping[str, Any],
    machine_name: str,
    command: Sequence[str],
    runtime: Mapping[str, Any] | None,
    seed: int | None,
) -> dict[str, Any]:
    """A study without runs.

    host: the machine, as a Profile has it. runtime: `name` and `version`; `None` when programs bring their own.
    """
    return {
        "schema": SCHEMA,
        "kind": "ai",
        "provenance": {
            "swtch_version": _native.VERSION,
            "created_at": now(),
            "command": list(command),
            "runtime": None if runtime is None else dict(runtime),
            "seed": seed,
        },
        "host": dict(host),
        "machine_name": machine_name,
        "runs": [],
        "summaries": [],
        "advice": [],
        "undecided": [],
        "recording_overhead": None,
        "tuned": None,
        "unavailable": [],
    }


def write(directory: Path, document: Mapping[str, Any]) -> Path:
    """Writes `study.json`, whole or not at all; returns where it is. Raises `CommandError` when it cannot be written.

    A study whose figures contradict each other is kept as `refused.json` instead, and `AiError` says which.
    """
    path = directory / FILE
    try:
        refuse(_native.check_study, document)
    except Refused as why:
        keep(directory / REFUSED, document)
        raise AiError(refused(why, directory / REFUSED)) from None
    replace(path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    return path


def keep(path: Path, refused: Mapping[str, Any]) -> None:
    """Writes what was refused, as evidence. Raises `CommandError` when it cannot be written."""
    replace(path, json.dumps(refused, indent=1) + "\n")


def refused(why: Refused, place: Path) -> str:
    """Which figures contradict what, where they are kept and what to do, in a line."""
    return f"{why}; this is a defect of swtch: no figure is shown; please report it with {place}"


def read(path: os.PathLike[str] | str) -> dict[str, Any]:
    """The study in a directory, or in its `study.json`. Raises `AiError` for a file that is not a study."""
    place = Path(path)
    if place.is_dir():
        place = place / FILE
    try:
        document = json.loads(place.read_text())
    except OSError as error:
        raise AiError(f"there is no study {place} ({error.strerror}); `swtch ai run` writes one") from None
    except ValueError as error:
        raise AiError(f"{place} is not JSON ({error}); was it cut off?") from None
    fault = check(document)
    if fault is not None:
        raise AiError(f"{place} is not a study as this swtch writes it: {fault}")
    return dict(document)


def check(document: Any) -> str | None:
    """What is wrong with a document, the first thing, in words; `None` when it is a study."""
    if not isinstance(document, dict):
        return "an object was expected"
    if document.get("schema") not in (SCHEMA, OLDER):
        return f"its schema is {document.get('schema')!r}, not {SCHEMA!r}"
    missing = [key for key in _KEYS if key not in document]
    if missing:
        return f"{missing[0]!r} is missing"
    if not isinstance(document["runs"], list):
        return "'runs' must be a list"
    seen: set[str] = set()
    for index, run in enumerate(document["runs"]):
        where = f"runs[{index}]"
        if not isinstance(run, dict) or not isinstance(run.get("id"), str):
            return f"{where} has no id"
        if run["id"] in seen:
            return f"{where} has the id {run['id']!r} of an earlier one"
        seen.add(run["id"])
        if run.get("outcome") not in OUTCOMES:
            return f"the outcome of {run['id']} is {run.get('outcome')!r}, none of {', '.join(OUTCOMES)}"
        if run["outcome"] != "complete" and not run.get("error"):
            return f"{run['id']} is {run['outcome']}, without a reason"
    try:
        if document["schema"] == SCHEMA:
            refuse(_native.check_study, document)
    except Refused as why:
        return str(why)
    return None


def new_directory(asked: Path | None) -> Path:
    """Makes the directory for a study: the one asked for, or the first free of `ai-study`, `ai-study-2` ...

    Raises `AiError` when there is a study in it already.
    """
    if asked is not None and (asked / FILE).exists():
        raise AiError(f"{asked} has a study already; give another directory, or remove it")
    return make_directory(asked, DEFAULT_DIRECTORY)
