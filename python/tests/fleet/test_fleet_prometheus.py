"""`swtch fleet` on a real Prometheus (Debian's), where it is installed, and on servers that answer badly."""

from __future__ import annotations

import contextlib
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import fleet_host
import pytest

from swtch.fleet import prometheus, store
from swtch.fleet.command import main

pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'swtch[fleet]'")

ROOT = Path(__file__).resolve().parents[3]
DAYS, PAST, LIVE = 9, 4, 20
HASH = "$2y$04$AFVFW5MC64d2im4Ndc2ewuNEI/Tklzs1IBhcVSraVS/pLmf9VzaXK"
"""Of "open sesame" by `htpasswd -nbBC 4`."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    if shutil.which("prometheus") is None or shutil.which("promtool") is None:
        pytest.skip("prometheus is not on PATH: apt install prometheus")
    directory = tmp_path_factory.mktemp("prometheus")
    # The last hours stay free for what is scraped.
    end = (time.time() - 4 * fleet_host.HOUR_S) // fleet_host.HOUR_S * fleet_host.HOUR_S
    fleet_host.history(directory / "history", PAST, DAYS, end - 4 * fleet_host.DAY_S, end)
    blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics", "--max-block-duration=360h"]
    subprocess.run([*blocks, directory / "history", directory / "data"], check=True, capture_output=True)
    with contextlib.ExitStack() as stack:
        secured = stack.enter_context(by_tls(directory))
        port = stack.enter_context(fleet_host.endpoints(LIVE))
        yield stack.enter_context(fleet_host.prometheus(directory, port, LIVE, secured)), end


@contextlib.contextmanager
def by_tls(directory):
    """A `swtch serve` with a certificate and a password; how it is scraped, empty where it cannot be tried."""
    swtch = os.environ.get("SWTCH_BIN")
    if not swtch or shutil.which("openssl") is None:
        yield ""
        return
    key, certificate, web = (directory / name for name in ("server.key", "server.crt", "web.yml"))
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", *names]  # fmt: skip
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    web.write_text(
        f"tls_server_config: {{ cert_file: server.crt, key_file: server.key }}\nbasic_auth_users: {{ prometheus: {HASH} }}\n"
    )
    words = [
        swtch,
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--source",
        "procfs",
        "--json",
        "--web-config",
        str(web),
    ]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        address = urlsplit(json.loads(serving.stdout.readline())["url"])
        assert address.scheme == "https"
        try:
            yield f"""
  - job_name: by-tls
    scheme: https
    tls_config: {{ ca_file: {certificate} }}
    basic_auth: {{ username: prometheus, password: open sesame }}
    metric_relabel_configs: [{{ source_labels: [__name__], regex: "swtch_.*", action: drop }}]
    static_configs: [{{ targets: ["{address.netloc}"] }}]
  - job_name: by-tls-without-password
    scheme: https
    tls_config: {{ ca_file: {certificate} }}
    static_configs: [{{ targets: ["{address.netloc}"] }}]"""
        finally:
            serving.terminate()


def answered(capsys, *words):
    assert main([*words, "--json"]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out)


def test_a_week_of_a_prometheus_has_the_service_that_got_worse(server, tmp_path, capsys):
    url, end = server
    times = ["--since", f"{DAYS}d", "--until", str(end)]
    assert main(["import", url, "-o", str(tmp_path / "kept"), *times]) == 0
    first = capsys.readouterr().out
    document = answered(capsys, str(tmp_path / "kept"), "--price", "0.05/vcpu-hour")
    services = {one["service"]: one for one in document["services"]}
    assert list(services) == ["shop/cart", "shop/search", "shop/agent"] and document["machines"] == PAST
    verdicts = {name: one["since_release"]["verdict"] for name, one in services.items()}
    assert verdicts == {"shop/cart": "same", "shop/search": "worse", "shop/agent": "same"}
    found = services["shop/search"]["since_release"]
    assert (
        found["ci_low"] < 1.5 < found["ci_high"]
        and found["version"] == "1.1"
        and found["machines_up"] == PAST
    )
    # A restart of counters and half a day without samples move the rate of four machines by no tenth.
    assert services["shop/cart"]["switches_per_second"] == pytest.approx(PAST * 900, rel=0.1)
    # 0.3 of a CPU at 900 switches a second of 2 to 8 µs, which the kernel's run time includes here.
    share = services["shop/cart"]["cpu_share"]
    assert share["low"] == pytest.approx(900 * 2e-6 / 0.3, rel=0.05) and share["high"] == pytest.approx(
        4 * share["low"]
    )
    money = services["shop/cart"]["usd_per_month"]
    assert money["high"] == pytest.approx(PAST * 900 * 8e-6 * 0.05 * 730, rel=0.1)
    # Whole windows are not asked for again.
    assert main(["import", url, "-o", str(tmp_path / "kept"), *times]) == 0
    again = capsys.readouterr().out
    assert "windows were there" in again and "windows were there" not in first


def test_twenty_machines_that_are_scraped(server, capsys):
    url, _ = server
    fleet_host.wait_for(url, "min(count_over_time(swtch_observed_seconds_total%5B1m%5D))", 6)
    document = answered(capsys, url, "--since", "4s", "--step", "2s")
    services = {one["service"]: one for one in document["services"]}
    assert set(services) == {"shop/cart", "shop/search", "shop/agent"}
    assert document["machines"] == LIVE and services["shop/cart"]["machines"] == LIVE
    row = services["shop/cart"]["switches_per_second"] / services["shop/agent"]["switches_per_second"]
    assert row == pytest.approx(900 / 40, rel=0.05)
    # Priced by the label instance_type and the list of instances.
    assert services["shop/cart"]["usd_per_month"]["low"] > 0 and not any(
        "without a price" in one for one in document["notes"]
    )
    assert services["shop/cart"]["cpu_share"]["low"] == pytest.approx(0.006, rel=0.05)


def test_a_machine_is_scraped_by_tls_with_a_password_and_not_without(server):
    url, _ = server
    if not os.environ.get("SWTCH_BIN") or shutil.which("openssl") is None:
        pytest.skip("it takes SWTCH_BIN, which names swtch, and openssl")
    fleet_host.wait_for(url, "sum(up%7Bjob%3D%22by-tls%22%7D)", 1)
    with urllib.request.urlopen(f"{url}/api/v1/targets", timeout=10) as reply:
        targets = json.load(reply)["data"]["activeTargets"]
    found = {one["labels"]["job"]: one for one in targets if one["labels"]["job"].startswith("by-tls")}
    assert found["by-tls"]["lastError"] == "" and found["by-tls"]["health"] == "up"
    assert "401 Unauthorized" in found["by-tls-without-password"]["lastError"]


def test_a_server_that_takes_only_short_times_is_asked_in_parts(server, tmp_path, capsys, monkeypatch):
    url, end = server
    asked = []
    real = prometheus.Server.get

    def get(self, path, **words):
        if path == "query_range":
            steps = round((float(words["end"]) - float(words["start"])) / 3600) + 1
            asked.append(steps)
            if steps > 2:
                raise prometheus._TooMuch("query would load too many samples into memory")
        return real(self, path, **words)

    times = ["--since", "12h", "--until", str(end)]
    whole = answered(capsys, url, *times)
    monkeypatch.setattr(prometheus.Server, "get", get)
    parts = answered(capsys, url, *times)
    assert max(asked) > 2 and parts["rows"] == whole["rows"]
    # Sums of floats differ in their last digits by the order of rows.
    rates = [
        {one["service"]: one["switches_per_second"] for one in each["services"]} for each in (parts, whole)
    ]
    assert rates[0] == pytest.approx(rates[1])


def test_every_metric_that_is_asked_for_is_one_of_serve():
    known = set(re.findall(r"^\| `(swtch_\w+)` \|", (ROOT / "docs/metrics.md").read_text(), re.MULTILINE))
    text = (ROOT / "python/swtch/fleet/prometheus.py").read_text()
    used = {re.sub("_sum$", "", name) for name in re.findall(r"\bswtch_\w+", text)}
    assert len(used) >= 10 and used <= known, used - known


@contextlib.contextmanager
def answering(status, body):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(status)
            if status == 302:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words):
            pass

    bad = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=bad.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{bad.server_port}"
    finally:
        bad.shutdown()
        bad.server_close()
        thread.join()


EMPTY = b'{"status":"success","data":{"resultType":"matrix","result":[]}}'


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (200, b"<html>", ["does not answer as Prometheus does", "http://127.0.0.1:9090"]),
        (404, b"nothing", ["refused the query: 404", "address of its API"]),
        (401, b"{}", ["401", "--header"]),
        (302, b"", ["302", "the address that it redirects to"]),
        (422, b'{"status":"error","error":"query processing would load too many samples"}', ["a single step of 3600 s", "--query.max-samples"]),
    ],
)  # fmt: skip
def test_a_server_that_answers_badly_is_one_line(status, body, words, capsys):
    with answering(status, body) as url:
        assert main([url]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and all(word in err for word in words), err


def test_a_server_that_is_not_there_or_has_nothing_is_one_line(tmp_path, capsys, monkeypatch):
    assert main(["http://127.0.0.1:9"]) == 1
    err = capsys.readouterr().err
    assert (
        "no answer from http://127.0.0.1:9: " in err and "check the address" in err and err.count("\n") == 1
    )
    monkeypatch.setattr(
        prometheus.Server, "get", lambda self, path, **words: [] if path == "series" else {"result": []}
    )
    assert main(["import", "http://127.0.0.1:9", "-o", str(tmp_path / "kept")]) == 1
    err = capsys.readouterr().err
    assert "has no swtch_cgroup_context_switches_total in this time; scrape 'swtch serve'" in err
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [store.HEADER]
