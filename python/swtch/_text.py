"""Text for terminals."""

from __future__ import annotations

from collections.abc import Sequence

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))


def figure(value: float, digits: int = 3) -> str:
    """A figure with this many significant digits, never as a power of ten.

    >>> figure(4108.2), figure(0.000046), figure(127.4, digits=2)
    ('4,110', '0.000046', '130')
    """
    rounded = float(f"{value:.{digits}g}")
    # `g` would write a figure below 0.0001 as a power of ten.
    return f"{rounded:,.12g}" if abs(rounded) >= 1e-4 else f"{rounded:.12f}".rstrip("0").rstrip(".")


def duration(ns: float, digits: int = 3) -> str:
    """Nanoseconds as a person would say them.

    >>> duration(4.1082e9), duration(106.6e6), duration(86_400e9, digits=6)
    ('4.11 s', '107 ms', '86,400 s')
    """
    rounded = float(f"{ns:.{digits}g}")
    scale, unit = next((one for one in _UNITS if rounded >= one[0]), (1.0, "ns"))
    return f"{figure(rounded / scale, digits)} {unit}"


def capitalised(text: str) -> str:
    """With a capital at the beginning.

    >>> capitalised("no tier"), capitalised("10 ms")
    ('No tier', '10 ms')
    """
    return text[:1].upper() + text[1:]


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Lines with columns under each other; the first `left` of them are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    return [
        "  ".join(
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in [header, *rows]
    ]
