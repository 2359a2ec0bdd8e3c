"""What running time and requests cost: dated tables, one file each, and the bill of an invocation by them."""

from __future__ import annotations

import datetime
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._errors import CommandError

DIRECTORY = Path(__file__).with_name("prices")
OLD_DAYS = 365
"""An older table may be wrong, and a warning says so."""
_MB_PER_GB = 1024
_KEYS = {
    "name", "title", "dated", "source", "usd_per_ghz_second", "ghz_per_cpu", "usd_per_vcpu_second", "usd_per_gb_second",
    "rounding_ms", "minimum_ms", "memory_step_mb", "usd_per_million_requests", "note", "region", "architecture", "bills_init",
    "free_requests", "free_gb_seconds", "free_vcpu_seconds", "free_ghz_seconds",
}  # fmt: skip


@dataclass(frozen=True)
class Price:
    """A platform's price of running time and requests. Network is not in it, and free allowances are in no bill."""

    name: str
    """As options take it."""
    title: str
    """The platform."""
    dated: str
    """The day that it was true of, `YYYY-MM-DD`."""
    source: str
    """Where it was read."""
    rounding_ms: float
    """Time is billed in whole such steps, the last one begun too."""
    usd_per_gb_second: float = 0.0
    """A GB has 1024 MB."""
    usd_per_vcpu_second: float = 0.0
    """Where CPUs are billed by number."""
    usd_per_ghz_second: float = 0.0
    """Where they are billed by clock rate."""
    ghz_per_cpu: float = 0.0
    """What a whole CPU counts there."""
    minimum_ms: float = 0.0
    """The shortest time that is billed."""
    memory_step_mb: int = 1
    """Memory is billed in whole such steps."""
    usd_per_million_requests: float | None = None
    """What every invocation costs besides its time; `None` is not known, and then no bill has it."""
    region: str = ""
    """Where it holds; empty is not known."""
    architecture: str = ""
    """Of the CPUs that it is for: `x86_64` or `arm64`; empty where it is the same for all."""
    bills_init: bool | None = None
    """Whether the start of a new instance is billed as running time; `None` is not known."""
    free_requests: float = 0.0
    """Requests in a month that cost nothing. They are in no bill."""
    free_gb_seconds: float = 0.0
    """Likewise GB-seconds."""
    free_vcpu_seconds: float = 0.0
    """Likewise seconds of a CPU."""
    free_ghz_seconds: float = 0.0
    """Likewise GHz-seconds."""
    note: str = ""
    """Notes."""

    def usd_per_second(self, memory_mb: float, cpus: float) -> float:
        """Of a tier.

        >>> f'{find("gcf-1").usd_per_second(128, 0.2 / 2.4):.4g}'
        '2.313e-06'
        """
        per_cpu = self.usd_per_vcpu_second + self.usd_per_ghz_second * self.ghz_per_cpu
        return self._memory_gb(memory_mb) * self.usd_per_gb_second + cpus * per_cpu

    def billed_ms(self, duration_ns: float) -> float:
        """The billed part of a time.

        >>> find("gcf-1").billed_ms(100_000_001), find("azure-flex").billed_ms(1)
        (200.0, 1000.0)
        """
        steps = math.ceil(duration_ns / (self.rounding_ms * 1e6))
        return max(float(self.minimum_ms), float(steps * self.rounding_ms))

    @property
    def request_usd(self) -> float | None:
        """The part of a bill that is for its request; `None` where that is not known."""
        return None if self.usd_per_million_requests is None else self.usd_per_million_requests / 1e6

    def free_invocations(self, duration_ns: float, memory_mb: float, cpus: float) -> int | None:
        """How many invocations of this duration a month's free allowance pays; `None` without one.

        >>> find("lambda-x86").free_invocations(1e9, 1024, 0)
        400000
        """
        seconds = self.billed_ms(duration_ns) / 1e3
        uses = (
            (self.free_requests, 1.0),
            (self.free_gb_seconds, seconds * self._memory_gb(memory_mb)),
            (self.free_vcpu_seconds, seconds * cpus),
            (self.free_ghz_seconds, seconds * cpus * self.ghz_per_cpu),
        )
        paid = [free / use for free, use in uses if free and use]
        return math.floor(min(paid)) if paid else None

    def _memory_gb(self, memory_mb: float) -> float:
        return math.ceil(memory_mb / self.memory_step_mb) * self.memory_step_mb / _MB_PER_GB

    def cost_usd(self, duration_ns: float, memory_mb: float, cpus: float) -> float:
        """The bill of an invocation of this duration, with the fee for its request.

        >>> f'{find("lambda-x86").cost_usd(1e6, 1024, 0) * 1e6:.4f}'
        '0.2167'
        """
        return (self.request_usd or 0.0) + self.billed_ms(duration_ns) / 1e3 * self.usd_per_second(
            memory_mb, cpus
        )

    def rule(self) -> str:
        """How time is rounded, in words."""
        least = f", at least {self.minimum_ms:g} ms" if self.minimum_ms else ""
        return f"{self.rounding_ms:g} ms steps{least}"

    def free(self) -> str:
        """The free allowance of a month, in words.

        >>> find("lambda-arm").free()
        '1,000,000 requests, 400,000 GB-s'
        """
        parts = (
            (self.free_requests, "requests"),
            (self.free_gb_seconds, "GB-s"),
            (self.free_vcpu_seconds, "vCPU-s"),
            (self.free_ghz_seconds, "GHz-s"),
        )
        return ", ".join(f"{amount:,.0f} {unit}" for amount, unit in parts if amount) or "none"

    def warning(self, today: datetime.date | None = None) -> str | None:
        """That the table is old, or from the future; `None` when it is not."""
        today = today or datetime.date.today()
        age = today - datetime.date.fromisoformat(self.dated)
        if age.days < -1:
            return (
                f"the prices of {self.title} are dated {self.dated}, which is after today, {today}; "
                f"check the date of the table and this machine's clock ({self.source})"
            )
        if age.days <= OLD_DAYS:
            return None
        return f"the prices of {self.title} date from {self.dated} and are {age.days} days old; check them ({self.source})"

    def to_document(self, memory_mb: float, cpus: float) -> dict[str, Any]:
        """A tier's `price` in `swtch/faas-tiers/3`."""
        least = f"; at least {self.minimum_ms:g} ms are billed" if self.minimum_ms else ""
        return {
            "platform": self.name,
            "usd_per_second": self.usd_per_second(memory_mb, cpus),
            "rounding_ms": self.rounding_ms,
            "minimum_ms": self.minimum_ms,
            "bills_init": self.bills_init,
            "architecture": self.architecture or None,
            "usd_per_million_requests": self.usd_per_million_requests,
            "dated": self.dated,
            "source": self.source + least,
        }


