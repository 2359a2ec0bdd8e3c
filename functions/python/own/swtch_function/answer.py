"""What adapters call: text in, a status and what the function returned out."""

from __future__ import annotations

import json
import traceback
from typing import Any
from urllib.parse import parse_qsl

from .function import FUNCTION

ERROR_SCHEMA = "swtch/faas-error/1"


def answer(
    body: str | bytes | None, query: str | None, platform: str, invocation_id: str | None = None
) -> tuple[int, Any]:
    """200 and what the function returned of the event in the body, or in the query string; or an error in one line."""
    try:
        event = json.loads(body) if body and body.strip() else dict(parse_qsl(query or ""))
    except ValueError as error:
        return 400, failure(f"the body is not JSON: {error}")
    try:
        result = FUNCTION(event, None)
        text(result)
    except Exception as error:
        return 500, failure("".join(traceback.format_exception_only(type(error), error)))
    return 200, result


def failure(error: str) -> dict[str, Any]:
    """A document that says in one line what went wrong."""
    return {"schema": ERROR_SCHEMA, "error": " ".join(error.split())}


def text(document: Any) -> str:
    """JSON on one line."""
    return json.dumps(document, allow_nan=False, separators=(",", ":"))
