"""Which CPUs each copy of a workload is pinned to."""

from __future__ import annotations

from .._machine import Usable
from .errors import AiError


def pinned(policy: str, threads: int, copies: int, of: Usable) -> str | None:
    """The CPUs of each copy under a policy, as `Settings.pinned` writes them.

    `none` pins nothing. `spread` gives each copy as many CPUs as it has threads (at most all), from different cores
    first; `compact` fills one core after the other. Copies take turns through the list. A list of CPUs (`0,2-3`) is taken as it is
    and shared by the copies. Raises `AiError` for CPUs that may not be used.

    >>> pinned("spread", 1, 2, Usable((0, 1, 2, 3), None, None, ((0, 2), (1, 3))))
    '0+1'
    >>> pinned("compact", 2, 1, Usable((0, 1, 2, 3), None, None, ((0, 2), (1, 3))))
    '0,2'
    """
    from .settings import PARTS, cpu_list, cpus_of

    if policy == "none":
        return None
    if policy not in ("spread", "compact"):
        asked = cpus_of(policy)
        missing = [cpu for cpu in asked if cpu not in of.cpus]
        if missing:
            raise AiError(
                f"cannot pin to CPU {missing[0]}: this process may use {cpu_list(list(of.cpus))}; choose among those"
            )
        return PARTS.join([cpu_list(asked)] * copies)
    order = _spread(of.cores) if policy == "spread" else [cpu for core in of.cores for cpu in core]
    each = min(threads, len(order))
    lists = [[order[(copy * each + i) % len(order)] for i in range(each)] for copy in range(copies)]
    return PARTS.join(cpu_list(cpus) for cpus in lists)


def _spread(cores: tuple[tuple[int, ...], ...]) -> list[int]:
    """The first CPU of every core, then the second of every core, and so on."""
    deepest = max((len(core) for core in cores), default=0)
    return [core[depth] for depth in range(deepest) for core in cores if depth < len(core)]
