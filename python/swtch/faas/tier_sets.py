"""Memory tiers and the share of a CPU that each has."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import _cgroup as cgroup
from .._errors import WrongUsage

UNTHROTTLED = "unthrottled"
"""The name of what all tiers are compared with: the same work without any limit."""
LAMBDA_MB_PER_CPU = 1769
"""AWS Lambda: "At 1,769 MB, a function has the equivalent of one vCPU" (Configure Lambda function memory)."""
_LAMBDA_MB = (128, 256, 512, 1024, 1769, 3008, 5307, 7076, 8845, 10240)
_GCF_1 = ((128, 0.2), (256, 0.4), (512, 0.8), (1024, 1.4), (2048, 2.4))
"""MB and GHz."""
GCF_1_GHZ = 2.4
"""Of a whole CPU."""
_MOST_MB = 1 << 24


@dataclass(frozen=True)
class Tier:
    """What a function of that memory gets."""

    name: str
    """As rows have it: `128 MB`."""
    memory_mb: int | None
    """Its memory; `None` when that is not known."""
    cpus: float | None
    """CPUs worth of time; `None` when that is not known or not limited."""

    def quota_us(self, period_us: int) -> int | None:
        """CPU time in each period."""
        return None if self.cpus is None else round(self.cpus * period_us)


@dataclass(frozen=True)
class TierSet:
    """Tiers that belong together."""

    name: str
    """`gcf-1`, `lambda`, or the file."""
    source: str
    """Where they come from."""
    tiers: tuple[Tier, ...]
    """From the smallest."""
    price: str | None
    """The table of prices that goes with it."""


def named(name: str, cpus: float, architecture: str) -> TierSet:
    """A set by its name, or from a file, for a machine with this many CPUs. Raises `WrongUsage` for what is neither.

    >>> [tier.name for tier in named("lambda", 2, "x86_64").tiers]
    ['128 MB', '256 MB', '512 MB', '1024 MB', '1769 MB', '3008 MB', '3538 MB']
    """
    if name == "gcf-1":
        tiers = tuple(_tier(memory_mb, ghz / GCF_1_GHZ) for memory_mb, ghz in _GCF_1)
        return TierSet(name, "Google Cloud Functions, 1st generation", _that_fit(tiers, cpus), "gcf-1")
    if name == "lambda":
        # The last: all that this machine has.
        largest = min(int(cpus * LAMBDA_MB_PER_CPU), _LAMBDA_MB[-1])
        known = sorted({*_LAMBDA_MB, largest} if cpus >= 1 else set(_LAMBDA_MB))
        tiers = tuple(_tier(memory_mb, memory_mb / LAMBDA_MB_PER_CPU) for memory_mb in known)
        price = "lambda-arm" if architecture in ("aarch64", "arm64") else "lambda-x86"
        return TierSet(name, "AWS Lambda: 1769 MB have one vCPU", _that_fit(tiers, cpus), price)
    return _read(Path(name))


def check(tiers: TierSet, period_us: int, cpus: float) -> None:
    """Raises `WrongUsage` for a tier that no cgroup can be."""
    for tier in tiers.tiers:
        quota_us = tier.quota_us(period_us)
        if quota_us is not None and quota_us < cgroup.SMALLEST_QUOTA_US:
            assert tier.cpus is not None
            longer_ms = cgroup.SMALLEST_QUOTA_US / tier.cpus / 1e3
            raise WrongUsage(
                f"{tier.name} would have {quota_us / 1e3:g} ms in each {period_us / 1e3:g} ms, and the kernel's smallest quota is 1 ms "
                f"(below it answers EINVAL); give --period {longer_ms + 0.5:.0f}ms or longer"
            )
        if tier.cpus is not None and tier.cpus > cpus:
            raise WrongUsage(
                f"{tier.name} needs {tier.cpus:.3g} CPUs and this machine has {cpus:g} for it; remove the tier"
            )


def _tier(memory_mb: int, cpus: float) -> Tier:
    return Tier(f"{memory_mb} MB", memory_mb, cpus)


def _that_fit(tiers: tuple[Tier, ...], cpus: float) -> tuple[Tier, ...]:
    return tuple(tier for tier in tiers if tier.cpus is not None and tier.cpus <= cpus)


def _read(path: Path) -> TierSet:
    try:
        document = json.loads(path.read_text())
    except OSError as error:
        raise WrongUsage(
            f"there is no set of tiers {path} ({error.strerror}); give gcf-1, lambda, or a file"
        ) from None
    except ValueError as error:
        raise WrongUsage(f"{path} is not JSON ({error})") from None
    try:
        tiers = tuple(_from_document(row, f"tiers[{place}]") for place, row in enumerate(document["tiers"]))
        if not tiers:
            raise ValueError("'tiers' is empty")
        if len({tier.name for tier in tiers}) < len(tiers):
            raise ValueError("two tiers have the same name")
        price = document.get("price")
        return TierSet(
            str(path), str(document.get("source", path)), tiers, None if price is None else str(price)
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise WrongUsage(
            f'{path} has no tiers: {what}; it should be {{"tiers": [{{"memory_mb": 128, "cpus": 0.0833}}]}}'
        ) from None


def _from_document(row: Any, where: str) -> Tier:
    if not isinstance(row, dict):
        raise ValueError(f"{where} is not an object")
    memory_mb, cpus = row["memory_mb"], row["cpus"]
    if isinstance(memory_mb, bool) or not isinstance(memory_mb, int) or not 0 < memory_mb <= _MOST_MB:
        raise ValueError(f"memory_mb of {where} is {memory_mb!r}, not a whole number of MB")
    if isinstance(cpus, bool) or not isinstance(cpus, (int, float)) or not 0 < cpus <= 4096:
        raise ValueError(f"cpus of {where} is {cpus!r}, not a number above 0")
    name = str(row.get("name", f"{memory_mb} MB"))
    if name == UNTHROTTLED:
        raise ValueError(f"a tier cannot be called {UNTHROTTLED}")
    return Tier(name, memory_mb, float(cpus))