def prices() -> list[Price]:
    """All tables of the package, by name."""
    return [read(path) for path in sorted(DIRECTORY.glob("*.json"))]


def find(name: str) -> Price:
    """A table by its name, or from the user's file. Raises `CommandError`."""
    if name.endswith(".json") or "/" in name:
        return read(Path(name))
    known = {one.name: one for one in prices()}
    if name not in known:
        raise CommandError(f"there is no price table {name!r}; give {', '.join(known)}, or a FILE.json")
    return known[name]


def read(path: Path) -> Price:
    """A table from its file. Raises `CommandError` for another file."""
    try:
        document = json.loads(path.read_text())
        unknown = set(document) - _KEYS
        if unknown:
            raise ValueError(f"{sorted(unknown)[0]!r} is not a field of a price")
        found = Price(**document)
        datetime.date.fromisoformat(found.dated)
        if not found.rounding_ms > 0 or not found.memory_step_mb > 0:
            raise ValueError("rounding_ms and memory_step_mb must be above 0")
        if not (found.usd_per_million_requests or 0.0) >= 0:
            raise ValueError("usd_per_million_requests must be 0 or more")
    except OSError as error:
        raise CommandError(f"the price table {path} cannot be read ({error.strerror})") from None
    except (TypeError, ValueError) as error:
        raise CommandError(
            f"{path} is not a price table such as `swtch faas prices --json` prints: {error}"
        ) from None
    return found
