"""A web server of Python's library and a client that asks it for pages: python3 pages.py SECONDS"""

import http.client
import http.server
import sys
import threading
import time


class Page(http.server.BaseHTTPRequestHandler):
    # Head and body in one write, or the second waits for the first one's acknowledgement.
    wbufsize = 1 << 16
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = f"<p>{self.path}</p>".encode() * 20
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = http.client.HTTPConnection(*server.server_address)
end = time.monotonic() + float(sys.argv[1])
number = 0
while time.monotonic() < end:
    client.request("GET", f"/{number}")
    client.getresponse().read()
    number += 1
