"""What `swtch faas` does with which rights is what `docs/limits.md` says."""

from __future__ import annotations

import subprocess

import pytest
from faas_host import ROOT, needs_groups, tiers_file
from rights import each, open_directory, shown, tried

NOTHING = "def nothing(event, context):\n    return None\n"


@each
def test_measuring_and_tiers_do_what_the_page_says(rights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_groups()
    monkeypatch.setenv("SWTCH_FUNCTIONS", str(ROOT / "functions"))
    with open_directory() as at:
        measure = ["measure", "--request", '{"methods": ["pipe"], "spin_ms": 0}']
        tiers = ["--tiers", tiers_file(at, (128, 0.5), price=None)]
        limited = outcome(tried(rights, "faas", *measure, *tiers, "--memory", "128", at=at))
        # A run in a cgroup of its own needs everything that a run without one needs.
        assert limited == "yes" or outcome(tried(rights, "faas", *measure, at=at)) == "yes"
        assert shown("faas measure", rights) == "yes"
        assert shown("faas measure --memory", rights) == limited
        # A study takes longer, and the same cgroups: that it runs as root is tested with its figures.
        assert shown("faas tiers", rights) == limited
        if limited != "yes":
            (at / "own.py").write_text(NOTHING)
            assert (
                outcome(tried(rights, "faas", "tiers", "--handler", "own:nothing", *tiers, at=at)) == limited
            )


def outcome(done: subprocess.CompletedProcess[str]) -> str:
    """As the page says it."""
    if done.returncode == 0:
        return "yes"
    assert "cannot create a cgroup" in done.stderr, done.stderr
    return "no (cannot create a cgroup)"
