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
    "rounding_ms", "minimum_ms", "memory_step_mb", "usd_per_million_requests", "note",
}  # fmt: skip


@dataclass(frozen=True)
class Price:
    """A platform's price of running time and requests. Network and free allowances are not in it."""

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
    note: str = ""
    """Notes."""

    def usd_per_second(self, memory_mb: float, cpus: float) -> float:
        """Of a tier.

        >>> f'{find("gcf-1").usd_per_second(128, 0.2 / 2.4):.4g}'
        '2.313e-06'
        """
        memory_gb = math.ceil(memory_mb / self.memory_step_mb) * self.memory_step_mb / _MB_PER_GB
        per_cpu = self.usd_per_vcpu_second + self.usd_per_ghz_second * self.ghz_per_cpu
        return memory_gb * self.usd_per_gb_second + cpus * per_cpu

    def billed_ms(self, duration_ns: float) -> float:
        """The billed part of a time.

        >>> find("gcf-1").billed_ms(100_000_001), find("azure-flex").billed_ms(1)
        (200.0, 1000.0)
        """
        steps = math.ceil(duration_ns / (self.rounding_ms * 1e6))
        return max(float(self.minimum_ms), float(steps * self.rounding_ms))

    def cost_usd(self, duration_ns: float, memory_mb: float, cpus: float) -> float:
        """The bill of an invocation of this duration, with the fee for its request.

        >>> f'{find("lambda-x86").cost_usd(1e6, 1024, 0) * 1e6:.4f}'
        '0.2167'
        """
        fee = (self.usd_per_million_requests or 0.0) / 1e6
        return fee + self.billed_ms(duration_ns) / 1e3 * self.usd_per_second(memory_mb, cpus)

    def rule(self) -> str:
        """How time is rounded, in words."""
        least = f", at least {self.minimum_ms:g} ms" if self.minimum_ms else ""
        return f"{self.rounding_ms:g} ms steps{least}"

    def warning(self, today: datetime.date | None = None) -> str | None:
        """That the table is old; `None` when it is not."""
        age = (today or datetime.date.today()) - datetime.date.fromisoformat(self.dated)
        if age.days <= OLD_DAYS:
            return None
        return f"the prices of {self.title} date from {self.dated} and are {age.days} days old; check them ({self.source})"

    def to_document(self, memory_mb: float, cpus: float) -> dict[str, Any]:
        """A tier's `price` in `swtch/faas-tiers/2`."""
        least = f"; at least {self.minimum_ms:g} ms are billed" if self.minimum_ms else ""
        return {
            "platform": self.name,
            "usd_per_second": self.usd_per_second(memory_mb, cpus),
            "rounding_ms": self.rounding_ms,
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
