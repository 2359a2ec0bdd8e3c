"""A study from beginning to end: its jobs are run, and the document is brought up to date after each."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .. import _cgroup as cgroup
from .. import _native
from .._checks import Refused, refuse
from .._machine import Usable, host, host_document, usable
from .._progress import Progress, left
from . import evaluate, result
from .advice import advise, undecided
from .errors import MissingRuntime
from .one_run import PROGRAM, Job, Plan, run_once
from .runtime import NEEDED, check, installed
from .summarise import summarise
from .sweep import Forecast


class Study:
    """A directory that fills with runs. A complete run stays, whatever happens later."""

    def __init__(
        self, plan: Plan, words: Sequence[str], name: str | None, models: bool, seed: int | None
    ) -> None:
        """Begins one in the plan's directory. models: whether models of the suite are run, so that ONNX Runtime is needed."""
        self.plan = plan
        """What all runs have in common."""
        machine = host()
        self.usable: Usable = usable(machine)
        """What the runs may use."""
        directory_name = plan.directory.resolve().name
        machine_name = name or (
            directory_name if not directory_name.startswith(result.DEFAULT_DIRECTORY) else "this machine"
        )
        runtime = {"name": "ONNX Runtime", "version": installed()["onnxruntime"]} if models else None
        self.document = result.begin(host_document(machine), machine_name, words, runtime, seed)
        """The study so far."""
        self.advises = True
        """Whether settings are compared after each run."""
        self.interrupted = False
        """Whether Ctrl-C ended it."""
        self._progress = Progress()
        cgroup.remove_stale(PROGRAM)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Those made so far."""
        runs: list[dict[str, Any]] = self.document["runs"]
        return runs

    def run(
        self, jobs: Sequence[Job], deadline_s: float | None = None, forecast: Forecast | None = None
    ) -> None:
        """Makes the runs in that order; stops at Ctrl-C, and starts none that would probably end after the deadline.

        deadline_s: by `time.monotonic`. Runs that did not happen are in `unavailable`.
        """
        forecast = forecast or Forecast(self.plan.duration_s, self.usable.cpu_count)
        for index, job in enumerate(jobs):
            if deadline_s is not None and time.monotonic() + forecast.seconds([job]) > deadline_s:
                self._left_out(jobs[index:])
                break
            prefix = f"{index + 1}/{len(jobs)}  {job.id}"
            rest = left(forecast.seconds(jobs[index:]))
            started = time.monotonic()
            row = run_once(
                job,
                self.plan,
                self.usable,
                lambda text: self._progress.show(f"{prefix}  {text}  {rest} left"),
            )
            forecast.add(job, time.monotonic() - started)
            self.add(row)
            if row["outcome"] == "interrupted":
                self.interrupted = True
                break
        self._progress.clear()

    def show(self, text: str) -> None:
        """Says on a terminal what is going on."""
        self._progress.show(text)

    def clear(self) -> None:
        """Nothing is going on any more."""
        self._progress.clear()

    def finish(self, row: dict[str, Any]) -> None:
        """Takes the last run, which was not made by `run`."""
        self._progress.clear()
        self.interrupted = row["outcome"] == "interrupted"
        self.add(row)

    def add(self, row: dict[str, Any]) -> None:
        """Takes a run, and writes the study. A run whose figures contradict each other is kept in a file of its own; the study has only its fault."""
        self.runs.append(self._checked(row))
        summaries = summarise(self.runs)
        self.document["summaries"] = [one.to_document() for one in summaries]
        if self.advises:
            self.document["advice"] = [one.to_document() for one in advise(summaries, self.usable.cpu_count)]
            self.document["undecided"] = undecided(summaries)
        self.write()

    def _checked(self, row: dict[str, Any]) -> dict[str, Any]:
        try:
            refuse(_native.check_run, row)
            return row
        except Refused as refused:
            why = refused
        place = self.plan.directory / f"{row['id']}.{result.REFUSED}"
        result.keep(place, row)
        found = evaluate.blank(
            row["id"], row["workload"], row["settings"], row["repeat"], row["predicted_peak_bytes"]
        )
        found.update(outcome="impossible", error=result.refused(why, place), trace=row["trace"])
        return found

    def write(self) -> Path:
        """Writes the study as it is now."""
        return result.write(self.plan.directory, self.document)

    def _left_out(self, jobs: Iterable[Job]) -> None:
        names = ", ".join(job.id for job in jobs)
        why = "the time was too short for them"
        self.document["unavailable"].append({"what": f"runs: {names}", "why": why})
        self.write()


def need_models(device: str) -> None:
    """Raises `MissingRuntime` when the models cannot be run here."""
    for package in NEEDED:
        # onnxruntime-gpu brings the same module under another name of the distribution.
        if installed()[package] is None and package != "onnxruntime":
            raise MissingRuntime(
                f"the models need {package}, which is not installed; pip install 'swtch[ai]'"
            )
    if device != "cpu" or installed()["onnxruntime"] is None:
        check("cuda" if device == "cuda" else "cpu")


def announce(jobs: Sequence[Job], forecast: Forecast, directory: Path) -> None:
    """Says on standard error what is about to happen, when it takes longer than a moment."""
    total = forecast.seconds(jobs)
    if total > 2:
        runs = f"{len(jobs)} run{'s' if len(jobs) != 1 else ''}"
        print(f"swtch ai: {runs}, about {left(total)}, into {directory}", file=sys.stderr)
