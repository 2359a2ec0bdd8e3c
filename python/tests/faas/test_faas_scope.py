"""Without root: what systemd's manager of a user can delegate, and the command line that has it do so."""

from __future__ import annotations

import os

import pytest

from swtch import _cgroup as cgroup
from swtch.faas import scope
from swtch.faas.command import main


@pytest.fixture
def machine(tmp_path):
    """A machine with cgroups of version 2, in which this user has a manager with some controllers."""

    def make(controllers):
        user, mount = os.geteuid(), tmp_path / "sys/fs/cgroup"
        manager = mount / f"user.slice/user-{user}.slice/user@{user}.service"
        manager.mkdir(parents=True)
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/mounts").write_text("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n")
        (tmp_path / "proc/self/cgroup").write_text("0::/user.slice\n")
        (mount / "cgroup.controllers").write_text("cpu memory pids\n")
        if controllers is not None:
            (manager / "cgroup.controllers").write_text(controllers)
        return tmp_path

    return make


@pytest.mark.parametrize(
    ("controllers", "can", "said"),
    [
        ("cpu memory pids\n", True, ": systemd-run --user --scope -p Delegate=yes COMMAND"),
        ("memory pids\n", False, "'sudo systemctl edit user@.service', with Delegate=cpu memory pids"),
        (None, False, ""),
    ],
)
def test_the_command_that_would_allow_it_is_named(machine, monkeypatch, controllers, can, said):
    root = machine(controllers)
    assert cgroup.scope_can_be_made(root) == can

    def denied(self, *words, **more):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.mkdir", denied)
    with cgroup.group("swtch-faas", "x", cgroup.Limits(quota_us=10_000), root) as group:
        assert group.directory is None
        assert "run as root, or in a cgroup that is delegated to this user" in group.why
        assert said in group.why


def test_a_scope_is_entered_only_where_it_helps_and_once(monkeypatch, tmp_path, capsys):
    ran = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execve", lambda program, words, environment: ran.append((words, environment)))
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(cgroup, "hierarchies", lambda root=None: [])
    monkeypatch.setattr(cgroup, "scope_can_be_made", lambda: True)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    scope.enter(["tiers"])
    assert ran == []
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert main(["tiers", "--quick", "--out", "out"]) == 1
    words, environment = ran[0]
    assert words[:6] == ["/usr/bin/systemd-run", "--user", "--scope", "--quiet", "-p", "Delegate=yes"]
    assert words[-4:] == ["tiers", "--quick", "--out", "out"]
    assert "continuing in a scope of systemd" in capsys.readouterr().err
    monkeypatch.setenv("SWTCH_FAAS_SCOPE", environment["SWTCH_FAAS_SCOPE"])
    scope.enter(["tiers"])
    assert len(ran) == 1


def test_nothing_is_moved_out_of_a_session_of_root_or_away_from_other_programs(monkeypatch, tmp_path):
    directory = tmp_path / "session" / "swtch-faas-4026531836-77-x"
    directory.mkdir(parents=True)
    (tmp_path / "cgroup.procs").touch()
    (tmp_path / "session/cgroup.procs").write_text(f"{os.getpid()}\n")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert not cgroup._make_room(directory)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    (tmp_path / "session/cgroup.procs").write_text(f"{os.getpid()}\n999999\n")
    assert not cgroup._make_room(directory)
    assert [path.name for path in (tmp_path / "session").iterdir() if path.is_dir()] == [directory.name]


def test_a_name_of_a_room_is_not_taken_for_a_place_of_groups(tmp_path):
    mount = tmp_path / "cgroup"
    room = mount / "given" / "swtch-faas-4026531836-77-room"
    room.mkdir(parents=True)
    assert cgroup._own(mount, "/given/swtch-faas-4026531836-77-room") == mount / "given"
    assert cgroup._own(mount, "/given") == mount / "given"
