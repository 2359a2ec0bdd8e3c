"""`swtch ai predict`: how long an inference would take with other threads, another way of waiting, a quota or another scheduler, from a recorded study.

The study's runs with one thread and with as many as CPUs give the work (`pool`); the simulator runs it. Settings that were measured as well are shown with both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import _native
from .._command import Parser
from .._errors import ProfileError
from .._options import counts, each
from .._profile import Profile
from .._progress import Progress
from .._text import duration, figure, table
from . import pool, result
from .errors import AiError
from .figures import Estimate, estimate
from .options import quotas, switches
from .pool_fit import Fitted, count, each_ns, fit, mean_ns, simulated
from .settings import Settings, from_document

SEEDS = 6
"""Of each setting; their median has an interval of 95 %."""
_FIGURES = ("mean_ns", "p50_ns", "p99_ns", "cpu_ns", "voluntary", "involuntary")
"""Of a setting; none of one that cannot be predicted."""
_COMES_OUT = 0.05
"""A run that the work was taken from comes out within this share."""

_EXAMPLES = """\
examples:
  swtch ai run llm-15m.token --threads 1,2 --spin on,off --out study
  swtch ai predict study                                as many threads as CPUs and twice as many, spinning and blocking
  swtch ai predict study --threads 2,4,8 --quota none,1
  swtch ai predict study --policies eevdf,fifo,flsched

Exit status: 0 done, 1 failed, 2 wrong usage."""


@dataclass(frozen=True)
class Wanted:
    """A setting that is simulated."""

    threads: int
    spinning: bool
    quota: float | None
    policy: str

    def settings(self, like: Settings) -> Settings:
        """As a run would have it."""
        return replace(like, threads=self.threads, spinning=self.spinning, cpu_quota=self.quota)


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser: Parser = commands.add_parser(
        "predict",
        help="predict other threads, ways of waiting, quotas and schedulers from a study",
        description="Predict the time of an inference with other threads, ways of waiting, quotas and schedulers, by simulating the pool of threads of ONNX Runtime.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "study",
        type=Path,
        metavar="STUDY",
        help="the directory that `swtch ai run` wrote, with runs of 1 thread and of as many as CPUs",
    )
    add(
        "--threads",
        type=counts,
        metavar="N,...",
        help="threads [default: as many as CPUs, and twice as many]",
    )
    add(
        "--spin",
        type=switches,
        default=(True, False),
        metavar="on,off",
        help="threads that wait spin, or block [default: on,off]",
    )
    add(
        "--quota",
        type=quotas,
        default=(None,),
        metavar="none,CPUS,...",
        help="CPUs worth of time [default: none]",
    )
    add(
        "--policies",
        type=names,
        metavar="NAME,...",
        help="as of swtch simulate [default: the fair class of the study's kernel]",
    )
    add("--profile", type=Path, metavar="FILE", help="what switches cost [default: this machine's Profile]")
    add("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Predicts; returns the exit status."""
    directory = options.study if options.study.is_dir() else options.study.parent
    study = result.read(options.study)
    progress = Progress()
    profile, named = _profile(options.profile)
    own = _native.fair_class(study["host"]["kernel"]["release"]) or "eevdf"
    policies = options.policies or [own]
    documents = []
    for runs in _by_workload(study["runs"]):
        slug = runs[0]["workload"]["slug"]
        fitted = fit(directory, runs, profile, own)
        threads = options.threads or [fitted.cpus, 2 * fitted.cpus]
        wanted = [
            Wanted(count, spin, quota, policy)
            for policy in policies for quota in options.quota for spin in options.spin for count in threads
        ]  # fmt: skip
        rows = []
        for number, one in enumerate(wanted):
            progress.show(f"{slug}: simulating {number + 1} of {len(wanted)}")
            rows.append(predicted(fitted, one, profile))
        documents.append(_document(fitted, runs, rows, named, own))
    progress.clear()
    if options.json:
        print(
            json.dumps(
                {"schema": "swtch/ai-predict/1", "study": str(options.study), "models": documents}, indent=1
            )
        )
    else:
        print("\n".join(map(_text, documents)), end="")
    return 0


