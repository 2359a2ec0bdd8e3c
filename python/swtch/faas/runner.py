"""Makes the invocations of a plan, in its order; each that is finished is in the journal before the next begins."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from .. import _cgroup as cgroup
from .._errors import CommandError
from .._progress import Progress, left
from .access import Access
from .calibration import Calibration, calibrate
from .invoke import CALL_SCHEMA, Reply
from .journal import Journal, Line
from .languages import Command, server
from .plan import COLD, QUOTA, WORK, Forecast, Job, Plan
from .server import START_LIMIT_S, NotStarted, Server
from .tier_sets import UNTHROTTLED, Tier

PROGRAM = "swtch-faas"
"""Names of cgroups begin with this."""
PROCESSES = 1024
"""In a tier at once, as AWS Lambda allows."""
NO_GROUP = (
    "cannot apply the tier {tier}: {why}; `swtch faas measure` without --memory, and --invoke, need no cgroup"
)
GIVE_UP = 3
"""A tier is given up after this many failed starts in a row."""
_MB = 1 << 20
_WARM_UPS = 2
_WRITE_EVERY_S = 30.0
_MEASURING_S = 60.0
_NOTHING = json.dumps({"methods": [], "spin_ms": 0, "work_ms": 1, "iterations": 100_000}).encode()


class Place:
    """A tier on this machine: its cgroup, and a function in it."""

    def __init__(
        self,
        name: str,
        command: Command,
        warm_up: bytes,
        plan: Plan,
        tier: Tier | None,
        stack: contextlib.ExitStack,
    ) -> None:
        self.group = stack.enter_context(cgroup.group(PROGRAM, name, _limits(plan, tier)))
        if self.group.directory is None and tier is not None:
            raise CommandError(NO_GROUP.format(tier=tier.name, why=self.group.why))
        self.failures = 0
        """Starts in a row that failed."""
        self._limit_s, self._warm_up = plan.limit_s, warm_up
        self._quota_us = None if tier is None else tier.quota_us(plan.period_us)
        self._period_us, self._init_unlimited = plan.period_us, plan.init_unlimited
        told = Command(command.words, {**command.environment, **said_of(tier)})
        limited = "processes" not in dict(self.group.missing) and self.group.directory is not None
        self._server = Server(told, self.group, processes=None if limited else PROCESSES)
        stack.callback(self._server.stop)

    def invoke(self, body: bytes, limit_s: float) -> tuple[Reply, dict[str, Any] | None]:
        """Makes an invocation, which is given up after `limit_s`; returns its outcome, and what the group counted during it. Raises `NotStarted`."""
        self._ready()
        self.group.reset_memory_peak()
        before = self.group.settled_counters()
        reply = self._server.invoke(body, limit_s)
        ended = None if reply.outcome == "complete" else self._server.ended(before.oom_kills)
        after = self.group.settled_counters()
        if ended is not None and reply.outcome != "timeout":
            reply = Reply(ended[0], reply.latency_ns, ended[1])
        if (
            reply.outcome == "timeout"
            or ended is not None
            or (reply.outcome != "complete" and self._server.is_oversized)
        ):
            self._server.stop()
        return reply, _difference(before, after)

    def start_cold(self, body: bytes, limit_s: float) -> tuple[Reply, dict[str, Any]]:
        """Starts it anew and makes its first invocation; returns its outcome, and how long which part took. Raises `NotStarted`."""
        self._server.stop()
        lifted = self._init_unlimited and self._quota_us is not None and self.group.directory is not None
        if lifted:
            self.group.limit_cpu(None, self._period_us)
        try:
            started_ns = time.monotonic_ns()
            self._server.start(max(START_LIMIT_S, self._limit_s))
            ready_ns = time.monotonic_ns()
        finally:
            if lifted:
                self.group.limit_cpu(self._quota_us, self._period_us)
        kills = self.group.counters().oom_kills
        reply = self._server.invoke(body, limit_s)
        ended = None if reply.outcome == "complete" else self._server.ended(kills)
        if ended is not None and reply.outcome != "timeout":
            reply = Reply(ended[0], reply.latency_ns, ended[1])
        if reply.outcome != "complete":
            self._server.stop()
        else:
            # One call more, and it is as warm as after any other start.
            self._server.invoke(self._warm_up, self._limit_s)
        began_ns = self._server.began_ns
        known = began_ns is not None and started_ns <= began_ns <= ready_ns
        return reply, {
            "runtime_ns": began_ns - started_ns if known and began_ns is not None else None,
            "init_ns": ready_ns - (began_ns if known and began_ns is not None else started_ns),
        }

    def _ready(self) -> None:
        if self._server.ready:
            return
        self._server.stop()
        self._server.start(max(START_LIMIT_S, self._limit_s))
        # First calls are several times slower.
        for _ in range(_WARM_UPS):
            if self._server.invoke(self._warm_up, self._limit_s).outcome != "complete":
                # It fails at everything, and has to fail at what counts.
                self._server.stop()
                self._server.start(max(START_LIMIT_S, self._limit_s))
                break


class Runner:
    """Makes the invocations that a journal does not have yet."""

    def __init__(
        self, plan: Plan, journal: Journal, write: Callable[[], None], access: Access | None = None
    ) -> None:
        """write: brings the document up to date; is called now and then. access: how deployed functions are invoked."""
        self._access = access or Access()
        self.plan, self.journal = plan, journal
        self.given_up: dict[tuple[str, str], str] = {}
        """Tiers that were given up, and why."""
        self.missing: dict[str, str] = {}
        """Limits that tiers have not, and why."""
        self.versions: dict[str, int | None] = {}
        """The version of each tier's cgroup."""
        self._write = write
        self._progress = Progress()
        self._places: dict[tuple[str, str], Place] = {}
        self._commands: dict[str, Command] = {}

    def todo(self) -> list[Job]:
        """What is left to do."""
        done = self.journal.done
        return [job for job in self.plan.jobs() if job.key not in done]

    def run(self, deadline_s: float | None = None) -> None:
        """Makes all that is left. Ctrl-C passes through: the running invocation is ended, and finished ones are in the journal.

        deadline_s: by `time.monotonic`; rounds that would probably end after it are not begun.
        """
        todo = self.todo()
        forecast = Forecast(self.plan)
        rest_s = sum(map(self.plan.guess_s, todo))
        written_s, writing_s = time.monotonic(), 0.0
        try:
            with contextlib.ExitStack() as stack:
                for place, job in enumerate(todo):
                    about = f"{job.tier}  {_purpose(job)}"
                    self._progress.show(
                        f"{place + 1}/{len(todo)}  {about}  {left(forecast.seconds(rest_s))} left"
                    )
                    if (
                        deadline_s is not None
                        and time.monotonic() + forecast.seconds(self.plan.guess_s(job)) > deadline_s
                    ):
                        break
                    started = time.monotonic()
                    line = self._one(job, stack)
                    forecast.add(job, time.monotonic() - started)
                    rest_s -= self.plan.guess_s(job)
                    if line is not None:
                        self.journal.add(line)
                    # A large study takes a while to write, and that while must stay a small part.
                    if time.monotonic() - written_s > max(_WRITE_EVERY_S, 50 * writing_s):
                        begun_s = time.monotonic()
                        self._write()
                        written_s = time.monotonic()
                        writing_s = written_s - begun_s
        finally:
            self._progress.clear()
            self._places.clear()

    def _one(self, job: Job, stack: contextlib.ExitStack) -> Line | None:
        if (job.subject, job.tier) in self.given_up:
            return None
        iterations = self._iterations(job, stack)
        started_at = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")
        body = self._body(job, iterations)
        start: dict[str, Any] = {}
        if not self.plan.local:
            url = self.plan.urls[self.plan.places().index(job.tier)]
            reply, counted = self._access.invoke(url, body, self.plan.limit_s), None
        else:
            place = self._place(job, stack)
            try:
                # What measures knows its own time, which may be longer than a function may take.
                limit_s = (
                    self.plan.limit_s if job.purpose in (WORK, COLD) else max(self.plan.limit_s, _MEASURING_S)
                )
                if job.purpose == COLD:
                    reply, start = place.start_cold(body, limit_s)
                    counted = None
                else:
                    reply, counted = place.invoke(body, limit_s)
                place.failures = 0
            except NotStarted as early:
                place.failures += 1
                if place.failures >= GIVE_UP:
                    self.given_up[job.subject, job.tier] = str(early)
                return {
                    **_line(job, started_at, iterations),
                    "outcome": early.outcome,
                    "why": str(early),
                    "latency_ns": 0,
                    "group": None,
                }
        response = reply.response
        return {
            **_line(job, started_at, iterations),
            "outcome": reply.outcome,
            "why": reply.why,
            "latency_ns": reply.latency_ns,
            "function_cpu_ns": _function_cpu_ns(reply) if job.purpose == WORK else None,
            **start,
            "retries": reply.retries,
            "retried_why": reply.retried_why,
            "cold": bool(response and response.get("invocation", {}).get("cold")),
            "response": response,
            "group": counted,
        }

    def _iterations(self, job: Job, stack: contextlib.ExitStack) -> int | None:
        """Of a job's work; `None` where a function brings its own. The first job of a function calibrates it."""
        if job.purpose not in (WORK, COLD) or not self.plan.calibrates:
            return None
        if job.subject not in self.journal.calibrations:
            if self.plan.local:
                place = self._place(replace(job, tier=UNTHROTTLED), stack)
                try:
                    found = calibrate(lambda body: place.invoke(body, self.plan.limit_s)[0], UNTHROTTLED)
                except NotStarted as early:
                    raise CommandError(f"the handler cannot be calibrated: {early}") from None
            else:
                found = calibrate(
                    lambda body: self._access.invoke(self.plan.urls[-1], body, self.plan.limit_s),
                    self.plan.places()[-1],
                )
            self.journal.calibrate(job.subject, found.to_document())
        return Calibration(**self.journal.calibrations[job.subject]).iterations(job.work_ms)

    def _place(self, job: Job, stack: contextlib.ExitStack) -> Place:
        # In addition to the user's function the handler measures the same tier, in a group of its own.
        own = job.purpose in (WORK, COLD) and self.plan.kind == "own"
        subject = "own" if own else "python" if self.plan.kind == "own" else job.subject
        key = (subject, job.tier)
        if key not in self._places:
            tier = (
                None
                if job.tier == UNTHROTTLED
                else next(one for one in self.plan.tiers if one.name == job.tier)
            )
            if subject not in self._commands:
                self._commands[subject] = server("python", self.plan.handler) if own else server(subject)
            warm_up = self._body(job) if own else _NOTHING
            place = Place(_slug(*key), self._commands[subject], warm_up, self.plan, tier, stack)
            self._places[key] = place
            self.versions[job.tier] = place.group.version
            for what, why in place.group.missing:
                self.missing[f"{what} limit of {job.tier}"] = why
        return self._places[key]

    def _body(self, job: Job, iterations: int | None = None) -> bytes:
        if job.purpose in (WORK, COLD) and not self.plan.calibrates:
            # A request is one line.
            return json.dumps(json.loads(self.plan.event or "{}")).encode()
        return json.dumps(self.plan.request(job, iterations)).encode()


