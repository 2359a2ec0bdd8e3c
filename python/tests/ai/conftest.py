"""What the tests of `swtch.ai` share."""

from __future__ import annotations

import signal
import sys

import pytest
from workload_host import Ended, run_workload

# A shell that runs the tests in the background ignores SIGINT, and programs that are started inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def worker():
    """Runs `swtch.ai.worker` with some arguments."""

    def run(*arguments: str, **options) -> Ended:
        return run_workload([sys.executable, "-m", "swtch.ai.worker", *arguments], **options)

    return run
