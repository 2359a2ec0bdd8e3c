"""What a study of tiers will do: its jobs, their order, and how long they take. Pure."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .own import OwnFunction
from .tier_sets import UNTHROTTLED, Tier, TierSet

WORK, SWITCHES, QUOTA, COLD = "work", "switches", "quota", "cold"
"""What an invocation is for: a fixed amount of work; what a switch costs in an execution of that length; the quota, seen from inside; the start
of a new process, and its first call.
"""
SWITCH_ROUNDS = 20
"""The cost of a switch is measured in this many rounds at most."""
QUOTA_ROUNDS = 5
"""Likewise the quota."""
NO_WORK_MS = 1000.0
"""How long switches are measured in addition to a function with its own work."""
FEWEST_REQUESTS = 10
"""Of a round under load, where nothing else is asked for."""
_LOAD_S = 2.0
"""So long a round of an open loop takes at least."""
_SWITCHES_PER_BATCH = 200
_MOST_BATCHES = 5000
_OVERHEAD_S = 0.01
_START_S = 0.2
_START_CPU_S = 0.1
"""Of a runtime."""


@dataclass(frozen=True)
class Job:
    """One invocation to be made."""

    subject: str
    """Which function: a language, the name of one of the user's, or `url`."""
    tier: str
    """The tier's name, or `unthrottled`."""
    purpose: str
    """`work`, `switches` or `quota`."""
    work_ms: float
    """How much work, or for how long switches are measured."""
    repeat: int
    """Which round, from 0. Under load: the first of the round's invocations, which count on."""
    requests: int = 1
    """How many invocations it makes, more than one under load."""

    @property
    def key(self) -> tuple[str, str, str, float, int]:
        """What tells it from all others, also in a journal."""
        return (self.subject, self.tier, self.purpose, self.work_ms, self.repeat)


