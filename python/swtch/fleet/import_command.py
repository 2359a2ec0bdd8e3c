"""`swtch fleet import`: a source as Parquet, so that it can be asked again, and by other programs."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from .._progress import Progress
from . import sources, store

_EXAMPLES = """\
examples:
  swtch fleet import http://127.0.0.1:9090 -o fleet --since 30d
  swtch fleet import http://127.0.0.1:9090 -o fleet     later: only what is new
  swtch fleet import traces/ -o fleet

Exit status: 0 done, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch fleet`."""
    parser = commands.add_parser(
        "import",
        help="keep what a source has as Parquet",
        description="Write what a source has as Parquet, a row an hour for each service of each machine. Windows of time that are there are not asked for again.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="address of a Prometheus, directory of Traces, or OTLP/JSON file",
    )
    parser.add_argument(
        "-o", "--out", type=Path, required=True, metavar="DIR", help="directory, which may hold earlier parts"
    )
    parser.add_argument("--json", action="store_true", help="print what was written as JSON")
    sources.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Writes it; returns the exit status."""
    database, progress = store.connect(), Progress()
    found = []
    try:
        for source in options.sources:
            found.append(
                {"source": source, **sources.bring(database, source, options.out, options, progress.show)}
            )
    finally:
        progress.clear()
    if options.json:
        print(json.dumps({"directory": str(options.out), "sources": found}, indent=1))
        return 0
    for one in found:
        kept = f", {one['windows_kept']} windows were there" if one.get("windows_kept") else ""
        restarted = (
            f", {one['counters_restarted']} counters began anew" if one.get("counters_restarted") else ""
        )
        print(f"{options.out}: {one['rows']:,} rows of {one['source']}{kept}{restarted}")
    print(f"Ask it: swtch fleet {options.out}")
    return 0
