"""Without root: a scope of systemd in which this user may make cgroups, where systemd's manager of the user can delegate one."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence

from .. import _cgroup as cgroup
from .runner import PROGRAM

_INSIDE = "SWTCH_FAAS_SCOPE"
"""Set in it, so that a scope that does not help is not followed by another."""


def enter(words: Sequence[str]) -> None:
    """Runs `swtch faas` anew in a scope, and never returns, where that is what it takes to make a cgroup; otherwise does nothing.

    words: the arguments after `swtch faas`.
    """
    program = shutil.which("systemd-run")
    if os.geteuid() == 0 or os.environ.get(_INSIDE) or program is None or not cgroup.scope_can_be_made():
        return
    with cgroup.group(PROGRAM, "probe", cgroup.Limits(quota_us=10_000)) as group:
        if group.directory is not None:
            return
    print(
        "swtch faas: continuing in a scope of systemd, which may make cgroups without root", file=sys.stderr
    )
    sys.stdout.flush()
    command = [
        program, "--user", "--scope", "--quiet", "-p", "Delegate=yes", f"--setenv={_INSIDE}=1", "--",
        sys.executable, "-m", "swtch.faas.command", *words,
    ]  # fmt: skip
    os.execve(program, command, {**os.environ, _INSIDE: "1"})
