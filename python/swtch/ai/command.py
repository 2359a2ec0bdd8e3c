"""`swtch ai`: AI workloads under the recorder. The binary `swtch` runs it as the program `swtch-ai`.

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from .._command import Parser, run
from . import attach as attach_command
from . import gpu as gpu_command
from . import list as list_command
from . import predict as predict_command
from . import run as run_command
from . import tune as tune_command
from . import why as why_command

_DESCRIPTION = "Record AI workloads: a model of your own, the sixteen of the study by Suo et al., or any program that implements the workload contract"
_EXAMPLES = """\
examples:
  swtch ai list                                         the models, and what is installed
  swtch ai run --quick                                  a subset, within a minute
  swtch ai run 1,5,7 --threads 1,2,4,8 --batch 1 --duration 10s
  swtch ai run mobilenet-v2 --spin on,off --runs 3      spinning against blocking
  swtch ai run --suite suo --out cloud                  all sixteen
  swtch ai run --threads 1,2 -- ./my-workload --threads {threads}
  swtch ai tune resnet-50-v2                            the best settings, with the evidence
  swtch ai run model.onnx                               a model of your own
  swtch ai gpu                                          ways of waiting for a GPU
  swtch ai attach http://127.0.0.1:8000/predict --rate 20   a server that runs
  swtch ai why ai-study                                 what made its slowest inferences slow
  swtch ai predict ai-study                             other threads, quotas and schedulers, simulated

Exit status: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    # Words after -- belong to another program.
    own, program = (
        (words[: words.index("--")], words[words.index("--") + 1 :]) if "--" in words else (words, None)
    )
    options = _parser().parse_args(own)
    options.words, options.after = ["swtch", "ai", *words], program
    return run("swtch ai", lambda: int(options.run(options)))


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="swtch ai",
        description=_DESCRIPTION,
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for module in (
        list_command,
        run_command,
        tune_command,
        attach_command,
        why_command,
        predict_command,
        gpu_command,
    ):
        module.add_to(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
