"""`swtch faas tiers`: a function under the limits of each memory tier, with what that costs."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _cgroup as cgroup
from .. import _native
from .._checks import Refused, refuse
from .._errors import CommandError, WrongUsage
from .._files import make_directory, now
from .._machine import host, host_document, usable
from .._options import add_study, count, rate, seconds
from .._progress import left
from . import access, scope, study, summary, variants
from .directories import LANGUAGES
from .invoke import check
from .journal import FILE, Journal, Line
from .options import burst, name_and_url, names, period, starts, url_path, works
from .own import OwnFunction, directory_name, functions_of
from .plan import Plan, tiers_of
from .price import Price, find
from .rows import cells
from .runner import PROGRAM, Runner
from .tier_sets import Tier, TierSet, ask, named
from .tier_sets import check as check_tiers

WORKS_MS = (2.0, 10.0, 100.0, 1000.0)
REPEATS = 20
COLD_STARTS = 3
QUICK_WORKS_MS = (10.0, 100.0)
QUICK_REPEATS = 6
QUICK_QUOTA_MS = 500
QUICK_PERIODS = 10
"""The quota is looked at for as many periods at least."""
QUICK_S = 55.0
"""After this long `--quick` begins no invocation."""
LIMIT_S = 300.0
_REACH_S = 30.0

_EXAMPLES = """\
examples:
  swtch faas tiers --quick
  swtch faas tiers --work 2ms,10ms,100ms,1s,10s --runs 200 --out gcf
  swtch faas tiers --resume gcf
  swtch faas tiers --tiers lambda --target 200ms
  swtch faas tiers --language python,node --work 10ms
  swtch faas tiers --handler my_module:my_function --event event.json --target 200ms
  swtch faas tiers --handler 'one=app:one_thread' --handler 'two=app:two_threads' --tiers lambda:256,512,1769
  swtch faas tiers --handler ./app:Handle --handler com.example.App::handle --handler dist/app:handler
  swtch faas tiers --rate 20 --concurrency 4 -- node server.js
  swtch faas tiers --invoke 128MB=https://example.com/small --invoke 512MB=https://example.com/large --price-table gcf-1
  swtch faas tiers --invoke https://example.com/mine --event event.json --bearer-from 'gcloud auth print-identity-token'
  swtch faas tiers --tiers my-tiers.json --price-table my-prices.json --period 20ms

Exit status: 0 done, 1 an invocation failed, 2 wrong usage, 130 interrupted; --resume continues an interrupted study."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "tiers",
        help="measure a function's time and cost at each memory tier",
        description="Run a function under the CPU quota and memory limit of each tier in turn, and without limits. Write a study and print it.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_what(parser.add_argument_group("what to run"))
    _add_how(parser.add_argument_group("under which tiers, and how often"))
    access.add_to(parser.add_argument_group("how deployed functions are invoked (--invoke)"))
    parser.renamed(price="--price-table", repeats="--runs", time_limit="--timeout")
    parser.set_defaults(run=run)


def _add_what(group: Any) -> None:
    add = group.add_argument
    add(
        "--language",
        type=names(LANGUAGES),
        metavar="NAME,...",
        help="the project's handler in python, node, go or java [default: python]; with --handler: its language, where its name does not tell",
    )
    add(
        "--handler",
        action="append",
        metavar="[NAME=]HANDLER",
        help="your own function: MODULE:FUNCTION (Python, Node.js), ./PACKAGE:FUNCTION (Go) or CLASS::METHOD (Java); give it several times to compare variants",
    )
    add(
        "--command",
        action="append",
        metavar="[NAME=]COMMAND",
        help="your own program, which answers HTTP on 127.0.0.1 at the port $PORT; {port} stands for it too",
    )
    add(
        "--image",
        action="append",
        metavar="[NAME=]IMAGE",
        help="a container image that answers HTTP at the port $PORT (podman or buildah)",
    )
    add("program", nargs="*", metavar="-- PROGRAM", help="likewise one program with its arguments")
    add(
        "--path",
        type=url_path,
        metavar="PATH",
        help="where a program or an image is asked with POST [default: /]",
    )
    add("--event", type=Path, metavar="FILE", help="JSON file that your function receives [default: {}]")
    add(
        "--invoke",
        type=name_and_url,
        action="append",
        metavar="[NAME=]URL",
        help="a deployed function; give it several times to compare tiers by NAME",
    )


