"""A Prometheus of Debian that scrapes made-up machines, and knows a week of others; messages of OTLP."""

from __future__ import annotations

import http.server
import json
import math
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HOUR_S, DAY_S = 3600, 86_400
RATES = {"cart": 900.0, "search": 300.0, "agent": 40.0}
"""Switches a second of each service on a machine."""


class Machine:
    """The counters of a machine at a time, as `swtch serve` writes them."""

    def __init__(self, name: str, cpus: int = 4, began: float = 0.0) -> None:
        self.name, self.cpus, self.began = name, cpus, began

    def counters(
        self, at: float, switched: dict[str, float], run: dict[str, float]
    ) -> Iterator[tuple[str, float]]:
        """Names with labels, and values. switched, run: totals of each service."""
        seconds = at - self.began
        yield "swtch_observed_seconds_total", seconds
        yield 'swtch_context_switches_total{kind="voluntary"}', 0.8 * sum(switched.values())
        yield 'swtch_context_switches_total{kind="involuntary"}', 0.2 * sum(switched.values())
        yield 'swtch_context_switches_total{kind="from_idle"}', 0.5 * sum(switched.values())
        yield 'swtch_switch_cost_estimate_seconds_total{bound="low"}', 2e-6 * sum(switched.values())
        yield 'swtch_switch_cost_estimate_seconds_total{bound="high"}', 8e-6 * sum(switched.values())
        yield "swtch_run_seconds_total", sum(run.values())
        yield 'swtch_wait_seconds_total{cause="cpu"}', 0.1 * sum(run.values())
        yield 'swtch_cpu_seconds_total{mode="user"}', self.cpus * seconds
        yield 'swtch_cpu_seconds_total{mode="steal"}', 0.0
        for cpu in range(self.cpus):
            yield (
                f'swtch_cpu_context_switches_total{{cpu="{cpu}",from="task"}}',
                sum(switched.values()) / self.cpus,
            )
        for service, count in switched.items():
            cgroup = f"/kubepods/{service}"
            yield f'swtch_cgroup_context_switches_total{{cgroup="{cgroup}",kind="voluntary"}}', count
            yield f'swtch_cgroup_run_seconds_total{{cgroup="{cgroup}"}}', run[service]

    def text(self, at: float) -> str:
        """The page that is scraped."""
        seconds = at - self.began
        switched = {service: rate * seconds for service, rate in RATES.items()}
        lines = [
            f"{name} {value}"
            for name, value in self.counters(at, switched, dict.fromkeys(RATES, 0.3 * seconds))
        ]
        lines += [info(service) + " 1" for service in RATES]
        return "\n".join(lines) + "\n"


def info(service: str, more: str = "") -> str:
    """The series that names a cgroup."""
    pod = f'namespace="shop",pod="{service}-7d4b9c6f5d-x2x9z",container="{service}"'
    return f'swtch_cgroup_info{{cgroup="/kubepods/{service}",kind="container",name="shop/{service}",{pod}{more}}}'


def history(path: Path, machines: int, days: int, released: float, end: float) -> None:
    """A file of OpenMetrics with days of counters, a sample each 15 minutes. `search` switches 1.5 times as much from `released` on.

    A machine's counters begin at zero again in the middle, and another has a gap of half a day.
    """
    lines: dict[str, list[str]] = {}
    for number in range(machines):
        machine = Machine(f"past-{number}", began=end - days * DAY_S)
        switched, run = dict.fromkeys(RATES, 0.0), dict.fromkeys(RATES, 0.0)
        for step in range(days * 96):
            at = machine.began + step * 900
            if number == 0 and step == days * 48:
                switched, run = dict.fromkeys(RATES, 0.0), dict.fromkeys(RATES, 0.0)
            load = 1 + 0.4 * math.sin(2 * math.pi * at / DAY_S)
            for service, rate in RATES.items():
                worse = 1.5 if service == "search" and at >= released else 1.0
                wobble = 1 + 0.05 * math.sin(step * (number + 2) * 0.37)
                switched[service] += 900 * rate * load * worse * wobble
                run[service] += 900 * 0.3 * load
            if number == 1 and days * 48 < step < days * 48 + 48:
                continue
            version = "1.1" if at >= released else "1.0"
            series = [(info(service, f',image="shop/{service}:{version}"'), 1.0) for service in RATES]
            for name, value in [*machine.counters(at, switched, run), *series]:
                base, _, labels = name.rstrip("}").partition("{")
                key = f'{base}{{instance="{machine.name}"{"," if labels else ""}{labels}}}'
                lines.setdefault(base, []).append(f"{key} {value} {at}")
    with path.open("w") as file:
        for base, samples in lines.items():
            file.write(
                f"# TYPE {base.removesuffix('_total')} {'counter' if base.endswith('_total') else 'gauge'}\n"
            )
            file.write("\n".join(samples) + "\n")
        file.write("# EOF\n")


