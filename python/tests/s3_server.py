"""A server on loopback that speaks as much of S3's protocol as a sweep needs: PUT, also if absent, GET, DELETE, and lists in pages.

For tests: real clients meet the same answers as of a real store. Signatures are not checked. Sources: Amazon S3 API Reference, PutObject
(`If-None-Match`), GetObject, DeleteObjects, ListObjectsV2.
"""

from __future__ import annotations

import hashlib
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

PAGE = 100
"""Objects in an answer; S3 has 1000."""


class Bucket:
    """Objects by name: content, entity tag and time."""

    def __init__(self) -> None:
        self.objects: dict[str, tuple[bytes, str, float]] = {}
        self.lock = threading.Lock()
        self.refuses_writes = False
        """As a bucket that this user may only read."""
        self.address = ""
        """The server's, for `AWS_ENDPOINT_URL`."""

    def names(self, folder: str = "") -> list[str]:
        """In order."""
        with self.lock:
            return sorted(name for name in self.objects if name.startswith(folder))

    def environment(self) -> dict[str, str]:
        """What a client needs."""
        return {
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": self.address,
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket: Bucket

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _error(self, status: int, code: str) -> None:
        self._answer(status, f"<Error><Code>{code}</Code><Message>{code}</Message></Error>".encode())

    def _name(self) -> str | None:
        """Of the object; `None` where another bucket is asked for."""
        first, _, rest = unquote(urlsplit(self.path).path).lstrip("/").partition("/")
        return rest if first == "bucket" else None

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self._name()
        if name is None:
            return self._error(404, "NoSuchBucket")
        if self.bucket.refuses_writes:
            return self._error(403, "AccessDenied")
        tag = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        with self.bucket.lock:
            if self.headers.get("If-None-Match") == "*" and name in self.bucket.objects:
                return self._error(412, "PreconditionFailed")
            self.bucket.objects[name] = (data, tag, time.time())
        return self._answer(200, ETag=tag)

    def do_GET(self) -> None:
        name, asked = self._name(), parse_qs(urlsplit(self.path).query)
        if name is None:
            return self._error(404, "NoSuchBucket")
        if "list-type" in asked:
            return self._list(asked)
        with self.bucket.lock:
            found = self.bucket.objects.get(name)
        if found is None:
            return self._error(404, "NoSuchKey")
        return self._answer(200, found[0], ETag=found[1], Last_Modified=_http_date(found[2]))

    do_HEAD = do_GET

    def do_DELETE(self) -> None:
        with self.bucket.lock:
            self.bucket.objects.pop(self._name() or "", None)
        self._answer(204)

    def _list(self, asked: dict[str, list[str]]) -> None:
        prefix = asked.get("prefix", [""])[0]
        after = asked.get("continuation-token", asked.get("start-after", [""]))[0]
        with self.bucket.lock:
            there = sorted(name for name in self.bucket.objects if name.startswith(prefix) and name > after)
            page = [(name, *self.bucket.objects[name]) for name in there[:PAGE]]
        rows = "".join(
            f"<Contents><Key>{escape(name)}</Key><LastModified>{_iso(when)}</LastModified><ETag>{escape(tag)}</ETag><Size>{len(data)}</Size></Contents>"
            for name, data, tag, when in page
        )
        more = len(there) > PAGE
        token = f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if more else ""
        text = f'<?xml version="1.0"?><ListBucketResult><Name>bucket</Name><IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}</ListBucketResult>'
        self._answer(200, text.encode(), Content_Type="application/xml")

    def do_POST(self) -> None:
        """Deletes objects by a list of names, as the library does also for one."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.bucket.refuses_writes:
            return self._error(403, "AccessDenied")
        names = re.findall(r"<Key>(.*?)</Key>", body)
        with self.bucket.lock:
            for name in names:
                self.bucket.objects.pop(name, None)
        rows = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
        return self._answer(200, f'<?xml version="1.0"?><DeleteResult>{rows}</DeleteResult>'.encode())

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def _iso(when: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(when))


def _http_date(when: float) -> str:
    return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime(when))


@contextmanager
def bucket(host: str = "127.0.0.1") -> Iterator[Bucket]:
    """A bucket of the name `bucket` for the time of a block."""
    one = Bucket()
    handler = type("Handler", (_Handler,), {"bucket": one})
    with ThreadingHTTPServer((host, 0), handler) as server:
        one.address = f"http://{host}:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield one
        finally:
            server.shutdown()
            thread.join()
