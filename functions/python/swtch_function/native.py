"""The pipes without the interpreter: a helper in C, if its wheel is installed (`functions/native`)."""

from __future__ import annotations

import ctypes
import importlib
from pathlib import Path
from typing import Any

from .method import Method, Unmeasurable


class NativePipePair(Method):
    """The C helper's threads and pipes; the interpreter only says how many round trips."""

    name = "pipe-native"
    baseline = "one task, one pipe"

    def open(self) -> None:
        """Loads the helper and starts its partner."""
        self._library = _library()
        self._pair = self._library.swtch_pipe_open()
        if not self._pair:
            raise Unmeasurable("the native helper could open no pipes or start no thread")

    def gross_ns(self) -> int:
        """Round trips: two switches each."""
        return _told(self._library.swtch_pipe_gross_ns(self._pair, self.rounds))

    def baseline_ns(self) -> int:
        """A write and a read for each switch."""
        return _told(self._library.swtch_pipe_baseline_ns(self._pair, self.switches))

    def close(self) -> None:
        """Ends the partner."""
        self._library.swtch_pipe_close(self._pair)


def _told(time_ns: int) -> int:
    if time_ns < 0:
        raise Unmeasurable("the native helper's pipe broke")
    return time_ns


def _library() -> Any:
    try:
        package = importlib.import_module("swtch_native")
    except ImportError:
        raise Unmeasurable("the native helper is not installed (functions/native)") from None
    path = Path(str(package.__file__)).parent / "libswtch_pipe.so"
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise Unmeasurable(f"the native helper cannot be loaded: {error}") from error
    library.swtch_pipe_open.restype = ctypes.c_void_p
    library.swtch_pipe_open.argtypes = []
    for function in (library.swtch_pipe_gross_ns, library.swtch_pipe_baseline_ns):
        function.restype, function.argtypes = ctypes.c_int64, [ctypes.c_void_p, ctypes.c_uint32]
    library.swtch_pipe_close.restype, library.swtch_pipe_close.argtypes = None, [ctypes.c_void_p]
    return library
