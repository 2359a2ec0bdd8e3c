"""What the package's commands have in common: how they read arguments, and how they end.

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
    """One that says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        """Says it and ends with status 2."""
        print(f"{self.prog}: {message}; see {self.prog} --help", file=sys.stderr)
        sys.exit(2)


def run(name: str, command: Callable[[], int]) -> int:
    """Runs a command that is told of as `name`; returns its exit status, whatever happens in it."""
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
        # Who reads the output has had enough.
        sys.stderr.close()
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> NoReturn:
    # As Ctrl-C: everything that was started is ended, and what is complete is kept.
    raise KeyboardInterrupt


def _complain(name: str, error: CommandError, status: int) -> int:
    print(f"{name}: {error}", file=sys.stderr)
    return status