def _add_how(group: Any) -> None:
    add = group.add_argument
    add(
        "--tiers",
        metavar="SET",
        help="set of tiers: lambda, cloud-run, azure-flex, gcf-1, some of one such as lambda:256,512, limits such as knative:500m/256Mi, or a FILE [default: asked for on a terminal, or lambda]",
    )
    add(
        "--price-table",
        metavar="NAME",
        help="a table from `swtch faas prices`, or a FILE [default: the tiers' own]",
    )
    add(
        "--period",
        type=period,
        metavar="TIME",
        help="period of CPU quotas, 1ms to 1s [default: the set's, 20ms for lambda, 100ms for others]",
    )
    add(
        "--burst",
        type=burst,
        metavar="TIME",
        help="CPU time that a period may take beyond its quota, saved up in earlier ones [default: the set's, 0]",
    )
    add("--no-memory-limit", action="store_true", help="limit CPU time only")
    add(
        "--work",
        type=works,
        metavar="TIME,...",
        help="CPU time that the handler uses per invocation [default: 2ms,10ms,100ms,1s]",
    )
    add(
        "--cold-starts",
        type=starts,
        metavar="N",
        help=f"starts of each tier to measure, 0 for none [default: {COLD_STARTS}; with --quick none]",
    )
    add("--runs", type=count, metavar="N", help=f"invocations of each tier and work [default: {REPEATS}]")
    add(
        "--rate",
        type=rate,
        metavar="N",
        help="open loop: N requests a second, due at their times; latencies are from then",
    )
    add(
        "--concurrency",
        type=count,
        metavar="N",
        help="invocations that may be under way at once [default: 1]",
    )
    add(
        "--requests",
        type=count,
        metavar="N",
        help="with --rate or --concurrency: invocations of each tier and work in a round [default: those of 2 s, at least 10]",
    )
    add(
        "--target",
        type=seconds,
        metavar="TIME",
        help="name the tier that answers nine of ten invocations within this time, with at least 80 %% confidence",
    )
    add(
        "--timeout",
        type=seconds,
        metavar="TIME",
        help=f"give up an invocation after this long [default: {LIMIT_S:g}s]",
    )
    add("--seed", type=int, default=0, metavar="N", help="seed of the order of invocations [default: 0]")
    add("--quick", action="store_true", help="measure 10 ms and 100 ms of work only, within a minute")
    add(
        "--same-work-as",
        type=Path,
        metavar="DIR",
        help="do as many iterations a millisecond as the handler's study in this directory, to compare with it",
    )
    add("--resume", type=Path, metavar="DIR", help="continue the study in this directory")
    add_study(add, study.DEFAULT_DIRECTORY)


