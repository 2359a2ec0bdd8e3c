"""The machine, as far as a function may see it."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from .affinity import cpus_allowed
from .counters import memory_limit_bytes


def host(root: Path = Path("/")) -> dict[str, Any]:
    """As `swtch/faas/2` has it."""
    return {
        "architecture": platform.machine(),
        "kernel_release": platform.release(),
        "cpu_model": _cpu_model(root),
        "cpus_online": os.cpu_count() or 1,
        "cpus_allowed": len(cpus_allowed()),
        "memory_limit_bytes": memory_limit_bytes(root),
        "sandbox": sandbox(root),
    }


def libc() -> str | None:
    """`glibc`, `musl`, or `None` where it is unknown."""
    if platform.libc_ver()[0] == "glibc":
        return "glibc"
    return "musl" if any(Path("/lib").glob("ld-musl-*")) else None


def sandbox(root: Path = Path("/")) -> str | None:
    """The sandbox to which the kernel belongs: gVisor has a kernel of its own, and Firecracker machines have virtio devices and no firmware."""
    version = _text(root / "proc/version")
    # gVisor answers this whatever it runs on (pkg/sentry/kernel/version.go and fsimpl/proc).
    if "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016" in version or "gvisor" in version.lower():
        return "gvisor"
    words = _text(root / "proc/cmdline")
    if "virtio_mmio.device" in words or "firecracker" in words:
        return "firecracker"
    return None


def _cpu_model(root: Path) -> str | None:
    for line in _text(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "Model", "Processor") and value.strip() not in ("", "unknown"):
            return value.strip()
    return None


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