def predicted(fitted: Fitted, wanted: Wanted, profile: Profile | None) -> dict[str, Any]:
    """A setting, simulated."""
    settings = wanted.settings(fitted.settings)
    row: dict[str, Any] = {"settings": settings.to_document(), "policy": wanted.policy}
    if not wanted.spinning and wanted.threads > 1 and fitted.pool.wake_ns is None:
        return {**row, **dict.fromkeys(_FIGURES)}
    about_ns = fitted.pool.serial_ns + fitted.pool.shared_ns
    runs = []
    for seed in range(1, SEEDS + 1):
        asked = pool.specification(
            fitted.pool, wanted.threads, wanted.spinning, wanted.quota, fitted.cpus, seed
        )
        runs.append(simulated(asked, wanted.policy, profile, about_ns, wanted.quota, seed))
    threads = (pool.MODEL, pool.CALLED, pool.WORKER)

    def per(what: Callable[[Any], float]) -> float:
        """Of an inference, by the threads of the model; the median of the seeds."""
        found = [sum(what(task) for task in one.tasks if task.name in threads) / count(one) for one in runs]
        return _median(found).median

    return {
        **row,
        "mean_ns": _median([each_ns(one) for one in runs]).to_document(),
        "p50_ns": _median([one.request_ns.p50 or 0 for one in runs if one.request_ns]).median,
        "p99_ns": _median([one.request_ns.p99 or 0 for one in runs if one.request_ns]).median,
        "cpu_ns": per(lambda task: task.run_ns),
        "voluntary": per(lambda task: task.voluntary),
        "involuntary": per(lambda task: task.involuntary),
    }


def _median(values: Sequence[float]) -> Estimate:
    found = estimate(values)
    assert found is not None
    return found


