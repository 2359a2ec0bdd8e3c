"""Figures that cannot be true, found before anything is printed: the Python half of `swtch_document::Checks`."""

from __future__ import annotations

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

    impossible: list[tuple[str, str]] = field(default_factory=list)
    """Figures and what each contradicts, in the order of the checks."""
    made: int = 0
    """How many checks were made."""

    def require(self, holds: bool, figure: str, reason: str) -> None:
        """Requires that `holds` of a figure; `reason` has both values."""
        self.made += 1
        if not holds:
            self.impossible.append((figure, reason))

    def at_most(self, figure: str, value: float, bound: float, what: str) -> None:
        """Requires that a figure is at most `bound`, which `what` names with its unit."""
        self.require(value <= bound, figure, f"{value:.15g} is more than {what}, {bound:.15g}")

    def equal(self, figure: str, value: float, other: float, what: str) -> None:
        """Requires that a figure equals `other`, which `what` names with its unit."""
        self.require(value == other, figure, f"{value:.15g} is not {what}, {other:.15g}")

    def finish(self) -> None:
        """Raises `Refused` with the first figure that cannot be true, and with how many more there are."""
        if self.impossible:
            figure, reason = self.impossible[0]
            more = len(self.impossible) - 1
            raise Refused(f"{figure}: {reason}" + (f" (and {more} more)" if more else ""))