def run(options: argparse.Namespace) -> int:
    """Runs what is asked for; returns the exit status."""
    started = time.monotonic()
    machine = host()
    way = access.of_options(options)
    cpus = usable(machine).cpu_time
    resumed = None if options.resume is None else _resumed(options)
    plan = _plan(options, cpus, machine.architecture, way) if resumed is None else resumed[1]
    calibration = None if options.same_work_as is None else _calibration(options.same_work_as, plan)
    if plan.local:
        scope.enter(options.words[2:])
    # A missing tool, and a function that cannot be compiled, are reported before anything is written.
    commands = {one: plan.own(one).command() for one in plan.subjects if plan.functions}
    directory = make_directory(options.out, study.DEFAULT_DIRECTORY) if resumed is None else resumed[0]
    cgroup.remove_stale(PROGRAM, kill=True)
    journal = Journal(directory)
    journal.begin(plan, now())
    for subject in plan.subjects:
        if calibration is not None and subject not in journal.calibrations:
            journal.calibrate(subject, calibration)
    price = None if plan.price is None else find(plan.price)
    name = options.name or (
        directory.resolve().name if not directory.name.startswith(study.DEFAULT_DIRECTORY) else "this machine"
    )
    facts: dict[str, Any] = {
        "provenance": {
            "swtch_version": _native.VERSION,
            "created_at": journal.created_at,
            "command": access.without_secrets(options.words),
        },
        "host": host_document(machine),
        "machine_name": name,
        "versions": {},
    }
    target_ns = None if options.target is None else options.target * 1e9
    runner = Runner(
        plan, journal, lambda: _write(directory, _documents(runner, facts, price, target_ns)), way, commands
    )
    _announce(runner, directory)
    interrupted = False
    denied: access.Denied | None = None
    try:
        runner.run(started + QUICK_S if options.quick else None)
    except KeyboardInterrupt:
        interrupted = True
    except access.Denied as error:
        # Finished invocations are kept, as after Ctrl-C.
        denied = error
    finally:
        journal.close()
    facts["versions"] = runner.versions
    documents = _documents(runner, facts, price, target_ns)
    _write(directory, documents, checked=True)
    status = _conclude(documents, directory, options.json, interrupted, price, runner)
    if denied is not None:
        raise CommandError(f"{denied}; then continue with: swtch faas tiers --resume {directory}")
    return status


def _documents(
    runner: Runner, facts: dict[str, Any], price: Price | None, target_ns: float | None
) -> dict[str, dict[str, Any]]:
    """A study for each function."""
    missing = [{"what": what, "why": why} for what, why in runner.missing.items()]
    missing += [
        {"what": f"invocations of {tier}", "why": f"given up after several starts that failed: {why}"}
        for (_, tier), why in runner.given_up.items()
    ]
    facts = {**facts, "versions": runner.versions, "calibrations": runner.journal.calibrations}
    plan, lines = runner.plan, runner.journal.lines
    compared = _compared(plan, lines, price)
    return {
        subject: study.document(
            plan, subject, lines, facts, price, target_ns, missing, compared.get(subject, ())
        )
        for subject in plan.subjects
    }


def _compared(plan: Plan, lines: list[Line], price: Price | None) -> dict[str, list[dict[str, Any]]]:
    """Each of several functions of the user's with the first of them, corrected for the number of comparisons."""
    if plan.kind != "own" or len(plan.subjects) < 2:
        return {}
    first, *others = plan.subjects
    of = {subject: cells(plan, study.lines_of(plan, subject, lines), price) for subject in plan.subjects}
    tests = len(others) * len(of[first])
    found = [one for other in others for one in variants.compare(other, of[other], first, of[first], tests)]
    result: dict[str, list[dict[str, Any]]] = {}
    for one in variants.corrected(found):
        result.setdefault(one["function"], []).append(one)
    return result


def _write(directory: Path, documents: dict[str, dict[str, Any]], checked: bool = False) -> None:
    """In the directory; several functions have a directory in it each.

    An impossible study is kept under another name, and never replaces an older study.
    Raises `CommandError` for it when it was `checked` for the last time.
    """
    for subject, document in documents.items():
        place = directory if len(documents) == 1 else directory / directory_name(subject)
        place.mkdir(exist_ok=True)
        try:
            refuse(_native.check_tiers, document)
        except Refused as refused:
            kept = study.write(place, document, study.REFUSED)
            if checked:
                raise CommandError(
                    f"the study cannot be true: {refused}; it is kept in {kept}, with its journal: please report this defect"
                ) from None
        else:
            study.write(place, document)


def _conclude(
    documents: dict[str, dict[str, Any]],
    directory: Path,
    as_json: bool,
    interrupted: bool,
    price: Price | None,
    runner: Runner,
) -> int:
    if as_json:
        found = list(documents.values())
        print(json.dumps(found[0] if len(found) == 1 else found, indent=1))
    else:
        for document in documents.values():
            # Comparisons are the answer.
            for one in document["advice"]:
                if one["what"] == "variant":
                    print(one["text"])
        for subject, document in documents.items():
            if len(documents) > 1:
                print(f"== {subject}")
            print(summary.text(document, compared=False), end="")
        print(f"Study: {directory}")
    warning = None if price is None else price.warning()
    if warning is not None:
        print(f"swtch faas: warning: {warning}", file=sys.stderr)
    if interrupted:
        print(
            f"swtch faas: interrupted; continue with: swtch faas tiers --resume {directory}", file=sys.stderr
        )
        return 130
    if runner.todo() and not runner.given_up:
        print(
            f"swtch faas: time was too short for all invocations; continue with: swtch faas tiers --resume {directory}",
            file=sys.stderr,
        )
    outcomes = {line["outcome"] for line in runner.journal.lines}
    return 0 if outcomes == {"complete"} and not runner.given_up else 1


