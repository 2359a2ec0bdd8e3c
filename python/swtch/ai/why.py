"""`swtch ai why`: what made the slowest inferences of a study slow, by `swtch why` over the Trace of each run."""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .._errors import WrongUsage
from .._program import binary
from . import inferences, result
from .errors import AiError

SLOWEST = "1%"
"""The share of inferences that counts as slow, unless another is asked for."""
WIDE = 2.0
"""Latencies jitter when the 99th percentile is this many times the median; then a study says why."""

_EXAMPLES = """\
examples:
  swtch ai why ai-study                                 each run in a sentence, then the one with the worst tail
  swtch ai why ai-study --run resnet-50-v2.t2.spin.r0 --slowest 5%
  swtch ai why ai-study --json | jq '.runs[].why.slow.causes'

Exit status: 0 done, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser = commands.add_parser(
        "why",
        help="explain the slowest inferences of a study",
        description="Explain the slowest inferences: time on a CPU, waiting for one and behind whom, blocked, stopped by a quota.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="the directory that `swtch ai run` or `tune` wrote")
    add("--run", dest="chosen", metavar="ID", help="only this run [default: every run that was recorded]")
    add(
        "--slowest",
        default=SLOWEST,
        metavar="SHARE",
        help="the share of inferences that counts as slow [default: 1%%]",
    )
    add("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Explains; returns the exit status."""
    directory = options.study if options.study.is_dir() else options.study.parent
    found = _recorded(directory, result.read(options.study), options.chosen)
    if options.json:
        rows = [
            {"run": one["id"], "why": json.loads(_said(directory, one, options.slowest, "--json"))}
            for one in found
        ]
        print(json.dumps({"schema": "swtch/ai-why/1", "runs": rows}, indent=1))
        return 0
    texts = {one["id"]: _said(directory, one, options.slowest) for one in found}
    if len(found) > 1:
        for name, text in texts.items():
            print(f"{name}: {_first(text)}")
        print()
    worst = max(found, key=_tail)
    print(f"{worst['id']}: {texts[worst['id']]}", end="")
    return 0


def sentence(directory: Path, runs: Sequence[Mapping[str, Any]]) -> str | None:
    """Why the slowest inferences of the run with the worst tail were slow; `None` where none jitters, or no run can be explained."""
    runs = [one for one in runs if _explainable(directory, one) and _tail(one) >= WIDE]
    if not runs:
        return None
    worst = max(runs, key=_tail)
    try:
        return f"{worst['id']}: {_first(_said(directory, worst, SLOWEST))}"
    except AiError:
        # The figures are there all the same; `swtch ai why` says what is wrong.
        return None


def _recorded(directory: Path, study: Mapping[str, Any], wanted: str | None) -> list[Mapping[str, Any]]:
    runs = study["runs"]
    if wanted is not None:
        runs = [one for one in runs if one["id"] == wanted]
        if not runs:
            named = ", ".join(one["id"] for one in study["runs"][:4]) or "none"
            raise WrongUsage(f"{directory} has no run {wanted!r}; its runs begin with {named}")
    found = [one for one in runs if _explainable(directory, one)]
    if not found:
        raise AiError(
            f"no run of {directory} has its inferences beside a recording; run it again, without --no-record"
        )
    return found


def _explainable(directory: Path, one: Mapping[str, Any]) -> bool:
    trace = one["trace"]
    complete = one["outcome"] == "complete" and one["latency_ns"] is not None
    return complete and trace is not None and inferences.place(directory / trace).exists()


def _tail(one: Mapping[str, Any]) -> float:
    """The 99th percentile of the latency in medians."""
    latency = one["latency_ns"]
    return float(latency["p99"] / latency["p50"]) if latency["p50"] else 0.0


def _said(directory: Path, one: Mapping[str, Any], slowest: str, *more: str) -> str:
    """What `swtch why` prints of a run. Raises `AiError` with its complaint."""
    try:
        return explain(directory / one["trace"], slowest, *more)
    except (AiError, WrongUsage) as error:
        raise type(error)(f"{one['id']}: {error}") from None


def explain(trace: Path, slowest: str, *more: str) -> str:
    """What `swtch why` prints of a Trace. Raises `AiError` or `WrongUsage` with its complaint."""
    command = [str(binary()), "why", str(trace), "--slowest", slowest, *more]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    complaint = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    raise (WrongUsage if done.returncode == 2 else AiError)(complaint.removeprefix("swtch: "))


def _first(text: str) -> str:
    """The answer: what stands before the first empty line."""
    return " ".join(text.partition("\n\n")[0].split())
