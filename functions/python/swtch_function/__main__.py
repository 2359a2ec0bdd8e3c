"""`python -m swtch_function`: one measurement on standard output, or a server."""

from __future__ import annotations

import time

BEGAN_NS = time.monotonic_ns()
"""When the interpreter was up; what follows is initialisation."""

# ruff: noqa: E402
import argparse
import sys

from .answer import answer, text
from .lines import serve_lines
from .own import OwnFunction
from .platforms import PLATFORMS
from .server import serve
from .version import VERSION

EXAMPLES = """examples:
  python -m swtch_function '{"methods": ["pipe"]}'
  python -m swtch_function --listen 127.0.0.1:0
  python -m swtch_function --listen 127.0.0.1:8080 --handler app:handler
"""


def main() -> int:
    """Exit status 0 done, 1 failed, 2 wrong usage."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False,
        prog="python -m swtch_function",
        description="Measure what switches and throttling cost a function here.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("request", nargs="?", help="what to measure, as a JSON object")
    parser.add_argument(
        "--listen", metavar="HOST:PORT", help="serve POST / at this address; port 0 takes a free one"
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="answer each line of standard input with a line on standard output",
    )
    parser.add_argument(
        "--handler", metavar="MODULE:FUNCTION", help="serve this function instead, function(event, context)"
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=float,
        default=60,
        help="give up a call of that function after this many seconds [default: 60]",
    )
    parser.add_argument(
        "--processes",
        metavar="N",
        type=int,
        default=64,
        help="processes that the function may have at once [default: 64]",
    )
    parser.add_argument(
        "--platform",
        choices=PLATFORMS,
        default="local",
        help="platform to name in the answer [default: local]",
    )
    parser.add_argument("--version", action="version", version=VERSION)
    options = parser.parse_args()
    if options.lines:
        if options.request is not None or options.listen is not None:
            parser.error("--lines excludes a request and --listen")
        return serve_lines(options.handler, options.platform, BEGAN_NS)
    if options.listen is None:
        if options.handler is not None:
            parser.error("--handler needs --listen or --lines")
        status, document = answer(options.request, None, options.platform)
        print(
            text(document) if status == 200 else f"error: {document['error']}",
            file=sys.stdout if status == 200 else sys.stderr,
        )
        return 0 if status == 200 else 2
    if options.request is not None:
        parser.error("a request comes by POST when there is --listen")
    if options.handler is None:
        return serve(options.listen, platform=options.platform)
    own = OwnFunction(options.handler, options.timeout, options.processes)
    try:
        return serve(options.listen, own)
    finally:
        own.close()


if __name__ == "__main__":
    sys.exit(main())
