"""A cgroup for one run: made before it, with limits if asked, and removed after it, whatever happened.

Version 2 is taken where it has the cpu controller, else version 1's hierarchies, else version 2 without a controller. A machine that lets
no process make groups is not an error: the run continues without one, and reports that.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import re
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

PERIOD_US = 100_000
"""Of quotas: the kernel's default."""
SMALLEST_QUOTA_US = 1_000
"""What the kernel takes: a quota or a period below it is refused with EINVAL (kernel/sched/core.c, min_cfs_quota_period)."""
LONGEST_PERIOD_US = 1_000_000
"""Likewise."""
_PATIENCE_S = 5.0
_SETTLE_S = 0.0005
_SETTLES = 40
_ROOM = "-room"
"""The end of the name of the group that this process is in while groups are made beside it."""
_ROOM_OF = re.compile(r"(swtch-[a-z-]*\d+-\d+)-")


@dataclass(frozen=True)
class Limits:
    """What a group may use; `None` means no limit."""

    quota_us: int | None = None
    """CPU time in every period."""
    period_us: int = PERIOD_US
    """Length of a period."""
    burst_us: int = 0
    """CPU time that a period may take beyond the quota, saved up in earlier ones; the kernel takes a quota at most."""
    memory_bytes: int | None = None
    """Memory, swap included; more is taken for nothing, the kernel kills."""
    processes: int | None = None
    """Processes and threads at once."""
    count_cpu: bool = False
    """Not a limit: its CPU time is counted also where version 1 does that in a hierarchy of its own."""

    @staticmethod
    def of_cpus(quota_cpus: float | None, count_cpu: bool = False) -> Limits:
        """CPUs worth of time, by the kernel's own period."""
        if quota_cpus is None:
            return Limits(count_cpu=count_cpu)
        return Limits(quota_us=max(SMALLEST_QUOTA_US, round(quota_cpus * PERIOD_US)), count_cpu=count_cpu)


@dataclass(frozen=True)
class Counters:
    """What a group has counted since it was made; `None` is not counted here."""

    periods: int | None = None
    """Periods in which it ran under its quota."""
    periods_throttled: int | None = None
    """Of those, in which the quota stopped it."""
    throttled_ns: int | None = None
    """Time that its quota stopped it, summed over CPUs."""
    cpu_ns: int | None = None
    """CPU time of its processes."""
    memory_peak_bytes: int | None = None
    """The most memory it has had."""
    memory_bytes: int | None = None
    """Memory that its processes have now, without files in the cache."""
    oom_kills: int | None = None
    """Processes that the kernel killed because of its memory limit."""


