"""Two functions of a user in Python, and the same called without swtch: `python users.py FUNCTION` reads a line for each call and answers with
its time in ns; with `--http PORT` it serves them.
"""

from __future__ import annotations

import hashlib
import http.server
import json
import sys
import threading
import time


def loop(event, context):
    """A loop in Python."""
    value = 1
    for _ in range(event["n"]):
        value = (value * 1103515245 + 12345) & 0x7FFFFFFF
    return {"value": value}


def one_thread(event, context):
    """Hashing in C, which lets other threads run."""
    return {"hash": _hashed(event["n"])}


def two_threads(event, context):
    """The same in two threads, half of it in each."""
    found = [""] * 2

    def half(place):
        found[place] = _hashed(event["n"] // 2)

    threads = [threading.Thread(target=half, args=(place,)) for place in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"hash": found}


def _hashed(count):
    return hashlib.pbkdf2_hmac("sha256", b"swtch", b"salt", count).hex()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Headers and body are two writes, and the second would wait for an acknowledgement.
    disable_nagle_algorithm = True

    def do_POST(self):
        """Calls the function with the body."""
        event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(self.server.function(event, None)).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *words):
        """Nothing."""


def main():
    """A line for each call, or a server."""
    function = globals()[sys.argv[1]]
    if "--http" in sys.argv:
        server = http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--http") + 1])), _Handler)
        server.function = function
        server.serve_forever()
    for line in sys.stdin:
        event = json.loads(line)
        begin = time.monotonic_ns()
        function(event, None)
        print(time.monotonic_ns() - begin, flush=True)


if __name__ == "__main__":
    main()
