"""What the tests of `swtch.ai` share."""

from __future__ import annotations

import signal
import sys

import pytest
from workload_host import Ended, run_workload

# Who runs the tests in the background has SIGINT ignored, and programs that are started inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def worker():
    """Runs `swtch.ai.worker` with some arguments."""

    def run(*arguments: str, **options) -> Ended:
        return run_workload([sys.executable, "-m", "swtch.ai.worker", *arguments], **options)

    return run
