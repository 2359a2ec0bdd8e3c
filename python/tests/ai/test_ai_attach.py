"""A server that runs: found by its port, asked in an open loop, and its slow answers explained."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from run_host import needs_root, needs_swtch

from swtch.ai.command import main
from swtch.ai.http_load import Request, run_load
from swtch.ai.launch import listening_pid

SERVER = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Handler.asked += 1
        # One of ten sleeps.
        time.sleep(0.08 if Handler.asked % 10 == 0 else 0.001)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


def test_a_server_is_found_asked_and_explained(tmp_path, capsys):
    needs_swtch(), needs_root()
    body = tmp_path / "body.json"
    body.write_text("{}")
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline())
            assert listening_pid(port) == server.pid
            words = [
                "attach",
                f"http://127.0.0.1:{port}/x",
                "--body",
                str(body),
                "--rate",
                "40/s",
                "--duration",
                "1500ms",
            ]
            words += ["--slowest", "10%", "--json", "--out", str(tmp_path / "run.swtch")]
            assert main(words) == 0
        finally:
            server.kill()
    found = json.loads(capsys.readouterr().out)
    assert (found["requests"], found["failed"], found["pids"]) == (60, 0, [server.pid])
    slow = found["why"]["slow"]
    assert slow["count"] == 6 and slow["mean_ns"] >= 80e6
    # They slept: blocked, most of the time.
    assert max(slow["causes"], key=lambda one: one["share"])["cause"] == "blocked"


def test_a_slow_answer_delays_no_other_request_and_is_not_forgotten():
    """In a closed loop the requests behind a slow one would be sent late, and their waiting would be in no latency."""
    arrived = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            arrived.append(time.monotonic())
            number = len(arrived)
            time.sleep(0.3)
            self.send_response(503 if number == 3 else 200)
            self.end_headers()

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    request = Request(f"http://127.0.0.1:{server.server_port}/", None, {})
    every = run_load(request, 50, 0.2, callers=16)
    assert len(every.spans) == 9 and every.failed == 1 and every.first_failure.startswith("status 503")
    assert arrived[-1] - arrived[0] < 0.3, "all were sent before the first was answered"
    # With one caller they wait for each other, and their latencies say so.
    alone = run_load(request, 50, 0.1, callers=1)
    server.shutdown()
    latencies = sorted((end - begin) / 1e9 for begin, end in alone.spans)
    assert len(latencies) == 5 and latencies[-1] > 4 * latencies[0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("attach 999999999", "there is no process 999999999"),
        ("attach server", "is neither a URL nor a PID"),
        ("attach ftp://here/x", "is not a URL such as"),
        ("attach http://127.0.0.1:1/", "listens at port 1; give --pid"),
        ("attach http://127.0.0.1:1/ --body none.json", "none.json cannot be read"),
        ("attach http://127.0.0.1:1/ --spans x", "give its PID instead"),
    ],
)
def test_what_cannot_be_attached_to_is_one_line(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words.split()) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1, err
    assert list(tmp_path.iterdir()) == []
