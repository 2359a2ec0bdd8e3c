"""What the kernel counted: switches and CPU time of this process, and the numbers of its cgroup, versions 1 and 2."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NO_LIMIT_BYTES = 1 << 60
"""A memory limit of this size or more means no limit."""


def switches_here() -> tuple[int, int]:
    """Voluntary and involuntary switches of all threads of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_nvcsw, usage.ru_nivcsw


@dataclass(frozen=True)
class Usage:
    """What this process and its ended children took so far."""

    wall_ns: int
    cpu_ns: int
    voluntary: int
    involuntary: int
    max_rss_bytes: int

    @staticmethod
    def now() -> Usage:
        """As of now."""
        both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return Usage(
            time.monotonic_ns(),
            round(sum(one.ru_utime + one.ru_stime for one in both) * 1e9),
            sum(one.ru_nvcsw for one in both),
            sum(one.ru_nivcsw for one in both),
            max(one.ru_maxrss for one in both) * 1024,
        )

    def since(self, before: Usage) -> dict[str, Any]:
        """The difference, as `swtch/faas/2` has it."""
        return {
            "wall_ns": self.wall_ns - before.wall_ns,
            "cpu_ns": max(0, self.cpu_ns - before.cpu_ns),
            "voluntary": self.voluntary - before.voluntary,
            "involuntary": self.involuntary - before.involuntary,
            "max_rss_bytes": self.max_rss_bytes or None,
        }


@dataclass(frozen=True)
class Group:
    """The cgroup that limits this process's CPU time."""

    version: int
    directory: Path
    """With the quota; that of this process where none has one."""

    def numbers(self) -> dict[str, Any]:
        """As `throttling.platform` of `swtch/faas/2` has it, counted since the group was made."""
        stat = _rows(self.directory / "cpu.stat")
        quota_us, period_us = _quota_us(self.version, self.directory)
        throttled_us = stat.get("throttled_usec")
        throttled_ns = stat.get("throttled_time") if throttled_us is None else throttled_us * 1000
        return {
            "version": self.version,
            "period_ns": None if period_us is None else period_us * 1000,
            "quota_ns": None if quota_us is None else quota_us * 1000,
            "periods": stat.get("nr_periods"),
            "periods_throttled": stat.get("nr_throttled"),
            "throttled_ns": throttled_ns,
            "source": str(self.directory / "cpu.stat"),
        }


def difference(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What the group counted between two reads."""
    counted = ("periods", "periods_throttled", "throttled_ns")
    return {
        name: value - before[name] if name in counted and None not in (value, before[name]) else value
        for name, value in after.items()
    }


def cpu_group(root: Path = Path("/")) -> Group | None:
    """The nearest group with a quota, from this process's own upwards; its own where there is none. `None` where no group counts CPU
    time, or it cannot be read."""
    for version, own, mount in _groups(root, "cpu"):
        directories = [own, *(parent for parent in own.parents if mount in (parent, *parent.parents))]
        limited = (directory for directory in directories if _quota_us(version, directory)[0] is not None)
        directory = next(limited, own)
        if (directory / "cpu.stat").is_file():
            return Group(version, directory)
    return None


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """The smallest limit of memory from this process's group upwards; `None` without one."""
    limits = []
    for version, own, mount in _groups(root, "memory"):
        name = "memory.max" if version == 2 else "memory.limit_in_bytes"
        for directory in (own, *(parent for parent in own.parents if mount in (parent, *parent.parents))):
            text = _text(directory / name).strip()
            if text.isdigit() and int(text) < NO_LIMIT_BYTES:
                limits.append(int(text))
    return min(limits, default=None)


def _groups(root: Path, controller: str) -> list[tuple[int, Path, Path]]:
    """Versions, this process's groups, and where the hierarchies with a controller are mounted."""
    paths = dict(
        (names, path)
        for _, names, path in (line.split(":", 2) for line in _text(root / "proc/self/cgroup").splitlines())
    )
    found = []
    for line in _text(root / "proc/self/mounts").splitlines():
        _, point, kind, options, *_ = line.split(" ")
        mount = root / point.lstrip("/")
        if kind == "cgroup2":
            found.append((2, _own(mount, paths.get("", "/")), mount))
        elif kind == "cgroup" and controller in options.split(","):
            names = next((names for names in paths if controller in names.split(",")), "")
            found.append((1, _own(mount, paths.get(names, "/")), mount))
    return sorted(found, key=lambda one: one[0])


def _own(mount: Path, path: str) -> Path:
    """In a container the path may be that on the host, and the mount is the group."""
    own = mount / path.lstrip("/")
    return own if path != "/" and own.is_dir() else mount


def _quota_us(version: int, directory: Path) -> tuple[int | None, int | None]:
    if version == 2:
        quota, _, period = _text(directory / "cpu.max").partition(" ")
    else:
        quota, period = _text(directory / "cpu.cfs_quota_us"), _text(directory / "cpu.cfs_period_us")
    quota, period = quota.strip(), period.strip()
    return int(quota) if quota.isdigit() else None, int(period) if period.isdigit() else None


def _rows(path: Path) -> dict[str, int]:
    rows = (line.split() for line in _text(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def process_age_ns(imported_ns: int) -> int:
    """How long this process lives: by the kernel, to its tick, or else since its code was imported."""
    try:
        started = int(_text(Path("/proc/self/stat")).rpartition(")")[2].split()[19])
        alive_s = time.clock_gettime(time.CLOCK_BOOTTIME) - started / os.sysconf("SC_CLK_TCK")
    except (AttributeError, IndexError, OSError, ValueError):
        return time.monotonic_ns() - imported_ns
    return max(0, round(alive_s * 1e9))
