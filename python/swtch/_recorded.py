"""Recordings of a block, a function or a notebook cell of this program."""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, overload

from ._record import Recording, recording
from ._trace import Trace

Function = TypeVar("Function", bound=Callable[..., Any])


class Recorder:
    """What `swtch.recorded` returns: a context manager and a decorator."""

    def __init__(self, then: Callable[[Trace], object], asked: dict[str, Any]) -> None:
        self._then, self._asked = then, asked
        # Blocks of one recorder may lie in each other. A decorated function has a recorder for each call.
        self._running: list[Recording] = []

    def __enter__(self) -> Recording:
        """Begins a recording; its `trace` exists after the block."""
        pids = {} if "cgroup" in self._asked else {"pids": os.getpid()}
        self._running.append(recording(**{**pids, **self._asked}).__enter__())
        return self._running[-1]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        running = self._running.pop()
        running.__exit__(kind, error, traceback)
        # After an error of the block, that error is what counts.
        if kind is None:
            self._then(running.trace)

    def __call__(self, function: Function) -> Function:
        """The function, which is recorded at each call."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def awaited(*arguments: Any, **named: Any) -> Any:
                with Recorder(self._then, self._asked):
                    return await function(*arguments, **named)

            return awaited  # type: ignore[return-value]

        @functools.wraps(function)
        def called(*arguments: Any, **named: Any) -> Any:
            with Recorder(self._then, self._asked):
                return function(*arguments, **named)

        return called  # type: ignore[return-value]


def _print_answer(trace: Trace) -> None:
    print(f"swtch: {trace.answer}", file=sys.stderr)


@overload
def recorded(function: Function) -> Function: ...
@overload
def recorded(*, then: Callable[[Trace], object] = ..., **asked: Any) -> Recorder: ...


def recorded(
    function: Function | None = None,
    *,
    then: Callable[[Trace], object] = _print_answer,
    **asked: Any,
) -> Function | Recorder:
    """Records a `with` block, or each call of a function: what the switches of this process cost meanwhile.

    then: called with the Trace of each recording; left out, the Trace's first line goes to standard error.
    asked: the arguments of `swtch.recording`; left out, this process is recorded.

    >>> import time
    >>> with swtch.recorded(then=lambda trace: None) as running:
    ...     time.sleep(0.01)
    >>> running.trace.scope.kind
    'processes'
    >>> @swtch.recorded(then=lambda trace: print(trace.scope.kind))
    ... def nap():
    ...     time.sleep(0.01)
    >>> nap()
    processes
    """
    found = Recorder(then, asked)
    return found if function is None else found(function)


def load_ipython_extension(shell: Any) -> None:
    """Gives a notebook the cell magic `%%swtch`: `%load_ext swtch`."""

    def magic(line: str, cell: str) -> Trace:
        """Runs the cell and shows what its switches cost. The line may name a variable for the Trace."""
        name = line.strip()
        if name and not name.isidentifier():
            raise ValueError(f"%%swtch {name}: not a name for the Trace; write %%swtch, or %%swtch trace")
        with recording(pids=os.getpid()) as running:
            shell.run_cell(cell)
        if name:
            shell.push({name: running.trace})
        return running.trace

    shell.register_magic_function(magic, "cell", "swtch")
