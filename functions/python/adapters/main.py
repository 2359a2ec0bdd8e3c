"""Google Cloud Functions and Cloud Run functions: `measure`, in the functions-framework."""

from __future__ import annotations

from typing import Any

import functions_framework

from swtch_function.answer import answer, text


@functions_framework.http
def measure(request: Any) -> tuple[str, int, dict[str, str]]:
    """A Flask request to a body, a status and headers."""
    invocation_id = request.headers.get("Function-Execution-Id")
    status, document = answer(request.get_data(), request.query_string.decode(), "gcf", invocation_id)
    return text(document), status, {"Content-Type": "application/json"}