def _announce(runner: Runner, directory: Path) -> None:
    todo = runner.todo()
    total_s = sum(map(runner.plan.guess_s, todo))
    done = len(runner.journal.lines)
    before = f", {done} are complete already" if done else ""
    if total_s > 2:
        print(
            f"swtch faas: {len(todo)} invocations{before}, about {left(total_s)}, into {directory}",
            file=sys.stderr,
        )


def _calibration(path: Path, plan: Plan) -> dict[str, Any]:
    """The speed of work that another study had. Raises `WrongUsage` when one of both has no such work."""
    if not plan.calibrates:
        raise WrongUsage("--same-work-as is for the project's handler; your own function decides its work")
    found: dict[str, Any] | None = study.read(path)["calibration"]
    if found is None:
        raise WrongUsage(
            f"the function of {path} brings its own work; --same-work-as is for the project's handler"
        )
    return found


def _resumed(options: argparse.Namespace) -> tuple[Path, Plan]:
    directory: Path = options.resume
    if not (directory / FILE).exists():
        raise WrongUsage(f"there is nothing to resume in {directory}: it has no {FILE}")
    asked = (
        "language",
        "handler",
        "command",
        "image",
        "program",
        "path",
        "rate",
        "concurrency",
        "requests",
        "event",
        "invoke",
        "tiers",
        "price_table",
        "period",
        "burst",
        "work",
        "timeout",
        "out",
    )
    for name in asked:
        if getattr(options, name):
            raise WrongUsage(
                f"--{name.replace('_', '-')} and --resume exclude each other: a study continues with its first options"
            )
    plan = Journal(directory).plan
    if plan is None:
        raise WrongUsage(f"there is nothing to resume in {directory}: its {FILE} is empty")
    return directory, plan if options.runs is None else replace(plan, repeats=max(plan.repeats, options.runs))


