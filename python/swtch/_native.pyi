"""The native half: documents in and out as JSON and Parquet. For use by this package; the package's own names are stable."""

import os
from collections.abc import Callable, Mapping, Sequence

__all__ = [
    "MeasureError",
    "ProfileError",
    "SimulationError",
    "UsageError",
    "compare",
    "comparison_schema",
    "doctor",
    "doctor_schema",
    "estimate",
    "load",
    "measure",
    "profile_schema",
    "rank_tests",
    "report",
    "save",
    "shares",
    "simulate",
    "summary",
    "sweep",
]

class UsageError(ValueError):
    """A wish that cannot be met; says which and what can."""

class MeasureError(RuntimeError):
    """There is no measurement: nothing could be measured on this machine."""

class ProfileError(ValueError):
    """A file or text that is no Profile of this version."""

class SimulationError(RuntimeError):
    """A simulation that came to no end: a deadlock, a run without end, a policy that gave up."""

def measure(
    wishes: Mapping[str, object], progress: Callable[[float, float, str], object] | None = None
) -> tuple[tuple[str, bytes] | None, BaseException | None]: ...
def load(path: str | os.PathLike[str]) -> str: ...
def save(profile: str, samples: bytes | None, path: str | os.PathLike[str]) -> None: ...
def report(profiles: Sequence[tuple[str, str]], path: str | os.PathLike[str]) -> None: ...
def shares(asking: Mapping[str, object]) -> str: ...
def simulate(asking: Mapping[str, object], traces: str | os.PathLike[str] | None = None) -> str: ...
def sweep(
    file: str | os.PathLike[str],
    out: str | os.PathLike[str],
    profile: str | os.PathLike[str] | None,
    part: tuple[int, int],
    jobs: int | None,
) -> tuple[int, int, list[str]]: ...
def summary(profile: str) -> str: ...
def estimate(values: Sequence[float], quantiles: Sequence[float]) -> str: ...
def rank_tests(
    pairs: Sequence[tuple[Sequence[float], Sequence[float]]],
) -> tuple[list[float], list[float]]: ...
def compare(old: str, new: str) -> str: ...
def profile_schema() -> str: ...
def comparison_schema() -> str: ...
def doctor() -> str: ...
def doctor_schema() -> str: ...
