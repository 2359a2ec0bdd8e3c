"""The process that a user's own function runs in: events come as lines, answers go as lines (`own`)."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from .answer import failure
from .counters import Usage

CALL_SCHEMA = "swtch/faas-call/1"


class NoFunction(Exception):
    """A name that names no function; the text is one line."""


def load(name: str) -> Callable[[Any, Any], Any]:
    """The function of `module:function`; the module may be in the working directory."""
    module_name, _, function_name = name.partition(":")
    if not module_name or not function_name:
        raise NoFunction(f"{name!r} is not module:function")
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        raise NoFunction(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from error
    function = getattr(module, function_name, None)
    if not callable(function):
        raise NoFunction(f"{module_name} has no function {function_name}")
    return function  # type: ignore[no-any-return]


def call(function: Callable[[Any, Any], Any], event: Any) -> tuple[int, dict[str, Any]]:
    """Calls it once: a status, and `swtch/faas-call/1` or `swtch/faas-error/1`."""
    before = Usage.now()
    status, document, wall_ns = result_of(function, event)
    return status, {**document, **took(before, wall_ns)} if status == 200 else document


def result_of(function: Callable[[Any, Any], Any], event: Any) -> tuple[int, dict[str, Any], int]:
    """Calls it once: a status, `swtch/faas-call/1` without what the call took, or `swtch/faas-error/1`, and how long the function took."""
    begun_ns = time.monotonic_ns()
    try:
        result = function(event, None)
    except Exception as error:
        complaint = "".join(traceback.format_exception_only(type(error), error))
        return 500, failure(complaint, _where(error)), 0
    wall_ns = time.monotonic_ns() - begun_ns
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as error:
        return 500, failure(f"what the function returned is not JSON: {error}"), 0
    return 200, {"schema": CALL_SCHEMA, "result": result}, wall_ns


def took(before: Usage, wall_ns: int) -> dict[str, Any]:
    """What a call took, the rest of `swtch/faas-call/1`."""
    usage = {**Usage.now().since(before), "wall_ns": wall_ns}
    return {"wall_ns": wall_ns, "cpu_ns": usage["cpu_ns"], "usage": usage}


def _where(error: BaseException) -> str | None:
    """The innermost line of the function."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def main() -> int:
    """Answers until the events end."""
    answers = os.fdopen(os.dup(1), "w")
    # What the function prints must not come between the answers.
    os.dup2(2, 1)
    try:
        function = load(sys.argv[1])
    except NoFunction as error:
        function, why = None, str(error)
    for line in sys.stdin:
        status, document = call(function, json.loads(line)) if function else (500, failure(why))
        answers.write(json.dumps({"status": status, "document": document}) + "\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
