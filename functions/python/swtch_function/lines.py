"""The handler without a server: requests come as lines on standard input, answers go as lines on standard output.

`swtch faas` runs it so. The HTTP front of a platform is outside of the function's cgroup, and so nothing of it is in this process.
"""

from __future__ import annotations

import json
import os
import sys
from typing import IO, Any

from .answer import answer, failure, text
from .counters import Usage
from .worker import NoFunction, load, result_of, took

WORKED = {"status": 200, "document": {}, "more": True}
"""The answer to a request for work, as soon as the work is done. A platform has the answer then; measuring follows."""


def serve_lines(handler: str | None = None, platform: str = "local", began_ns: int | None = None) -> int:
    """Answers until standard input ends; the exit status.

    The first line says that the function is ready, and when the program began, by the monotonic clock (`began_ns`). Every other line is `{"status": 200, "document": {}}`. With `"more": true` in it another
    line follows. It is the rest of the document, the part that a user's own function took. It is the whole answer where the first line only
    reports that the project's handler has done its work.
    handler: `module:function` of a user's own function; without it the project's handler answers.
    """
    answers = os.fdopen(os.dup(1), "wb")
    # Output of the function must not come between the answers.
    os.dup2(2, 1)
    function, why = None, ""
    if handler is not None:
        try:
            function = load(handler)
        except NoFunction as error:
            why = str(error)
    write(answers, {"ready": True} if began_ns is None else {"ready": True, "began_ns": began_ns})
    for line in sys.stdin.buffer:
        if handler is None:
            status, document = _measured(line, platform, answers)
        elif function is None:
            status, document = 500, failure(why)
        else:
            before = Usage.now()
            status, document, wall_ns = result_of(function, json.loads(line))
            if status == 200:
                # Reading the CPU time makes the kernel charge it, and may stop at once a task that would have run until the tick.
                # So the answer comes first, as it would without any measuring.
                write(answers, {"status": status, "document": document, "more": True})
                write(answers, took(before, wall_ns))
                continue
        write(answers, {"status": status, "document": document})
    return 0


def write(answers: IO[bytes], line: dict[str, Any]) -> None:
    """Writes a line, which is away when this returns."""
    answers.write(text(line).encode() + b"\n")
    answers.flush()


def _measured(line: bytes, platform: str, answers: IO[bytes]) -> tuple[int, dict[str, Any]]:
    def worked() -> None:
        write(answers, WORKED)

    try:
        return answer(line, None, platform, worked=worked)
    except Exception as error:
        return 500, failure(f"{type(error).__name__}: {error}")
