"""A control group for one run: made before it, with a quota if asked, and removed after it, whatever happened.

Version 2 is taken where it has the cpu controller, else version 1's hierarchy of it, else version 2 without a controller. A machine that lets
nobody make groups is no error: the run goes on without one, and says so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

NAME = "swtch-ai"
"""Names of groups begin with this."""
PERIOD_US = 100_000
"""Of quotas: the kernel's default."""
_PATIENCE_S = 5.0


@dataclass(frozen=True)
class Group:
    """A control group, or why there is none."""

    folder: Path | None
    """Where it is; `None` when there is none."""
    version: int | None
    """1 or 2."""
    why: str | None
    """Why there is none, or no quota, in one line."""

    def processes(self) -> list[int]:
        """Numbers of its processes now; none when it is gone."""
        return [] if self.folder is None else _processes(self.folder)

    def throttled_ns(self) -> int | None:
        """Time that its quota stopped it, summed over CPUs; `None` where that is not counted."""
        if self.folder is None:
            return None
        try:
            rows = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        except (OSError, ValueError):
            return None
        if "throttled_usec" in rows:
            return int(rows["throttled_usec"]) * 1000
        return int(rows["throttled_time"]) if "throttled_time" in rows else None


@dataclass(frozen=True)
class Hierarchy:
    """A place where groups can be made."""

    version: int
    """1 or 2."""
    mount: Path
    """Where it is mounted."""
    own: Path
    """The group of this process in it."""


@contextlib.contextmanager
def group(name: str, quota_cpus: float | None = None, root: Path = Path("/")) -> Iterator[Group]:
    """A group with that name in it for as long as the block lasts; what is left in it then is killed.

    quota_cpus: CPUs worth of time that it may use. Yields a `Group` without a folder, and with the reason, where none can be
    made, or none with the quota.
    """
    made = _make(f"{_prefix()}{os.getpid()}-{name}", quota_cpus, root)
    try:
        yield made
    finally:
        if made.folder is not None:
            remove(made.folder)


def remove_stale(root: Path = Path("/")) -> list[Path]:
    """Removes groups of runs whose `swtch ai` was killed; returns them. Those with processes in them stay."""
    removed = []
    for hierarchy in hierarchies(root):
        for parent in dict.fromkeys((hierarchy.own, hierarchy.mount)):
            for folder in parent.glob(f"{_prefix()}*"):
                pid = folder.name[len(_prefix()) :].split("-")[0]
                if pid.isdigit() and not Path(f"/proc/{pid}").exists() and not _processes(folder):
                    with contextlib.suppress(OSError):
                        folder.rmdir()
                        removed.append(folder)
    return removed


def hierarchies(root: Path = Path("/")) -> list[Hierarchy]:
    """Where control groups limit and count CPU time, best first."""
    try:
        mounts = (root / "proc/self/mounts").read_text().splitlines()
        own = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    paths = {names: path for _, names, path in (line.split(":", 2) for line in own)}
    ranked: list[tuple[int, Hierarchy]] = []
    for line in mounts:
        _, point, kind, options, *_ = line.split(" ")
        mount = root / point.lstrip("/")
        if kind == "cgroup2":
            rank = 0 if "cpu" in _read(mount / "cgroup.controllers").split() else 2
            ranked.append((rank, Hierarchy(2, mount, _own(mount, paths.get("", "/")))))
        elif kind == "cgroup" and "cpu" in options.split(","):
            names = next((names for names in paths if "cpu" in names.split(",")), "")
            ranked.append((1, Hierarchy(1, mount, _own(mount, paths.get(names, "/")))))
    return [hierarchy for _, hierarchy in sorted(ranked, key=lambda one: one[0])]


def remove(folder: Path) -> None:
    """Kills what is in a group and removes it."""
    deadline = time.monotonic() + _PATIENCE_S
    while folder.exists():
        for pid in _processes(folder):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def _make(name: str, quota_cpus: float | None, root: Path) -> Group:
    found = hierarchies(root)
    if not found:
        return Group(None, None, "no control groups are mounted here")
    reasons = []
    for hierarchy in found:
        # A group of its own process cannot hand out controllers in version 2; the root of the hierarchy can.
        for parent in dict.fromkeys((hierarchy.own, hierarchy.mount)):
            folder = parent / name
            try:
                folder.mkdir()
            except OSError as error:
                reasons.append(f"{folder}: {error.strerror}")
                continue
            try:
                if quota_cpus is not None:
                    _limit(folder, hierarchy.version, quota_cpus)
                return Group(folder, hierarchy.version, None)
            except OSError as error:
                reasons.append(f"{folder} can have no quota: {error.strerror}")
                remove(folder)
    return Group(
        None,
        None,
        f"no control group could be made ({reasons[-1]}); it takes root, or a group that was given to this user",
    )


def _limit(folder: Path, version: int, quota_cpus: float) -> None:
    quota_us = max(1000, round(quota_cpus * PERIOD_US))
    if version == 1:
        (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (folder / "cpu.cfs_quota_us").write_text(str(quota_us))
        return
    if not (folder / "cpu.max").exists():
        (folder.parent / "cgroup.subtree_control").write_text("+cpu")
    # In place: a file of the kernel cannot be created where it is missing.
    with open(folder / "cpu.max", "r+") as file:
        file.write(f"{quota_us} {PERIOD_US}")


def _own(mount: Path, path: str) -> Path:
    """The group of this process; in a container its path may be that on the host, and the mount is the group."""
    own = mount / path.lstrip("/")
    return own if own.is_dir() else mount


def _prefix() -> str:
    """Groups of other containers may be seen here, whose process numbers mean nothing here: the name tells them apart."""
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return f"{NAME}-{namespace}-"


def _processes(folder: Path) -> list[int]:
    return [int(line) for line in _read(folder / "cgroup.procs").split()]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
