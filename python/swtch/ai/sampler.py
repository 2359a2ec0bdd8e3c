"""Looks at a workload and the machine a few times a second while it is measured: what a Trace does not have.

Threads and processes of the workload, interrupts of the machine, and CPU time of everybody, from procfs. Its own CPU time is counted.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable

from .account import Sample, tick_ns

HZ = 5.0
"""Looks a second."""


class Sampler:
    """A thread that looks until it is stopped. The first look is when it starts, the last when it stops."""

    def __init__(
        self,
        pids: Callable[[], Iterable[int]],
        cpus: Iterable[int],
        hz: float = HZ,
        group_ns: Callable[[], int | None] = lambda: None,
        measuring_ns: Callable[[], int | None] = lambda: None,
    ) -> None:
        """pids: the processes of the workload at the moment. cpus: those that the workload may use. group_ns: CPU time of its cgroup so
        far. measuring_ns: CPU time of the recorder and of this process so far."""
        self.samples: list[Sample] = []
        """What was seen, in order."""
        self.cost_ns = 0
        """CPU time that looking took."""
        self._pids = pids
        self._cpus = frozenset(f"cpu{cpu}" for cpu in cpus)
        self._group_ns, self._measuring_ns = group_ns, measuring_ns
        self._period_s = 1 / hz
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="swtch-sampler")

    def start(self) -> None:
        """Looks for the first time, and begins."""
        self.samples.append(self._look())
        self._thread.start()

    def stop(self) -> None:
        """Looks for the last time, and ends."""
        self._over.set()
        # It may have been interrupted before it began.
        if self._thread.ident is not None:
            self._thread.join()
        self.samples.append(self._look())

    def _run(self) -> None:
        while not self._over.wait(self._period_s):
            self.samples.append(self._look())
            self.cost_ns = time.thread_time_ns()

    def _look(self) -> Sample:
        # Figures that are added up are read together, without slow work between.
        begin_ns = time.monotonic_ns()
        busy_ns, idle_ns, steal_ns, cpus, interrupts = machine(self._cpus)
        group_ns, measuring_ns = self._group_ns(), self._measuring_ns()
        clocks_ns = {}
        pids = list(self._pids()) if group_ns is None else []
        for pid in pids:
            with contextlib.suppress(OSError):
                clocks_ns[pid] = process_cpu_ns(pid)
        end_ns = time.monotonic_ns()
        threads = processes = 0
        for pid in pids or self._pids():
            with contextlib.suppress(OSError):
                count = len(os.listdir(f"/proc/{pid}/task"))
                threads, processes = threads + count, processes + 1
        return Sample(
            at_ns=(begin_ns + end_ns) // 2,
            threads=threads,
            processes=processes,
            clocks_ns=clocks_ns,
            group_ns=group_ns,
            measuring_ns=measuring_ns,
            busy_ns=busy_ns,
            idle_ns=idle_ns,
            steal_ns=steal_ns,
            cpus=cpus,
            interrupts=interrupts,
            took_ns=end_ns - begin_ns,
        )


def process_cpu_ns(pid: int) -> int:
    """CPU time of a process so far, its ended threads included. `OSError` when it is gone.

    Of the process's own clock, to the nanosecond: `/proc/PID/stat` counts in ticks of 10 ms, which is more than a recorder takes in a second.
    """
    # clock_getcpuclockid(3), which Python lacks: the kernel's MAKE_PROCESS_CPUCLOCK with CPUCLOCK_SCHED (include/linux/posix-timers_types.h, 6.18).
    return time.clock_gettime_ns((~pid << 3) | 2)


def machine(cpus: frozenset[str], path: str = "/proc/stat") -> tuple[int, int, int, int, int]:
    """CPU time in use, idle and stolen on those CPUs (`cpu0` ...) in nanoseconds, how many there are, and hardware interrupts, since the
    machine was started. Zeros where the kernel does not say."""
    busy = idle = steal = found = interrupts = 0
    with contextlib.suppress(OSError), open(path) as file:
        for line in file:
            name, _, rest = line.partition(" ")
            if name in cpus:
                # user nice system idle iowait irq softirq steal guest guest_nice; guests are in user and nice already.
                ticks = [int(field) for field in rest.split()] + [0] * 10
                busy += ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6]
                idle += ticks[3] + ticks[4]
                steal += ticks[7]
                found += 1
            elif name == "intr":
                interrupts = int(rest.split(" ", 1)[0])
    return busy * tick_ns(), idle * tick_ns(), steal * tick_ns(), found, interrupts


def descendants(pids: Iterable[int]) -> list[int]:
    """Those processes and what they have started, as far as it lives."""
    found: list[int] = []
    todo = list(pids)
    while todo:
        pid = todo.pop()
        if pid in found:
            continue
        found.append(pid)
        for task in _tasks(pid):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as file:
                todo += [int(child) for child in file.read().split()]
    return found


def _tasks(pid: int) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/task")
    except OSError:
        return []


def peak_rss_bytes(pid: int) -> int | None:
    """The most memory that a process had resident; `None` when it is gone."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return None