def _function_cpu_ns(reply: Reply) -> int | None:
    """CPU time of the function itself, by its own process: of the work, or of the call."""
    response = reply.response
    if response is not None:
        work = response.get("work")
        return None if work is None else int(work["cpu_ns"])
    document = reply.document
    if isinstance(document, dict) and document.get("schema") == CALL_SCHEMA:
        return int(document["cpu_ns"])
    return None


def _line(job: Job, started_at: str, iterations: int | None) -> Line:
    return {
        "subject": job.subject,
        "purpose": job.purpose,
        "tier": job.tier,
        "work_ms": job.work_ms,
        "repeat": job.repeat,
        "started_at": started_at,
        "iterations": iterations,
        "function_cpu_ns": None,
        "retries": 0,
        "cold": False,
        "response": None,
    }


def _purpose(job: Job) -> str:
    if job.purpose == QUOTA:
        return "the quota"
    if job.purpose == COLD:
        return "a cold start"
    return f"{job.work_ms:g} ms of {job.purpose}" if job.work_ms else "the function"


def _limits(plan: Plan, tier: Tier | None) -> cgroup.Limits:
    if tier is None:
        # Without a quota, but no function may take the memory of the whole machine.
        largest = max((one.memory_mb for one in plan.tiers if one.memory_mb is not None), default=None)
        memory = largest * _MB if plan.memory_limited and largest is not None else None
        return cgroup.Limits(memory_bytes=memory, processes=PROCESSES)
    return limits_of(tier, plan.period_us, plan.memory_limited, plan.burst_us)


