"""What may be asked for: a body in JSON, a query string, or both."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import parse_qsl

from .affinity import cpus_allowed

METHODS = ("pipe", "condvar", "ring", "pipe-native", "queue", "event", "mp-pipe", "mp-queue")
"""That this language has."""
MOST_SPINNERS = 64
LONGEST_MS = 900_000
"""What the longest-lived function may run."""
MOST_ITERATIONS = 10**13
"""More than any machine does in that time."""
_LIMITS: dict[str, tuple[float, float]] = {
    "switches_per_batch": (2, 1_000_000),
    "min_batches": (1, 5000),
    "max_batches": (1, 5000),
    "ring_tasks": (2, 64),
    "spin_ms": (0, LONGEST_MS),
    "spinners": (1, MOST_SPINNERS),
    "work_ms": (0, LONGEST_MS),
    "iterations": (0, MOST_ITERATIONS),
}
_ABOVE_ZERO: dict[str, float] = {"interval": 1, "time_limit_ms": LONGEST_MS}


class BadRequest(ValueError):
    """A wish that is not understood; the text is one line."""


@dataclass(frozen=True)
class Request:
    """What to measure."""

    methods: tuple[str, ...] = ("pipe", "condvar", "ring")
    switches_per_batch: int = 200
    min_batches: int = 20
    max_batches: int = 1000
    interval: float = 0.01
    """Half the interval of the median of gross times, relative to it, at which a method stops."""
    time_limit_ms: float = 1000
    """For each method."""
    ring_tasks: int = 8
    spin_ms: float = 1000
    spinners: int = 0
    """0 until it is known how many CPUs are allowed."""
    work_ms: float = 0
    iterations: int = 0
    """Of the work; 0: as many as take `work_ms` of CPU time."""
    pin: bool = True
    samples: bool = False

    def to_document(self) -> dict[str, Any]:
        """As `swtch/faas/2` has it."""
        return {**asdict(self), "methods": list(self.methods)}


def parse(body: str | bytes | None = None, query: str | None = None) -> Request:
    """A request; `BadRequest` says what is wrong with it.

    >>> parse('{"methods": ["pipe"]}', "spin_ms=0").methods
    ('pipe',)
    """
    said = _body(body)
    for name, text in parse_qsl(query or "", keep_blank_values=True):
        if name in said:
            raise BadRequest(f"{name} is given twice")
        said[name] = _from_text(name, text)
    return from_values(said)


def from_values(said: Mapping[str, Any]) -> Request:
    """A request of values by name."""
    known = {field.name: field for field in fields(Request)}
    for name in said:
        if name not in known:
            raise BadRequest(f"there is no {name!r}; what may be asked for: {', '.join(known)}")
    checked = {name: _checked(name, value, known[name].default) for name, value in said.items()}
    checked.setdefault("spinners", min(MOST_SPINNERS, len(cpus_allowed())))
    request = Request(**checked)
    if request.min_batches > request.max_batches:
        raise BadRequest(
            f"min_batches is {request.min_batches}, more than max_batches, {request.max_batches}"
        )
    return request


def _body(body: str | bytes | None) -> dict[str, Any]:
    if body is None or not body.strip():
        return {}
    try:
        said = json.loads(body)
    except ValueError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if said is None:
        return {}
    if not isinstance(said, dict):
        raise BadRequest("the body is not a JSON object")
    return said


def _from_text(name: str, text: str) -> Any:
    """A value of a query string, in the type that it looks like."""
    if name == "methods":
        return [method for method in text.split(",") if method]
    if text in ("true", "false"):
        return text == "true"
    try:
        return json.loads(text)
    except ValueError:
        return text


def _checked(name: str, value: Any, default: Any) -> Any:
    if name == "methods":
        return _methods(value)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise BadRequest(f"{name} is {_shown(value)}; it must be true or false")
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise BadRequest(f"{name} is {_shown(value)}, not a number")
    if isinstance(default, int) and not name.endswith("_ms"):
        if value != int(value):
            raise BadRequest(f"{name} is {_shown(value)}, not a whole number")
        value = int(value)
    if name in _ABOVE_ZERO and not 0 < value <= _ABOVE_ZERO[name]:
        raise BadRequest(f"{name} is {_shown(value)}; it must be above 0 and at most {_ABOVE_ZERO[name]:.0f}")
    low, high = _LIMITS.get(name, (-math.inf, math.inf))
    if not low <= value <= high:
        raise BadRequest(f"{name} is {_shown(value)}; it must be from {low:.0f} to {high:.0f}")
    return value


def _methods(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise BadRequest(f"methods is {_shown(value)}, not a list of names")
    for place, method in enumerate(value):
        if method not in METHODS:
            raise BadRequest(f"there is no method {_shown(method)} in Python; there are {', '.join(METHODS)}")
        if method in value[:place]:
            raise BadRequest(f"the method {method} is given twice")
    return tuple(value)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
