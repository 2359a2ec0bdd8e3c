"""The recorder beside a workload, and what is read of its Traces."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import time

import pytest
from run_host import needs_root, needs_swtch

from swtch import _program
from swtch._errors import CommandError
from swtch.ai import evaluate, record
from swtch.ai.command import main
from swtch.ai.errors import AiError
from swtch.ai.record import recorder
from swtch.ai.sampler import Sampler, descendants, machine
from swtch.ai.timeline import Switch, activity, switches

BUSY_THREADS = """
import threading, time
def work():
    end = time.monotonic() + 20
    while time.monotonic() < end:
        time.sleep(0.001)
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(1000)
"""


@pytest.fixture(params=["here", "program"])
def recorded(tmp_path, request, monkeypatch):
    """A process with four threads, recorded for half a second, with its own counts of the same time."""
    needs_swtch(), needs_root()
    monkeypatch.setattr(record, "_program_may_more", lambda: request.param == "program")
    process = subprocess.Popen([sys.executable, "-c", BUSY_THREADS])
    try:
        while len(os.listdir(f"/proc/{process.pid}/task")) < 4:
            time.sleep(0.01)
        with recorder(tmp_path / "t.swtch", [process.pid]) as running:
            cpu_ns = running.cpu_ns()
            before, begin_ns = kernel_counts(process.pid), time.monotonic_ns()
            time.sleep(0.5)
            after, end_ns = kernel_counts(process.pid), time.monotonic_ns()
            assert running.cpu_ns() > cpu_ns > 0
            assert running.cpu_beside_ns() == 0 or request.param == "program"
            trace = running.stop()
            assert running.cpu_ns() is None
    finally:
        process.kill()
        process.wait()
    assert trace.directory == tmp_path / "t.swtch"
    return process.pid, trace, after - before, (begin_ns, end_ns)


def kernel_counts(pid):
    """Voluntary switches of all threads, by the kernel's own count."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status") as file:
            total += sum(int(line.split()[1]) for line in file if line.startswith("voluntary"))
    return total


def test_every_switch_is_seen_from_when_it_is_said_to_have_begun(recorded):
    pid, trace, by_kernel, (begin_ns, end_ns) = recorded
    start_ns = trace.provenance.started_monotonic_ns
    tasks = trace.table("tasks").rows()
    tids = evaluate.threads_of(tasks, [pid])[0]
    assert len(tids) >= 3
    window = (begin_ns - start_ns, end_ns - start_ns)
    found = activity(switches(trace), (), tids, [window], window[1])
    # The kernel's counts are read thread by thread, some tens of microseconds apart.
    assert by_kernel > 100
    assert found.voluntary == pytest.approx(by_kernel, abs=6)
    whole = activity(switches(trace), (), tids, [(0, 1 << 62)], 1 << 62)
    assert whole.voluntary == trace.totals.context_switches.voluntary
    # The recorder sums up waits by itself, switch by switch.
    waited_ns = sum(task["wait_ns"] for task in tasks if task["tid"] in tids)
    assert waited_ns > 0
    assert whole.wait_ns == pytest.approx(waited_ns, rel=0.05)


@pytest.mark.parametrize("program", [False, True])
def test_a_recorder_without_a_target_says_why(tmp_path, monkeypatch, program):
    needs_swtch()
    monkeypatch.setattr(record, "_program_may_more", lambda: program)
    gone = subprocess.Popen(["true"])
    gone.wait()
    with pytest.raises(AiError, match=r"cannot begin the recording: .*\b" + str(gone.pid)):
        with recorder(tmp_path / "t.swtch", [gone.pid]):
            pass
    assert not (tmp_path / "t.swtch").exists()


def test_a_program_with_capabilities_records_for_who_has_none(tmp_path, monkeypatch):
    if os.geteuid() != 0:
        pytest.skip("not root: a program cannot be given capabilities")
    monkeypatch.setattr(record, "binary", lambda: tmp_path / "swtch")
    (tmp_path / "swtch").write_text("")
    # Revision 2 of the attribute, effective, with cap_bpf permitted (linux/capability.h).
    os.setxattr(tmp_path / "swtch", "security.capability", struct.pack("<5I", 0x2000001, 0, 0, 1 << 7, 0))
    assert not record._program_may_more()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert record._program_may_more()
    os.removexattr(tmp_path / "swtch", "security.capability")
    assert not record._program_may_more()


def test_an_impossible_price_is_wrong_usage(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["run", "1", "--price", "cheap"])
    assert "'cheap' is not a price; write 0.05/vcpu-hour" in capsys.readouterr().err


