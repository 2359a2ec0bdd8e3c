"""Profiles to files and back, compared and shown on a page."""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import pickle
import subprocess
from pathlib import Path

import pyarrow.parquet
import pytest

import swtch


def test_saved_and_loaded_is_the_same(measured: swtch.Profile, tmp_path: Path) -> None:
    path = tmp_path / "here.json"
    measured.save(path)
    loaded = swtch.Profile.load(str(path))
    assert loaded.samples == "here.samples.parquet"
    assert dataclasses.replace(loaded, samples=None) == measured
    assert sorted(file.name for file in tmp_path.iterdir()) == ["here.json", "here.samples.parquet"]


def test_the_samples_are_readable_by_others(measured: swtch.Profile, tmp_path: Path) -> None:
    measured.save(tmp_path / "here.json")
    table = pyarrow.parquet.read_table(tmp_path / "here.samples.parquet")
    assert table.num_rows == measured.noise.batches
    assert {"pipe"} <= set(table["work"].to_pylist())


def test_a_loaded_profile_takes_its_samples_along(measured: swtch.Profile, tmp_path: Path) -> None:
    measured.save(tmp_path / "one.json")
    (tmp_path / "other").mkdir()
    swtch.Profile.load(tmp_path / "one.json").save(tmp_path / "other" / "two.json")
    names = [tmp_path / "one.samples.parquet", tmp_path / "other" / "two.samples.parquet"]
    assert names[0].read_bytes() == names[1].read_bytes()


def test_a_device_gets_the_profile_and_no_file_beside_it(measured: swtch.Profile, tmp_path: Path) -> None:
    # A link stands for the device, so that a mistake cannot replace the real one.
    device = tmp_path / "null"
    device.symlink_to("/dev/null")
    measured.save(device)
    assert device.is_symlink() and [file.name for file in tmp_path.iterdir()] == ["null"]


def test_the_file_is_what_the_command_writes(golden: Path, tmp_path: Path) -> None:
    swtch.Profile.load(golden).save(tmp_path / "copy.json")
    assert json.loads((tmp_path / "copy.json").read_text()) == {
        **json.loads(golden.read_text()),
        "samples": None,
    }
    binary = os.environ.get("SWTCH_BIN")
    if not binary:
        pytest.skip("SWTCH_BIN names no swtch to read the file with")
    command = [binary, "report", tmp_path / "copy.json", "-o", tmp_path / "page.html"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_a_profile_survives_copying_and_pickling(measured: swtch.Profile) -> None:
    for twin in (copy.deepcopy(measured), pickle.loads(pickle.dumps(measured))):
        assert twin == measured
        assert twin.to_arrow("samples").num_rows == measured.noise.batches


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("", "is not a Profile"),
        ("{", "is not a Profile"),
        ("[1, 2]", "has the schema 'none'"),
        ('{"schema": "swtch/profile/9"}', "written by another version"),
        ('{"schema": "swtch/profile/1"}', "is damaged"),
        ('{"schema": "other/thing/1"}', "has the schema 'other/thing/1'"),
    ],
)
def test_a_foreign_or_damaged_file_is_refused_by_name(contents: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_text(contents)
    with pytest.raises(swtch.ProfileError) as refused:
        swtch.Profile.load(path)
    assert str(refused.value).startswith(str(path)) and message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_the_system_refuses_is_an_oserror(measured: swtch.Profile, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"cannot read .*none\.json"):
        swtch.Profile.load(tmp_path / "none.json")
    with pytest.raises(FileNotFoundError, match="cannot write"):
        measured.save(tmp_path / "no" / "directory.json")
    with pytest.raises(OSError, match="cannot write"):
        measured.save(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_profile_equals_itself_when_compared(measured: swtch.Profile) -> None:
    found = measured.compare(measured)
    assert (
        repr(found) == f"<swtch.Diff: {found.answer}>"
        and f"0 of {len(found.changes)} figures are worse" in found.answer
    )
    assert found.changes and found.circumstances == ()
    assert found.notes == ("Both sides hold the same measurement.",)
    assert {change.ratio for change in found.changes} <= {1.0, None}
    assert {change.verdict for change in found.changes} <= {"same", "unclear"}
    assert list(found.to_pandas()["metric"]) == [change.metric for change in found.changes]


def test_a_comparison_names_what_only_one_has(measured: swtch.Profile, golden: Path) -> None:
    old = swtch.Profile.load(golden)
    found = measured.compare(old)
    assert any(note.startswith("Only in the old Profile: ") for note in found.notes) and found.circumstances
    assert found.to_dict()["notes"] == list(found.notes)
    assert swtch.diff(golden, measured).changes == swtch.diff(old, [measured]).changes == found.changes


def test_traces_differ_by_paths_or_objects_and_limits_hold(golden: Path) -> None:
    fixtures = golden.parents[1]
    old, new = fixtures / "traces/machine.swtch", fixtures / "traces/waits.swtch"
    found = swtch.diff(old, new, fail_if=["switches > +20%", "switches > +90%"])
    assert found.verdict == "unclear" and found.answer.startswith("Unclear from 1 recording of a side: ")
    assert found.fails and [limit.holds for limit in found.limits] == [True, False]
    assert any((row.task, row.peer) == ("service", "rtloop") for row in found.who)
    loaded = swtch.diff(swtch.Trace.load(old), swtch.Trace.load(new))
    assert (loaded.changes, loaded.who) == (found.changes, found.who)
    same = swtch.diff([old] * 3, [old] * 3)
    assert (same.verdict, same.who, same.old.runs) == ("same", (), 3)


def test_sides_that_cannot_be_compared_say_why(measured: swtch.Profile, golden: Path) -> None:
    fixtures = golden.parents[1]
    trace = fixtures / "traces/machine.swtch"
    for old, new, limits, words in [
        (swtch.Trace.load(trace), measured, [], "Traces and Profiles cannot be compared"),
        (trace, fixtures / "profiles/vm.json", [], "Traces and Profiles cannot be compared"),
        (measured, measured, ["switches > +5%"], "fail_if with a figure is about Traces"),
        (trace, trace, ["switches > many"], "is not a value of switches"),
        ([], trace, [], "a side is empty"),
    ]:
        with pytest.raises(swtch.UsageError, match=words):
            swtch.diff(old, new, fail_if=limits)
    with pytest.raises(FileNotFoundError):
        swtch.diff(trace, fixtures / "none.swtch")


def test_one_page_from_several_profiles(measured: swtch.Profile, golden: Path, tmp_path: Path) -> None:
    server = swtch.Profile.load(golden)
    page = swtch.report({"board <1>": measured, "server": server}, tmp_path / "page.html")
    text = page.read_text()
    assert text.startswith("<!doctype html>") or text.startswith("<!DOCTYPE html>")
    assert "board &lt;1&gt;" in text and "<1>" not in text
    assert "server" in swtch.report(server, tmp_path / "one.html").read_text()
    with pytest.raises(swtch.UsageError, match="no profile to report on"):
        swtch.report([], tmp_path / "none.html")
