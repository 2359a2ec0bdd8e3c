"""What a vCPU costs: dated lists of instances, one file each, or one price for all machines."""

from __future__ import annotations

import csv
import datetime
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import _native
from .._errors import CommandError, UsageError, WrongUsage

DIRECTORY = Path(__file__).with_name("prices")
DEFAULT = "aws-us-east-1"
OLD_DAYS = 365
"""An older list may be wrong, and a warning says so."""
_KEYS = {"name", "title", "dated", "source", "instances", "note"}


@dataclass(frozen=True)
class PriceList:
    """Prices of instances."""

    name: str
    title: str
    """Provider, region and kind of contract."""
    dated: str
    """The day that it was true of, `YYYY-MM-DD`; empty for one price that was given."""
    source: str
    """Where it was read."""
    instances: dict[str, float] = field(default_factory=dict)
    """USD for a vCPU and an hour, by type of instance."""
    all_machines: float | None = None
    """That price for machines of any type."""

    def per_vcpu_hour(self, instance_type: str) -> float | None:
        """USD for one vCPU of a machine for an hour; `None` where it is not known.

        >>> find(DEFAULT).per_vcpu_hour("m7i.2xlarge"), find(DEFAULT).per_vcpu_hour("my-own")
        (0.0504, None)
        """
        return self.all_machines if self.all_machines is not None else self.instances.get(instance_type)

    def warning(self, today: datetime.date | None = None) -> str | None:
        """That the list is old, or from the future; `None` when it is not."""
        if not self.dated:
            return None
        today = today or datetime.date.today()
        age = (today - datetime.date.fromisoformat(self.dated)).days
        if age < -1:
            return (
                f"the prices of {self.title} are dated {self.dated}, which is after today, {today}; "
                f"check the date of the list and this machine's clock ({self.source})"
            )
        if age <= OLD_DAYS:
            return None
        return f"the prices of {self.title} date from {self.dated} and are {age} days old; check them ({self.source})"

    def to_document(self) -> dict[str, Any]:
        """Its part of the answer."""
        return {
            "name": self.name,
            "dated": self.dated or None,
            "source": self.source,
            "usd_per_vcpu_hour": self.all_machines,
        }


def lists() -> list[PriceList]:
    """All lists of the package, by name."""
    return [read(path) for path in sorted(DIRECTORY.glob("*.json"))]


def find(name: str) -> PriceList:
    """A list by its name, or from the user's file. Raises `CommandError`."""
    if name.endswith(".json") or "/" in name:
        return read(Path(name))
    known = {one.name: one for one in lists()}
    if name not in known:
        raise CommandError(f"there is no price list {name!r}; give {', '.join(known)}, or a FILE.json")
    return known[name]


def one_price(text: str) -> PriceList:
    """The same price for every machine: `0.05/vcpu-hour`. Raises `WrongUsage`."""
    try:
        price = _native.price(text)
    except UsageError as error:
        raise WrongUsage(f"--price: {error}") from None
    return PriceList("--price", "--price", "", "given on the command line", {}, price)


def read(path: Path) -> PriceList:
    """A list from its file. Raises `CommandError` for another file."""
    try:
        document = json.loads(path.read_text())
        unknown = set(document) - _KEYS
        if unknown:
            raise ValueError(f"{min(unknown)!r} is not a field of a price list")
        datetime.date.fromisoformat(document["dated"])
        instances = {}
        for kind, one in document["instances"].items():
            vcpus, usd = one["vcpus"], one["usd_per_hour"]
            if not (vcpus > 0 and usd >= 0 and math.isfinite(usd / vcpus)):
                raise ValueError(f"{kind}: vcpus must be above 0, and usd_per_hour at least 0")
            instances[kind] = round(usd / vcpus, 9)
        return PriceList(
            document["name"], document["title"], document["dated"], document["source"], instances
        )
    except OSError as error:
        raise CommandError(f"cannot read {path} ({error.strerror}); give a price list, or --price") from None
    except KeyError as error:
        raise CommandError(f"{path} is not a price list: it has no {error}; see docs/fleet.md") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise CommandError(f"{path} is not a price list: {error}; see docs/fleet.md") from None


def read_types(path: Path) -> dict[str, str]:
    """Types of machines from a CSV file with the columns `machine` and `instance_type`. Raises `CommandError`."""
    return {row["machine"]: row["instance_type"] for row in read_csv(path, ("machine", "instance_type"))}


def read_csv(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    """Rows of a CSV file that must have these columns. Raises `CommandError`."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            missing = [name for name in columns if name not in (rows.fieldnames or ())]
            if missing:
                raise CommandError(
                    f"{path} has no column {missing[0]!r}; its first line must be {','.join(columns)}"
                )
            found = []
            for row in rows:
                if any(not row[name] for name in columns):
                    raise CommandError(
                        f"{path}:{rows.line_num}: a value is missing; write {','.join(columns)}"
                    )
                found.append(row)
            return found
    except OSError as error:
        raise CommandError(f"cannot read {path} ({error.strerror}); check the path") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{path} is not a CSV file: {error}; save it as CSV in UTF-8") from None
