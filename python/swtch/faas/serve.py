"""`swtch faas serve`: the handler behind a platform's own framework on loopback, under the limits of a tier."""

from __future__ import annotations

import argparse
from typing import Any

from .languages import LANGUAGES
from .measure import add_tier
from .platforms import PLATFORMS


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser("serve")
    parser.add_argument("language", choices=LANGUAGES)
    parser.add_argument("--platform", choices=PLATFORMS)
    add_tier(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serves until Ctrl-C; returns the exit status."""
    return 1
