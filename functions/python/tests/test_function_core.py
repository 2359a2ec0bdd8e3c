"""The core answers as the schema says, whatever the machine withholds."""

from __future__ import annotations

import os
import signal
import statistics
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import check_document

from serving import SHORT
from swtch_function import counters, document, host, methods, platforms, repeat
from swtch_function.constructs import ConditionPair
from swtch_function.method import Method
from swtch_function.pipe import PipePair
from swtch_function.processes import Child, ChildFailed
from swtch_function.request import METHODS, Request, from_values
from swtch_function.ring import Ring
from swtch_function.spin import spin


def children() -> list[int]:
    """Processes that this one has."""
    return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]


@pytest.mark.parametrize("name", [name for name in METHODS if name != "pipe-native"])
def test_every_method_switches_as_often_as_it_says(name: str) -> None:
    found = document.invoke(from_values({**SHORT, "methods": [name], "spin_ms": 0, "samples": True}))
    if name == "mp-queue" and not found["measurements"]:
        pytest.skip(found["unavailable"][0]["why"])
    check_document(found, "local")
    (one,) = found["measurements"]
    gross, baseline = one["batches_ns"]["gross"], one["batches_ns"]["baseline"]
    # The baseline of a process queue switches too, to the queue's thread: the difference may be negative.
    assert min(baseline) > 0 and (one["median_ns"] > 0 or name == "mp-queue")
    net = [with_switch - without for with_switch, without in zip(gross, baseline)]
    assert one["median_ns"] == pytest.approx(statistics.median(net) / one["switches_per_batch"])
    assert one["switches"]["expected"] == one["switches_per_batch"] * one["batches"]
    assert one["switches"]["per_expected"] > 0.9
    assert len(gross) == len(baseline) == one["batches"]
    assert children() == []


def test_the_whole_document() -> None:
    found = document.invoke(from_values({**SHORT, "work_ms": 5}), "local", "an id")
    check_document(found, "local")
    assert [one["method"] for one in found["measurements"]] == ["pipe", "condvar", "ring"]
    assert found["measurements"][2]["check"]["ok"]
    assert found["invocation"]["id"] == "an id" and found["invocation"]["number"] >= 1
    assert found["work"]["cpu_ns"] == pytest.approx(5e6, rel=0.5)
    assert found["cpu"]["spun_ns"] > 0 and found["usage"]["voluntary"] > 0
    first, second = found["invocation"]["number"], document.invoke(from_values({"methods": [], "spin_ms": 0}))
    assert second["invocation"]["number"] == first + 1 and not second["invocation"]["cold"]


def test_nothing_asked_for_is_nothing_measured() -> None:
    found = document.invoke(from_values({"methods": [], "spin_ms": 0}))
    check_document(found, "local")
    assert found["measurements"] == [] and found["cpu"] is None and found["work"] is None


class Steady(Method):
    """A method whose batches take given times."""

    name, baseline = "pipe", "nothing"

    def __init__(self, times_ns: list[int]) -> None:
        super().__init__(2)
        self._times_ns = times_ns

    def open(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""

    def gross_ns(self) -> int:
        """The next time."""
        self._times_ns.append(self._times_ns.pop(0))
        return self._times_ns[-1]

    def baseline_ns(self) -> int:
        """Half of the shortest."""
        return min(self._times_ns) // 2


@pytest.mark.parametrize(
    ("times_ns", "asked", "stopped_by", "batches"),
    [
        ([1000, 1001], {"min_batches": 7}, "interval", 10),
        ([1000, 2000], {"max_batches": 33}, "batch limit", 33),
        ([1000, 2000], {"time_limit_ms": 1e-6}, "time limit", 1),
        ([1000, 2000, 3000], {"min_batches": 1, "max_batches": 3}, "batch limit", 3),
    ],
)
def test_when_it_stops(times_ns: list[int], asked: dict[str, Any], stopped_by: str, batches: int) -> None:
    with Steady(times_ns) as method:
        found = repeat.measure(method, from_values(asked), None)
    assert (found["stopped_by"], found["batches"]) == (stopped_by, batches)
    assert min(found["batches_ns"]["gross"]) >= 1000 and found["median_ns"] > 0


@pytest.mark.parametrize("switches", [2, 3, 199, 200])
def test_batches_are_whole_round_trips_and_laps(switches: int) -> None:
    assert PipePair(switches).switches in (switches, switches + 1)
    assert Ring(switches, 8).switches % 8 == 0 and Ring(switches, 8).switches >= switches


def test_a_token_that_came_round_wrong_is_told() -> None:
    with Ring(16, 4) as ring:
        ring.gross_ns()
        assert ring.check()["ok"]
        ring._sum += 1
        ring.gross_ns()
        assert not ring.check()["ok"]
    assert children() == []


def test_a_ring_ends_when_its_caller_is_killed() -> None:
    def hang() -> None:
        with Ring(16, 4) as ring:
            Path(f"/proc/self/task/{os.getpid()}/children")
            os.write(2, b"")
            ring.gross_ns()
            time.sleep(60)

    child = Child(hang)
    deadline = time.monotonic() + 10
    tasks: list[int] = []
    while len(tasks) < 3 and time.monotonic() < deadline:
        tasks = [int(pid) for pid in Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()]
    time.sleep(0.2)
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(ChildFailed):
        child.result()
    while any(alive(pid) for pid in tasks) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(tasks) == 3 and not any(alive(pid) for pid in tasks)


def alive(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_process_that_fails_says_how() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ChildFailed, match="ValueError: no"):
        Child(fail).result()
    with pytest.raises(ChildFailed, match="without an answer"):
        Child(lambda: os._exit(3)).result()
    assert Child(lambda: [1, 2]).result() == [1, 2]


def test_a_counter_that_stands_still_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeat, "switches_here", lambda: (0, 0))
    found = document.invoke(from_values({**SHORT, "methods": ["pipe"], "spin_ms": 0}))
    check_document(found, "local")
    assert found["measurements"][0]["switches"]["voluntary"] is None
    assert found["usage"]["voluntary"] is None
    assert "measurements.0.switches" in [one["what"] for one in found["unavailable"]]


