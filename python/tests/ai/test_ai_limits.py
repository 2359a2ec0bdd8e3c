"""What `swtch ai` does with which rights is what `docs/limits.md` says."""

from __future__ import annotations

import sys

from rights import each, open_directory, shown, tried
from run_host import SLEEPER, needs_groups, needs_runtime, needs_swtch, program

from swtch.ai import result

SOURCES = {"bpf": "every switch", "perf": "every switch, no wake-ups", "procfs": "samples of /proc"}


@each
def test_a_run_does_what_the_page_says(rights: str) -> None:
    needs_swtch(), needs_groups()
    with open_directory() as at:
        workload = [sys.executable, str(program(at, SLEEPER))]
        options = ["run", "--threads", "1", "--duration", "300ms", "-o", "study"]
        done = tried(rights, "ai", *options, "--", *workload, at=at)
        assert done.returncode == 0, done.stderr
        run = result.read(at / "study")["runs"][0]
        own = all(row["what"] != "cgroup" for row in run["unavailable"])
        place = "in a cgroup of its own" if own else "in the current cgroup"
        assert f"{SOURCES[run['recorder']['source']]}; {place}" == shown("ai run", rights)


@each
def test_the_list_is_there_with_any_rights(rights: str) -> None:
    needs_runtime()
    with open_directory() as at:
        assert shown("ai list", rights) == "yes"
        assert tried(rights, "ai", "list", at=at).returncode == 0