def _by_workload(runs: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Complete runs, a model at a time. Raises `AiError` where there are none."""
    complete = [one for one in runs if one["outcome"] == "complete" and one["latency_ns"] is not None]
    if not complete:
        raise AiError("the study has no complete run; swtch ai run MODEL --threads 1,2 --spin on,off")
    for slug in dict.fromkeys(one["workload"]["slug"] for one in complete):
        yield [one for one in complete if one["workload"]["slug"] == slug]


def _document(
    fitted: Fitted,
    runs: Sequence[Mapping[str, Any]],
    rows: Sequence[dict[str, Any]],
    profile: str | None,
    own: str,
) -> dict[str, Any]:
    """A model of the answer, with what was measured beside what was predicted. own: the policy that was measured."""
    used = {one for group in fitted.used.values() for one in group}
    for row in rows:
        like = from_document(row["settings"])
        same = [one for one in runs if from_document(one["settings"]) == like]
        measured = mean_ns(same) if same and row["policy"] == own else None
        known = measured is not None and row["mean_ns"] is not None
        row |= {
            "measured_ns": measured,
            "off": row["mean_ns"]["median"] / measured - 1 if known else None,
            "taken_from_it": any(one["id"] in used for one in same),
        }
    return {
        "workload": runs[0]["workload"],
        "cpus": fitted.cpus,
        "work": {
            "serial_ns": fitted.pool.serial_ns,
            "loops": [{"count": one.count, "work_ns": one.work_ns} for one in fitted.pool.loops],
            "wake_ns": fitted.pool.wake_ns,
            "taken_from": fitted.used,
        },
        "profile": profile,
        "rows": rows,
        "unavailable": fitted.missing,
    }


def _text(document: Mapping[str, Any]) -> str:
    rows = [row for row in document["rows"] if row["mean_ns"] is not None]
    missing = [f"Not predicted: {one['what']}, {one['why']}" for one in document["unavailable"]]
    if not rows:
        return "".join(f"{line}\n" for line in missing)
    lines = [_answer(document, rows), ""]
    shown = []
    for row in rows:
        mean, known = row["mean_ns"], row["measured_ns"]
        shown.append([
            _label(row, rows, ", "),
            duration(mean["median"]), f"{duration(mean['ci_low'])} to {duration(mean['ci_high'])}",
            duration(row["p50_ns"]), duration(row["p99_ns"]), duration(row["cpu_ns"]), figure(row["voluntary"]), figure(row["involuntary"]),
            "" if known is None else duration(known),
            "" if known is None else _off(row),
        ])  # fmt: skip
    header = [
        "settings",
        "mean",
        "95 % of seeds",
        "p50",
        "p99",
        "CPU time",
        "vol/inf",
        "inv/inf",
        "measured",
        "off by",
    ]
    lines += table(header, shown, 1)
    lines.append("")
    work = document["work"]
    shared = sum(one["count"] * one["work_ns"] for one in work["loops"])
    loops = sum(one["count"] for one in work["loops"])
    wake = (
        ""
        if work["wake_ns"] is None
        else f"; calling a worker that sleeps takes {duration(work['wake_ns'], 2)}"
    )
    taken = ", ".join(dict.fromkeys(one for group in work["taken_from"].values() for one in group))
    lines.append(
        f"An inference: {duration(work['serial_ns'])} by one thread, {duration(shared)} shared in {loops:.0f} loops{wake}. From {taken}."
    )
    lines.append(
        f"Costs of switches: {document['profile'] or 'those of an ordinary server; swtch measure makes a Profile of this machine'}."
    )
    lines += missing
    off = sorted(abs(row["off"]) for row in rows if row["off"] is not None and not row["taken_from_it"])
    if off:
        settings = "1 other setting was" if len(off) == 1 else f"{len(off)} other settings were"
        lines.append(
            f"{settings} measured too: off by {off[len(off) // 2]:.0%} in the median, {off[-1]:.0%} at most.".replace(
                "%", " %"
            )
        )
    return "\n".join(lines) + "\n"


def _label(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], by: str) -> str:
    """The settings, and the policy where there are several."""
    label = from_document(row["settings"]).label
    return label if len({one["policy"] for one in rows}) == 1 else f"{label}{by}{row['policy']}"


def _off(row: Mapping[str, Any]) -> str:
    """How far a prediction is off; of a run that it was taken from only where it does not come out."""
    if row["taken_from_it"] and abs(row["off"]) < _COMES_OUT:
        return "taken from it"
    return f"{row['off']:+.0%}".replace("%", " %")


def _answer(document: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> str:
    """The fastest, and how far behind the slowest is."""
    name, cpus = document["workload"]["name"], document["cpus"]
    ranked = sorted(rows, key=lambda row: row["mean_ns"]["median"])
    best, worst = ranked[0], ranked[-1]

    def said(row: Mapping[str, Any]) -> str:
        return _label(row, rows, " under ")

    alike = [row for row in ranked[1:] if row["mean_ns"]["ci_low"] <= best["mean_ns"]["ci_high"]]
    fastest = f"{', '.join(map(said, [best, *alike]))} {'are' if alike else 'is'} fastest"
    text = f"{name} on {cpus} CPUs, predicted: {fastest}, {duration(best['mean_ns']['median'])} an inference"
    if worst is not best and worst not in alike:
        times = worst["mean_ns"]["median"] / best["mean_ns"]["median"]
        text += f"; {said(worst)} takes {times:.2g} times as long"
    return f"{text}."


def _profile(given: Path | None) -> tuple[Profile | None, str | None]:
    """What switches cost, and how it is called."""
    if given is not None:
        try:
            return Profile.load(given), f"the Profile {given}"
        except (OSError, ProfileError) as error:
            raise AiError(f"--profile: {error}") from None
    own = Profile.own()
    return own, None if own is None else "this machine's Profile"


def names(text: str) -> tuple[str, ...]:
    """`eevdf,fifo`."""
    return each(text, str)
