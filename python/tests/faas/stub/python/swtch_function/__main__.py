"""The smallest function that speaks the local protocol, for tests: its work is real, and what it says of switches and quotas is made up."""

from __future__ import annotations

import http.server
import importlib
import json
import os
import sys
import time
import traceback

HANDLER = sys.argv[sys.argv.index("--handler") + 1] if "--handler" in sys.argv else None
STARTED_NS = time.monotonic_ns()
COUNT = 0
DEFAULTS = {
    "methods": ["pipe"], "switches_per_batch": 200, "min_batches": 20, "max_batches": 1000, "interval": 0.01, "time_limit_ms": 1000,
    "ring_tasks": 8, "spin_ms": 1000, "spinners": 1, "work_ms": 0, "iterations": 0, "pin": True, "samples": False,
}  # fmt: skip


def estimate(value):
    return {"median": value, "low": value, "high": value, "confidence": 0.95, "mean": 2 * value, "minimum": value, "cov": 0.1, "n": 20}  # fmt: skip


def work(ms, iterations):
    begun_ns, before = time.monotonic_ns(), time.process_time_ns()
    value = 1
    for _ in range(iterations):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return {"asked_ms": ms, "wall_ns": time.monotonic_ns() - begun_ns, "cpu_ns": time.process_time_ns() - before, "iterations": iterations}  # fmt: skip


def measured(request):
    begun_ns, before = time.monotonic_ns(), time.process_time_ns()
    done = work(request["work_ms"], request["iterations"]) if request["iterations"] else None
    found = [
        {
            "method": method, "tasks": "threads", "task_count": 2, "baseline": "one task, one pipe", "pinned": True, "cpu": 0,
            "switches_per_batch": 200, "batches": 20, "stopped_by": "time limit",
            "gross_ns": estimate(1500.0), "baseline_ns": estimate(500.0), "net_ns": estimate(1000.0), "negative": False,
            "switches": {"expected": 8000, "voluntary": 8000, "involuntary": 3, "counted_by": "getrusage", "per_expected": 1.0},
            "normality": None, "lag1": None, "check": None,
        }
        for method in request["methods"]
    ]  # fmt: skip
    throttling = None
    if request["spin_ms"]:
        throttling = {
            "inferred": {"period_ns": 100e6, "quota_ns": 10e6, "cpus": 0.1, "throttled_ns": 90, "gaps": 9, "periods": 10, "from": "made up"},
            "platform": None, "gaps": [[0, 90_000_000]], "gaps_left_out": 0,
        }  # fmt: skip
    return {
        "schema": "swtch/faas/1", "created_at": "2026-11-22T04:00:00Z",
        "handler": {"version": "0.1.0", "language": "python", "runtime": "CPython", "runtime_version": "3.11.2", "libc": "glibc"},
        "platform": {"name": "local", "function": None, "memory_mb": 128, "cpus": None, "source": None},
        "invocation": {"number": COUNT, "cold": COUNT == 1, "id": None, "process_age_ns": begun_ns - STARTED_NS},
        "host": {"architecture": "x86_64", "kernel_release": "6.1", "cpu_model": None, "cpus_online": 2, "cpus_allowed": 2,
                 "memory_limit_bytes": None, "sandbox": None},
        "request": request, "measurements": found,
        "clock": {"resolution_ns": 1, "cost_ns": 40.0, "source": "CLOCK_MONOTONIC"},
        "cpu": None, "throttling": throttling, "work": done,
        "usage": {"wall_ns": time.monotonic_ns() - begun_ns, "cpu_ns": time.process_time_ns() - before, "voluntary": 1, "involuntary": 0,
                  "max_rss_bytes": None},
        "unavailable": [],
    }  # fmt: skip


def answer(event):
    if HANDLER is None:
        return measured({**DEFAULTS, **event})
    module, _, name = HANDLER.partition(":")
    begun_ns, before = time.monotonic_ns(), time.process_time_ns()
    result = getattr(importlib.import_module(module), name)(event, None)
    json.dumps(result)
    wall_ns, cpu_ns = time.monotonic_ns() - begun_ns, time.process_time_ns() - before
    return {
        "schema": "swtch/faas-call/1",
        "result": result,
        "wall_ns": wall_ns,
        "cpu_ns": cpu_ns,
        "usage": {
            "wall_ns": wall_ns,
            "cpu_ns": cpu_ns,
            "voluntary": None,
            "involuntary": None,
            "max_rss_bytes": None,
        },
    }


def answered(body):
    """A status and a document."""
    global COUNT
    COUNT += 1
    try:
        return 200, answer(json.loads(body or b"{}"))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error}"
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        return 500, {"schema": "swtch/faas-error/1", "error": said, "where": where}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        status, document = answered(self.rfile.read(int(self.headers["Content-Length"] or 0)))
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        pass


if "--lines" in sys.argv:
    sys.path.insert(0, os.getcwd())
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        status, document = answered(line)
        print(json.dumps({"status": status, "document": document}), flush=True)
else:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(json.dumps({"listening": f"127.0.0.1:{server.server_port}", "pid": os.getpid()}), flush=True)
    server.serve_forever()