@dataclass(frozen=True)
class Plan:
    """Everything that decides what is invoked; a study is resumed with the same."""

    kind: str
    """`handler`, `own` or `url`."""
    subjects: tuple[str, ...]
    """Languages of the handler; names of the user's functions, or `own`, where there is one; `url`."""
    name: str
    """The function, in words."""
    tier_set: str
    """Its name."""
    tier_source: str
    """Where the tiers come from."""
    tiers: tuple[Tier, ...]
    """From the smallest."""
    price: str | None
    """The table of prices."""
    period_us: int
    """Of quotas."""
    works_ms: tuple[float, ...]
    """Amounts of work, as CPU time; `(0,)` for a function that brings its own."""
    repeats: int
    """Invocations of each tier and work."""
    seed: int
    """Of the order."""
    limit_s: float
    """No invocation takes longer."""
    burst_us: int = 0
    """Of quotas, at most each tier's quota."""
    period_source: str | None = None
    """Where the period comes from."""
    dated: str | None = None
    """The day on which tiers and period were looked up."""
    cold_starts: int = 0
    """Starts of each tier that are measured."""
    init_unlimited: bool = False
    """Whether a new process has no quota until it is ready."""
    memory_limited: bool = True
    """Whether tiers limit memory as well."""
    quota_ms: int = 2000
    """How long a quota is looked at from inside."""
    functions: tuple[OwnFunction, ...] = ()
    """The user's own, as many as subjects."""
    path: str = "/"
    """Where those are asked that answer HTTP."""
    rate_per_s: float | None = None
    """Of an open loop: requests are due at these times, whatever became of earlier ones."""
    concurrency: int = 1
    """How many invocations may be under way at once."""
    requests: int = 0
    """Of each round under load; 0: as `requests_per_round` has it."""
    event: str | None = None
    """The event for the user's function, JSON."""
    urls: tuple[str, ...] = ()
    """Of each tier, where they are deployed functions."""

    @property
    def local(self) -> bool:
        """Whether tiers are cgroups of this machine."""
        return self.kind != "url"

    @property
    def measures(self) -> bool:
        """Whether a handler that measures takes part: as the function, or in addition to it."""
        return self.kind != "url" or self.event is None

    @property
    def calibrates(self) -> bool:
        """Whether the work is iterations of the project's handler; the user's function brings its own."""
        return self.kind == "handler" or (self.kind == "url" and self.event is None)

    def places(self) -> list[str]:
        """Names of the tiers, and of what they are compared with."""
        return [tier.name for tier in self.tiers] + ([UNTHROTTLED] if self.local else [])

    @property
    def under_load(self) -> bool:
        """Whether invocations are not made one after the other."""
        return self.rate_per_s is not None or self.concurrency > 1

    @property
    def requests_per_round(self) -> int:
        """Invocations of each tier and work in a round."""
        if not self.under_load:
            return 1
        return self.requests or max(
            FEWEST_REQUESTS, 4 * self.concurrency, math.ceil(_LOAD_S * (self.rate_per_s or 0))
        )

    def own(self, subject: str) -> OwnFunction:
        """The user's function of that name. Raises `KeyError`."""
        if len(self.functions) == 1:
            return self.functions[0]
        return next(one for one in self.functions if one.name == subject)

    def jobs(self) -> list[Job]:
        """All invocations, round by round. Each round has everything once, in an order of its own, so that other load on the machine
        affects all tiers equally.
        """
        found: list[Job] = []
        for repeat in range(self.repeats):
            ordered = self._round(repeat)
            random.Random(f"{self.seed}/{repeat}").shuffle(ordered)
            found += ordered
        return found

    def _round(self, repeat: int) -> list[Job]:
        found = []
        many = self.requests_per_round
        for subject in self.subjects:
            # The project's handler measures the tiers once, however many functions of the user's are in them.
            measures = self.measures and (self.kind != "own" or subject == self.subjects[0])
            for place in self.places():
                found += [Job(subject, place, WORK, work, repeat * many, many) for work in self.works_ms]
                if measures and repeat < SWITCH_ROUNDS:
                    found += [Job(subject, place, SWITCHES, work, repeat) for work in self.switch_lengths_ms]
                if self.local and repeat < self.cold_starts:
                    found.append(Job(subject, place, COLD, self.works_ms[0], repeat))
                if measures and place != UNTHROTTLED and repeat < QUOTA_ROUNDS:
                    found.append(Job(subject, place, QUOTA, 0, repeat))
        return found

    @property
    def switch_lengths_ms(self) -> tuple[float, ...]:
        """For how long the switches are measured."""
        return tuple(work or NO_WORK_MS for work in self.works_ms)

    def request(self, job: Job, iterations: int | None = None) -> dict[str, Any]:
        """The request for the handler; iterations: of the work, the same in all tiers that are compared."""
        nothing = {"methods": [], "spin_ms": 0, "work_ms": 0}
        if job.purpose in (WORK, COLD):
            return {**nothing, "work_ms": job.work_ms, "iterations": iterations or 0}
        if job.purpose == QUOTA:
            return {**nothing, "spin_ms": self.quota_ms}
        return {
            **nothing,
            "methods": ["pipe"],
            "switches_per_batch": _SWITCHES_PER_BATCH,
            "min_batches": 1,
            "max_batches": _MOST_BATCHES,
            # Never narrow enough: the time decides.
            "interval": 1e-9,
            "time_limit_ms": job.work_ms,
        }

    def guess_s(self, job: Job) -> float:
        """How long an invocation may take."""
        cpus = next((tier.cpus for tier in self.tiers if tier.name == job.tier), None)
        slower = 1.0 if not cpus else max(1.0, 1 / cpus)
        if job.purpose == COLD:
            return _START_S + (_START_CPU_S + job.work_ms / 1e3) * slower
        if job.purpose == QUOTA:
            return _OVERHEAD_S + self.quota_ms / 1e3
        if job.purpose == SWITCHES:
            return _OVERHEAD_S + job.work_ms / 1e3
        if job.requests > 1 and self.rate_per_s is not None:
            return _OVERHEAD_S + max(job.requests / self.rate_per_s, job.work_ms / 1e3 * slower)
        return job.requests * (_OVERHEAD_S + job.work_ms / 1e3 * slower) / self.concurrency

    def to_document(self) -> dict[str, Any]:
        """As the journal has it."""
        return asdict(self)


def from_document(document: Mapping[str, Any]) -> Plan:
    """A plan from a journal. Raises `TypeError` or `KeyError` for another document."""
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in document.items()
    }
    values["tiers"] = tuple(Tier(**tier) for tier in document["tiers"])
    # Journals of an older swtch have one function in Python at most.
    handler = values.pop("handler", None)
    values["functions"] = tuple(OwnFunction(**one) for one in document.get("functions", ()))
    if handler is not None:
        values["functions"] = (OwnFunction(handler, "python", handler),)
    return Plan(**values)


def tiers_of(found: TierSet) -> dict[str, Any]:
    """The parts of a plan that a set of tiers decides."""
    return {
        "tier_set": found.name,
        "tier_source": found.source,
        "tiers": found.tiers,
        "period_source": found.period_source,
        "dated": found.dated,
    }


class Forecast:
    """How long jobs take: guessed, and corrected by those that are done."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._took_s = self._guessed_s = 0.0

    def add(self, job: Job, took_s: float) -> None:
        """Records how long a job took."""
        self._took_s += took_s
        self._guessed_s += self._plan.guess_s(job)

    def seconds(self, guessed_s: float) -> float:
        """How long jobs take whose guesses have that sum."""
        return guessed_s * (self._took_s / self._guessed_s if self._guessed_s else 1.0)
