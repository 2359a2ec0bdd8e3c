"""`swtch faas measure`: one invocation of the project's handler on this machine."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import Any

from .. import _cgroup as cgroup
from .._errors import CommandError, WrongUsage
from .._machine import host, usable
from .._options import seconds
from .._text import duration, table
from . import scope
from .advice import of_work
from .directories import LANGUAGES
from .languages import server
from .options import memory_mb
from .runner import NO_GROUP, PROGRAM, limits_of
from .server import NotStarted, Server
from .tier_sets import DEFAULT, Tier, TierSet, check, named

_EXAMPLES = """\
examples:
  swtch faas measure
  swtch faas measure python --memory 128
  swtch faas measure node --json
  swtch faas measure python --request '{"methods": ["pipe", "queue"], "spin_ms": 0}'

Exit status: 0 done, 1 failed, 2 wrong usage."""
LIMIT_S = 120.0


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "measure",
        help="measure one invocation of the handler on this machine",
        description="Start the project's handler, invoke it once, and print what it measured.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "language",
        nargs="?",
        choices=LANGUAGES,
        default="python",
        help="the handler's language [default: python]",
    )
    add(
        "--request",
        default="{}",
        metavar="JSON",
        help="what to measure; functions/README.md describes it [default: {}]",
    )
    add_tier(parser)
    add(
        "--timeout",
        type=seconds,
        default=LIMIT_S,
        metavar="TIME",
        help=f"give up the invocation after this long [default: {LIMIT_S:g}s]",
    )
    add("--json", action="store_true", help="print the document, swtch/faas/2")
    parser.renamed(time_limit="--timeout")
    parser.set_defaults(run=run)


def add_tier(parser: argparse.ArgumentParser) -> None:
    """The options that put a function under the limits of a tier."""
    add = parser.add_argument
    add(
        "--memory",
        type=memory_mb,
        metavar="MB",
        help="apply the limits of the tier with this much memory [default: no limits]",
    )
    add(
        "--tiers",
        metavar="SET",
        help="set of tiers: lambda, cloud-run, azure-flex, gcf-1, or a FILE [default: the platform's, or lambda]",
    )


def chosen_tier(memory: int | None, tiers: str | None) -> tuple[Tier | None, cgroup.Limits]:
    """The tier with this much memory and what it limits; without a size there is none, and only the number of processes is limited.

    Raises `WrongUsage` when the set has no such tier.
    """
    if memory is None:
        return None, limits_of(Tier("", None, None), cgroup.PERIOD_US)
    machine = host()
    cpus = usable(machine).cpu_time
    found = named(tiers or DEFAULT, cpus, machine.architecture)
    tier = next((one for one in found.tiers if one.memory_mb == memory), None)
    if tier is None:
        have = ", ".join(str(one.memory_mb) for one in found.tiers)
        raise WrongUsage(f"{found.name} has no tier of {memory} MB on this machine; it has {have}")
    check(TierSet(found.name, found.source, (tier,), None), found.period_us, cpus)
    return tier, limits_of(tier, found.period_us, burst_us=found.burst_us)


def run(options: argparse.Namespace) -> int:
    """Measures; returns the exit status."""
    tier, limits = chosen_tier(options.memory, options.tiers)
    if tier is not None:
        scope.enter(options.words[2:])
    cgroup.remove_stale(PROGRAM, kill=True)
    with cgroup.group(PROGRAM, "measure", limits) as group:
        if group.directory is None and tier is not None:
            raise CommandError(NO_GROUP.format(tier=tier.name, why=group.why))
        one = Server(server(options.language), group)
        try:
            one.start()
            before = group.counters()
            reply = one.invoke(options.request.replace("\n", " ").encode(), options.timeout)
            ended = None if reply.outcome == "complete" else one.ended(before.oom_kills)
        except NotStarted as error:
            raise CommandError(str(error)) from None
        finally:
            one.stop()
    if reply.outcome != "complete":
        raise CommandError(f"the handler failed: {ended[1] if ended is not None else reply.why}")
    response = reply.response
    if response is None:
        raise CommandError(
            "the answer of the handler is not swtch/faas/2; do handler and swtch have the same version?"
        )
    print(json.dumps(response, indent=1) if options.json else text(response))
    return 0


def text(response: Mapping[str, Any]) -> str:
    """A document `swtch/faas/2` for a terminal."""
    by = response["handler"]
    lines = [
        f"{by['language']} ({by['runtime']} {by['runtime_version']}), {response['host']['cpus_allowed']} CPUs allowed"
    ]
    header = [
        "method",
        "switch ns",
        "95 % interval",
        "mean",
        "with its reads and writes",
        "mean",
        "batches",
        "switches seen of expected",
    ]
    rows = [_row(one) for one in response["measurements"]]
    lines += ["", *table(header, rows, 1)] if rows else []
    lines += ["", *_throttling(response)]
    work = response["work"]
    if work is not None:
        lines.append(f"{of_work(work['asked_ms'])} took {duration(work['wall_ns'], 4)}")
    lines += [f"not available: {row['what']}: {row['why']}" for row in response["unavailable"]]
    return "\n".join(lines)


def _row(one: Mapping[str, Any]) -> list[str]:
    net, gross, per = one["net_ns"], one["gross_ns"], one["switches"]["per_expected"]
    return [
        one["method"],
        f"{net['median']:.0f}",
        f"{net['ci_low']:.0f} to {net['ci_high']:.0f}",
        f"{net['mean']:.0f}",
        f"{gross['median']:.0f}",
        f"{gross['mean']:.0f}",
        f"{one['batches']} of {one['switches_per_batch']}",
        "n/a" if per is None else f"{per:.3g}",
    ]


def _throttling(response: Mapping[str, Any]) -> list[str]:
    lines = []
    cpu = response["cpu"]
    if cpu is not None and cpu["share"] is not None:
        lines.append(
            f"CPUs received: {cpu['share']['median']:.3g} ({cpu['share']['ci_low']:.3g} to {cpu['share']['ci_high']:.3g})"
        )
    throttling = response["throttling"] or {}
    inferred, platform = throttling.get("inferred"), throttling.get("platform")
    if inferred is not None and inferred["period_ns"] and inferred["quota_ns"]:
        lines.append(
            f"Quota seen from inside: {duration(inferred['quota_ns'], 4)}{_interval(inferred)} in each {duration(inferred['period_ns'], 4)} "
            f"({inferred['cpus']:.3g} CPUs), {inferred['gaps']} gaps, {duration(inferred['throttled_ns'], 4)} throttled"
        )
    elif inferred is not None:
        lines.append("Quota seen from inside: none")
    if platform is not None and platform.get("quota_ns") and platform.get("period_ns"):
        lines.append(
            f"Quota of the cgroup: {duration(platform['quota_ns'])} in each {duration(platform['period_ns'], 4)}"
        )
    return lines


def _interval(inferred: Mapping[str, Any]) -> str:
    """Of the quota; handlers of swtch 0.1.0 have none."""
    low, high = inferred.get("quota_ci_low_ns"), inferred.get("quota_ci_high_ns")
    return "" if low is None or high is None else f" ({duration(low, 4)} to {duration(high, 4)})"
