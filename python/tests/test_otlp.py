"""What `swtch serve --otlp` sends, read by the protocol's own types for Python."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToJson
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE

SLEEPS = 400
SWITCHES = f"""
import threading, time
def sleeps():
    for _ in range({SLEEPS}):
        time.sleep(0.001)
    own.append(int(next(l for l in open("/proc/thread-self/status") if l.startswith("voluntary")).split()[1]))
own = []
input()
threads = [threading.Thread(target=sleeps) for _ in range(3)]
[one.start() for one in threads]
[one.join() for one in threads]
print(sum(own), flush=True)
input()
"""


@pytest.fixture
def receiver():
    """An address, and the messages that came there."""
    messages: queue.Queue[ExportMetricsServiceRequest] = queue.Queue()

    class Taker(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = ExportMetricsServiceRequest()
            message.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
            messages.put(message)
            answer = ExportMetricsServiceResponse()
            answer.partial_success.rejected_data_points = 3
            answer.partial_success.error_message = "three are too many"
            body = answer.SerializeToString()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Taker)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", messages
    server.shutdown()


def attributes(of) -> dict[str, object]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of}


def metrics_of(message) -> dict[str, object]:
    return {
        metric.name: metric for one in message.resource_metrics[0].scope_metrics for metric in one.metrics
    }


def switches(message, pid: int) -> int | None:
    """All voluntary switches of a process."""
    for one in message.resource_metrics[1:]:
        if attributes(one.resource.attributes)["process.pid"] != pid:
            continue
        (metric,) = one.scope_metrics[0].metrics
        assert metric.name == "process.context_switches" and metric.unit == "{context_switch}"
        assert metric.sum.is_monotonic
        assert metric.sum.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE
        by_type = {
            attributes(p.attributes)["process.context_switch.type"]: p.as_int for p in metric.sum.data_points
        }
        assert set(by_type) == {"voluntary", "involuntary"}
        return by_type["voluntary"]
    return None


def assert_a_fleet_reads(messages, directory: Path) -> None:
    """What a collector's file exporter makes of the messages is a source of `swtch fleet`, and no switch counts twice."""
    path = directory / "metrics.json"
    path.write_text("\n".join(MessageToJson(one, indent=None) for one in messages))
    pytest.importorskip("duckdb")
    words = [sys.executable, "-c", "import sys; from swtch.fleet.command import main; sys.exit(main())"]
    done = subprocess.run([*words, str(path), "--json"], capture_output=True, text=True, timeout=120)
    if "swtch.cgroup_context_switches" not in metrics_of(messages[0]):
        assert done.returncode == 1 and "swtch" in done.stderr
        return
    assert done.returncode == 0, done.stderr
    services = {one["service"]: one for one in json.loads(done.stdout)["services"]}
    assert "/" in services and "swtch" not in services, services
    assert all(one["machines"] == 1 and one["switches_per_second"] >= 0 for one in services.values())


def test_every_message_is_of_the_protocol_and_counts_all_threads(receiver, tmp_path: Path) -> None:
    binary = os.environ.get("SWTCH_BIN")
    if not binary:
        pytest.skip("SWTCH_BIN names no swtch to run")
    url, messages = receiver
    words = [binary, "serve", "--listen", "127.0.0.1:0", "--otlp", "env", "--otlp-interval", "1s"]
    words += ["--max-processes", "1000"]
    names = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": url,
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=a%20test",
    }
    threads = subprocess.Popen(
        [sys.executable, "-c", SWITCHES], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    serving = subprocess.Popen(
        words,
        env={**os.environ, **names, "XDG_STATE_HOME": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        serving.stdout.readline()
        messages.get(timeout=60)
        threads.stdin.write("\n")
        threads.stdin.flush()
        done = int(threads.stdout.readline())
        # Those that came until now do not hold all switches, and one more may be on its way.
        while not messages.empty():
            messages.get()
        seen = [messages.get(timeout=60) for _ in range(3)]
    finally:
        serving.send_signal(signal.SIGINT)
        _, said = serving.communicate(timeout=60)
        threads.communicate("\n", timeout=60)
    assert serving.returncode == 0, said
    assert said.count("did not take 3 figures: three are too many") == 1, said
    for message in seen:
        machine = attributes(message.resource_metrics[0].resource.attributes)
        assert machine["service.name"] == "swtch" and machine["deployment.environment.name"] == "a test"
        metrics = metrics_of(message)
        assert metrics["swtch.recorder_cpu"].unit == "s"
        for metric in metrics.values():
            points = getattr(metric, metric.WhichOneof("data")).data_points
            assert points and all(0 < p.start_time_unix_nano <= p.time_unix_nano for p in points), metric.name
        for one in (
            metrics["swtch.run_queue_wait"].histogram.data_points if "swtch.run_queue_wait" in metrics else []
        ):
            assert (
                len(one.bucket_counts) == len(one.explicit_bounds) + 1 and sum(one.bucket_counts) == one.count
            )
    assert_a_fleet_reads(seen, tmp_path)
    if "swtch.context_switches" not in metrics:
        pytest.skip("no programs in the kernel here: single processes are not counted")
    counted = switches(seen[-1], threads.pid)
    # Besides, the main thread waits for the others, and a thread that begins for the interpreter's lock.
    assert counted is not None, said
    assert done >= 3 * SLEEPS and done <= counted <= done + 100, (done, counted)