def test_gvisors_constant_zero_is_no_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "sandbox", lambda root: "gvisor")
    monkeypatch.setattr(document, "_machine", host.host)
    monkeypatch.setattr(methods, "measure", never_involuntary)
    found = document.invoke(from_values({**SHORT, "methods": ["condvar"], "spin_ms": 0}))
    check_document(found, "local")
    assert found["measurements"][0]["switches"]["involuntary"] is None
    assert found["usage"]["involuntary"] is None and found["usage"]["voluntary"] is not None


def never_involuntary(method: Method, request: Request, cpu: int | None) -> dict[str, Any]:
    """As gVisor counts."""
    found = repeat.measure(method, request, cpu)
    found["switches"]["involuntary"] = 0
    return found


def test_pinning_that_is_refused_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(pid: int, cpus: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setaffinity", refused)
    found = document.invoke(from_values({**SHORT, "methods": ["pipe"], "spin_ms": 0}))
    check_document(found, "local")
    assert not found["measurements"][0]["pinned"]
    assert "measurements.0.cpu" in [one["what"] for one in found["unavailable"]]


def test_no_processes_is_no_ring_and_no_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", refused)
    found = document.invoke(from_values({**SHORT, "methods": ["ring", "pipe"]}))
    check_document(found, "local")
    assert [one["method"] for one in found["measurements"]] == ["pipe"] and found["cpu"] is None
    assert {"measurements.ring", "cpu"} <= {one["what"] for one in found["unavailable"]}


def test_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with ConditionPair(10) as pair:
        pair.gross_ns()
        partner = pair._partner
    assert not partner.is_alive()


def test_spinners_see_each_other_on_one_cpu() -> None:
    found = spin(2, 100_000_000, False)
    assert len(found.intervals) == 2 and 0 < found.cpu_ns < 2.2 * found.span_ns


def test_control_groups_of_both_versions(tmp_path: Path) -> None:
    v1 = tmp_path / "v1"
    write(
        v1, "proc/self/mounts", "cgroup /cpu cgroup rw,cpu,cpuacct 0 0\ncgroup /memory cgroup rw,memory 0 0\n"
    )
    write(v1, "proc/self/cgroup", "2:memory:/a\n1:cpu,cpuacct:/a/b\n")
    write(v1, "cpu/a/b/cpu.cfs_quota_us", "-1\n")
    write(v1, "cpu/a/cpu.cfs_quota_us", "8333\n")
    write(v1, "cpu/a/cpu.cfs_period_us", "100000\n")
    write(v1, "cpu/a/cpu.stat", "nr_periods 7\nnr_throttled 5\nthrottled_time 900\n")
    write(v1, "memory/a/memory.limit_in_bytes", "134217728\n")
    group = counters.cpu_group(v1)
    assert group and group.numbers() == {
        "version": 1,
        "period_ns": 100_000_000,
        "quota_ns": 8_333_000,
        "periods": 7,
        "periods_throttled": 5,
        "throttled_ns": 900,
        "source": str(v1 / "cpu/a/cpu.stat"),
    }
    assert counters.memory_limit_bytes(v1) == 134_217_728
    v2 = tmp_path / "v2"
    write(v2, "proc/self/mounts", "cgroup2 /cgroup cgroup2 rw 0 0\n")
    write(v2, "proc/self/cgroup", "0::/\n")
    write(v2, "cgroup/cpu.max", "max 100000\n")
    write(v2, "cgroup/cpu.stat", "usage_usec 5\nnr_periods 4\nnr_throttled 2\nthrottled_usec 3\n")
    write(v2, "cgroup/memory.max", "max\n")
    group = counters.cpu_group(v2)
    assert group and (group.numbers()["quota_ns"], group.numbers()["throttled_ns"]) == (None, 3000)
    assert counters.memory_limit_bytes(v2) is None and counters.cpu_group(tmp_path / "none") is None


def write(root: Path, name: str, text: str) -> None:
    """A file with its directories."""
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def test_sandboxes(tmp_path: Path) -> None:
    write(tmp_path, "proc/version", "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n")
    assert host.sandbox(tmp_path) == "gvisor"
    write(tmp_path, "proc/version", "Linux version 5.10\n")
    write(tmp_path, "proc/cmdline", "virtio_mmio.device=4K@0xd0000000:5\n")
    assert host.sandbox(tmp_path) == "firecracker"
    assert host.sandbox(tmp_path / "none") is None


def test_platforms() -> None:
    variables = {"AWS_LAMBDA_FUNCTION_NAME": "f", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769"}
    found = platforms.platform("lambda", variables)
    assert (found["function"], found["memory_mb"], found["cpus"]) == ("f", 1769, 1.0)
    assert platforms.platform("local", {})["source"] is None
    found = platforms.platform("local", {"SWTCH_FUNCTION_MEMORY_MB": "128", "SWTCH_FUNCTION_CPUS": "0.0833"})
    assert (found["memory_mb"], found["cpus"]) == (128, 0.0833)