def limits_of(tier: Tier, period_us: int, memory_limited: bool = True, burst_us: int = 0) -> cgroup.Limits:
    """The limits of a cgroup for that tier."""
    memory = tier.memory_mb * _MB if memory_limited and tier.memory_mb is not None else None
    return cgroup.Limits(tier.quota_us(period_us), period_us, burst_us, memory, PROCESSES)


def said_of(tier: Tier | None) -> dict[str, str]:
    """The environment variables that describe a tier to the handler."""
    found = {}
    if tier is not None and tier.memory_mb is not None:
        found["SWTCH_FUNCTION_MEMORY_MB"] = str(tier.memory_mb)
    if tier is not None and tier.cpus is not None:
        found["SWTCH_FUNCTION_CPUS"] = f"{tier.cpus:.6g}"
    return found


def _difference(before: cgroup.Counters, after: cgroup.Counters) -> dict[str, Any] | None:
    if after.throttled_ns is None and after.cpu_ns is None:
        return None

    def less(now: int | None, then: int | None) -> int | None:
        return None if now is None or then is None else now - then

    return {
        "periods": less(after.periods, before.periods),
        "periods_throttled": less(after.periods_throttled, before.periods_throttled),
        "throttled_ns": less(after.throttled_ns, before.throttled_ns),
        "cpu_ns": less(after.cpu_ns, before.cpu_ns),
        "memory_peak_bytes": after.memory_peak_bytes,
        "memory_bytes": after.memory_bytes,
    }


def _slug(subject: str, tier: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in f"{subject}-{tier}")
