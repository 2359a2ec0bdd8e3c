"""Other schedulers in a virtual machine: files that travel, reports, and failures."""

from __future__ import annotations

import json
import os
import stat
import sys
from pathlib import Path

import pytest
from test_ai_run_advice import run

from swtch.ai import in_guest, scheduler, vm
from swtch.ai.catalogue import find
from swtch.ai.errors import AiError
from swtch.ai.settings import Settings
from swtch.ai.summarise import summarise

PLAIN = Settings(threads=2, spinning=False)
FLSCHED = Settings(threads=2, spinning=False, scheduler="flsched")


def rows():
    stock = [run(PLAIN, speed, voluntary=50.0, involuntary=4.0) for speed in (9.0, 10.0, 11.0)]
    other = [run(FLSCHED, speed, voluntary=50.0, involuntary=1.0) for speed in (19.0, 20.0, 21.0)]
    return [row for pair in zip(stock, other) for row in pair]


def test_the_sentence_says_how_much_and_how_sure():
    found = vm.verdict(summarise(rows()), 2)
    assert found["text"].startswith(
        "In a virtual machine of 2 emulated CPUs, with t2.block: flsched gives 2.00 x"
    )
    assert "(1.73 to 2.33, 3 runs of each)" in found["text"]
    assert len(found["summaries"]) == 2


@pytest.fixture
def guest(tmp_path, monkeypatch):
    """A program in swtch's place that prints these lines; returns where it notes its arguments."""

    def install(lines, status=0, complaint=""):
        program = tmp_path / "swtch"
        text = "\n".join(lines)
        (tmp_path / "output").write_text(text + "\n")
        program.write_text(
            f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/arguments\ncat {tmp_path}/output\n'
            f'echo "{complaint}" >&2\nexit {status}\n'
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        (tmp_path / "scx_flsched").touch()
        for module in (vm, scheduler):
            monkeypatch.setattr(module, "binary", lambda: program)
        return tmp_path / "arguments"

    return install


def compare():
    return vm.compare(find("mobilenet-v2")[0], PLAIN, ["flsched"], 7, 2)


def test_what_is_imported_travels_and_the_schedulers_take_turns(guest):
    noted = guest(["the kernel says something", *(in_guest.ROW + json.dumps(row) for row in rows())])
    assert "flsched gives 2.00 x" in compare()["text"]
    words = noted.read_text().splitlines()
    copied = [Path(words[place + 1]) for place, word in enumerate(words) if word == "--copy"]
    assert all(path.exists() for path in copied)
    names = {path.name for path in copied}
    assert {"swtch", "scx_flsched", "numpy", "onnxruntime", "json"} <= names and "test" not in names
    assert str(Path(sys.executable).resolve()) in words
    asked = words[-1]
    assert [name for name in ("stock", "flsched") if f'"{name}"' in asked] == ["stock", "flsched"]
    assert asked.index('"stock"') < asked.index('"flsched"')
    turns = [part.split('"')[1] for part in asked.split('"scheduler": ')[1:]]
    assert turns == ["stock", "flsched", "flsched", "stock", "stock", "flsched"]


def test_what_fails_says_why(guest):
    guest([], status=1, complaint="swtch: the guest ran out of memory")
    with pytest.raises(AiError, match="the virtual machine failed: swtch: the guest ran out of memory"):
        compare()
    crashed = {**rows()[0], "outcome": "crashed", "error": "it was ended by SIGKILL"}
    guest([in_guest.ROW + json.dumps(crashed)])
    with pytest.raises(AiError, match="failed: it was ended by SIGKILL"):
        compare()
    guest([in_guest.ROW + json.dumps(row) for row in rows()[:4]])
    with pytest.raises(AiError, match="ended after 4 of 6 runs"):
        compare()


def test_without_the_scheduler_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(scheduler, "binary", lambda: tmp_path / "swtch")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AiError, match="there is no program scx_flsched next to swtch or on PATH"):
        compare()


def test_a_model_runs_under_flsched_in_a_virtual_machine():
    if os.environ.get("SWTCH_SLOW_TESTS") != "1":
        pytest.skip("takes five minutes; SWTCH_SLOW_TESTS=1 runs it")
    found = compare()
    assert [one["runs"] for one in found["summaries"]] == [vm.REPEATS] * 2
    assert all(one["voluntary_per_inference"]["median"] > 1 for one in found["summaries"])
