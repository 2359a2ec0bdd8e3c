"""`python -m swtch.ai.gpu_worker --wait HOW --work NS`: lets a GPU work again and again, and waits for it; a workload of the contract.

An inference is one launch with the wait for its end. Besides what the host counts, the metrics have how long launches took.
"""

from __future__ import annotations

import argparse
import sys
import threading
from array import array
from collections.abc import Sequence

from .. import _native
from .._command import Parser
from . import cuda
from .contract import Workload, now_ns
from .errors import AiError

DEFAULT_DURATION_S = 5.0
"""When neither the command line nor the host says how long."""
WARM_UP = 20
"""The first launches load what is needed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the worker; returns its exit status."""
    parser = Parser(
        prog="python -m swtch.ai.gpu_worker",
        description="Launch work on a GPU and wait for it, under the workload contract.",
    )
    parser.add_argument("--wait", choices=sorted(cuda.FLAGS), default="spin", help="what waiting threads do")
    parser.add_argument(
        "--work", type=int, default=1_000_000, metavar="NS", help="how long the GPU works each time"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="N",
        help="threads that share the process, each with a stream",
    )
    options: argparse.Namespace = parser.parse_args(arguments)
    workload = Workload()
    try:
        _work(options, workload)
    except AiError as error:
        workload.error(str(error))
        print(f"swtch ai: {error}", file=sys.stderr)
        return 1
    return 0


def _work(options: argparse.Namespace, workload: Workload) -> None:
    driver = cuda.Driver()
    waiter = cuda.Waiter(driver, options.wait)
    duration_s = workload.duration_s or DEFAULT_DURATION_S
    most = int(duration_s * 1e9 / max(options.work, 1_000)) + 2
    lanes = [Lane(waiter, options.work, duration_s, most) for _ in range(options.threads)]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.warm.wait()
    workload.ready(
        workload=f"gpu.{options.wait}",
        device=driver.name(),
        driver=driver.version(),
        wait=options.wait,
        work_ns=options.work,
        threads=options.threads,
        batch=1,
    )
    go = workload.wait_for_go()
    for lane in lanes:
        lane.go(go)
    for lane in lanes:
        lane.join()
    if not go:
        raise AiError("the host ended before it sent go")
    for lane in lanes:
        if lane.failed is not None:
            raise lane.failed
    # The contract wants spans in the order of their ends.
    for end_ns, begin_ns in sorted(pair for lane in lanes for pair in zip(lane.end_ns, lane.begin_ns)):
        workload.span(begin_ns, end_ns)
    launches = [length for lane in lanes for length in lane.launch_ns]
    p50, p99 = _native.quantiles(launches, (0.5, 0.99))
    workload.finish(images=workload.spans, launch_p50_ns=p50, launch_p99_ns=p99)
    waiter.close()


class Lane(threading.Thread):
    """A thread with a stream of its own that launches and waits until its time is over."""

    def __init__(self, waiter: cuda.Waiter, work_ns: int, duration_s: float, most: int) -> None:
        super().__init__()
        self.begin_ns, self.end_ns, self.launch_ns = (array("q", bytes(8 * most)) for _ in range(3))
        """Of each launch with its wait, and how long the launch itself took. Allocated now, so that the measured phase does not have to."""
        self.warm = threading.Event()
        """Set when the first launches are over, or failed."""
        self.failed: AiError | None = None
        """Why it ended early."""
        self._waiter, self._work_ns, self._duration_ns = waiter, work_ns, int(duration_s * 1e9)
        self._may_go = threading.Event()
        self._wanted = False

    def go(self, wanted: bool) -> None:
        """Lets it begin; false ends it."""
        self._wanted = wanted
        self._may_go.set()

    def run(self) -> None:
        """Its work, called by `start`."""
        try:
            waiter = self._waiter.of_this_thread()
            for _ in range(WARM_UP):
                waiter.launch(self._work_ns)
                waiter.synchronise()
            self.warm.set()
            self._may_go.wait()
            if self._wanted:
                self._measure(waiter)
        except AiError as error:
            self.failed = error
        finally:
            self.warm.set()

    def _measure(self, waiter: cuda.Waiter) -> None:
        done, most = 0, len(self.begin_ns)
        deadline_ns = now_ns() + self._duration_ns
        end_ns = 0
        while end_ns < deadline_ns and done < most:
            begin_ns = now_ns()
            waiter.launch(self._work_ns)
            launched_ns = now_ns()
            waiter.synchronise()
            end_ns = now_ns()
            self.begin_ns[done], self.end_ns[done] = begin_ns, end_ns
            self.launch_ns[done] = launched_ns - begin_ns
            done += 1
        for kept in (self.begin_ns, self.end_ns, self.launch_ns):
            del kept[done:]


if __name__ == "__main__":
    sys.exit(main())