@dataclass(frozen=True)
class Group:
    """A cgroup, or the reason why it is missing. Version 1 has one directory for each of its hierarchies."""

    directory: Path | None
    """Where CPU time is limited and counted; `None` when there is none."""
    version: int | None
    """1 or 2."""
    why: str | None
    """Why there is none, or no quota, in one line."""
    others: tuple[Path, ...] = ()
    """The same group in other hierarchies."""
    missing: tuple[tuple[str, str], ...] = ()
    """Limits that could not be set, and why."""

    @property
    def directories(self) -> tuple[Path, ...]:
        """All of its directories; a process belongs to the group when it is in each."""
        return () if self.directory is None else (self.directory, *self.others)

    def processes(self) -> list[int]:
        """Numbers of its processes now; none when it is gone."""
        return [] if self.directory is None else _processes(self.directory)

    def throttled_ns(self) -> int | None:
        """Time that its quota stopped it, summed over CPUs; `None` where that is not counted."""
        return self.counters().throttled_ns

    def counters(self) -> Counters:
        """What it has counted so far."""
        cpu = self._table("cpu.stat")
        throttled_us, oom = (
            cpu.get("throttled_usec"),
            self._table("memory.events") or self._table("memory.oom_control"),
        )
        usage_us = cpu.get("usage_usec")
        memory = self._table("memory.stat")
        return Counters(
            periods=cpu.get("nr_periods"),
            periods_throttled=cpu.get("nr_throttled"),
            throttled_ns=cpu.get("throttled_time") if throttled_us is None else throttled_us * 1000,
            cpu_ns=self._number("cpuacct.usage") if usage_us is None else usage_us * 1000,
            memory_peak_bytes=self._number("memory.peak", "memory.max_usage_in_bytes"),
            memory_bytes=memory.get("anon", memory.get("total_rss")),
            oom_kills=oom.get("oom_kill"),
        )

    def settled_counters(self) -> Counters:
        """What it has counted once its processes sleep, or after 20 ms: the kernel adds the last milliseconds when a task leaves its CPU."""
        found = self.counters()
        for _ in range(_SETTLES):
            time.sleep(_SETTLE_S)
            before, found = found, self.counters()
            if found.cpu_ns == before.cpu_ns:
                break
        return found

    def into(self, command: Sequence[str]) -> list[str]:
        """A command that puts itself into the group before it is that command: not even its first moment is outside."""
        if self.directory is None:
            return list(command)
        script = 'n=$1; shift; while [ $n -gt 0 ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; n=$((n-1)); done; exec "$@"'
        directories = list(map(str, self.directories))
        return ["/bin/sh", "-c", script, "sh", str(len(directories)), *directories, *command]

    def limit_cpu(self, quota_us: int | None, period_us: int) -> None:
        """Gives it another quota, or none. Raises `OSError`."""
        assert self.directory is not None
        if self.version == 1:
            _set(self.directory / "cpu.cfs_quota_us", "-1" if quota_us is None else str(quota_us))
        else:
            _set(self.directory / "cpu.max", f"{'max' if quota_us is None else quota_us} {period_us}")

    def kill(self) -> None:
        """Kills everything in it; the group stays. A limit of processes stops programs that fork faster than they can be killed."""
        self._write("pids.max", "0")
        # Version 2 from Linux 5.14 on, all at once.
        self._write("cgroup.kill", "1")
        deadline = time.monotonic() + _PATIENCE_S
        while (left := self.processes()) and time.monotonic() < deadline:
            _kill(left)
            time.sleep(0.005)
        self._write("pids.max", "max" if self._pids is None else str(self._pids))

    def reset_memory_peak(self) -> None:
        """Resets the peak of memory, where the kernel allows that."""
        self._write("memory.peak", "0")
        self._write("memory.max_usage_in_bytes", "0")

    def remove(self) -> None:
        """Ends everything in it, and removes it."""
        if self.directory is not None:
            self._write("pids.max", "0")
            self._write("cgroup.kill", "1")
        for directory in self.directories:
            remove(directory)

    _pids: int | None = None

    def _find(self, *names: str) -> Path | None:
        return next(
            (path for directory in self.directories for name in names if (path := directory / name).exists()),
            None,
        )

    def _table(self, name: str) -> dict[str, int]:
        path = self._find(name)
        rows = [line.split() for line in _read(path).splitlines()] if path is not None else []
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}

    def _number(self, *names: str) -> int | None:
        path = self._find(*names)
        text = "" if path is None else _read(path).strip()
        return int(text) if text.isdigit() else None

    def _write(self, name: str, text: str) -> None:
        path = self._find(name)
        if path is not None:
            with contextlib.suppress(OSError):
                _set(path, text)


@dataclass(frozen=True)
class Hierarchy:
    """A place where groups can be made."""

    version: int
    """1 or 2."""
    mount: Path
    """Where it is mounted."""
    own: Path
    """The group of this process in it."""
    controllers: frozenset[str] = frozenset()
    """What it limits and counts."""


@contextlib.contextmanager
def group(program: str, name: str, limits: Limits = Limits(), root: Path = Path("/")) -> Iterator[Group]:
    """A group that exists while the block runs, with those two names in its own; what is left in it then is killed.

    Yields a `Group` without a directory, and with the reason, where none can be made, or none with the quota. Other limits that cannot
    be set are in its `missing`.
    """
    made = _make(f"{prefix(program)}{os.getpid()}-{name}", limits, root)
    try:
        yield made
    finally:
        made.remove()


def remove_stale(program: str, root: Path = Path("/"), kill: bool = False) -> list[Path]:
    """Removes groups of runs whose program was killed; returns them. Those with processes in them stay, or lose them first."""
    removed = []
    start = prefix(program)
    for hierarchy in all_hierarchies(root):
        for parent in dict.fromkeys((hierarchy.own, hierarchy.mount)):
            for directory in parent.glob(f"{start}*"):
                pid = directory.name[len(start) :].split("-")[0]
                if not pid.isdigit() or Path(f"/proc/{pid}").exists():
                    continue
                if kill:
                    remove(directory)
                elif not _processes(directory):
                    with contextlib.suppress(OSError):
                        directory.rmdir()
                if not directory.exists():
                    removed.append(directory)
    return removed


def hierarchies(root: Path = Path("/")) -> list[Hierarchy]:
    """Where cgroups limit and count CPU time, best first."""

    def rank(one: Hierarchy) -> int:
        return 1 if one.version == 1 else 0 if "cpu" in one.controllers else 2

    found = [one for one in all_hierarchies(root) if one.version == 2 or "cpu" in one.controllers]
    return sorted(found, key=rank)


