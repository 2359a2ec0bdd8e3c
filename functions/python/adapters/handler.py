"""OpenFaaS: `handle(event, context)` of the template python3-http."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from swtch_function.answer import answer, text


def handle(event: Any, context: Any) -> dict[str, Any]:
    """The template's event to its dictionary."""
    query = urlencode(list(event.query.items()))
    status, document = answer(event.body, query, "openfaas", event.headers.get("X-Call-Id"))
    return {"statusCode": status, "body": text(document), "headers": {"Content-Type": "application/json"}}
