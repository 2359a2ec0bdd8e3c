"""The exceptions of `swtch.ai`; the text of each is one line for people."""

from __future__ import annotations

from collections.abc import Iterable

from .._errors import CommandError, WrongUsage


class AiError(CommandError):
    """Something that `swtch ai` cannot do."""


class UnknownModel(AiError, WrongUsage, ValueError):
    """A model that is not in the catalogue."""

    def __init__(self, asked: str, near: Iterable[str] = ()) -> None:
        self.asked = asked
        """What was asked for."""
        self.near = tuple(near)
        """Names that look like it, best first."""
        hint = f"did you mean {' or '.join(self.near)}?" if self.near else "`swtch ai list` names them all"
        super().__init__(f"there is no model {asked!r}; {hint}")


class MissingRuntime(AiError):
    """A package or a provider of the runtime is not installed."""


class RuntimeFailed(AiError):
    """The runtime refused a model or failed at it."""


class WeightsError(AiError, ValueError):
    """A file of weights that does not fit the model."""


class ContractError(AiError, ValueError):
    """A line that does not keep the workload contract (`docs/workload-contract.md`)."""

    def __init__(self, line_number: int, why: str) -> None:
        self.line_number = line_number
        """The line, counted from 1."""
        self.why = why
        """What is wrong with it."""
        super().__init__(f"line {line_number} of the workload's output: {why}")