@contextmanager
def endpoints(count: int) -> Iterator[int]:
    """Serves `/0` and so on, each the metrics of a machine; yields the port."""
    began = time.time()
    machines = [Machine(f"live-{number}", began=began - 100) for number in range(count)]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = machines[int(self.path.strip("/"))].text(time.time()).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            # A Prometheus that ends no longer listens.
            with suppress(ConnectionError):
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def prometheus(directory: Path, port: int, machines: int, more: str = "") -> Iterator[str]:
    """One that scrapes these endpoints each second and has the blocks in `directory`/data; yields its address. more: scrapes besides."""
    scrapes = "".join(
        f"""
  - job_name: swtch-{number}
    metrics_path: /{number}
    static_configs: [{{ targets: ["127.0.0.1:{port}"], labels: {{ instance: live-{number}, instance_type: m7i.xlarge }} }}]"""
        for number in range(machines)
    )
    (directory / "prometheus.yml").write_text(
        f"global: {{ scrape_interval: 1s, scrape_timeout: 1s }}\nscrape_configs:{scrapes}{more}\n"
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    program = shutil.which("prometheus")
    assert program is not None
    words = [
        program, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data", f"--web.listen-address={address}",
        "--storage.tsdb.retention.time=90d",
    ]  # fmt: skip
    with (directory / "log").open("w") as log, subprocess.Popen(words, stdout=log, stderr=log) as process:
        try:
            _until_ready(address, process)
            yield f"http://{address}"
        finally:
            process.terminate()


def _until_ready(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert process.poll() is None, "prometheus ended"
        try:
            with urllib.request.urlopen(f"http://{address}/-/ready", timeout=1):
                return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("prometheus is not ready")


def wait_for(url: str, query: str, least: float) -> None:
    """Waits until a query has this value."""
    for _ in range(300):
        with urllib.request.urlopen(f"{url}/api/v1/query?query={query}", timeout=5) as answer:
            found = json.load(answer)["data"]["result"]
        if found and float(found[0]["value"][1]) >= least:
            return
        time.sleep(0.1)
    raise AssertionError(f"{query} is {found}")


def messages(resets: bool = False, temporality: int = 2) -> list[dict[str, object]]:
    """A minute of OTLP of a process and of `swtch serve` on one machine: 100 and 50 switches a second, and a restart after 30 s."""
    found = []
    start = 1_793_491_200
    for second in range(0, 70, 10):
        since = second - 30 if resets and second >= 30 else second
        at = str((start + second) * 10**9)

        def number(value: float, **labels: str) -> dict[str, object]:
            return {
                "timeUnixNano": at,
                "startTimeUnixNano": str((start + second - since) * 10**9),
                "asDouble": value,
                "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in labels.items()],
            }

        def total(name: str, *points: dict[str, object]) -> dict[str, object]:
            return {
                "name": name,
                "sum": {
                    "aggregationTemporality": temporality,
                    "isMonotonic": True,
                    "dataPoints": list(points),
                },
            }

        process = [
            total(
                "process.context_switches",
                number(80.0 * since, **{"process.context_switch.type": "voluntary"}),
                number(20.0 * since, **{"process.context_switch.type": "involuntary"}),
            ),
            total("process.cpu.time", number(0.25 * since)),
        ]
        labels = {
            "cgroup": "/a",
            "kind": "container",
            "namespace": "shop",
            "pod": "cart-7d4b9c6f5d-x2x9z",
            "container": "cart",
        }
        serve = [
            {
                "name": "swtch.cgroup_info",
                "gauge": {"dataPoints": [number(1, **labels, image="shop/cart:3")]},
            },
            total("swtch.cgroup.context_switches", number(50.0 * since, cgroup="/a", kind="voluntary")),
            total("swtch.cgroup.run_seconds", number(0.5 * since, cgroup="/a")),
            total("swtch.observed", number(1.0 * since)),
            total(
                "swtch.context_switches",
                number(50.0 * since, kind="voluntary"),
                number(9.0 * since, kind="from_idle"),
            ),
            total(
                "swtch.switch_cost_estimate",
                number(1e-4 * since, bound="low"),
                number(4e-4 * since, bound="high"),
            ),
        ]
        for host, service, metrics in (("a", "billing", process), ("b", "", serve)):
            about = [{"key": "host.name", "value": {"stringValue": host}}]
            about += [{"key": "service.name", "value": {"stringValue": service}}] if service else []
            found.append(
                {
                    "resourceMetrics": [
                        {"resource": {"attributes": about}, "scopeMetrics": [{"metrics": metrics}]}
                    ]
                }
            )
    return found
