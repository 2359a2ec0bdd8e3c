"""An inference as the pool of threads of ONNX Runtime has it: serial work, and loops whose pieces the threads share. Taken from recorded runs.

The pool's rules (onnxruntime/core/platform/EigenNonBlockingThreadPool.h, 1.31), as `[teams]` of `swtch simulate` has them: the thread that opens a
loop spins until it is done, also where workers block. It calls one worker, which calls the others. A worker without a CPU takes no piece, and one
that lost its CPU with a piece in hand is waited for.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._trace import Trace

LOOPS = 50.0
"""In an inference, where no run tells. With 25 or 100 the times of `llm-15m.token` in docs/results/ai.md differ by less than a tenth."""
_CLASSES = (4e3, 32e3, 256e3)
"""Borders between loops that are simulated alike, by the time that a worker spends in one, ns. Shorter ones are over before it comes."""
_PERIOD_US = 100_000
"""Of the quotas that `swtch ai` sets."""
_MOST_PIECES = 400
"""Of the work of an inference: each is an event of the simulator."""
MODEL, CALLED, WORKER = "model", "called", "worker"
"""Names of simulated threads: the one that infers, the one that it calls, and those that this one calls."""


@dataclass(frozen=True)
class Loops:
    """Loops of an inference that are alike."""

    count: float
    """How many."""
    work_ns: float
    """In one, for all threads together."""


@dataclass(frozen=True)
class Others:
    """What other programs do on each CPU."""

    per_second: float
    """How often one has it."""
    run_ns: float
    """For how long."""


@dataclass(frozen=True)
class Pool:
    """An inference."""

    serial_ns: float
    """Work of one thread."""
    loops: tuple[Loops, ...]
    """Work that can be shared."""
    wake_ns: float | None = None
    """What calling a worker that sleeps takes of the thread that calls; `None` where no run tells."""
    others: Others | None = None
    """`None` where no run was recorded."""

    @property
    def shared_ns(self) -> float:
        """Work that can be shared, in all loops."""
        return sum(one.count * one.work_ns for one in self.loops)

    @property
    def count(self) -> int:
        """Loops of an inference, as they are simulated."""
        return sum(_whole(one) for one in self.loops)

    def waking_in(self, wake_ns: float) -> Pool:
        """With another time for calling a worker."""
        return replace(self, wake_ns=wake_ns)


def of_times(one_ns: float, many_ns: float, threads: int) -> Pool | None:
    """By Amdahl: from the time of an inference with one thread and with several that spin, all of which had a CPU.

    `None` where several take as long, so that nothing tells what they share.
    """
    shared_ns = (one_ns - many_ns) * threads / (threads - 1)
    if shared_ns <= 0.02 * one_ns:
        return None
    return Pool(max(0.0, one_ns - shared_ns), (Loops(LOOPS, shared_ns / LOOPS),))


def with_loops(pool: Pool, slices_ns: Sequence[int], inferences: int, threads: int) -> Pool:
    """With its loops by their sizes.

    slices_ns: how long the workers ran each time that they were called, from a run in which they block. Those that came too late found nothing, and their
    loops share what is left of the work.
    """
    found = []
    for low, high in zip(_CLASSES, (*_CLASSES[1:], math.inf)):
        inside = [one for one in slices_ns if low <= one < high]
        if inside:
            found.append(Loops(len(inside) / (threads - 1) / inferences, threads * sum(inside) / len(inside)))
    missed = sum(one < _CLASSES[0] for one in slices_ns) / (threads - 1) / inferences
    known_ns = sum(one.count * one.work_ns for one in found)
    left_ns = pool.shared_ns - known_ns
    if left_ns < 0 or missed < 0.5:
        # The workers' own ways in and out are in their times.
        found = [replace(one, work_ns=one.work_ns * pool.shared_ns / known_ns) for one in found]
        left_ns = 0.0
    if missed >= 0.5:
        found.insert(0, Loops(missed, left_ns / missed))
    return replace(pool, loops=tuple(one for one in found if one.count >= 0.5)) if found else pool


def workers_of(trace: Trace) -> tuple[list[int], Others]:
    """How long each stay of a worker on a CPU was, ns, and the stays of other programs. The thread with the most CPU time makes the inferences."""
    tasks, switches = trace.tasks, trace.switches
    own = [row for row in range(len(tasks["tid"])) if tasks["in_scope"][row]]
    process = tasks["pid"][max(own, key=lambda row: tasks["run_ns"][row])]
    inside = {tasks["tid"][row]: tasks["run_ns"][row] for row in own if tasks["pid"][row] == process}
    first = max(inside, key=lambda tid: inside[tid])
    slices, others = [], []
    for tid, ran_ns in zip(switches["prev_tid"], switches["ran_ns"]):
        if ran_ns is None or tid == 0:
            continue
        if tid not in inside:
            others.append(ran_ns)
        elif tid != first:
            slices.append(ran_ns)
    cpus = max(1, len(set(switches["cpu"])))
    seconds = max(switches["at_ns"]) / 1e9
    mean_ns = sum(others) / len(others) if others else 0.0
    return slices, Others(len(others) / cpus / seconds, mean_ns)


def specification(
    pool: Pool, threads: int, spin: bool, quota: float | None, cpus: int, seed: int
) -> dict[str, Any]:
    """What `swtch.simulate` takes: endless inferences on a machine with this number of CPUs.

    quota: CPUs worth of time. seed: draws the order in which workers start, and so which of them share a CPU with the one that infers. Threads that spin
    hardly move, and much depends on where the one is that calls the others.
    """
    of_model: dict[str, Any] = {"process": MODEL} | ({} if quota is None else {"cgroup": MODEL})
    piece_ns = max(min(_work_ns(one) for one in pool.loops) / threads, pool.shared_ns / _MOST_PIECES)
    share = f"share pool {max(1, round(piece_ns))}ns"
    serial = f"compute {max(1, round(pool.serial_ns / pool.count))}ns"
    wake_ns = 0 if spin or pool.wake_ns is None else round(pool.wake_ns)
    call = f"compute {wake_ns}ns; " if wake_ns and threads > 1 else ""
    steps = "; ".join(
        f"loop {_whole(one)} {{ {serial}; open pool {max(1, round(_work_ns(one) / piece_ns))}; {call}{share}; join pool }}"
        for one in pool.loops
    )
    # Before it begins, all workers wait, and the one that is to be called is the first of them.
    program = f"compute {threads + 1}ms; forever {{ request {{ {steps} }} }}"
    tasks: list[dict[str, Any]] = [{"name": MODEL, **of_model, "program": program}]
    places = list(range(1, threads))
    random.Random(seed).shuffle(places)
    for number, place in enumerate(places):
        name = CALLED if number == 0 else f"{WORKER}-{number}"
        passes_on = (
            f"compute {wake_ns * (threads - 2)}ns; " if number == 0 and wake_ns and threads > 2 else ""
        )
        program = f"forever {{ attend pool; {passes_on}{share} }}"
        tasks.append({"name": name, **of_model, "start": f"{place}ms", "program": program})
    others = pool.others
    if others is not None and others.per_second > 0:
        every_ns = 1e9 / others.per_second
        between = f"sleep {round(every_ns * 0.5)}ns..{round(every_ns * 1.5)}ns"
        program = f"forever {{ compute {max(1, round(others.run_ns))}ns; {between} }}"
        tasks += [
            {"name": f"others{cpu}", "cpus": [cpu], "background": True, "program": program}
            for cpu in range(cpus)
        ]
    team = {"waiting": "spin" if spin else "block", "joining": "spin", "calls": "one"}
    groups = (
        {} if quota is None else {"cgroups": {MODEL: {"max": f"{round(quota * _PERIOD_US)} {_PERIOD_US}"}}}
    )
    return {"machine": cpus, "teams": {"pool": team}, **groups, "task": tasks}


def _whole(one: Loops) -> int:
    """How many are simulated: a whole number, with the same work in all."""
    return max(1, round(one.count))


def _work_ns(one: Loops) -> float:
    return one.count * one.work_ns / _whole(one)
