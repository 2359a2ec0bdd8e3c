"""Knative: `new`, as func-python calls it."""

from __future__ import annotations

import asyncio
from typing import Any

from swtch_function.answer import answer, text


def new() -> Function:
    """The function's instance."""
    return Function()


class Function:
    """Answers by ASGI."""

    async def handle(self, scope: Any, receive: Any, send: Any) -> None:
        """Reads a request and measures in a thread of its own, so that probes are answered meanwhile."""
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.lower(): value.decode() for name, value in scope["headers"]}
        invocation_id = headers.get(b"ce-id") or headers.get(b"x-request-id")
        status, document = await asyncio.to_thread(
            answer, body, scope["query_string"].decode(), "knative", invocation_id
        )
        start = {"status": status, "headers": [(b"content-type", b"application/json")]}
        await send({"type": "http.response.start", **start})
        await send({"type": "http.response.body", "body": text(document).encode()})
