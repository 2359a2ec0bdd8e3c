"""The function as OpenFaaS's template python3-http calls it, on loopback: `serve.py PORT`, in the directory of `stack.yaml`."""

from __future__ import annotations

import os
import sys
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, os.getcwd())

from flask import Flask, request  # noqa: E402
from function import handler  # noqa: E402
from waitress import serve  # noqa: E402

app = Flask(__name__)


@app.route("/", defaults={"path": ""}, methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
@app.route("/<path:path>", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
def call(path: str) -> Any:
    """A request to the template's event, and what the handler returns to an answer."""
    event = SimpleNamespace(
        body=request.get_data(),
        headers=request.headers,
        method=request.method,
        query=request.args,
        path=request.path,
    )
    said = handler.handle(event, SimpleNamespace(hostname=os.uname().nodename))
    return said.get("body", ""), said.get("statusCode", 200), said.get("headers", {})


serve(app, host="127.0.0.1", port=int(sys.argv[1]), threads=1)
