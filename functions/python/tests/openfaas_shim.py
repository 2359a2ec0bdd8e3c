"""What OpenFaaS's template python3-http puts around `handler.handle`: Flask under waitress. `python openfaas_shim.py PORT`."""

from __future__ import annotations

import os
import sys
from typing import Any

from flask import Flask, request
from handler import handle
from waitress import serve

app = Flask(__name__)


class Event:
    """What came."""

    def __init__(self) -> None:
        self.body = request.get_data()
        self.headers = request.headers
        self.method = request.method
        self.query = request.args
        self.path = request.path


class Context:
    """Where it runs."""

    def __init__(self) -> None:
        self.hostname = os.getenv("HOSTNAME", "localhost")


@app.route("/", defaults={"path": ""}, methods=["GET", "PUT", "POST", "PATCH", "DELETE"])
@app.route("/<path:path>", methods=["GET", "PUT", "POST", "PATCH", "DELETE"])
def call(path: str) -> Any:
    """From the handler's dictionary to Flask's answer."""
    found = handle(Event(), Context())
    return found.get("body", ""), found.get("statusCode", 200), found.get("headers", {})


if __name__ == "__main__":
    serve(app, host="127.0.0.1", port=int(sys.argv[1]))
