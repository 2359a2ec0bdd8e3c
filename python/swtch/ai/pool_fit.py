"""The work of an inference from a study's runs: with one thread, with several that spin, and with several that block."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .._errors import UsageError, WrongUsage
from .._profile import Profile
from .._simulate import Run, simulate
from .._text import duration
from .._trace import Trace
from . import pool
from .errors import AiError
from .figures import estimate
from .settings import Settings, from_document

RUNTIME = "ONNX Runtime"
"""Whose pool is known."""
_INFERENCES = 200
"""In a simulated run, but for its limits in time."""
_SECONDS = (2.0, 20.0)
_QUOTA_SECONDS = 5.0
"""With a quota: 50 of its periods."""
_HALVINGS = 8
"""To find what a wake-up takes: to half a microsecond."""
_MOST_WAKE_NS = 100e3


@dataclass(frozen=True)
class Fitted:
    """What a study's runs say of a model."""

    pool: pool.Pool
    settings: Settings
    """But for threads, spinning and quota."""
    cpus: int
    used: dict[str, list[str]]
    """The runs that it was taken from, by what was taken."""
    missing: list[dict[str, str]]
    """What no run tells, and why."""


def fit(directory: Path, runs: Sequence[Mapping[str, Any]], profile: Profile | None, policy: str) -> Fitted:
    """The work of an inference. Raises `AiError` where the runs do not tell it."""
    name = runs[0]["workload"]["name"]
    known = [one for one in runs if (one["facts"] or {}).get("runtime") == RUNTIME]
    if not known:
        raise AiError(
            f"{name}: only the pool of {RUNTIME} can be predicted, and its runs do not name it; give a study of a model"
        )
    like = replace(
        from_document(known[0]["settings"]),
        inter_op_threads=1,
        pinned=None,
        co_located=1,
        device="cpu",
        scheduler="stock",
    )
    plain = [one for one in known if is_like(from_document(one["settings"]), like)]
    cpus = max((one["cpu"]["cpu_count"] for one in plain if one["cpu"]), default=os.cpu_count() or 1)
    free = [one for one in plain if one["settings"]["cpu_quota"] is None]
    ask = f"swtch ai run {runs[0]['workload']['slug']} --threads 1,{max(2, cpus)} --spin on,off"
    if cpus < 2:
        raise AiError(f"{name} ran on one CPU; nothing tells what its threads would share")
    single = [one for one in free if one["settings"]["threads"] == 1]
    many = max(
        (
            one["settings"]["threads"]
            for one in free
            if 1 < one["settings"]["threads"] <= cpus and one["settings"]["spinning"]
        ),
        default=0,
    )
    spins = [one for one in free if one["settings"]["threads"] == many and one["settings"]["spinning"]]
    if not single or not spins:
        lacks = "1 thread" if not single else f"2 to {cpus} threads that spin"
        raise AiError(f"{name}: the study has no complete run with {lacks}; {ask}")
    found = pool.of_times(mean_ns(single), mean_ns(spins), many)
    if found is None:
        raise AiError(
            f"{name}: {many} threads take as long as one ({duration(mean_ns(spins))} and {duration(mean_ns(single))}), so nothing tells what they share"
        )
    used = {"work": _ids([*single, *spins])}
    missing = []
    blocks = [one for one in free if one["settings"]["threads"] == many and not one["settings"]["spinning"]]
    for one in [*spins, *blocks]:
        if one["trace"] is None or not (directory / one["trace"]).exists():
            continue
        slices, others = pool.workers_of(Trace.load(directory / one["trace"]))
        if one in spins:
            found = replace(found, others=found.others or others)
        elif "loops" not in used:
            found = pool.with_loops(found, slices, one["inferences"], many)
            used["loops"] = [one["id"]]
    found = _as_measured(found, mean_ns(single), mean_ns(spins), many, cpus, profile, policy)
    if found.others is None:
        missing.append(
            {
                "what": "others",
                "why": "no run with threads that spin was recorded; other programs are left out",
            }
        )
    if blocks:
        found = _with_wakes(found, many, mean_ns(blocks), cpus, profile, policy)
        used["wake_ns"] = _ids(blocks)
    else:
        missing.append(
            {
                "what": "blocking",
                "why": f"no run with {many} threads that block tells what waking them takes; {ask}",
            }
        )
    return Fitted(found, like, cpus, used, missing)


def _as_measured(
    of: pool.Pool,
    one_ns: float,
    many_ns: float,
    threads: int,
    cpus: int,
    profile: Profile | None,
    policy: str,
) -> pool.Pool:
    """With the work with which the runs that it was taken from come out: interruptions by others are in their times as well."""
    for _ in range(2):
        off = [
            wanted
            - each_ns(
                simulated(
                    pool.specification(of, count, True, None, cpus, 1), policy, profile, one_ns, None, 1
                )
            )
            for count, wanted in ((1, one_ns), (threads, many_ns))
        ]
        shared_ns = of.shared_ns + (off[0] - off[1]) * threads / (threads - 1)
        serial_ns = of.serial_ns + of.shared_ns + off[0] - shared_ns
        if shared_ns <= 0 or serial_ns < 0:
            break
        scaled = tuple(replace(each, work_ns=each.work_ns * shared_ns / of.shared_ns) for each in of.loops)
        of = replace(of, serial_ns=serial_ns, loops=scaled)
    return of


def _with_wakes(
    of: pool.Pool, threads: int, measured_ns: float, cpus: int, profile: Profile | None, policy: str
) -> pool.Pool:
    """With the time that calling a sleeping worker takes: the one by which the run that blocks comes out."""
    low, high = 0.0, _MOST_WAKE_NS
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        asked = pool.specification(of.waking_in(middle), threads, False, None, cpus, 1)
        if each_ns(simulated(asked, policy, profile, measured_ns, None, 1)) < measured_ns:
            low = middle
        else:
            high = middle
    return of.waking_in((low + high) / 2)


def simulated(
    asked: Mapping[str, Any],
    policy: str,
    profile: Profile | None,
    about_ns: float,
    quota: float | None,
    seed: int,
) -> Run:
    least, most = _SECONDS
    if quota is not None:
        least, about_ns = _QUOTA_SECONDS, about_ns / min(1.0, quota)
    seconds = min(most, max(least, _INFERENCES * about_ns / 1e9))
    try:
        return simulate(asked, policy, profile=profile, seed=seed, duration=seconds).runs[0]
    except UsageError as error:
        # Such as a policy that there is not.
        raise WrongUsage(str(error)) from None


def count(one: Run) -> int:
    if one.request_ns is None or one.request_ns.count == 0:
        raise AiError(
            "no inference came to its end in the simulator; the quota leaves too little, or the model takes longer than 20 s"
        )
    return one.request_ns.count


def each_ns(one: Run) -> float:
    """The mean time of an inference: they follow each other."""
    return one.makespan_ns / count(one)


def is_like(settings: Settings, like: Settings) -> bool:
    """Whether they differ in threads, in spinning and in the quota only."""
    return replace(settings, threads=like.threads, spinning=like.spinning, cpu_quota=like.cpu_quota) == like


def mean_ns(runs: Sequence[Mapping[str, Any]]) -> float:
    """Of an inference: the median of the runs' means. Runs that others disturbed count only where there are no others."""
    quiet = [one for one in runs if not one["disturbed"]] or runs
    found = estimate([one["latency_ns"]["mean"] for one in quiet])
    assert found is not None
    return found.median


def _ids(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one["id"] for one in runs]
