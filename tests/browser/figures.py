"""Figures as the page writes them, so that tests can read what to expect from the profiles."""

from __future__ import annotations

NO_BREAK = "\u00a0"


def ns(value: float) -> str:
    """Three significant digits and a unit, as swtch_units::format_ns, typeset."""
    size = abs(value)
    for limit, divisor, unit in [(999.5, 1, "ns"), (999.5e3, 1e3, "µs"), (999.5e6, 1e6, "ms")]:
        if size < limit:
            break
    else:
        divisor, unit = 1e9, "s"
    scaled = value / divisor
    digits = 2 if abs(scaled) < 9.995 else 1 if abs(scaled) < 99.95 else 0
    return f"{scaled:.{digits}f}{NO_BREAK}{unit}".replace("-", "−")


def plain(text: str) -> str:
    """A text with plain spaces, as the driver reads it off the screen."""
    return text.replace(NO_BREAK, " ")


def every_direct(profiles: dict[str, dict]) -> list[str]:
    """The medians of c1 of all profiles, typeset."""
    return [ns(row["switch_cost_ns"]["median"]) for p in profiles.values() for row in p["direct"]]
