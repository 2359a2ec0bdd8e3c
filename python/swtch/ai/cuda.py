"""The CUDA driver's own library by ctypes: a context, a kernel that takes a given time, and waiting for it. No framework is needed.

Source: NVIDIA, CUDA Driver API reference, "Context Management" (the flags of `cuCtxCreate`) and "Execution Control".
"""

from __future__ import annotations

import copy
import ctypes
from typing import Any, Literal

from .errors import AiError

LIBRARY = "libcuda.so.1"
"""The driver brings it."""
Wait = Literal["spin", "yield", "block"]
"""What a thread does until the GPU has finished: it asks again and again, it lets others run between, or it sleeps."""
FLAGS: dict[Wait, int] = {"spin": 1, "yield": 2, "block": 4}
"""`CU_CTX_SCHED_SPIN`, `CU_CTX_SCHED_YIELD` and `CU_CTX_SCHED_BLOCKING_SYNC`."""

KERNEL = b"""
.version 6.0
.target sm_50
.address_size 64
.visible .entry wait(.param .u64 ns)
{
    .reg .u64 %rd<4>;
    .reg .pred %p;
    ld.param.u64 %rd1, [ns];
    mov.u64 %rd2, %globaltimer;
again:
    mov.u64 %rd3, %globaltimer;
    sub.u64 %rd3, %rd3, %rd2;
    setp.lt.u64 %p, %rd3, %rd1;
    @%p bra again;
    ret;
}
"""
"""Runs until the GPU's clock has gone on by `ns`."""


class NoGpu(AiError):
    """There is no GPU that the driver's library can use."""


class Driver:
    """The library, initialised, with at least one device."""

    def __init__(self) -> None:
        """Loads it. Raises `NoGpu` with the reason."""
        try:
            self._library: Any = ctypes.CDLL(LIBRARY)
        except OSError as error:
            raise NoGpu(f"no GPU here: {LIBRARY} cannot be loaded ({error})") from None
        try:
            self.call("cuInit", 0)
            count = ctypes.c_int()
            self.call("cuDeviceGetCount", ctypes.byref(count))
        except AiError as error:
            raise NoGpu(f"no GPU here: {error}") from None
        if count.value < 1:
            raise NoGpu("no GPU here: the driver counts 0 devices")
        self.devices = count.value
        """How many there are."""

    def call(self, name: str, *arguments: Any) -> None:
        """Calls a function. Raises `AiError` with the driver's words for a result that is not 0."""
        result = int(getattr(self._library, name)(*arguments))
        if result == 0:
            return
        said = ctypes.c_char_p()
        self._library.cuGetErrorString(result, ctypes.byref(said))
        words = said.value.decode(errors="replace") if said.value else "an error without a name"
        raise AiError(f"{name} failed with {result} ({words})")

    def name(self, number: int = 0) -> str:
        """What a device is called."""
        device, text = ctypes.c_int(), ctypes.create_string_buffer(256)
        self.call("cuDeviceGet", ctypes.byref(device), number)
        self.call("cuDeviceGetName", text, len(text), device)
        return text.value.decode(errors="replace")

    def version(self) -> str:
        """The CUDA version of the driver, such as `12.4`."""
        found = ctypes.c_int()
        self.call("cuDriverGetVersion", ctypes.byref(found))
        return f"{found.value // 1000}.{found.value % 1000 // 10}"


class Waiter:
    """A context on the first device whose threads wait in one way, with the kernel loaded, and a stream of the thread that made it."""

    def __init__(self, driver: Driver, wait: Wait) -> None:
        """Makes it. Raises `AiError` when the driver refuses."""
        self._driver = driver
        device, self._context = ctypes.c_int(), ctypes.c_void_p()
        driver.call("cuDeviceGet", ctypes.byref(device), 0)
        driver.call("cuCtxCreate_v2", ctypes.byref(self._context), FLAGS[wait], device)
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        driver.call("cuModuleLoadData", ctypes.byref(module), KERNEL)
        driver.call("cuModuleGetFunction", ctypes.byref(self._function), module, b"wait")
        self._make_stream()

    def of_this_thread(self) -> Waiter:
        """The same context with a stream for the thread that calls. Raises `AiError` when the driver refuses."""
        found = copy.copy(self)
        self._driver.call("cuCtxSetCurrent", self._context)
        found._make_stream()
        return found

    def _make_stream(self) -> None:
        self._stream = ctypes.c_void_p()
        # CU_STREAM_NON_BLOCKING: no stream waits for another.
        self._driver.call("cuStreamCreate", ctypes.byref(self._stream), 1)

    def launch(self, ns: int) -> None:
        """Lets the GPU work that long; returns when the driver has taken the launch."""
        length = ctypes.c_uint64(ns)
        parameters = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(length), ctypes.c_void_p))
        one = ctypes.c_uint(1)
        self._driver.call(
            "cuLaunchKernel",
            self._function,
            *[one] * 6,
            ctypes.c_uint(0),
            self._stream,
            parameters,
            None,
        )

    def synchronise(self) -> None:
        """Waits until the GPU has finished."""
        self._driver.call("cuStreamSynchronize", self._stream)

    def close(self) -> None:
        """Gives the context back."""
        self._driver.call("cuCtxDestroy_v2", self._context)
