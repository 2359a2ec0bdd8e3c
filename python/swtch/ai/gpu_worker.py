"""`python -m swtch.ai.gpu_worker --wait HOW --work NS`: lets a GPU work again and again, and waits for it; a workload of the contract.

An inference is one launch with the wait for its end. Besides what the host counts, the metrics have how long launches took.
"""

from __future__ import annotations

import argparse
import sys
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
    for _ in range(WARM_UP):
        waiter.launch(options.work)
        waiter.synchronise()
    duration_s = workload.duration_s or DEFAULT_DURATION_S
    most = int(duration_s * 1e9 / max(options.work, 1_000)) + 2
    workload.reserve(most)
    launches: list[int] = []
    workload.ready(
        workload=f"gpu.{options.wait}",
        device=driver.name(),
        driver=driver.version(),
        wait=options.wait,
        work_ns=options.work,
        batch=1,
    )
    if not workload.wait_for_go():
        raise AiError("the host ended before it sent go")
    deadline_ns = now_ns() + int(duration_s * 1e9)
    while True:
        begin_ns = now_ns()
        waiter.launch(options.work)
        launches.append(now_ns() - begin_ns)
        waiter.synchronise()
        end_ns = now_ns()
        workload.span(begin_ns, end_ns)
        if end_ns >= deadline_ns:
            break
    p50, p99 = _native.quantiles(launches, (0.5, 0.99))
    workload.finish(images=workload.spans, launch_p50_ns=p50, launch_p99_ns=p99)
    waiter.close()


if __name__ == "__main__":
    sys.exit(main())
