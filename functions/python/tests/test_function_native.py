"""The native helper: its wheels are what their tags say, and the one for this machine measures."""

from __future__ import annotations

import platform
import struct
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, TARGET, check_document

from serving import SHORT
from swtch_function import document, host
from swtch_function.request import from_values

NATIVE = ROOT / "functions" / "native"
MACHINES = {"x86_64": 62, "aarch64": 183}
"""`e_machine` of the ELF header."""


@pytest.fixture(scope="session")
def wheels(environment: Callable[[str, Path], str]) -> list[Path]:
    """Built for all targets."""
    python = environment("native", NATIVE / "requirements.txt")
    out = TARGET / "wheels"
    built = subprocess.run(
        [python, str(NATIVE / "build.py"), "--out", str(out)], capture_output=True, text=True, timeout=500
    )
    assert built.returncode == 0, built.stderr
    return [Path(line) for line in built.stdout.split()]


def library(wheel: Path) -> bytes:
    """The shared library in it."""
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return archive.read("swtch_native/libswtch_pipe.so")


def test_each_wheel_is_for_its_machine_and_libc(wheels: list[Path]) -> None:
    assert len(wheels) == 4
    for wheel in wheels:
        data = library(wheel)
        (machine,) = struct.unpack_from("<H", data, 18)
        assert data[:5] == b"\x7fELF\x02"
        assert machine == MACHINES["aarch64" if "aarch64" in wheel.name else "x86_64"]
        # musl calls its library libc.so; glibc has a number.
        assert (b"libc.so.6\0" in data) == ("manylinux" in wheel.name)
        assert all(
            f"swtch_pipe_{name}".encode() in data for name in ("open", "gross_ns", "baseline_ns", "close")
        )


def test_it_measures(wheels: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    libc = "musllinux" if host.libc() == "musl" else "manylinux"
    fitting = [one for one in wheels if libc in one.name and platform.machine() in one.name]
    if not fitting:
        pytest.skip(f"there is no wheel for {libc} on {platform.machine()}")
    with zipfile.ZipFile(fitting[0]) as archive:
        archive.extractall(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "swtch_native", raising=False)
    found = document.invoke(from_values({**SHORT, "methods": ["pipe-native"], "spin_ms": 0}))
    check_document(found, "local")
    (one,) = found["measurements"]
    assert one["median_ns"] > 0 and min(one["batches_ns"]["baseline"]) > 0
    assert one["switches"]["per_expected"] > 0.9
    monkeypatch.delitem(sys.modules, "swtch_native", raising=False)


def test_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "swtch_native", None)
    found = document.invoke(from_values({**SHORT, "methods": ["pipe-native"], "spin_ms": 0}))
    check_document(found, "local")
    assert found["measurements"] == [] and found["unavailable"][0]["what"] == "measurements.pipe-native"
