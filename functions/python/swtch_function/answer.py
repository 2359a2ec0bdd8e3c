"""What adapters call: text in, a status and a document out, whatever came."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .document import invoke
from .request import BadRequest, parse

ERROR_SCHEMA = "swtch/faas-error/1"


def answer(
    body: str | bytes | None,
    query: str | None,
    platform: str,
    invocation_id: str | None = None,
    worked: Callable[[], None] = lambda: None,
) -> tuple[int, dict[str, Any]]:
    """200 and `swtch/faas/2`, or 400 and `swtch/faas-error/1`; `worked` as of `invoke`."""
    try:
        request = parse(body, query)
    except BadRequest as error:
        return 400, failure(str(error))
    return 200, invoke(request, platform, invocation_id, worked)


def failure(error: str, where: str | None = None) -> dict[str, Any]:
    """A document that says in one line what went wrong; where: a file and line."""
    document: dict[str, Any] = {"schema": ERROR_SCHEMA, "error": " ".join(error.split())}
    return document if where is None else {**document, "where": where}


def text(document: dict[str, Any]) -> str:
    """JSON on one line; a figure that is not a number is an error here, not at the reader."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
