"""What packages bring for Prometheus and Kubernetes, checked by their own tools where those are installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "packaging/prometheus"


def test_rules_and_alerts_do_what_they_say():
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not on PATH: apt install prometheus")
    tested = [["check", "rules", "swtch-rules.yaml"], ["test", "rules", "swtch-rules-test.yaml"]]
    for words in tested:
        done = subprocess.run(["promtool", *words], cwd=RULES, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_rules_are_about_metrics_and_labels_that_exist():
    rows = re.findall(
        r"^\| `(swtch_\w+)` \| \w+ \| (.*?) \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE
    )
    known = {re.sub("_total$", "", name): set(re.findall(r"`(\w+)`", labels)) for name, labels in rows}
    text = (RULES / "swtch-rules.yaml").read_text()
    used = re.findall(r"(?<![:\w])(swtch_\w+?)(?:_total|_bucket)?(?:\{(\w+)=[^}]*\})?(?=[\[ )]|$)", text)
    assert len(used) >= 6
    for name, label in used:
        assert name in known, name
        assert not label or label in known[name], f"{name} has no label {label}: {known[name]}"
