"""The measurement as Python sees it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from schema_check import faults
from short import SHORT

import swtch

ROOT = Path(__file__).resolve().parents[2]
HANG_S = 60
"""Far beyond what any of this takes, also on a busy machine."""


def test_a_measurement_is_typed(measured: swtch.Profile) -> None:
    assert measured.schema == "swtch/profile/2"
    assert measured.provenance.source == "measured"
    assert measured.provenance.ended in {"complete", "time-limit"}
    assert measured.host.cpus and isinstance(measured.host.cpus[0], swtch.Cpu)
    assert {(row.method, row.placement) for row in measured.direct} == {("pipe", "same-cpu")}
    for row in measured.direct:
        assert isinstance(row, swtch.Direct) and isinstance(row.switch_cost_ns, swtch.Estimate)
        assert row.round_trip_ns.median > 0
        assert row.switch_cost_ns.ci_low <= row.switch_cost_ns.median <= row.switch_cost_ns.ci_high
        assert len(row.switch_cost_ns.launch_medians) == row.switch_cost_ns.launches


def test_profiles_keep_the_published_schema(measured: swtch.Profile) -> None:
    schema = json.loads((ROOT / "docs/schemas/profile-2.json").read_text())
    fixtures = [
        json.loads((ROOT / f"fixtures/profiles/{name}.json").read_text()) for name in ("vm", "server")
    ]
    for profile in (measured.to_dict(), *fixtures):
        assert faults(profile, schema) == []
    assert faults({**fixtures[0], "direct": "none"}, schema) != []


def test_a_profile_cannot_be_changed(measured: swtch.Profile) -> None:
    with pytest.raises(AttributeError):
        measured.direct = ()  # type: ignore[misc]
    assert isinstance(measured.direct, tuple)


def test_what_it_shows_is_the_answer(measured: swtch.Profile) -> None:
    answer = repr(measured)
    assert answer.startswith("<swtch.Profile: ") and "\n" not in answer
    assert str(measured).splitlines()[0] in answer
    assert "<td>pipe</td>" in measured._repr_html_()


def test_sizes_are_numbers_or_texts() -> None:
    profile = swtch.measure(**SHORT, sizes=["1K", 4096], strides=8, accesses="read")
    assert {row.array_bytes for row in profile.total} <= {1024, 4096}
    assert {(row.stride_bytes, row.access) for row in profile.total} == {(8, "read")}


def test_the_seed_is_kept() -> None:
    assert swtch.measure(**SHORT, seed=7).provenance.order_seed == 7


def test_other_threads_run_meanwhile() -> None:
    counts = []
    done = threading.Event()

    def count() -> None:
        while not done.wait(0.005):
            counts.append(1)

    thread = threading.Thread(target=count)
    thread.start()
    before = len(counts)
    try:
        swtch.measure(**SHORT)
    finally:
        during = len(counts) - before
        done.set()
        thread.join(HANG_S)
    # At 5 ms a step some hundreds; a measurement that kept the interpreter would leave none.
    assert during > 20


def test_it_measures_from_another_thread() -> None:
    profiles: list[swtch.Profile] = []
    thread = threading.Thread(target=lambda: profiles.append(swtch.measure(**SHORT)))
    thread.start()
    thread.join(HANG_S)
    assert len(profiles) == 1 and profiles[0].direct


def test_progress_is_told() -> None:
    told: list[tuple[float, float, str]] = []
    swtch.measure(**SHORT, progress=lambda *news: told.append(news))
    fractions = [fraction for fraction, _, _ in told]
    assert len(told) > 3
    assert fractions == sorted(fractions) and 0 <= fractions[0] and fractions[-1] <= 1
    assert all(0 <= remaining_s <= SHORT["time_limit"] for _, remaining_s, _ in told)
    assert any(condition.startswith("pipe, 2 ") for _, _, condition in told)


def test_what_progress_raises_ends_the_measurement() -> None:
    def give_up(fraction: float, remaining_s: float, condition: str) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        swtch.measure(full=True, progress=give_up)


# A test run that was started in the background has Ctrl-C ignored, and so have its children.
LISTENING = """
import signal, sys, swtch
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
INTERRUPTED = (
    LISTENING
    + """
try:
    swtch.measure(full=True, progress=lambda *news: print("go", flush=True))
except KeyboardInterrupt as stopped:
    assert isinstance(stopped, swtch.Interrupted), type(stopped)
    profile = stopped.profile
    print("ended", profile and profile.provenance.ended, profile and profile.provenance.launches)
    sys.exit(3)
"""
)


def interrupt(program: str, after_s: float) -> tuple[int, str, float]:
    """Starts the program, interrupts it some time after its first line; its status, output, and seconds from there."""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None and process.stdout.readline()
        time.sleep(after_s)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        output, _ = process.communicate(timeout=HANG_S)
        return process.returncode, output, time.monotonic() - began
    finally:
        process.kill()
        process.wait()


def test_ctrl_c_ends_it_and_keeps_what_is_complete() -> None:
    status, output, seconds = interrupt(INTERRUPTED, after_s=1.0)
    assert status == 3, output
    assert re.search(r"^ended interrupted \d+$", output, re.MULTILINE), output
    # It is asked twenty times a second.
    assert seconds < 3


def test_ctrl_c_unhandled_is_an_ordinary_keyboard_interrupt() -> None:
    program = LISTENING + "swtch.measure(full=True, progress=lambda *news: print('go', flush=True))"
    status, output, _ = interrupt(program, after_s=0.1)
    # By the signal itself, 130 or 1: which, CPython decides by the exact class.
    assert status in {-signal.SIGINT, 130, 1}, output
    assert "swtch.Interrupted" in output and "panicked" not in output


def test_a_handler_of_the_callers_decides_what_is_raised() -> None:
    def on_alarm(number: int, frame: object) -> None:
        raise TimeoutError("alarm")

    before = signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(TimeoutError, match="alarm"):
            swtch.measure(full=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ({"methods": "pip"}, "unknown method 'pip'; expected pipe, "),
        ({"methods": []}, "the list of methods is empty"),
        ({"methods": 3}, "unknown method '3'"),
        ({"sizes": 0}, "array size 0 B is smaller than one element"),
        ({"sizes": "1Q"}, "'1Q' has an unknown suffix"),
        ({"sizes": [-1]}, "'-1' is not a size"),
        ({"sizes": ["1K"], "strides": ["4K"]}, "stride 4 KiB is larger than an array of 1 KiB"),
        ({"strides": 12}, "stride 12 B is not a multiple of the element"),
        ({"accesses": "peek"}, "unknown access 'peek'"),
        ({"placements": "moon"}, "unknown placement 'moon'; expected same-cpu, "),
        ({"classes": "first"}, "unknown class 'first'"),
        ({"precision": 0}, "precision 0 is not a fraction"),
        ({"precision": float("nan")}, "precision NaN is not a fraction"),
        ({"precision": "high"}, "precision 'high' is not a number"),
        ({"time_limit": -1}, "a time limit of -1 s leaves no time"),
        ({"time_limit": 1e9}, "a time limit of 1000000000 s is longer than a day"),
        ({"time_limit": float("inf")}, "a time limit of inf s is not a length of time"),
        ({"max_array": "99T", "sizes": "64K"}, "two arrays of 99 TiB need 198 TiB"),
        ({"seed": -1}, "seed -1 is not a whole number"),
        ({"quick": True, "full": True}, "quick and full exclude each other"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_in_one_line(wish: dict[str, object], message: str) -> None:
    with pytest.raises(swtch.UsageError) as refused:
        swtch.measure(**wish)  # type: ignore[arg-type]
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, ValueError)
