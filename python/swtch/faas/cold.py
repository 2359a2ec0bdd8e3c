"""Cold starts: what the start of the runtime, initialisation and the first call take at each tier, and what of it is billed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._text import table
from .advice import money
from .figures import estimate, look, of_money
from .journal import Line
from .plan import COLD, Plan
from .price import Price
from .rows import cost_of

_HEADER = ("cold start", "n", "runtime ms", "init ms", "first call ms", "all ms", "$/million")


def rows(plan: Plan, lines: Sequence[Line], price: Price | None) -> list[dict[str, Any]]:
    """The `cold_starts` of `swtch/faas-tiers/3`: one for each tier that was started."""
    found = []
    for place in plan.places():
        starts = [line for line in lines if line["purpose"] == COLD and line["tier"] == place]
        if not starts:
            continue
        whole = [line for line in starts if line["outcome"] == "complete"]
        runtimes = [line["runtime_ns"] for line in whole if line["runtime_ns"] is not None]
        cost = cost_of(plan, price, place)
        billed = [_billed_ns(line, price) for line in whole]
        found.append(
            {
                "tier": place,
                "n": len(whole),
                "failed": len(starts) - len(whole),
                "why": next((line["why"] for line in starts if line["outcome"] != "complete"), None),
                "runtime_ns": estimate(runtimes),
                "init_ns": estimate([line["init_ns"] for line in whole]),
                "first_call_ns": estimate([line["latency_ns"] for line in whole]),
                "total_ns": estimate([_start_ns(line) + line["latency_ns"] for line in whole]),
                "init_billed": None if price is None else price.bills_init,
                "cost_usd": None if cost is None else of_money(look([cost(ns) for ns in billed])),
            }
        )
    return found


def text(starts: Sequence[Mapping[str, Any]]) -> list[str]:
    """A table for a terminal; nothing without a start."""
    cells = [
        [
            row["tier"],
            f"{row['n']}" + (f" (+{row['failed']} failed)" if row["failed"] else ""),
            *(_ms(row[name]) for name in ("runtime_ns", "init_ns", "first_call_ns", "total_ns")),
            "n/a" if row["cost_usd"] is None else money(row["cost_usd"]["mean"]),
        ]
        for row in starts
    ]
    return ["", *table(_HEADER, cells, 1)] if cells else []


def _start_ns(line: Line) -> int:
    return int(line["runtime_ns"] or 0) + int(line["init_ns"])


def _billed_ns(line: Line, price: Price | None) -> float:
    """The first call, and the start before it where the platform bills that."""
    start = _start_ns(line) if price is not None and price.bills_init else 0
    return float(line["latency_ns"] + start)


def _ms(of: Mapping[str, Any] | None) -> str:
    return "n/a" if of is None else f"{of['median'] / 1e6:.3g}"
