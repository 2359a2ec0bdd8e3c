"""Why a user's function is slow at a tier, and what would help: sentences, each with the figures that it rests on. Pure.

They are about functions of the user's: what the project's handler does is known. Each rule has a test with a function of ten lines.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Optional

from .._text import capitalised, duration, figure
from .journal import Line
from .plan import WORK, Plan
from .tier_sets import UNTHROTTLED, Tier

_FEWEST = 5
"""Invocations that a rule takes."""
_WAITING = 0.3
"""A function that uses a CPU for a smaller share of its time waits for something else."""
_MANY_CPUS = 1.2
"""A function that uses more CPUs at once has threads."""
_AS_FAST = 1.1
"""So much longer is hardly noticed."""
_NEARLY = 1.25
"""So near above a quota is worth a sentence: less CPU time by a fifth would fit."""
_WAITED = 0.25
"""Of the rest of a period."""
_TICK_US = 4_000
"""Of a kernel with `CONFIG_HZ=250`; others have 1 to 10 ms."""
_FULL = 0.85
"""Of a memory limit."""
_LEAK_SHARE = 0.001
"""Of the limit, an invocation: less may be the allocator's."""
_RISING = 0.8
"""Of a leak's invocations, as many end with more memory than the one before."""
_FIRST = 0.25
"""The share of the calls of a process that are its first."""
_SLOWER = 1.3
_SPIKE = 2.0
_RARE = (0.02, 0.35)
"""More calls than that are the usual course."""
_MB = 1 << 20
_HEAP_FULL = ("OutOfMemoryError", "heap out of memory", "MemoryError")
"""What runtimes say when their own heap is full: Java, Node.js, Python."""
_HEAP_SIZE = {
    "java": "; Java's heap is a quarter of the memory unless an option says otherwise (-XX:MaxRAMPercentage=75)",
    "node": "; Node.js sets its heap's size by the memory unless an option says otherwise (--max-old-space-size)",
}
_COMPILERS = {"java", "node"}

Hint = Optional[dict[str, Any]]


@dataclass(frozen=True)
class _Seen:
    """The complete invocations of a tier, in their order."""

    tier: Tier
    lines: tuple[Line, ...]
    period_us: int

    @property
    def latency_ns(self) -> float:
        return float(statistics.median(line["latency_ns"] for line in self.lines))

    @property
    def cpu_ns(self) -> float | None:
        found = [ns for line in self.lines if (ns := _cpu_ns(line)) is not None]
        return statistics.median(found) if found else None

    @property
    def stopped(self) -> float:
        """The share of invocations in which the quota stopped it."""
        counted = [(line.get("group") or {}).get("throttled_ns") for line in self.lines]
        known = [ns for ns in counted if ns is not None]
        return sum(ns > 0 for ns in known) / len(known) if known else 0.0

    @property
    def quota_ns(self) -> float | None:
        quota_us = self.tier.quota_us(self.period_us)
        return None if quota_us is None else quota_us * 1e3


def hints(plan: Plan, lines: Sequence[Line]) -> list[dict[str, Any]]:
    """Entries for the `advice` of `swtch/faas-tiers/3`. None about the project's handler."""
    if plan.calibrates:
        return []
    works = [line for line in lines if line["purpose"] == WORK]

    def seen(tier: Tier) -> _Seen:
        of = [line for line in works if line["tier"] == tier.name and line["outcome"] == "complete"]
        return _Seen(tier, tuple(sorted(of, key=lambda line: line["repeat"])), plan.period_us)

    free = seen(Tier(UNTHROTTLED, None, None))
    tiers = [one for tier in plan.tiers if len((one := seen(tier)).lines) >= _FEWEST]
    language = next((line["language"] for line in works if line.get("language")), None)
    found = [_waits(tiers, free), _threads(tiers, free), _step(tiers), _tick(tiers)]
    found += [_memory(plan, tier, works) for tier in plan.tiers]
    found += [_first_calls(free if len(free.lines) >= _FEWEST else next(iter(tiers), free), language)]
    return [one for one in found if one is not None]


def _waits(tiers: Sequence[_Seen], free: _Seen) -> Hint:
    """A function that waits is not faster in a larger tier."""
    fair = (
        free if len(free.lines) >= _FEWEST else max(tiers, key=lambda one: one.tier.cpus or 0, default=free)
    )
    if len(fair.lines) < _FEWEST or fair.cpu_ns is None:
        return None
    share = fair.cpu_ns / fair.latency_ns
    if share >= _WAITING:
        return None
    enough = next((one for one in tiers if one.latency_ns <= 1.1 * fair.latency_ns), None)
    text = (
        f"the function waits: of {duration(fair.latency_ns)} it uses a CPU for {duration(fair.cpu_ns)} ({figure(100 * share, 2)} %), "
        "so that more CPU does not make it faster; shorten what it waits for, or wait for several things at once"
    )
    if enough is not None and enough is not tiers[-1]:
        text += f"; {enough.tier.name} is as fast as any"
    evidence = {"latency_ns": fair.latency_ns, "cpu_ns": fair.cpu_ns, "n": len(fair.lines)}
    return _hint("waits", text, None if enough is None else enough.tier.name, evidence)


