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
    assert repr(found) == f"<swtch.Comparison: 0 of {len(found.changes)} figures changed>"
    assert found.changes and found.only_old == found.only_new == found.circumstances == ()
    assert {change.ratio for change in found.changes} <= {1.0, None}
    assert {change.verdict for change in found.changes} <= {"no-difference", "cannot-decide"}
    assert list(found.to_pandas()["what"]) == [change.what for change in found.changes]


def test_a_comparison_names_what_only_one_has(measured: swtch.Profile, golden: Path) -> None:
    old = swtch.Profile.load(golden)
    found = measured.compare(old)
    assert found.only_old and found.circumstances
    assert found.to_dict()["only_old"] == list(found.only_old)


def test_one_page_from_several_profiles(measured: swtch.Profile, golden: Path, tmp_path: Path) -> None:
    server = swtch.Profile.load(golden)
    page = swtch.report({"board <1>": measured, "server": server}, tmp_path / "page.html")
    text = page.read_text()
    assert text.startswith("<!doctype html>") or text.startswith("<!DOCTYPE html>")
    assert "board &lt;1&gt;" in text and "<1>" not in text
    assert "server" in swtch.report(server, tmp_path / "one.html").read_text()
    with pytest.raises(swtch.UsageError, match="no profile to report on"):
        swtch.report([], tmp_path / "none.html")
