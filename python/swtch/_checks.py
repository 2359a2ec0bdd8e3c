"""Figures that cannot be true, found before anything is printed: the Python half of `swtch_units::input_error::Checks`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ._errors import CommandError


class Refused(CommandError):
    """A document is refused because figures in it cannot be true; the text is one line."""


@dataclass
class Checks:
    """The checks of one document, as they are made.

    >>> checks = Checks()
    >>> checks.require(1.17 <= 1, "rows.throttled_share", "1.17 is more than 1")
    >>> checks.finish()
    Traceback (most recent call last):
    ...
    swtch._checks.Refused: rows.throttled_share: 1.17 is more than 1
    """

    rounding: float = 0.0
    """How far figures that are computed from each other may be apart, relative to the larger one."""
    impossible: list[tuple[str, str]] = field(default_factory=list)
    """Figures and what each contradicts, in the order of the checks."""
    made: int = 0
    """How many checks were made."""

    def require(self, holds: bool, figure: str, reason: str) -> None:
        """Requires that `holds` of a figure; `reason` has both values."""
        self.made += 1
        if not holds:
            self.impossible.append((figure, reason))

    def at_most(self, figure: str, value: float | None, bound: float | None, what: str) -> None:
        """Requires that a figure is at most `bound`, which `what` names with its unit. What is unknown is not checked."""
        if value is not None and bound is not None:
            holds = value <= bound + self.rounding * abs(bound)
            self.require(holds, figure, f"{value:.15g} is more than {what}, {bound:.15g}")

    def equal(self, figure: str, value: float | None, other: float | None, what: str) -> None:
        """Requires that a figure equals `other`, which `what` names with its unit. What is unknown is not checked."""
        if value is not None and other is not None:
            holds = math.isclose(value, other, rel_tol=self.rounding)
            self.require(holds, figure, f"{value:.15g} is not {what}, {other:.15g}")

    def finite(self, figure: str, value: float | None) -> None:
        """Requires that a figure is a finite number from 0 on. What is unknown is not checked."""
        if value is not None:
            holds = math.isfinite(value) and value >= 0
            self.require(holds, figure, f"{value} is not a number from 0 on")

    def share(self, figure: str, value: float | None) -> None:
        """Requires that a figure is from 0 to 1. What is unknown is not checked."""
        self.finite(figure, value)
        self.at_most(figure, value, 1, "the whole")

    def ordered(self, figure: str, values: Iterable[float | None]) -> None:
        """Requires that figures do not fall. What is unknown is left out."""
        known = [value for value in values if value is not None]
        falls = any(not one <= other + self.rounding * abs(other) for one, other in zip(known, known[1:]))
        self.require(not falls, figure, f"{', '.join(f'{value:.15g}' for value in known)} are not in order")

    def finish(self) -> None:
        """Raises `Refused` with the first figure that cannot be true, and with how many more there are."""
        if self.impossible:
            figure, reason = self.impossible[0]
            more = len(self.impossible) - 1
            raise Refused(f"{figure}: {reason}" + (f" (and {more} more)" if more else ""))
