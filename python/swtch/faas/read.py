"""`swtch faas read`: the figures of an answer that was saved, such as one that curl fetched."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .._errors import CommandError
from .answer import SCHEMAS, completed
from .measure import text

_EXAMPLES = """\
examples:
  curl -d '{"methods": ["pipe"]}' https://FUNCTION > answer.json
  swtch faas read answer.json
  aws lambda invoke --function-name swtch answer.json && swtch faas read answer.json --json
  curl https://FUNCTION | swtch faas read -

Exit status: 0 done, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "read",
        help="infer the quota and make the figures of a saved answer",
        description="Print the figures of a handler's answer: what switches cost, and the quota and period that its gaps show.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("answer", metavar="FILE", help="the answer of a handler; - reads standard input")
    add("--json", action="store_true", help="print the answer with its figures, swtch/faas/2")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Reads, and prints; returns the exit status."""
    response = read(options.answer)
    print(json.dumps(response, indent=1) if options.json else text(response))
    return 0


def read(name: str) -> dict[str, Any]:
    """The answer in a file with its figures. Raises `CommandError` for anything else."""
    try:
        said = sys.stdin.read() if name == "-" else Path(name).read_text()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise CommandError(f"{name} cannot be read: {why}; name a file with a handler's answer") from None
    try:
        document = json.loads(said)
    except ValueError as error:
        raise CommandError(f"{name} is not JSON ({error}); save the handler's whole answer") from None
    response = completed(document)
    if response is None:
        schema = document.get("schema") if isinstance(document, dict) else None
        found = "has no schema" if schema is None else f"has the schema {schema!r}"
        if schema in SCHEMAS:
            found = "lacks what that schema has"
        raise CommandError(
            f"{name} is not the answer of a handler: it {found}, and {' and '.join(SCHEMAS)} are read; invoke the handler again"
        )
    return response
