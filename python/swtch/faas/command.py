"""`swtch faas`: functions that measure themselves, under the limits of memory tiers. The binary `swtch` runs it as the program `swtch-faas`.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._command import Parser, run
from . import compare, measure, package, prices_command, read, serve, tiers

_DESCRIPTION = (
    "Serverless functions: what context switches and throttling cost at each memory tier, in time and money"
)
_EXAMPLES = """\
examples:
  swtch faas measure                                    one invocation of the handler, here
  swtch faas read answer.json                           the quota and the figures of a saved answer
  swtch faas tiers --quick                              what each tier takes and costs, within a minute
  swtch faas tiers --handler my_module:my_function --target 200ms
  swtch faas compare local/ deployed/                   the same function here and deployed
  swtch faas serve python --platform lambda --memory 128
  swtch faas package python --platform lambda -o handler.zip
  swtch faas prices                                     what platforms charge, and how old that is

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(words)
    options.words = ["swtch", "faas", *words]
    return run("swtch faas", lambda: int(options.run(options)))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="swtch faas",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in (measure, read, tiers, compare, serve, package, prices_command):
        module.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
