"""What a platform says of a function, by environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

LAMBDA_MB_PER_CPU = 1769
"""AWS Lambda: this much memory has one vCPU (Lambda's guide, Configure Lambda function memory)."""
PLATFORMS = ("lambda", "gcf", "knative", "openfaas", "local")
_VARIABLES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "lambda": (("AWS_LAMBDA_FUNCTION_NAME",), ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE",)),
    "gcf": (("K_SERVICE", "FUNCTION_NAME", "FUNCTION_TARGET"), ("FUNCTION_MEMORY_MB",)),
    "knative": (("K_SERVICE",), ()),
    "openfaas": (("OPENFAAS_NAME",), ()),
    "local": ((), ()),
}
"""Names and memory, first those that are best."""
_OWN = ("SWTCH_FUNCTION_NAME", "SWTCH_FUNCTION_MEMORY_MB", "SWTCH_FUNCTION_CPUS")
"""What `swtch faas` sets, on any platform."""


def platform(name: str, environment: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """As `swtch/faas/2` has it; name: which adapter was called."""
    names, memories = _VARIABLES[name]
    used: list[str] = []
    function = _first((*names, _OWN[0]), environment, used)
    memory = _number(_first((*memories, _OWN[1]), environment, used))
    cpus = _number(_first((_OWN[2],), environment, used))
    if cpus is None and name == "lambda" and memory is not None:
        cpus = memory / LAMBDA_MB_PER_CPU
    return {
        "name": name,
        "function": function,
        "memory_mb": None if memory is None else round(memory),
        "cpus": cpus,
        "source": f"environment variables {', '.join(used)}" if used else None,
    }


def _first(names: tuple[str, ...], environment: Mapping[str, str], used: list[str]) -> str | None:
    for name in names:
        if environment.get(name):
            used.append(name)
            return environment[name]
    return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 < number < 1e9 else None
