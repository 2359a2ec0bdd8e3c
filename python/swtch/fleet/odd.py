"""Machines that are not like the others: by the median of all and the usual distance from it, which a few odd machines do not move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .query import plain

LEAST_MACHINES = 8
"""Fewer have no usual distance from their median."""
FAR = 6.0
"""Times the usual distance (the median of distances, times 1.4826: a standard deviation where they are normal). Of 100,000 normal values none is so far off."""
LEAST_FACTOR = 1.3
"""A smaller difference from the median is none to look at."""
LEAST_STEAL = 0.05
_FLOOR = 0.02


@dataclass
class Odd:
    """A machine that is odd, and in what."""

    machine: str
    metric: str
    why: str
    distance: float


def find(machines: Mapping[str, Any], pairs: Mapping[str, Any]) -> list[Odd]:
    """The odd machines, the oddest first.

    machines: `query.machines`. pairs: `query.pairs`.
    """
    import numpy as np

    names = machines["machine"].astype(str)
    kinds = machines["instance_type"].astype(str)
    with np.errstate(divide="ignore", invalid="ignore"):
        each = plain(machines["cost_low_seconds"]) / plain(machines["switches_low"])
        wait = plain(machines["wait_seconds"]) / plain(machines["run_seconds"])
        involuntary = plain(machines["involuntary"]) / plain(machines["switches"])
        steal = plain(machines["steal_seconds"]) / plain(machines["cpu_seconds"])
        found = _far(
            names,
            "switches_per_cpu_second",
            _beside_others(names, pairs),
            "switches for each second of CPU time, compared with the same services on other machines",
        )
        # What a switch costs depends on the kind of CPU.
        for kind in np.unique(kinds):
            of = kinds == kind
            alike = f" of {kind}" if kind else ""
            found += _far(names[of], "switch_cost_ns", np.log(each[of]), f"time for a switch{alike}")
        found += _far(names, "wait_share", np.log(wait), "waiting in run queues for each second of CPU time")
        found += _far(names, "involuntary_share", np.log(involuntary), "share of involuntary switches")
    found += _stolen(names, steal)
    return sorted(found, key=lambda one: -one.distance)


def _beside_others(names: Any, pairs: Mapping[str, Any]) -> Any:
    """By machine the median over its services of how far each is from the service's own median."""
    import numpy as np

    machine, place = np.unique(pairs["machine"].astype(str), return_inverse=True)
    _, service = np.unique(pairs["service"].astype(str), return_inverse=True)
    era = np.asarray(pairs["era"])
    ratio = np.log(pairs["switches"] / pairs["run"])
    good = np.isfinite(ratio)
    off = np.full(ratio.size, np.nan)
    # Before and after a release apart, or a machine without the service before would look odd.
    for _, rows in _groups((service * 3 + era)[good], np.flatnonzero(good)):
        if rows.size >= 3:
            off[rows] = ratio[rows] - np.median(ratio[rows])
    by_machine = np.full(machine.size, np.nan)
    usable = np.flatnonzero(np.isfinite(off))
    for one, rows in _groups(place[usable], usable):
        by_machine[one] = np.median(off[rows])
    where = np.searchsorted(machine, names)
    where = np.minimum(where, machine.size - 1)
    return np.where(machine[where] == names, by_machine[where], np.nan)


def _groups(keys: Any, rows: Any) -> list[tuple[int, Any]]:
    import numpy as np

    order = np.argsort(keys, kind="stable")
    values, starts = np.unique(keys[order], return_index=True)
    return [(int(value), part) for value, part in zip(values, np.split(rows[order], starts[1:]))]


def _far(names: Any, metric: str, values: Any, of: str) -> list[Odd]:
    """Those far from the median of logarithms."""
    import numpy as np

    good = np.isfinite(values)
    if good.sum() < LEAST_MACHINES:
        return []
    names, values = names[good], values[good]
    off = values - np.median(values)
    usual = max(_FLOOR, 1.4826 * float(np.median(np.abs(off))))
    found = []
    for one in np.flatnonzero((np.abs(off) >= FAR * usual) & (np.abs(off) >= np.log(LEAST_FACTOR))):
        distance = float(abs(off[one]) / usual)
        found.append(
            Odd(
                str(names[one]),
                metric,
                f"{np.exp(off[one]):.2f} times the median of {good.sum():,} machines ({of}); "
                f"that is {distance:.0f} times their usual distance from it",
                distance,
            )
        )
    return found


def _stolen(names: Any, steal: Any) -> list[Odd]:
    """Those whose CPUs the hypervisor gives to others; that is a share, so a difference and not a factor counts."""
    import numpy as np

    good = np.isfinite(steal)
    if good.sum() < LEAST_MACHINES:
        return []
    middle = float(np.median(steal[good]))
    usual = max(0.002, 1.4826 * float(np.median(np.abs(steal[good] - middle))))
    return [
        Odd(
            str(names[one]),
            "steal_share",
            f"the hypervisor took {100 * steal[one]:.1f} % of its CPUs' time; the median of {good.sum():,} machines is {100 * middle:.1f} %",
            float((steal[one] - middle) / usual),
        )
        for one in np.flatnonzero(good)
        if steal[one] - middle >= max(LEAST_STEAL, FAR * usual)
    ]
