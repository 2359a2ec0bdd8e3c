"""Text for terminals."""

from __future__ import annotations

from collections.abc import Sequence


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
