"""Functions that do what they should not, and machines that do not allow what they should: one clear line each, and nothing is left."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from faas_host import OWN, STUB, groups_left, leaves_no_groups, needs_groups, tiers_file

from swtch.faas import study, tiers
from swtch.faas.command import main


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A directory with functions of one's own; no cgroup and no process is left by any test."""
    needs_groups()
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(STUB))
    # One test has them.
    monkeypatch.setattr(tiers, "COLD_STARTS", 0)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.py").write_text(OWN)
    with leaves_no_groups():
        yield
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    assert children == []


def tried(tmp_path, function, *more, tier=(64, 0.5)):
    """The outcomes of a function in one tier, and what was printed of them."""
    words = [
        "tiers",
        "--handler",
        f"own:{function}",
        "--tiers",
        tiers_file(tmp_path, tier),
        "--runs",
        "1",
        "--out",
        "out",
    ]
    status = main([*words, *more])
    works = [one for one in study.read(tmp_path / "out")["invocations"]]
    return status, works


@pytest.mark.parametrize(
    ("function", "outcome", "words"),
    [
        ("raises", "failed", "KeyError: 'the key' (own.py:7)"),
        ("hangs", "timeout", "no answer within 1 s; raise --timeout"),
        ("forks", None, None),
        ("eats", "oom", "killed by the kernel at the memory limit of its tier"),
        ("no_json", "failed", "Object of type object is not JSON serializable"),
        ("dies", "failed", "the function ended with status 3"),
    ],
)
def test_what_a_function_does_wrong_is_told_in_one_line(function, outcome, words, tmp_path, capsys):
    status, works = tried(tmp_path, function, "--timeout", "1s" if function != "eats" else "20s")
    assert status == 1
    limited = next(one for one in works if one["tier"] == "64 MB")
    if function == "forks":
        # It may meet the limit of processes, or the time.
        assert limited["outcome"] in ("failed", "timeout", "oom")
    else:
        assert limited["outcome"] == outcome, limited
        assert words in limited["why"]
    assert "\n" not in limited["why"]
    out = capsys.readouterr().out
    assert out.count(f"64 MB: 1 {limited['outcome']}: {limited['why']}") == 1


def test_a_full_disk_is_one_line_and_what_was_written_is_not_repeated(tmp_path):
    """A file may be no larger than some KiB here, which is an error of the same kind as a full disk."""
    words = [
        "tiers",
        "--tiers",
        tiers_file(tmp_path, (64, 0.5)),
        "--work",
        "1ms",
        "--runs",
        "3",
        "--out",
        "out",
    ]
    done = started(words, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000)))
    _, err = done.communicate(timeout=120)
    last = err.splitlines()[-1]
    assert done.returncode == 1 and "Traceback" not in err
    assert (
        "journal.jsonl cannot be written (File too large); its entries are kept, and --resume continues"
        in last
    )
    assert groups_left(done.pid) == []
    whole = (tmp_path / "out/journal.jsonl").read_bytes()
    whole = whole[: whole.rfind(b"\n") + 1]
    assert whole.count(b"\n") > 2
    again = started(["tiers", "--resume", "out"])
    _, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    journal = (tmp_path / "out/journal.jsonl").read_bytes()
    assert journal.startswith(whole) and {row["n"] for row in study.read(tmp_path / "out")["rows"]} == {3}


def started(words, **more):
    """The command as a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-m", "swtch.faas.command", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **more)  # fmt: skip
