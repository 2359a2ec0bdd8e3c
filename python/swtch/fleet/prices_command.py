"""`swtch fleet prices`: what instances cost, and the date of each list."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from typing import Any

from .._text import table
from .price import find, lists

_EXAMPLES = """\
examples:
  swtch fleet prices
  swtch fleet prices aws-us-east-1 --json

Exit status: 0 done, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch fleet`."""
    parser = commands.add_parser(
        "prices",
        help="list the prices of instances, and the date of each list",
        description="Print the lists of prices and their sources.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="list to print, or a FILE.json [default: all]"
    )
    parser.add_argument("--json", action="store_true", help="print them as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints them; returns the exit status."""
    found = [find(name) for name in options.names] or lists()
    if options.json:
        print(json.dumps([asdict(one) for one in found], indent=1))
        return 0
    header = ["list", "types", "$/vCPU-hour", "dated", "source"]
    rows = [
        [
            one.name,
            str(len(one.instances)),
            f"{min(one.instances.values()):.4f} to {max(one.instances.values()):.4f}"
            if one.instances
            else "n/a",
            one.dated,
            one.source,
        ]
        for one in found
    ]
    print("\n".join(table(header, rows, 1)))
    for one in found:
        warning = one.warning()
        if warning is not None:
            print(f"swtch fleet: warning: {warning}", file=sys.stderr)
    return 0
