"""A list of deployments: `service,at` and, if known, `version`."""

from __future__ import annotations

import datetime
from pathlib import Path

from .._errors import CommandError
from .price import read_csv

Deploys = dict[str, list[tuple[float, "str | None"]]]
"""Time (seconds since 1970) and version of each, by service."""


def read(path: Path) -> Deploys:
    """Reads a CSV file. Raises `CommandError` for another file."""
    found: Deploys = {}
    for number, row in enumerate(read_csv(path, ("service", "at")), 2):
        try:
            at = instant(row["at"])
        except ValueError:
            raise CommandError(
                f"{path}:{number}: {row['at']!r} is not a time; write 2026-11-20T14:00:00Z, or seconds since 1970"
            ) from None
        found.setdefault(row["service"], []).append((at, row.get("version") or None))
    if not found:
        raise CommandError(f"{path} has no deployment; write a line a deployment below service,at")
    return found


def instant(text: str) -> float:
    """Seconds since 1970 of a time as ISO 8601 has it (UTC where no zone is given), or of such seconds.

    >>> instant("1970-01-02"), instant("1970-01-01T01:00:00+01:00"), instant("90")
    (86400.0, 0.0, 90.0)
    """
    try:
        value = float(text)
    except ValueError:
        found = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        return (found if found.tzinfo else found.replace(tzinfo=datetime.timezone.utc)).timestamp()
    if not abs(value) < 1e11:
        raise ValueError(f"{text!r} is not a number of seconds since 1970")
    return value
