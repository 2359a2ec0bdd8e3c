"""Why a function is slow at a tier: sentences from invocations that are made up. `experiments/serverless/advice.py` runs real ones."""

from __future__ import annotations

import json

import pytest

from swtch.faas import study
from swtch.faas.hints import hints
from swtch.faas.plan import WORK, Plan
from swtch.faas.tier_sets import Tier

MB = 1 << 20
PLAN = Plan(
    "own", ("own",), "mine:f", "lambda", "x", (Tier("128 MB", 128, 0.1), Tier("1769 MB", 1769, 1.0)), None, 100_000, (0.0,), 12, 0, 1.0
)  # fmt: skip


def calls(tier, latency_ms, cpu_ms, count=12, stopped_ms=0, memory_mb=40, outcome="complete", **more):
    """Invocations of a tier; a function of the round gives what differs."""

    def of(value, repeat):
        return value(repeat) if callable(value) else value

    return [
        {
            "subject": "own", "purpose": WORK, "tier": tier, "work_ms": 0.0, "repeat": repeat, "outcome": of(outcome, repeat),
            "latency_ns": of(latency_ms, repeat) * 1e6, "why": None, "function_cpu_ns": round(of(cpu_ms, repeat) * 1e6),
            "group": {"throttled_ns": stopped_ms * 1e6, "memory_bytes": round(of(memory_mb, repeat) * MB)}, **more,
        }
        for repeat in range(count)
    ]  # fmt: skip


def three(small, large, free):
    return calls("128 MB", **small) + calls("1769 MB", **large) + calls("unthrottled", **free)


def texts(lines, plan=PLAN):
    return {one["what"]: one["text"] for one in hints(plan, lines)}


def test_a_function_that_waits_is_told_from_one_that_computes():
    waiting = {"latency_ms": 205, "cpu_ms": 2}
    found = texts(three(waiting, waiting, waiting))
    assert list(found) == ["waits"]
    assert found["waits"] == (
        "The function waits: of 205 ms it uses a CPU for 2 ms (0.98 %), so that more CPU does not make it faster; "
        "shorten what it waits for, or wait for several things at once; 128 MB is as fast as any."
    )
    computing = {"latency_ms": 50, "cpu_ms": 49}
    assert texts(three({"latency_ms": 480, "cpu_ms": 49, "stopped_ms": 430}, computing, computing)) == {}


def test_threads_beyond_the_quota_are_named_where_they_are_stopped():
    four = {"latency_ms": 100, "cpu_ms": 190}
    one_cpu = {"latency_ms": 188, "cpu_ms": 190, "stopped_ms": 90}
    found = texts(three({"latency_ms": 1900, "cpu_ms": 190, "stopped_ms": 1700}, one_cpu, four))
    assert found == {
        "threads": "Threads beyond the quota: unthrottled the function keeps 1.9 CPUs busy at once, and 1769 MB pays for 1; they use up its 100 ms in 52.6 ms "
        "of each 100 ms, and then all threads stop; 1 busy thread would need about 190 ms, and these take 188 ms."
    }
    # A call of two quotas: threads have both in the time of one and a half.
    short = {**one_cpu, "latency_ms": 130}
    assert "threads" not in texts(three({"latency_ms": 1600, "cpu_ms": 190, "stopped_ms": 1500}, short, four))
    alone = {"latency_ms": 100, "cpu_ms": 99}
    assert "threads" not in texts(three({"latency_ms": 990, "cpu_ms": 99, "stopped_ms": 880}, alone, alone))


def test_work_that_exceeds_a_quota_by_little_says_how_much_less_would_fit():
    free = {"latency_ms": 11, "cpu_ms": 11}
    found = texts(three({"latency_ms": 101, "cpu_ms": 11, "stopped_ms": 90}, free, free))
    assert found["quota step"] == (
        "At 128 MB the function uses 11 ms of CPU time and the quota is 10 ms: "
        "with 1 ms less it would be done within one period, in about 10 ms instead of 101 ms."
    )
    assert "quota step" not in texts(three({"latency_ms": 9, "cpu_ms": 9}, free, free))