def test_the_program_is_the_packages_or_the_variables_or_that_on_path(tmp_path, monkeypatch):
    monkeypatch.setattr(_program.package, "command", lambda: None)
    own = tmp_path / "swtch"
    own.write_text("#!/bin/sh\n")
    monkeypatch.setenv("SWTCH_BIN", str(own))
    with pytest.raises(CommandError, match="which is not a program"):
        _program.binary()
    own.chmod(0o755)
    assert _program.binary() == own
    monkeypatch.delenv("SWTCH_BIN")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _program.binary() == own
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CommandError, match="pip install swtch"):
        _program.binary()
    monkeypatch.setattr(_program.package, "command", lambda: tmp_path / "packaged")
    assert _program.binary() == tmp_path / "packaged"


def test_who_began_too_late_is_found_out():
    woken = Switch(50, 0, 7, False, 3)
    assert evaluate.saw_beginning([woken], frozenset([7]), 40, 60)
    assert not evaluate.saw_beginning([woken], frozenset([7]), 51, 60)
    assert not evaluate.saw_beginning([woken], frozenset([8]), 40, 60)
    assert not evaluate.saw_beginning([], frozenset([7]), 40, 60)


def test_threads_belong_to_the_copy_whose_process_started_them():
    def task(tid, pid, parent, scope=True, kernel=False, name="x"):
        return {
            "tid": tid,
            "pid": pid,
            "parent_pid": parent,
            "in_scope": scope,
            "kernel_thread": kernel,
            "comm": name,
            "voluntary": 2,
            "involuntary": 0,
            "run_ns": 9,
        }

    rows = [
        task(10, 10, 1),
        task(11, 10, 1),
        task(20, 20, 1),
        task(30, 30, 20),
        task(31, 31, 30),
        task(40, 40, 1, False),
    ]
    assert evaluate.threads_of(rows, [10, 20]) == [frozenset([10, 11]), frozenset([20, 30, 31])]
    orphan = [*rows, task(50, 50, 1)]
    assert evaluate.threads_of(orphan, [10, 20])[0] == frozenset([10, 11])
    assert 50 in evaluate.threads_of(orphan, [10])[0]
    assert evaluate.threads_of(orphan, [10], machine=True) == [frozenset([10, 11])]
    driver = [
        *rows,
        task(60, 60, 2, kernel=True, name="irq/129-nvidia"),
        task(61, 61, 2, kernel=True, name="kworker/0:1"),
    ]
    assert evaluate.driver_threads(driver) == [
        {"name": "irq/129-nvidia", "voluntary": 2, "involuntary": 0, "run_ns": 9}
    ]


def test_the_sampler_sees_threads_and_processes(tmp_path):
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"{sys.executable} -c '{BUSY_THREADS}' & wait"], start_new_session=True
    )
    try:
        deadline = time.monotonic() + 10
        while sum(len(os.listdir(f"/proc/{pid}/task")) for pid in descendants([process.pid])) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        sampler = Sampler(lambda: descendants([process.pid]), os.sched_getaffinity(0), hz=20)
        sampler.start()
        time.sleep(0.3)
        sampler.stop()
    finally:
        os.killpg(process.pid, 9)
        process.wait()
    assert len(sampler.samples) >= 4
    assert {(one.processes, one.threads) for one in sampler.samples} == {(2, 5)}
    assert 0 < sampler.cost_ns < 0.3e9
    times = [one.at_ns for one in sampler.samples]
    assert times == sorted(times)
    assert sampler.samples[-1].interrupts >= sampler.samples[0].interrupts > 0


def test_the_machines_counters_are_those_of_the_cpus_asked_for(tmp_path):
    text = "cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 1 2 3 100 200 4 5 6 1 1\ncpu1 10 0 0 0 0 0 0 7 0 0\nintr 77 1 2\n"
    (tmp_path / "stat").write_text(text)
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert machine(frozenset(["cpu0"]), str(tmp_path / "stat")) == (15 * tick, 300 * tick, 6 * tick, 1, 77)
    both = (25 * tick, 300 * tick, 13 * tick, 2, 77)
    assert machine(frozenset(["cpu0", "cpu1"]), str(tmp_path / "stat")) == both
    assert machine(frozenset(["cpu0"]), str(tmp_path / "none")) == (0, 0, 0, 0, 0)


def test_a_disturbed_run_says_by_what():
    assert evaluate.disturbed(90, 0, 1000) is None
    assert evaluate.disturbed(90, 20, 1000) == "others used 9 % of its CPUs, the hypervisor took 2 %"
    assert evaluate.disturbed(None, 0, 1000) is None
    assert evaluate.disturbed(None, 200, 1000) == "the hypervisor took 20 %"