def _threads(tiers: Sequence[_Seen], free: _Seen) -> Hint:
    """Threads beyond the quota: they use it up together, and then all of them stop.

    Where a call takes few quotas, threads still help: they have those of two periods in the time of one. There is no sentence then.
    """
    if len(free.lines) < _FEWEST or free.cpu_ns is None:
        return None
    at_once = free.cpu_ns / free.latency_ns
    over = [one for one in tiers if at_once >= _MANY_CPUS and _in_vain(one, at_once)]
    if not over:
        return None
    one = over[-1]
    assert one.tier.cpus is not None and one.quota_ns is not None and one.cpu_ns is not None
    used_ns, most = one.quota_ns / at_once, max(1, int(one.tier.cpus))
    text = (
        f"threads beyond the quota: unthrottled the function keeps {figure(at_once, 2)} CPUs busy at once, and {one.tier.name} "
        f"pays for {figure(one.tier.cpus, 2)}; they use up its {duration(one.quota_ns)} in {duration(used_ns)} of each "
        f"{duration(one.period_us * 1e3)}, and then all threads stop; {most} busy thread{'s' if most > 1 else ''} would need about "
        f"{duration(one.cpu_ns / one.tier.cpus)}, and these take {duration(one.latency_ns)}"
    )
    evidence = {"cpus_at_once": at_once, "tiers": [tier.tier.name for tier in over], "n": len(free.lines)}
    return _hint("threads", text, one.tier.name, evidence)


def _in_vain(one: _Seen, at_once: float) -> bool:
    """Whether a tier's threads are stopped, and are hardly faster than the CPU time that the tier pays for."""
    cpus, cpu_ns = one.tier.cpus, one.cpu_ns
    if cpus is None or cpu_ns is None or one.stopped <= 0.5 or cpus * _MANY_CPUS >= at_once:
        return False
    return cpu_ns / cpus <= _AS_FAST * one.latency_ns


def _step(tiers: Sequence[_Seen]) -> Hint:
    """Work that exceeds a quota by a little waits for the rest of a period."""
    for one in tiers:
        cpu_ns, quota_ns = one.cpu_ns, one.quota_ns
        if cpu_ns is None or quota_ns is None or one.stopped < 0.5:
            continue
        # The kernel looks at ticks, and may let a call end that exceeds its quota by less.
        waited = one.latency_ns > cpu_ns + _WAITED * (one.period_us * 1e3 - quota_ns)
        if waited and quota_ns < cpu_ns <= _NEARLY * quota_ns:
            text = (
                f"at {one.tier.name} the function uses {duration(cpu_ns)} of CPU time and the quota is {duration(quota_ns)}: "
                f"with {duration(cpu_ns - quota_ns)} less it would be done within one period, in about {duration(quota_ns)} "
                f"instead of {duration(one.latency_ns)}"
            )
            evidence = {"cpu_ns": cpu_ns, "quota_ns": quota_ns, "n": len(one.lines)}
            return _hint("quota step", text, one.tier.name, evidence)
    return None


def _tick(tiers: Sequence[_Seen]) -> Hint:
    """The kernel looks at a quota when a tick comes."""
    small = [
        one
        for one in tiers
        if one.quota_ns is not None and one.quota_ns < _TICK_US * 1e3 and one.stopped > 0.5 and one.lines
    ]
    if not small:
        return None
    names = ", ".join(one.tier.name for one in small)
    quota_ns = small[0].quota_ns
    assert quota_ns is not None
    text = (
        f"at {names} the quota is {'' if len(small) == 1 else 'from '}{duration(quota_ns)}{'' if len(small) == 1 else ' on'}, less than a tick "
        "of most kernels (1 to 4 ms): the kernel notices only at a tick that it is used up; a call may run longer at once, and is then stopped for several periods"
    )
    return _hint("quota tick", text, small[0].tier.name, {"quota_ns": quota_ns, "tick_us": _TICK_US})


