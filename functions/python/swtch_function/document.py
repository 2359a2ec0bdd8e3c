"""One invocation, from what was asked to the document `swtch/faas/2` (`docs/schemas/faas-2.json`)."""

from __future__ import annotations

import functools
import platform as python
import threading
import time
from collections.abc import Callable
from typing import Any

from .affinity import cpus_allowed
from .clock import clock
from .counters import Usage, cpu_group, difference, process_age_ns
from .host import host, libc
from .methods import measure_all
from .platforms import platform
from .processes import ChildFailed
from .request import Request
from .spin import Spun, spin
from .version import VERSION
from .work import work

# They do not change while a process lives, and finding them costs CPU time that is the function's where there is a quota.
_machine, _libc, _clock = functools.cache(host), functools.cache(libc), functools.cache(clock)
SCHEMA = "swtch/faas/2"
_IMPORTED_NS = time.monotonic_ns()
_one_at_a_time = threading.Lock()
_invocations = 0


def invoke(
    request: Request,
    platform_name: str = "local",
    invocation_id: str | None = None,
    worked: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Measures what was asked. Invocations that come at once wait for each other: they would be measured too.

    worked: called when work that was asked for is done, before anything is read of what it took.
    """
    global _invocations
    with _one_at_a_time:
        _invocations += 1
        return _document(request, platform_name, invocation_id, _invocations, worked)


def _document(
    request: Request,
    platform_name: str,
    invocation_id: str | None,
    number: int,
    done: Callable[[], None],
) -> dict[str, Any]:
    age_ns = process_age_ns(_IMPORTED_NS)
    before = Usage.now()
    group = cpu_group()
    group_before = group.numbers() if group else None
    measurements, unavailable = measure_all(request)
    spun, why_not = _spin(request)
    asked = request.work_ms or request.iterations
    worked = work(request.work_ms, request.iterations, done) if asked else None
    numbers = difference(group.numbers(), group_before) if group and group_before else None
    if numbers is None:
        unavailable.append(
            {"what": "throttling.platform", "why": "no cgroup with CPU numbers can be read here"}
        )
    if why_not:
        unavailable.append({"what": "cpu", "why": why_not})
    machine = _machine()
    usage = Usage.now().since(before)
    _drop_constants(usage, measurements, machine["sandbox"], unavailable)
    return {
        "schema": SCHEMA,
        "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "handler": {
            "version": VERSION,
            "language": "python",
            "runtime": python.python_implementation(),
            "runtime_version": python.python_version(),
            "libc": _libc(),
        },
        "platform": platform(platform_name),
        "invocation": {
            "number": number,
            "cold": number == 1,
            "id": invocation_id,
            "process_age_ns": age_ns,
        },
        "host": machine,
        "request": request.to_document(),
        "measurements": measurements,
        "clock": _clock(),
        "cpu": _cpu(spun, request),
        "throttling": _throttling(spun, numbers, request),
        "work": worked,
        "usage": usage,
        "unavailable": unavailable,
    }


def _spin(request: Request) -> tuple[Spun | None, str | None]:
    """What was seen, or why nothing."""
    if not request.spin_ms:
        return None, None
    try:
        return spin(request.spinners, round(request.spin_ms * 1e6), request.pin), None
    except ChildFailed as error:
        return None, f"spinning failed: {error}"


def _cpu(spun: Spun | None, request: Request) -> dict[str, Any] | None:
    if spun is None:
        return None
    return {
        "received": spun.cpu_ns / spun.span_ns,
        "spun_ns": spun.cpu_ns,
        "spinners": request.spinners,
    }


def _throttling(spun: Spun | None, numbers: dict[str, Any] | None, request: Request) -> dict[str, Any] | None:
    if spun is None and numbers is None:
        return None
    return {"spun": _spun(spun, request) if spun else None, "platform": numbers}


def _spun(spun: Spun, request: Request) -> dict[str, Any]:
    """The raw timeline; the quota is inferred from it where the answer is read."""
    return {
        "span_ns": spun.span_ns,
        "from": f"gaps of {request.spinners} spinning processes over {request.spin_ms / 1000:g} s"
        + (" on one CPU" if len(cpus_allowed()) == 1 else ""),
        "others_cpus": 0.0,
        "intervals": [list(map(list, each)) for each in spun.intervals],
    }


def _drop_constants(
    usage: dict[str, Any],
    measurements: list[dict[str, Any]],
    sandbox: str | None,
    unavailable: list[dict[str, str]],
) -> None:
    """A counter that a sandbox has as a constant zero is not a figure: gVisor has no involuntary switches (`ru_nivcsw`)."""
    if any(one["switches"]["voluntary"] is None for one in measurements):
        for name in ("voluntary", "involuntary"):
            usage[name] = None
        unavailable.append(
            {"what": "usage.voluntary", "why": "the counter stood still although tasks switched"}
        )
    if sandbox == "gvisor":
        usage["involuntary"] = None
        unavailable.append({"what": "usage.involuntary", "why": "gVisor has a constant zero there"})
        for place, one in enumerate(measurements):
            if one["switches"]["involuntary"] == 0:
                one["switches"]["involuntary"] = None
                what = f"measurements.{place}.switches.involuntary"
                unavailable.append({"what": what, "why": "gVisor has a constant zero there"})
