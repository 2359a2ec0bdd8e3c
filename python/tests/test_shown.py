"""The output of `swtch ai` and `swtch faas` that the pages of `docs/` show is what they print of the studies in `fixtures/`.

`tests/cli/shown.rs` does the same for the command, and says what the comments mean. `SWTCH_WRITE_PAGES=1` writes the output into the pages.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from swtch.ai import summary as ai_summary
from swtch.faas import summary as faas_summary

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"<!-- shown: (?P<kind>study|tiers) (?P<name>\w+)(?:; (?P<most>\d+) lines)? -->\n```console\n\$ (?P<command>.*)\n(?P<output>(?:.*\n)*?)```"
)


def printed(kind: str, name: str) -> str:
    if kind == "tiers":
        return faas_summary.text(json.loads((ROOT / f"fixtures/faas/{name}/tiers.json").read_text()))
    return ai_summary.text(json.loads((ROOT / f"fixtures/studies/{name}/study.json").read_text()), None)


def wanted(block: re.Match[str]) -> str:
    lines = printed(block["kind"], block["name"]).splitlines()
    most = int(block["most"] or len(lines))
    shown = [*lines[:most], *(["..."] if len(lines) > most else [])]
    return "".join(f"{line.rstrip()}\n" for line in shown)


def test_the_pages_show_what_is_printed() -> None:
    count, old = 0, []
    for path in sorted((ROOT / "docs").rglob("*.md")):
        page = text = path.read_text()
        for block in BLOCK.finditer(page):
            count += 1
            whole = block[0].removesuffix(f"{block['output']}```") + f"{wanted(block)}```"
            text = text.replace(block[0], whole)
        if text != page:
            old.append(path.name)
            if os.environ.get("SWTCH_WRITE_PAGES"):
                path.write_text(text)
    assert count >= 2
    assert old == [], "SWTCH_WRITE_PAGES=1 pytest python/tests/test_shown.py writes the pages"
