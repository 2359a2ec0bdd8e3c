"""Makes the invocations of a plan, in its order; each that is finished is in the journal before the next begins."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from .. import _cgroup as cgroup
from .._errors import CommandError
from .._progress import Progress, left
from . import load, switches
from .access import Access
from .calibration import Calibration, calibrate
from .http_server import HttpServer
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
MEASURES = "swtch handler"
"""What measures the tiers beside functions of the user's own."""
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
        over_http: bool = False,
    ) -> None:
        """over_http: whether the function answers HTTP, and not lines."""
        self.group = stack.enter_context(cgroup.group(PROGRAM, name, _limits(plan, tier)))
        if self.group.directory is None and tier is not None:
            raise CommandError(NO_GROUP.format(tier=tier.name, why=self.group.why))
        self.failures = 0
        """Starts in a row that failed."""
        self._limit_s, self._warm_up, self._over_http = plan.limit_s, warm_up, over_http
        self._quota_us = None if tier is None else tier.quota_us(plan.period_us)
        self._period_us, self._init_unlimited = plan.period_us, plan.init_unlimited
        told = Command(command.words, {**command.environment, **said_of(tier)})
        limited = "processes" not in dict(self.group.missing) and self.group.directory is not None
        most = None if limited else PROCESSES
        self._server = (
            HttpServer(told, self.group, processes=most, path=plan.path)
            if over_http
            else Server(told, self.group, processes=most)
        )
        stack.callback(self._server.stop)

    def invoke(self, body: bytes, limit_s: float) -> tuple[Reply, dict[str, Any] | None]:
        """Makes an invocation, which is given up after `limit_s`; returns its outcome, and what the group counted during it. Raises `NotStarted`."""
        self.ready()
        self.group.reset_memory_peak()
        before, switched = self.group.settled_counters(), switches.counts(self.group)
        reply = self._server.invoke(body, limit_s)
        ended = None if reply.outcome == "complete" else self._server.ended(before.oom_kills)
        after = self.group.settled_counters()
        counted = _difference(before, after)
        if counted is not None and reply.outcome == "complete":
            counted["switches"] = switches.between(switched, switches.counts(self.group))
        if ended is not None and reply.outcome != "timeout":
            reply = Reply(ended[0], reply.latency_ns, ended[1])
        if (
            reply.outcome == "timeout"
            or ended is not None
            or (reply.outcome != "complete" and self._server.is_oversized)
        ):
            self._server.stop()
        return reply, counted

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

    def invoke_beside_others(self, body: bytes, limit_s: float) -> Reply:
        """An invocation while others are under way: nothing is read of the cgroup. A function that takes lines and did not answer is started
        anew, since its next answer may be the one that is missing.
        """
        if not self._over_http and not self._server.ready:
            try:
                self.ready()
            except NotStarted as error:
                return Reply(error.outcome, 0, str(error))
        return self._server.invoke(body, limit_s)

    def end_unless_ready(self) -> None:
        """Ends a function that does not answer any more, so that the next invocation starts it anew."""
        if not self._server.ready:
            self._server.stop()

    def ready(self) -> None:
        """Starts the function and warms it up, unless it runs. Raises `NotStarted`."""
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
        self,
        plan: Plan,
        journal: Journal,
        write: Callable[[], None],
        access: Access | None = None,
        commands: Mapping[str, Command] | None = None,
    ) -> None:
        """write: brings the document up to date; is called now and then. access: how deployed functions are invoked.
        commands: what starts functions of the user's, by subject."""
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
        self._places: dict[tuple[str, str, int], Place] = {}
        self._commands = dict(commands or {})

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
                    lines = self._made(job, stack)
                    forecast.add(job, time.monotonic() - started)
                    rest_s -= self.plan.guess_s(job)
                    if lines:
                        self.journal.add(*lines)
                    # A large study takes a while to write, and that while must stay a small part.
                    if time.monotonic() - written_s > max(_WRITE_EVERY_S, 50 * writing_s):
                        begun_s = time.monotonic()
                        self._write()
                        written_s = time.monotonic()
                        writing_s = written_s - begun_s
        finally:
            self._progress.clear()
            self._places.clear()

    def _made(self, job: Job, stack: contextlib.ExitStack) -> list[Line]:
        """The job's invocations; none of a tier that was given up."""
        if (job.subject, job.tier) in self.given_up:
            return []
        return self._many(job, stack) if job.requests > 1 else [self._one(job, stack)]

    def _many(self, job: Job, stack: contextlib.ExitStack) -> list[Line]:
        """Invocations under load."""
        iterations = self._iterations(job, stack)
        started_at = _now()
        body = self._body(job, iterations)
        limit_s = self.plan.limit_s
        callers: list[Callable[[], Reply]]
        if not self.plan.local:
            url = self.plan.urls[self.plan.places().index(job.tier)]
            callers = [lambda: self._access.invoke(url, body, limit_s)] * self.plan.concurrency
        else:
            places = self._instances(job, stack)
            try:
                for place in places:
                    place.ready()
                    place.failures = 0
            except NotStarted as early:
                return [self._not_started(job, place, early, started_at, iterations)]
            over_http = self._over_http(job)
            callers = [
                lambda place=place: place.invoke_beside_others(body, limit_s)  # type: ignore[misc]
                for place in (places * self.plan.concurrency if over_http else places)
            ]
        lines = []
        for number, one in enumerate(load.run(callers, job.requests, self.plan.rate_per_s)):
            line = _line(replace(job, repeat=job.repeat + number), started_at, iterations)
            outcome = _outcome(one.reply, job, None, False)
            # What a process counts is of all invocations that it has at once.
            unknown = {"function_cpu_ns": None, "switches": None}
            lines.append(
                {**line, **self._own_language(job), **outcome, **unknown, "waited_ns": one.waited_ns}
            )
        if self.plan.local:
            for place in places:
                place.end_unless_ready()
        return lines

    def _instances(self, job: Job, stack: contextlib.ExitStack) -> list[Place]:
        """A function that takes one invocation at a time has an instance for each, with the limits of the tier to itself, as on AWS Lambda. One
        that answers HTTP takes them all, as on Cloud Run."""
        if self._over_http(job):
            return [self._place(job, stack)]
        return [self._place(job, stack, number) for number in range(self.plan.concurrency)]

    def _over_http(self, job: Job) -> bool:
        return self._is_own(job) and self.plan.own(job.subject).over_http

    def _is_own(self, job: Job) -> bool:
        """Whether it calls the user's function, and not the handler that measures beside it."""
        return self.plan.kind == "own" and job.purpose in (WORK, COLD)

    def _one(self, job: Job, stack: contextlib.ExitStack) -> Line:
        iterations = self._iterations(job, stack)
        started_at = _now()
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
                return self._not_started(job, place, early, started_at, iterations)
        outcome = _outcome(reply, job, counted, self._counted_outside(job))
        return {**_line(job, started_at, iterations), **self._own_language(job), **outcome, **start}

    def _own_language(self, job: Job) -> dict[str, str]:
        """For sentences about functions of the user's."""
        return (
            {"language": self.plan.own(job.subject).language}
            if self._is_own(job) and self.plan.functions
            else {}
        )

    def _counted_outside(self, job: Job) -> bool:
        """Whether CPU time is taken from the cgroup: of a program all is the function, and Java counts in ticks of 10 ms only."""
        return self._over_http(job) or (self._is_own(job) and self.plan.own(job.subject).language == "java")

    def _not_started(
        self, job: Job, place: Place, early: NotStarted, started_at: str, iterations: int | None
    ) -> Line:
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

    def _place(self, job: Job, stack: contextlib.ExitStack, instance: int = 0) -> Place:
        # In addition to the user's function the handler measures the same tier, in a group of its own.
        own = self._is_own(job)
        subject = job.subject if own or self.plan.kind != "own" else MEASURES
        key = (subject, job.tier, instance)
        if key not in self._places:
            tier = (
                None
                if job.tier == UNTHROTTLED
                else next(one for one in self.plan.tiers if one.name == job.tier)
            )
            command = self._command(subject)
            warm_up = self._body(job) if own else _NOTHING
            name = f"{_slug(subject, job.tier)}-{len(self._places)}"
            place = Place(name, command, warm_up, self.plan, tier, stack, over_http=self._over_http(job))
            self._places[key] = place
            self.versions[job.tier] = place.group.version
            for what, why in place.group.missing:
                self.missing[f"{what} limit of {job.tier}"] = why
        return self._places[key]

    def _command(self, subject: str) -> Command:
        if subject not in self._commands:
            self._commands[subject] = server("python" if subject == MEASURES else subject)
        return self._commands[subject]

    def _body(self, job: Job, iterations: int | None = None) -> bytes:
        if job.purpose in (WORK, COLD) and not self.plan.calibrates:
            # A request is one line.
            return json.dumps(json.loads(self.plan.event or "{}")).encode()
        return json.dumps(self.plan.request(job, iterations)).encode()


def _outcome(reply: Reply, job: Job, counted: dict[str, Any] | None, outside: bool) -> dict[str, Any]:
    """What became of an invocation, as the journal has it.

    outside: whether the CPU time is that of the cgroup.
    """
    response = reply.response
    found = dict(counted) if counted is not None else None
    switched = found.pop("switches", None) if found is not None else None
    own_ns: int | None = None
    if job.purpose == WORK:
        own_ns = _function_cpu_ns(reply) if not outside else None if found is None else found["cpu_ns"]
        usage = reply.document.get("usage") if isinstance(reply.document, dict) and not outside else None
        switched = switches.of_usage(usage) or switched
    return {
        "outcome": reply.outcome,
        "why": reply.why,
        "latency_ns": reply.latency_ns,
        "function_cpu_ns": own_ns,
        "switches": switched if job.purpose == WORK and reply.outcome == "complete" else None,
        "retries": reply.retries,
        "retried_why": reply.retried_why,
        "cold": bool(response and response.get("invocation", {}).get("cold")),
        "response": response,
        "group": found,
    }


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


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds")


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
        "switches": None,
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


def _slug(*parts: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in "-".join(parts))
