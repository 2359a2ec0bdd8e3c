"""AWS Lambda: `lambda_function.lambda_handler`, called directly, by a function URL or by API Gateway."""

from __future__ import annotations

import base64
from typing import Any

from swtch_function.answer import answer, text
from swtch_function.document import invoke
from swtch_function.request import from_values


def lambda_handler(event: Any, context: Any) -> dict[str, Any]:
    """A direct call's event is the request, and a wrong one is an error of the function; over HTTP it is status 400."""
    invocation_id = getattr(context, "aws_request_id", None)
    if isinstance(event, dict) and "requestContext" in event:
        body = event.get("body") or ""
        data = base64.b64decode(body) if event.get("isBase64Encoded") else body
        status, document = answer(data, event.get("rawQueryString"), "lambda", invocation_id)
        return {
            "statusCode": status,
            "headers": {"Content-Type": "application/json"},
            "body": text(document),
        }
    return invoke(from_values(event or {}), "lambda", invocation_id)
