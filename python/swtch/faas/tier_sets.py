"""Memory tiers and the share of a CPU that each has, with the period in which platforms enforce it, as far as it is known.

No platform publishes a period. Cloudflare Workers have no set: their CPU time is billed, and neither a share nor a period is published.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass, replace
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
_CLOUD_RUN = (
    (128, 0.083),
    (256, 0.167),
    (512, 0.333),
    (1024, 0.583),
    (2048, 1.0),
    (4096, 2.0),
    (8192, 2.0),
    (16384, 4.0),
    (32768, 8.0),
)
"""MB and CPUs that a function has when nothing else is asked for (Configure memory and vCPU limits)."""
_AZURE_FLEX = ((512, 0.25), (2048, 1.0), (4096, 2.0))
"""MB and cores of an instance (Azure Functions Flex Consumption plan, instance sizes)."""
_LAMBDA_PERIOD_US = 20_000
_MOST_MB = 1 << 24
DEFAULT = "lambda"
PLATFORM_SETS = {
    "lambda": "AWS Lambda",
    "cloud-run": "Google Cloud Run functions",
    "azure-flex": "Azure Functions, Flex Consumption",
    "gcf-1": "Google Cloud Functions, 1st generation: existing functions only",
}
"""Sets that need no sizes, the default first."""
KUBERNETES_SETS = ("knative", "openfaas")
"""Sets of limits, as a Kubernetes manifest has them: `knative:500m/256Mi,1/512Mi`."""
_NOT_PUBLISHED = "not published: the kernel's default"
_LIMIT = re.compile(r"(\d+(?:\.\d+)?)(m?)/(\d+)(Mi|Gi|M|G)")
_UNITS_MB = {"Mi": 1.0, "Gi": 1024.0, "M": 1e6 / (1 << 20), "G": 1e9 / (1 << 20)}
_MOST_CPUS = 4096.0


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
    """`lambda`, `cloud-run`, `azure-flex`, `gcf-1`, limits of Kubernetes, or the file."""
    source: str
    """Where they come from."""
    tiers: tuple[Tier, ...]
    """From the smallest."""
    price: str | None
    """The table of prices that goes with it."""
    period_us: int = cgroup.PERIOD_US
    """In which the quota is enforced."""
    period_source: str = _NOT_PUBLISHED
    """Where the period comes from."""
    dated: str | None = None
    """The day on which shares and period were looked up."""
    init_unlimited: bool = False
    """Whether a new process has no quota until it is ready, as the INIT phase of AWS Lambda."""
    burst_us: int = 0
    """What a quota may exceed itself by, saved up in earlier periods; each tier has at most its quota."""


def named(name: str, cpus: float, architecture: str) -> TierSet:
    """A set by its name, or from a file, for a machine with this many CPUs. Raises `WrongUsage` for what is neither.

    >>> [tier.name for tier in named("lambda", 2, "x86_64").tiers]
    ['128 MB', '256 MB', '512 MB', '1024 MB', '1769 MB', '3008 MB', '3538 MB']
    >>> [tier.name for tier in named("lambda:768,256", 2, "x86_64").tiers]
    ['256 MB', '768 MB']
    """
    of, colon, sizes = name.partition(":")
    if of in KUBERNETES_SETS:
        return _kubernetes(name, sizes)
    if colon and of in PLATFORM_SETS:
        return _chosen(of, sizes, cpus, architecture)
    if name == "gcf-1":
        tiers = tuple(_tier(memory_mb, ghz / GCF_1_GHZ) for memory_mb, ghz in _GCF_1)
        source = "Google Cloud Functions, 1st generation"
        return TierSet(name, source, _that_fit(tiers, cpus), "gcf-1", dated="2026-11-22")
    if name == "cloud-run":
        tiers = tuple(_tier(*one) for one in _CLOUD_RUN)
        source = "Google Cloud Run functions: cloud.google.com/functions/docs/configuring/memory"
        return TierSet(name, source, _that_fit(tiers, cpus), "cloud-run", dated="2026-11-26")
    if name == "azure-flex":
        tiers = tuple(_tier(*one) for one in _AZURE_FLEX)
        source = "Azure Functions: learn.microsoft.com/azure/azure-functions/flex-consumption-plan"
        return TierSet(name, source, _that_fit(tiers, cpus), "azure-flex", dated="2026-11-26")
    if name == "lambda":
        # The last: all that this machine has.
        largest = min(int(cpus * LAMBDA_MB_PER_CPU), _LAMBDA_MB[-1])
        known = sorted({*_LAMBDA_MB, largest} if cpus >= 1 else set(_LAMBDA_MB))
        tiers = tuple(_tier(memory_mb, memory_mb / LAMBDA_MB_PER_CPU) for memory_mb in known)
        price = "lambda-arm" if architecture in ("aarch64", "arm64") else "lambda-x86"
        source = "AWS Lambda: 1769 MB have one vCPU (docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html)"
        observed = "public observation, not AWS's word: github.com/pwrdrvr/lambda-throttling and lambda-dispatch issue 246"
        return TierSet(
            name, source, _that_fit(tiers, cpus), price, _LAMBDA_PERIOD_US, observed, "2026-11-22", True
        )
    return _read(Path(name))


def ask() -> str:
    """The set of the platform that is chosen on the terminal, or Lambda's where there is no terminal."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return DEFAULT
    print("Which platform's tiers?", file=sys.stderr)
    for name, title in PLATFORM_SETS.items():
        print(f"  {name:<11} {title}", file=sys.stderr)
    while True:
        print(f"[{DEFAULT}] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
        if answer.strip() in PLATFORM_SETS or not answer.strip():
            return answer.strip() or DEFAULT


def _kubernetes(name: str, limits: str) -> TierSet:
    """From limits: the kubelet makes a quota of each CPU limit; requests are weights, which matter only where CPUs are contended."""
    tiers = []
    for text in limits.split(","):
        found = _LIMIT.fullmatch(text.strip())
        if found is None or not (cpus := float(found[1]) / (1000 if found[2] else 1)):
            raise WrongUsage(
                f"{text.strip()!r} is not a CPU limit and a memory limit, such as {name.partition(':')[0]}:500m/256Mi,1/512Mi"
            )
        memory_mb = max(1, int(float(found[3]) * _UNITS_MB[found[4]]))
        tiers.append(Tier(text.strip(), memory_mb, cpus))
    if len({tier.name for tier in tiers}) < len(tiers):
        raise WrongUsage(f"{name} has the same limits twice")
    period = "the kubelet's default, cpuCFSQuotaPeriod (kubernetes.io/docs/reference/config-api/kubelet-config.v1beta1)"
    return TierSet(
        name,
        "limits of containers, as Kubernetes enforces them",
        tuple(tiers),
        None,
        cgroup.PERIOD_US,
        period,
        "2026-11-26",
    )


def _chosen(of: str, sizes: str, cpus: float, architecture: str) -> TierSet:
    """Some tiers of a set, by their memory. AWS Lambda has one for each MB; other sets have theirs only."""
    every = named(of, _MOST_CPUS, architecture)
    known = {tier.memory_mb: tier for tier in every.tiers}
    found = {}
    for text in sizes.split(","):
        size = text.strip().upper().removesuffix("MB").strip()
        memory_mb = int(size) if size.isascii() and size.isdigit() and len(size) < 9 else 0
        if of == "lambda" and _LAMBDA_MB[0] <= memory_mb <= _LAMBDA_MB[-1]:
            found[memory_mb] = _tier(memory_mb, memory_mb / LAMBDA_MB_PER_CPU)
        elif memory_mb in known:
            found[memory_mb] = known[memory_mb]
        else:
            have = f"{_LAMBDA_MB[0]} to {_LAMBDA_MB[-1]}" if of == "lambda" else ", ".join(map(str, known))
            raise WrongUsage(f"{text.strip()!r} is not a tier of {of} in MB; it has {have}")
        if (found[memory_mb].cpus or 0) > cpus:
            raise WrongUsage(
                f"{memory_mb} MB of {of} needs {found[memory_mb].cpus:.3g} CPUs and this machine has {cpus:g} for it; leave it out"
            )
    return replace(every, tiers=tuple(found[size] for size in sorted(found)))


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
            f"there is no set of tiers {path} ({error.strerror}); give {', '.join(PLATFORM_SETS)}, knative:500m/256Mi, or a file"
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
        period_us = _time_us(document, "period_ms", cgroup.PERIOD_US)
        if not cgroup.SMALLEST_QUOTA_US <= period_us <= cgroup.LONGEST_PERIOD_US:
            raise ValueError(f"period_ms is {period_us / 1e3:g}, and the kernel takes 1 to 1000")
        return TierSet(
            str(path),
            str(document.get("source", path)),
            tiers,
            None if price is None else str(price),
            period_us,
            str(document.get("period_source", "the file" if "period_ms" in document else _NOT_PUBLISHED)),
            None if document.get("dated") is None else str(document["dated"]),
            burst_us=_time_us(document, "burst_ms", 0),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise WrongUsage(
            f'{path} has no tiers: {what}; it should be {{"tiers": [{{"memory_mb": 128, "cpus": 0.0833}}]}}'
        ) from None


def _time_us(document: dict[str, Any], name: str, otherwise: int) -> int:
    """A time of a file, which has milliseconds."""
    value = document.get(name)
    if value is None:
        return otherwise
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1e6:
        raise ValueError(f"{name} is {value!r}, not a number of milliseconds")
    return round(value * 1e3)


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
