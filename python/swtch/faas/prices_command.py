"""`swtch faas prices`: what platforms charge, and the date of each price."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from .._text import table
from .price import find, prices

_EXAMPLES = """\
examples:
  swtch faas prices
  swtch faas prices gcf-1
  swtch faas prices --json

Network is not included. A month's free allowance is listed, and is in no bill. Exit status: 0 done, 2 wrong usage."""
_TIERS = ((128, 0.2 / 2.4), (512, 0.8 / 2.4), (2048, 1.0))
"""MB and CPUs of the columns, as 1st generation functions have them."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "prices",
        help="list what platforms charge for running time, and the date of each price",
        description="Print the price tables, their sources and how time is rounded.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="table to print, or a FILE [default: all]")
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints them; returns the exit status."""
    found = [find(name) for name in options.names] or prices()
    if options.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
        return 0
    header = [
        "name",
        *(f"$/s {memory_mb} MB" for memory_mb, _ in _TIERS),
        "$/million requests",
        "billed in",
        "starts",
        "free a month",
        "dated",
        "source",
    ]
    rows = [
        [
            one.name,
            *(f"{one.usd_per_second(*tier):.3g}" for tier in _TIERS),
            "n/a" if one.usd_per_million_requests is None else f"{one.usd_per_million_requests:g}",
            one.rule(),
            "n/a" if one.bills_init is None else "billed" if one.bills_init else "free",
            one.free(),
            one.dated,
            one.source,
        ]
        for one in found
    ]
    print("\n".join(table(header, [row for row in rows], 1)))
    for one in found:
        warning = one.warning()
        if warning is not None:
            print(f"swtch faas: warning: {warning}", file=sys.stderr)
    return 0
