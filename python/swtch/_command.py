"""What the package's commands share: how they read arguments and how they end.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from ._errors import CommandError, WrongUsage


class Parser(argparse.ArgumentParser):
    """A parser that reports wrong usage in one line and takes no abbreviation of an option.

    An abbreviation that scripts use would break as soon as a second option begins with the same letters.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"allow_abbrev": False, **settings})

    def renamed(self, **options: str) -> None:
        """Refuses old names of options, `repeats="--runs"`, with the name to use instead."""
        for old, new in options.items():
            self.add_argument(
                f"--{old.replace('_', '-')}", action=_Renamed, metavar=new, help=argparse.SUPPRESS
            )

    def error(self, message: str) -> NoReturn:
        """Prints the message and exits with status 2."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


class _Renamed(argparse.Action):
    """An option that has another name now, which is its `metavar`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(nargs="?", default=argparse.SUPPRESS, **settings)

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: Any, values: Any, option: str | None = None
    ) -> None:
        """Ends the command with the new name."""
        parser.error(f"{option} is called {self.metavar} now")


def run(name: str, command: Callable[[], int]) -> int:
    """Runs a command and returns its exit status. Errors are reported under `name`."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        return command()
    except WrongUsage as error:
        return _complain(name, error, 2)
    except CommandError as error:
        return _complain(name, error, 1)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of the output closed it.
        sys.stderr.close()
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> NoReturn:
    # As Ctrl-C does: started processes are ended and complete results are kept.
    raise KeyboardInterrupt


def _complain(name: str, error: CommandError, status: int) -> int:
    print(f"{name}: {error}", file=sys.stderr)
    return status
