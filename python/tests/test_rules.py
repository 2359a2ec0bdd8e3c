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


def test_rules_are_about_metrics_that_exist():
    known = set(re.findall(r"`(swtch_\w+?)(?:_total|_bucket)?`", (ROOT / "docs/metrics.md").read_text()))
    text = (RULES / "swtch-rules.yaml").read_text()
    used = set(re.findall(r"(?<![:\w])(swtch_\w+?)(?:_total|_bucket)?(?=[\[{ )]|$)", text))
    assert len(used) >= 6 and used <= known, used - known