def all_hierarchies(root: Path = Path("/")) -> list[Hierarchy]:
    """Every hierarchy that is mounted, in the order of the mounts."""
    try:
        mounts = (root / "proc/self/mounts").read_text().splitlines()
        own = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    paths = {names: path for _, names, path in (line.split(":", 2) for line in own)}
    found = []
    for line in mounts:
        _, point, kind, options, *_ = line.split(" ")
        mount = root / point.lstrip("/")
        if kind == "cgroup2":
            controllers = frozenset(_read(mount / "cgroup.controllers").split())
            found.append(Hierarchy(2, mount, _own(mount, paths.get("", "/")), controllers))
        elif kind == "cgroup":
            controllers = frozenset(options.split(","))
            names = next((names for names in paths if set(names.split(",")) & controllers), "")
            found.append(Hierarchy(1, mount, _own(mount, paths.get(names, "/")), controllers))
    return found


def remove(directory: Path) -> None:
    """Kills what is in a group and removes it."""
    deadline = time.monotonic() + _PATIENCE_S
    while directory.exists():
        _kill(_processes(directory))
        # What was just killed may keep the directory busy for a moment.
        with contextlib.suppress(OSError):
            directory.rmdir()
            return
        if time.monotonic() > deadline:
            return
        time.sleep(0.01)


def prefix(program: str) -> str:
    """How names of that program's groups begin here.

    Groups of other containers may be seen here, whose process numbers mean nothing here: the name tells them apart.
    """
    try:
        namespace = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        namespace = 0
    return f"{program}-{namespace}-"


def _make(name: str, limits: Limits, root: Path) -> Group:
    found = hierarchies(root)
    if not found:
        return Group(None, None, "no cgroups are mounted here")
    reasons = []
    for hierarchy in found:
        # A group of its own process cannot hand out controllers in version 2; the root of the hierarchy can.
        for parent in dict.fromkeys((hierarchy.own, hierarchy.mount)):
            directory = parent / name
            try:
                directory.mkdir()
            except OSError as error:
                reasons.append(f"{directory}: {error.strerror}")
                continue
            try:
                if limits.quota_us is not None:
                    _limit_cpu(directory, hierarchy.version, limits.quota_us, limits.period_us)
            except OSError as error:
                reasons.append(f"{directory} can have no quota: {error.strerror}")
                remove(directory)
                continue
            return _rest(Group(directory, hierarchy.version, None, _pids=limits.processes), limits, root)
    return Group(
        None,
        None,
        f"cannot create a cgroup ({reasons[-1]}); run as root, or in a cgroup that is delegated to this user{_allowing(root)}",
    )


def _rest(made: Group, limits: Limits, root: Path) -> Group:
    """The group with its limits of memory and processes, as far as they can be set."""
    assert made.directory is not None
    try:
        if made.version == 1:
            made = replace(made, others=tuple(_beside(made.directory, limits, root)))
        missing = []
        for what, value, set_it in (
            ("burst", min(limits.burst_us, limits.quota_us or 0) or None, _limit_burst),
            ("memory", limits.memory_bytes, _limit_memory),
            ("processes", limits.processes, _limit_processes),
        ):
            if value is not None:
                try:
                    set_it(made, value)
                except OSError as error:
                    missing.append((what, f"the limit cannot be set: {error.strerror}"))
        return replace(made, missing=tuple(missing))
    except BaseException:
        made.remove()
        raise


def _beside(directory: Path, limits: Limits, root: Path) -> Iterator[Path]:
    """Directories of the same name in the other hierarchies of version 1 that are needed."""
    needed = {"cpuacct"} if limits.count_cpu else set()
    if limits.memory_bytes is not None or limits.processes is not None:
        needed = {"cpuacct", "memory", "pids"}
    for hierarchy in all_hierarchies(root):
        if hierarchy.version == 1 and needed & hierarchy.controllers and "cpu" not in hierarchy.controllers:
            beside = hierarchy.own / directory.name
            with contextlib.suppress(OSError):
                beside.mkdir()
                yield beside


def _limit_cpu(directory: Path, version: int, quota_us: int, period_us: int) -> None:
    if version == 1:
        (directory / "cpu.cfs_period_us").write_text(str(period_us))
        (directory / "cpu.cfs_quota_us").write_text(str(quota_us))
        return
    _hand_out(directory, "cpu", "cpu.max")
    _set(directory / "cpu.max", f"{quota_us} {period_us}")


def _limit_burst(made: Group, burst_us: int) -> None:
    """From Linux 5.14 on; with version 2, `cpu.max.burst`."""
    place = made._find("cpu.max.burst", "cpu.cfs_burst_us")
    if place is None:
        raise FileNotFoundError(2, "this kernel has no burst of CPU quotas")
    _set(place, str(burst_us))


