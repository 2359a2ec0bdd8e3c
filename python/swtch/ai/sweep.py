"""Which runs a study makes, in which order, and how long they will take."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .._machine import Usable
from .one_run import Job
from .pinning import pinned
from .settings import Settings
from .subject import Subject

START_S = 3.0
"""Starting processes and a recorder, and evaluating a Trace, before anything has been seen."""
MACS_PER_S = 25e9
"""Multiply-accumulates a second and CPU, for the first guess."""


@dataclass(frozen=True)
class Grid:
    """The values of each setting that are combined."""

    threads: tuple[int, ...]
    inter_op: tuple[int, ...] = (1,)
    spin: tuple[bool, ...] = (True,)
    pin: tuple[str, ...] = ("none",)
    co_located: tuple[int, ...] = (1,)
    quota: tuple[float | None, ...] = (None,)
    batch: tuple[int, ...] = (1,)
    device: str = "cpu"

    def settings(self, usable: Usable) -> list[Settings]:
        """All combinations, each once. Raises `AiError` for CPUs that may not be used."""
        found = [
            Settings(
                threads,
                inter_op,
                spin,
                pinned(pin, threads, copies, usable),
                copies,
                quota,
                batch,
                self.device,
            )
            for copies in self.co_located
            for quota in self.quota
            for batch in self.batch
            for pin in self.pin
            for spin in self.spin
            for inter_op in self.inter_op
            for threads in self.threads
        ]
        return list(dict.fromkeys(found))


def jobs(subjects: Sequence[Subject], settings: Sequence[Settings], repeats: int, seed: int = 0) -> list[Job]:
    """Every subject under all settings, this many times.

    The repeats of one setting lie far apart, so that other load on the machine affects all settings equally. Each round
    has everything once, subject by subject. After the first round the order is random.
    """
    generator = random.Random(seed)
    found: list[Job] = []
    for repeat in range(repeats):
        ordered = [(subject, one) for subject in subjects for one in settings]
        if repeat > 0:
            generator.shuffle(ordered)
        found += [Job(subject, one, repeat) for subject, one in ordered]
    return found


def by_settings(subjects: Sequence[Subject], settings: Sequence[Settings]) -> list[Job]:
    """Every subject under the first settings, then every subject under the next: whenever it is cut short, all subjects have runs."""
    return [Job(subject, one) for one in settings for subject in subjects]


class Forecast:
    """How long jobs take: guessed from the models' work, corrected by those that are done."""

    def __init__(self, duration_s: float, cpu_count: int) -> None:
        self._duration_s = duration_s
        self._cpu_count = cpu_count
        self._took_s = 0.0
        self._guessed_s = 0.0
        self._macs: dict[str, int] = {}

    def add(self, job: Job, took_s: float) -> None:
        """Records how long a job took."""
        self._took_s += took_s
        self._guessed_s += self._guess(job)

    def seconds(self, left: Sequence[Job]) -> float:
        """How long these will take."""
        correction = self._took_s / self._guessed_s if self._guessed_s else 1.0
        return correction * sum(self._guess(job) for job in left)

    def _guess(self, job: Job) -> float:
        settings = job.settings
        running = max(1, min(settings.threads, self._cpu_count) / settings.co_located)
        one_s = self._work(job.subject) * settings.batch / MACS_PER_S / running
        # Two inferences warm up, and the last one ends after the time is over.
        return START_S + 2.5 * one_s + max(self._duration_s, one_s)

    def _work(self, subject: Subject) -> int:
        if subject.model is None:
            return 0
        if subject.slug not in self._macs:
            self._macs[subject.slug] = subject.model.build().macs
        return self._macs[subject.slug]
