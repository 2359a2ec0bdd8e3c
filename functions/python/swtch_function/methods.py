"""The methods by name, and measuring them one after the other, in random order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from .affinity import pinned
from .constructs import ConditionPair, EventPair, QueuePair
from .method import Method, Unmeasurable
from .multiprocess import ConnectionPair, ProcessQueuePair
from .native import NativePipePair
from .pipe import PipePair
from .repeat import measure
from .request import Request
from .ring import Ring

_PAIRS: dict[str, Callable[[int], Method]] = {
    one.name: one
    for one in (
        PipePair,
        ConditionPair,
        QueuePair,
        EventPair,
        ConnectionPair,
        ProcessQueuePair,
        NativePipePair,
    )
}


def measure_all(request: Request) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """The measurements in the order asked for, and what could not be measured and why."""
    found: dict[str, dict[str, Any]] = {}
    unavailable = []
    # Other load on the machine must not always affect the same method.
    for name in random.sample(request.methods, len(request.methods)):
        try:
            found[name] = _measured(name, request)
        except Unmeasurable as error:
            unavailable.append({"what": f"measurements.{name}", "why": str(error)})
    measurements = [found[name] for name in request.methods if name in found]
    for place, one in enumerate(measurements):
        if one["switches"]["voluntary"] is None:
            why = "the counter stood still although the tasks switched: the sandbox has a constant there"
            unavailable.append({"what": f"measurements.{place}.switches", "why": why})
        if request.pin and not one["pinned"]:
            unavailable.append({"what": f"measurements.{place}.cpu", "why": "pinning is not permitted here"})
    return measurements, unavailable


def _measured(name: str, request: Request) -> dict[str, Any]:
    with pinned(request.pin) as cpu, opened(name, request) as method:
        return measure(method, request, cpu)


def opened(name: str, request: Request) -> Method:
    """A method by its name, to be entered."""
    if name == "ring":
        return Ring(request.switches_per_batch, request.ring_tasks)
    return _PAIRS[name](request.switches_per_batch)