def _limit_memory(made: Group, limit_bytes: int) -> None:
    if made.version == 2:
        assert made.directory is not None
        _hand_out(made.directory, "memory", "memory.max")
        _set(made.directory / "memory.max", str(limit_bytes))
        made._write("memory.swap.max", "0")
        return
    place = made._find("memory.limit_in_bytes")
    if place is None:
        raise FileNotFoundError(2, "the memory controller is not available to this user")
    _set(place, str(limit_bytes))
    made._write("memory.memsw.limit_in_bytes", str(limit_bytes))


def _limit_processes(made: Group, limit: int) -> None:
    if made.version == 2:
        assert made.directory is not None
        _hand_out(made.directory, "pids", "pids.max")
    place = made._find("pids.max")
    if place is None:
        raise FileNotFoundError(2, "the pids controller is not available to this user")
    _set(place, str(limit))


def _hand_out(directory: Path, controller: str, file: str) -> None:
    """Lets a group of version 2 have a controller, which its parent hands out."""
    if (directory / file).exists():
        return
    place = directory.parent / "cgroup.subtree_control"
    try:
        _set(place, f"+{controller}")
    except OSError as error:
        if error.errno != errno.EBUSY or not _make_room(directory):
            raise
        _set(place, f"+{controller}")


def _make_room(directory: Path) -> bool:
    """Moves this process, and those that started it, out of the group in which groups are made; returns whether that was possible.

    A group of version 2 that has processes hands out no controllers ("no internal processes"). A delegated group begins with them. Where
    other programs are in it, they stay, and nothing is moved. At the end all go back. Root has the root of the hierarchy for its groups, and
    leaves its session alone.
    """
    parent = directory.parent
    if os.geteuid() == 0 and (parent.parent / "cgroup.procs").exists():
        return False
    inside = _processes(parent)
    found = _ROOM_OF.match(directory.name)
    if found is None or not inside or set(inside) - set(_ancestry()):
        return False
    room = parent / f"{found[1]}{_ROOM}"
    try:
        room.mkdir(exist_ok=True)
        for pid in inside:
            _set(room / "cgroup.procs", str(pid))
    except OSError:
        return False
    atexit.register(_leave_room, room, os.getpid())
    return True


def _leave_room(room: Path, of: int) -> None:
    """Undoes that."""
    if os.getpid() != of:
        return
    with contextlib.suppress(OSError):
        handed_out = _read(room.parent / "cgroup.subtree_control").split()
        _set(room.parent / "cgroup.subtree_control", " ".join(f"-{one}" for one in handed_out))
        for pid in _processes(room):
            _set(room.parent / "cgroup.procs", str(pid))
        room.rmdir()


def _ancestry() -> list[int]:
    """This process and those that started it."""
    found, pid = [], os.getpid()
    while pid > 0 and pid not in found:
        found.append(pid)
        # After the name, which may hold anything: state and parent.
        pid = int(([*_read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split(), "0", "0"])[1])
    return found


def scope_can_be_made(root: Path = Path("/")) -> bool:
    """Whether systemd's manager of this user has the cpu controller to delegate."""
    return "cpu" in _managers(root)


def _managers(root: Path) -> frozenset[str]:
    """The controllers of systemd's manager of this user; none without one."""
    user = os.geteuid()
    for hierarchy in all_hierarchies(root):
        if hierarchy.version == 2:
            place = hierarchy.mount / f"user.slice/user-{user}.slice/user@{user}.service/cgroup.controllers"
            return frozenset(_read(place).split())
    return frozenset()


def _allowing(root: Path) -> str:
    """The command that delegates one, where there is one."""
    found = _managers(root)
    if "cpu" in found:
        return ": systemd-run --user --scope -p Delegate=yes COMMAND"
    if found:
        return "; 'sudo systemctl edit user@.service', with Delegate=cpu memory pids below [Service], and another login allow that"
    return ""


def _set(path: Path, text: str) -> None:
    # In place: a file of the kernel cannot be created where it is missing.
    with open(path, "r+") as file:
        file.write(text)


def _own(mount: Path, path: str) -> Path:
    """The group of this process; in a container its path may be that on the host, and the mount is the group."""
    own = mount / path.lstrip("/")
    if own.name.endswith(_ROOM) and _ROOM_OF.match(own.name):
        own = own.parent
    return own if own.is_dir() else mount


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _processes(directory: Path) -> list[int]:
    return [int(line) for line in _read(directory / "cgroup.procs").split()]


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
