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
    """What the runs do not tell, and why."""


@dataclass(frozen=True)
class _Runs:
    """Those of a study that tell the work, all without a quota."""

    cpus: int
    threads: int
    """Of the runs with several."""
    like: Settings
    single: list[Mapping[str, Any]]
    spins: list[Mapping[str, Any]]
    blocks: list[Mapping[str, Any]]
    ask: str
    """The command that makes such runs."""


def _chosen(runs: Sequence[Mapping[str, Any]]) -> _Runs:
    """Raises `AiError` where runs are missing."""
    name = runs[0]["workload"]["name"]
    known = [one for one in runs if (one["facts"] or {}).get("runtime") == RUNTIME]
    if not known:
        raise AiError(
            f"{name}: only the pool of {RUNTIME} can be predicted, and its runs do not name it; give a study of a model"
        )
    like = Settings(batch=known[0]["settings"]["batch"])
    alike = [one for one in known if is_like(from_document(one["settings"]), like)]
    cpus = max((one["cpu"]["cpu_count"] for one in alike if one["cpu"]), default=os.cpu_count() or 1)
    if cpus < 2:
        raise AiError(f"{name} ran on one CPU; nothing tells what its threads would share")
    free = [one for one in alike if one["settings"]["cpu_quota"] is None]

    def of(threads: int, spinning: Sequence[bool]) -> list[Mapping[str, Any]]:
        wanted = [(threads, one) for one in spinning]
        return [one for one in free if (one["settings"]["threads"], one["settings"]["spinning"]) in wanted]

    many = [one["settings"]["threads"] for one in free if one["settings"]["spinning"]]
    threads = max((one for one in many if 1 < one <= cpus), default=0)
    ask = f"swtch ai run {runs[0]['workload']['slug']} --threads 1,{cpus} --spin on,off"
    found = _Runs(cpus, threads, like, of(1, (True, False)), of(threads, (True,)), of(threads, (False,)), ask)
    if not found.single or not found.spins:
        lacks = "1 thread" if not found.single else f"2 to {cpus} threads that spin"
        raise AiError(f"{name}: the study has no complete run with {lacks}; {ask}")
    return found


def fit(directory: Path, runs: Sequence[Mapping[str, Any]], profile: Profile | None, policy: str) -> Fitted:
    """The work of an inference. Raises `AiError` where the runs do not tell it."""
    chosen = _chosen(runs)
    single_ns, many_ns = mean_ns(chosen.single), mean_ns(chosen.spins)
    found = pool.of_times(single_ns, many_ns, chosen.threads)
    if found is None:
        raise AiError(
            f"{runs[0]['workload']['name']}: {chosen.threads} threads take as long as one ({duration(many_ns)} and {duration(single_ns)}), "
            "so nothing tells what they share"
        )
    used = {"work": _ids([*chosen.single, *chosen.spins])}
    for one in [*chosen.spins, *chosen.blocks]:
        seen = _seen(directory, one)
        if seen is None:
            continue
        slices, others = seen
        if one in chosen.spins:
            found = replace(found, others=found.others or others)
        elif "loops" not in used:
            found = pool.with_loops(found, slices, one["inferences"], chosen.threads)
            used["loops"] = [one["id"]]
    by = _Simulator(chosen.cpus, profile, policy)
    found = _as_measured(found, single_ns, many_ns, chosen.threads, by)
    missing = []
    if found.others is None:
        why = "no run with threads that spin was recorded switch by switch"
        missing.append({"what": "what other programs do", "why": why})
    if chosen.blocks:
        found = _with_wakes(found, chosen.threads, mean_ns(chosen.blocks), by)
        used["wake_ns"] = _ids(chosen.blocks)
    else:
        why = f"no run with {chosen.threads} threads that block tells what waking them takes; {chosen.ask}"
        missing.append({"what": "blocking", "why": why})
    return Fitted(found, chosen.like, chosen.cpus, used, missing)


def _seen(directory: Path, run: Mapping[str, Any]) -> tuple[list[int], pool.Others] | None:
    """What the recording of a run tells, where it has single switches."""
    if run["trace"] is None or not (directory / run["trace"]).exists():
        return None
    trace = Trace.load(directory / run["trace"])
    return pool.workers_of(trace) if "switches" in trace.tables else None


@dataclass(frozen=True)
class _Simulator:
    """How the runs that are there are simulated."""

    cpus: int
    profile: Profile | None
    policy: str

    def each_ns(self, of: pool.Pool, threads: int, spin: bool) -> float:
        """The time of an inference."""
        asked = pool.specification(of, threads, spin, None, self.cpus, 1)
        about_ns = of.serial_ns + of.shared_ns
        return each_ns(simulated(asked, self.policy, self.profile, about_ns, None, 1))


def _as_measured(of: pool.Pool, one_ns: float, many_ns: float, threads: int, by: _Simulator) -> pool.Pool:
    """With the work with which the runs that it was taken from come out: interruptions by others are in their times as well."""
    for _ in range(2):
        off = [one_ns - by.each_ns(of, 1, True), many_ns - by.each_ns(of, threads, True)]
        shared_ns = of.shared_ns + (off[0] - off[1]) * threads / (threads - 1)
        serial_ns = of.serial_ns + of.shared_ns + off[0] - shared_ns
        if shared_ns <= 0 or serial_ns < 0:
            break
        scaled = tuple(replace(each, work_ns=each.work_ns * shared_ns / of.shared_ns) for each in of.loops)
        of = replace(of, serial_ns=serial_ns, loops=scaled)
    return of


def _with_wakes(of: pool.Pool, threads: int, measured_ns: float, by: _Simulator) -> pool.Pool:
    """With the time that calling a sleeping worker takes: the one by which the run that blocks comes out."""
    low, high = 0.0, _MOST_WAKE_NS
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if by.each_ns(of.waking_in(middle), threads, False) < measured_ns:
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
    """One run. about_ns: of an inference, which with the quota decides for how long. Raises `WrongUsage` for a policy that there is not."""
    least, most = _SECONDS
    if quota is not None:
        least, about_ns = _QUOTA_SECONDS, about_ns / min(1.0, quota)
    seconds = min(most, max(least, _INFERENCES * about_ns / 1e9))
    try:
        return simulate(asked, policy, profile=profile, seed=seed, duration=seconds).runs[0]
    except UsageError as error:
        raise WrongUsage(str(error)) from None


def count(one: Run) -> int:
    """Inferences. Raises `AiError` for none."""
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
