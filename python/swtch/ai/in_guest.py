"""`python -m swtch.ai.in_guest JOBS`: the side of `vm` inside the virtual machine. Makes the runs, and prints each one's row as a line of JSON."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .._machine import host, usable
from .catalogue import find
from .one_run import Job, Plan, run_once
from .settings import from_document
from .subject import of_model

ROW = "swtch-ai-row "
"""Lines with rows begin with this: a guest's kernel may print other lines."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Makes the runs that the argument asks for: `model`, `seed`, `settings` (one for each run, in order), `duration_s`."""
    asked = json.loads((sys.argv[1:] if arguments is None else arguments)[0])
    subject = of_model(find(asked["model"])[0], seed=asked["seed"])
    may_use = usable(host())
    with tempfile.TemporaryDirectory() as directory:
        plan = Plan(Path(directory), asked["duration_s"])
        for repeat, document in enumerate(asked["settings"]):
            row = run_once(Job(subject, from_document(document), repeat), plan, may_use)
            print(ROW + json.dumps(row), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