def test_a_quota_below_a_tick_is_named():
    plan = Plan(**{**PLAN.__dict__, "period_us": 20_000})
    free = {"latency_ms": 20, "cpu_ms": 20}
    found = texts(three({"latency_ms": 200, "cpu_ms": 20, "stopped_ms": 180}, free, free), plan)
    assert found["quota tick"].startswith(
        "At 128 MB the quota is 2 ms, less than a tick of most kernels (1 to 4 ms)"
    )


def test_memory_is_named_before_the_kill_and_after_it():
    idle = {"latency_ms": 10, "cpu_ms": 9}
    leaking = {**idle, "memory_mb": lambda repeat: 30 + 5 * repeat}
    found = texts(three(leaking, idle, idle))
    assert found["memory"].startswith(
        "Memory leaks: at 128 MB the function keeps 5 MB more after each call; after about 9 more calls the kernel kills it"
    )
    killed = {**leaking, "memory_mb": lambda repeat: 30 + 15 * (repeat % 6), "outcome": lambda repeat: "oom" if repeat == 6 else "complete"}  # fmt: skip
    assert "the kernel killed it once at the limit" in texts(three(killed, idle, idle))["memory"]
    full = {**idle, "memory_mb": 120}
    assert (
        "128 MB the function has 120 MB of memory after a call, of 128"
        in texts(three(full, idle, idle))["memory"]
    )
    small = {**idle, "outcome": lambda repeat: "oom" if repeat % 2 else "complete"}
    assert texts(three(small, idle, idle))["memory"].startswith(
        "128 MB is too little memory: the kernel killed the function in 6 of 12 calls"
    )
    why = "OutOfMemoryError: Java heap space (Faults.java:22)"
    heap = {**idle, "outcome": lambda repeat: "failed" if repeat >= 4 else "complete", "why": why, "language": "java"}  # fmt: skip
    assert texts(three(heap, idle, idle))["memory"] == (
        "At 128 MB the runtime's own heap was full in 8 of 12 calls, before the kernel's limit: the first 4 calls had room, so find what it "
        "keeps from call to call; Java's heap is a quarter of the memory unless an option says otherwise (-XX:MaxRAMPercentage=75)."
    )
    at_once = {**idle, "outcome": "failed", "why": "MemoryError", "language": "python"}
    assert texts(three(at_once, idle, idle))["memory"].endswith(
        "it needs more in one call than the heap has."
    )
    # Another failure is none of memory.
    other = {**heap, "why": "IllegalStateException"}
    assert "memory" not in texts(three(other, idle, idle))
    # An allocator that grows at first and then no more.
    settled = {**idle, "memory_mb": lambda repeat: 40 + min(repeat, 2)}
    assert "memory" not in texts(three(settled, idle, idle))


def test_first_calls_and_rare_calls_with_more_cpu_time_are_told_apart():
    def free(cpu_ms):
        return calls("unthrottled", lambda repeat: cpu_ms(repeat) + 1, cpu_ms, 40, language="java")

    found = texts(free(lambda repeat: 30 if repeat < 6 else 10))
    assert found["first calls"].startswith(
        "The first 6 calls of a process use 3 times as much CPU time as later ones, most often while the runtime compiles it"
    )
    assert texts(free(lambda repeat: 25 if repeat % 8 == 5 else 10))["spikes"].startswith(
        "3 of 20 calls use more than twice"
    )
    assert texts(free(lambda repeat: 10 + repeat % 3)) == {}


@pytest.mark.parametrize("kind", ["handler", "url"])
def test_nothing_is_said_of_the_projects_handler(kind):
    plan = Plan(**{**PLAN.__dict__, "kind": kind})
    assert hints(plan, calls("128 MB", 200, 1)) == []


def test_hints_are_in_the_study_as_advice(monkeypatch):
    facts = {"provenance": {}, "host": {}, "machine_name": "x", "versions": {}}
    waiting = [
        {**one, "started_at": "x", "why": None, "cold": False, "response": None}
        for one in calls("128 MB", 200, 2)
    ]
    found = study.document(PLAN, "own", waiting, facts, None, None, [])
    assert [one["what"] for one in found["advice"]] == ["waits"]
    json.dumps(found["advice"], allow_nan=False)
