"""`swtch fleet`: the context switches of many machines. The binary `swtch` runs it as the program `swtch-fleet`.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._command import Parser, run
from . import import_command, prices_command, show_command

_DESCRIPTION = "Which services of many machines pay most for context switches, which got worse since their last release, and which machines are odd"
_EXAMPLES = """\
examples:
  swtch fleet http://prometheus:9090                    the last 14 days, from a Prometheus that scrapes swtch serve
  swtch fleet import http://prometheus:9090 -o fleet    keep them as Parquet
  swtch fleet fleet --deploys deploys.csv -o fleet.html
  swtch fleet traces/                                   Traces, a directory for each machine
  swtch fleet metrics.jsonl                             OTLP/JSON of a collector
  swtch fleet prices                                    what instances cost, and how old that is

Without a command 'swtch fleet SOURCE' is 'swtch fleet show SOURCE'.
Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
_COMMANDS = ("show", "import", "prices")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words and words[0] not in (*_COMMANDS, "-h", "--help"):
        words = ["show", *words]
    options = _parser().parse_args(words)
    return run("swtch fleet", lambda: int(options.run(options)))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="swtch fleet",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in (show_command, import_command, prices_command):
        module.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
