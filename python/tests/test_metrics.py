"""What `swtch serve` and `swtch export --to prometheus` write, read by Prometheus's own library for Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_older_text

TRACES = Path(__file__).parents[2] / "fixtures" / "traces"


@pytest.mark.parametrize(
    "arguments",
    [
        ["serve", "--once"],
        ["serve", "--once", "--source", "procfs", "--max-cgroups", "1", "--max-irqs", "1"],
        ["export", str(TRACES / "machine.swtch"), "--to", "prometheus"],
        ["export", str(TRACES / "procfs.swtch"), "--to", "prometheus"],
    ],
)
def test_the_text_is_openmetrics(arguments: list[str]) -> None:
    binary = os.environ.get("SWTCH_BIN")
    if not binary:
        pytest.skip("SWTCH_BIN names no swtch to run")
    done = subprocess.run([binary, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    # The strict reader checks names, units, order, buckets and the end.
    families = {family.name: family for family in read_openmetrics(done.stdout)}
    assert len(families) > 10
    for name, family in families.items():
        assert family.type in ("counter", "gauge", "histogram"), name
        assert family.documentation and family.samples, name
        assert family.unit or not name.endswith(("_seconds", "_bytes")), name
    # node_exporter's textfile collector reads the older format: nothing in ours may offend it.
    samples = sum(len(family.samples) for family in read_older_text(done.stdout))
    assert samples == sum(len(family.samples) for family in families.values())
