"""The native half: documents in and out as JSON and Parquet. For use by this package; the package's own names are stable."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, final

__all__ = [
    "DISTURBED_SHARE",
    "LONG_MS",
    "MONTH_HOURS",
    "MeasureError",
    "ProfileError",
    "RecordError",
    "SimulationError",
    "Trace",
    "TraceError",
    "VERSION",
    "UsageError",
    "check_run",
    "check_study",
    "check_tiers",
    "complete_answer",
    "diff",
    "diff_profiles",
    "disturbed",
    "doctor",
    "estimate",
    "fair_class",
    "holm",
    "load",
    "measure",
    "median",
    "own_profile",
    "price",
    "quantiles",
    "rank_tests",
    "record",
    "report",
    "save",
    "sched_status",
    "schemas",
    "seconds_of",
    "shares",
    "sign_flip_tests",
    "simulate",
    "summary",
    "sweep",
]

VERSION: Final[str]
"""Of swtch."""
DISTURBED_SHARE: Final[float]
"""A measurement is called disturbed when others took more than this share of its time."""
MONTH_HOURS: Final[float]
"""Hours of a month as clouds bill them."""
LONG_MS: Final[float]
"""Shorter work of a function, in ms, is mostly the way to it and back."""

class UsageError(ValueError):
    """A request that cannot be met; the message says which, and what can be asked for."""

class MeasureError(RuntimeError):
    """Nothing could be measured on this machine."""

class ProfileError(ValueError):
    """A file or text that is not a Profile of this version."""

class SimulationError(RuntimeError):
    """A simulation that did not end: a deadlock, an endless run, or a policy that failed."""

class RecordError(RuntimeError):
    """Nothing could be recorded, or a figure of the recording cannot be true."""

class TraceError(ValueError):
    """A directory that is not a Trace of this version, or a table that a Trace lacks."""

@final
class Trace:
    """A Trace that was read; its switches stay on the disk."""

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Trace: ...
    @property
    def directory(self) -> Path: ...
    def header(self) -> str: ...
    def columns(self, table: str) -> dict[str, list[int | bool | str | None]]: ...
    def parquet(self, table: str) -> bytes: ...
    def bill(self, profile: str | None = None, price: str | None = None) -> str: ...
    def why(self, file: str | os.PathLike[str], span: str | None, slowest: float) -> str: ...
    def text(self) -> str: ...

def record(
    asking: Mapping[str, object],
    progress: Callable[[float, int | None, int, int], object] | None = None,
) -> tuple[Trace | None, BaseException | None]: ...
def price(text: str) -> float: ...
def seconds_of(text: str) -> float: ...
def check_tiers(study: str) -> list[tuple[str, str]]: ...
def check_study(study: str) -> list[tuple[str, str]]: ...
def check_run(run: str) -> list[tuple[str, str]]: ...
def complete_answer(answer: str) -> str:
    """A handler's answer (JSON, `swtch/faas/2` or `swtch/faas/1`) with its figures, as `swtch/faas/2`. Raises `ValueError` for any other text."""

def disturbed(study: str) -> float | None: ...
def measure(
    overrides: Mapping[str, object], progress: Callable[[float, float, str], object] | None = None
) -> tuple[tuple[str, bytes] | None, BaseException | None]: ...
def load(path: str | os.PathLike[str]) -> str: ...
def save(profile: str, samples: bytes | None, path: str | os.PathLike[str]) -> None: ...
def report(profiles: Sequence[tuple[str, str]], path: str | os.PathLike[str]) -> None: ...
def shares(asking: Mapping[str, object]) -> str: ...
def simulate(asking: Mapping[str, object], traces: str | os.PathLike[str] | None = None) -> str: ...
def fair_class(release: str) -> str | None: ...
def own_profile() -> str | None: ...
def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    profile: str | os.PathLike[str] | None,
    part: tuple[int, int],
    jobs: int | None,
) -> tuple[int, int, list[str]]: ...
def summary(profile: str) -> str: ...
def estimate(values: Sequence[float], quantiles: Sequence[float]) -> str: ...
def median(values: Sequence[float]) -> tuple[float, float, float, float] | None: ...
def quantiles(values: Sequence[float], at: Sequence[float]) -> list[float]: ...
def holm(p_values: Sequence[float]) -> list[float]: ...
def rank_tests(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
) -> tuple[list[float], list[float]]: ...
def sign_flip_tests(lists: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]: ...
def diff(
    old: Sequence[str | os.PathLike[str]], new: Sequence[str | os.PathLike[str]], fail_if: Sequence[str]
) -> str: ...
def diff_profiles(old: Sequence[str], new: Sequence[str], fail_if: Sequence[str]) -> str: ...
def doctor() -> str: ...
def sched_status() -> str: ...
def schemas() -> dict[str, str]: ...