def _plan(options: argparse.Namespace, cpus: float, architecture: str, way: access.Access) -> Plan:
    functions = _functions(options)
    # Of handlers it is the language, and none of the project's.
    if options.handler:
        options.language = None
    given = [name for name in ("language", "invoke") if getattr(options, name)]
    if (functions and given) or len(given) > 1:
        raise WrongUsage(
            f"{_shown(functions, options)} and --{given[-1]} exclude each other; give one of them"
        )
    if options.event is not None and not functions and given != ["invoke"]:
        raise WrongUsage("--event is for your own function; give --handler, --command or --invoke too")
    if options.requests is not None and options.rate is None and not (options.concurrency or 1) > 1:
        raise WrongUsage("--requests is for invocations under load; give --rate or --concurrency too")
    event = None if options.event is None else _event(options.event)
    if options.invoke:
        for name in ("tiers", "period", "burst", "cold_starts", "no_memory_limit"):
            if getattr(options, name):
                raise WrongUsage(
                    f"--{name.replace('_', '-')} is for functions on this machine, and --invoke for deployed ones"
                )
        found, event = _deployed(options.invoke, options.price_table, event, way)
    else:
        if access.given(options):
            raise WrongUsage(f"{access.given(options)} is for deployed functions; give --invoke too")
        found = named(options.tiers or ask(), cpus, architecture)
        check_tiers(found, options.period or found.period_us, cpus)
    period_us = options.period or found.period_us
    price = options.price_table or found.price
    if price is not None:
        try:
            find(price)
        except CommandError as error:
            raise WrongUsage(str(error)) from None
    own = bool(functions) or event is not None
    if own and options.work:
        raise WrongUsage("--work is for the project's handler; your own function decides its work")
    kind = "own" if functions else "url" if options.invoke else "handler"
    works_ms = (0.0,) if own else options.work or (QUICK_WORKS_MS if options.quick else WORKS_MS)
    return Plan(
        kind=kind,
        subjects=_subjects(kind, functions, options),
        name=functions[0].name if functions else "swtch handler" if not own else "deployed function",
        **tiers_of(found),
        price=price,
        period_us=period_us,
        cold_starts=0
        if options.quick and options.cold_starts is None
        else COLD_STARTS
        if options.cold_starts is None
        else options.cold_starts,
        init_unlimited=found.init_unlimited,
        burst_us=found.burst_us if options.burst is None else options.burst,
        works_ms=works_ms,
        repeats=options.runs or (QUICK_REPEATS if options.quick else REPEATS),
        seed=options.seed,
        limit_s=options.timeout or LIMIT_S,
        memory_limited=not options.no_memory_limit,
        quota_ms=max(QUICK_QUOTA_MS, QUICK_PERIODS * period_us // 1000) if options.quick else Plan.quota_ms,
        functions=functions,
        path=options.path or "/",
        rate_per_s=options.rate,
        concurrency=options.concurrency or 1,
        requests=options.requests or 0,
        event=event,
        urls=tuple(url for _, url in options.invoke or ()),
    )


def _functions(options: argparse.Namespace) -> tuple[OwnFunction, ...]:
    """The user's own, in the order of their kinds."""
    several = options.handler and options.language and len(options.language) > 1
    if several:
        raise WrongUsage("--handler is in one language; give one --language, or none")
    language = options.language[0] if options.language and options.handler else None
    functions = functions_of(
        options.handler or (), options.command or (), options.image or (), options.program, language
    )
    if options.path is not None and not any(one.over_http for one in functions):
        raise WrongUsage("--path is for what answers HTTP; give --command or --image too")
    return functions


def _shown(functions: Sequence[OwnFunction], options: argparse.Namespace) -> str:
    """The option that named the functions."""
    if not functions:
        return "--language"
    return (
        "--handler"
        if options.handler
        else "--command"
        if options.command
        else "--image"
        if options.image
        else "a program"
    )


def _subjects(kind: str, functions: Sequence[OwnFunction], options: argparse.Namespace) -> tuple[str, ...]:
    if kind == "handler":
        return tuple(options.language or ("python",))
    return tuple(one.name for one in functions) if len(functions) > 1 else (kind,)


def _deployed(
    invoked: list[tuple[str | None, str]], price: str | None, event: str | None, way: access.Access
) -> tuple[TierSet, str | None]:
    """Deployed functions as tiers, with the limits that each reports. Also their event; `None` for a handler of the project."""
    tiers = []
    handlers = []
    for place, (name, url) in enumerate(invoked):
        check(url)
        body = event or json.dumps({"methods": [], "spin_ms": 0, "work_ms": 0})
        reply = way.invoke(url, body.encode(), _REACH_S, 0)
        if not reply.reached:
            raise CommandError(f"{url}: {reply.why}")
        response = reply.response
        handlers.append(response is not None)
        platform = (response or {}).get("platform") or {}
        memory_mb = platform.get("memory_mb") or _memory_mb(name)
        tiers.append(Tier(name or f"url {place + 1}", memory_mb, platform.get("cpus")))
    if len({tier.name for tier in tiers}) < len(tiers):
        raise WrongUsage("two --invoke options have the same name")
    own = event if all(handlers) else event or "{}"
    return TierSet(
        "deployed", "what the functions say of themselves, or their names", tuple(tiers), price
    ), own


def _memory_mb(name: str | None) -> int | None:
    """From a name such as `512MB`."""
    with contextlib.suppress(ValueError):
        return int((name or "").upper().replace("MB", "").strip())
    return None


def _event(path: Path) -> str:
    try:
        text = path.read_text()
        json.loads(text)
    except OSError as error:
        raise WrongUsage(f"the event {path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise WrongUsage(f"the event {path} is not JSON ({error})") from None
    return text