def _memory(plan: Plan, tier: Tier, works: Sequence[Line]) -> Hint:
    """What a function keeps from call to call, and how near it is to the limit that kills."""
    of = sorted((line for line in works if line["tier"] == tier.name), key=lambda line: int(line["repeat"]))
    if tier.memory_mb is None or not plan.local or not plan.memory_limited:
        return None
    limit, killed = tier.memory_mb * _MB, sum(line["outcome"] == "oom" for line in of)
    kept = [(line.get("group") or {}).get("memory_bytes") for line in of if line["outcome"] == "complete"]
    known = [size for size in kept if size is not None]
    steps = [after - before for before, after in zip(known, known[1:])]
    # A step down is a new process, after a kill.
    within = [step for step in steps if step > -limit / 4]
    grows = statistics.median(within) if len(within) >= _FEWEST else 0
    full = [_is_heap_full(line) for line in of]
    text, evidence = None, {"limit_bytes": limit, "killed": killed, "grows_bytes": grows, "n": len(of)}
    if any(full):
        evidence["heap_full"] = sum(full)
        text = _of_heap(tier.name, full, next((line.get("language") for line in of), None))
    elif grows > _LEAK_SHARE * limit and sum(step > 0 for step in within) >= _RISING * len(within):
        left = (limit - known[-1]) / grows
        text = (
            f"memory leaks: at {tier.name} the function keeps {figure(grows / _MB, 2)} MB more after each call; "
            + (
                f"the kernel killed it {_times(killed)} at the limit"
                if killed
                else f"after about {max(1, left):,.0f} more calls the kernel kills it at the limit"
            )
            + ", in every tier sooner or later: find what it keeps"
        )
    elif killed:
        text = f"{tier.name} is too little memory: the kernel killed the function in {killed} of {len(of)} calls; take a larger tier"
    elif known and max(known) >= _FULL * limit:
        text = (
            f"at {tier.name} the function has {figure(max(known) / _MB)} MB of memory after a call, of {tier.memory_mb}: "
            "a little more and the kernel kills it; take a larger tier"
        )
    return None if text is None else _hint("memory", text, tier.name, evidence)


def _is_heap_full(line: Line) -> bool:
    return line["outcome"] == "failed" and any(word in (line["why"] or "") for word in _HEAP_FULL)


def _of_heap(tier: str, full: Sequence[bool], language: str | None) -> str:
    """The sentence about a heap that the runtime limits itself; full: in which calls there was no room."""
    first = full.index(True)
    had_room = "the first call" if first == 1 else f"the first {first} calls"
    what = (
        f"{had_room} had room, so find what it keeps from call to call"
        if first
        else "it needs more in one call than the heap has"
    )
    return (
        f"at {tier} the runtime's own heap was full in {sum(full)} of {len(full)} calls, before the kernel's limit: {what}"
        + _HEAP_SIZE.get(language or "", "")
    )


def _first_calls(of: _Seen, language: str | None) -> Hint:
    """Compilers and collectors: calls that use more CPU time than others of the same work."""
    used = [ns for line in of.lines if (ns := _cpu_ns(line)) is not None]
    if len(used) < 2 * _FEWEST:
        return None
    first = used[: max(3, round(_FIRST * len(used)))]
    later = used[len(used) // 2 :]
    usual = statistics.median(later)
    early = [ns for ns in first if ns > max(_SLOWER * usual, statistics.quantiles(later, n=10)[-1])]
    if len(early) >= 3 or early == first:
        times = statistics.median(early) / usual
        why = (
            "while the runtime compiles it"
            if language in _COMPILERS
            else "before caches and lazy imports are filled"
        )
        text = (
            f"the first {len(early)} calls of a process use {figure(times, 2)} times as much CPU time as later ones, most often {why}; "
            "keep instances alive, or do that work once before the first call"
        )
        return _hint(
            "first calls",
            text,
            None,
            {"first_cpu_ns": statistics.median(early), "cpu_ns": usual, "n": len(used)},
        )
    spikes = [ns for ns in later if ns > _SPIKE * usual]
    if len(spikes) >= 2 and _RARE[0] <= len(spikes) / len(later) <= _RARE[1]:
        text = (
            f"{len(spikes)} of {len(later)} calls use more than twice the usual CPU time, most often a garbage collection; "
            "a larger heap or fewer allocations make them rarer"
        )
        return _hint("spikes", text, None, {"cpu_ns": usual, "spikes": len(spikes), "n": len(later)})
    return None


def _cpu_ns(line: Line) -> float | None:
    """Of the function itself, or else of its cgroup."""
    own = line.get("function_cpu_ns")
    found = own if own is not None else (line.get("group") or {}).get("cpu_ns")
    return None if found is None else float(found)


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _hint(what: str, text: str, tier: str | None, evidence: dict[str, Any]) -> dict[str, Any]:
    return {"what": what, "text": f"{capitalised(text)}.", "work_ms": 0.0, "tier": tier, "evidence": evidence}
