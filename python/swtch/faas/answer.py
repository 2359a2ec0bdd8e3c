"""What a handler answers, with the figures that are made of it: statistics of its batches, and the quota that its gaps show."""

from __future__ import annotations

import json
from typing import Any

from .._native import complete_answer

SCHEMAS = ("swtch/faas/2", "swtch/faas/1")
"""Those that are read. The handlers of swtch 0.1.0 answer the second, with figures of their own."""


def completed(document: Any) -> dict[str, Any] | None:
    """An answer as `swtch/faas/2` with its figures, without batches and intervals unless it was asked for samples.

    `None` when it is something else, such as what a user's own function answers.
    """
    if not isinstance(document, dict) or document.get("schema") not in SCHEMAS:
        return None
    try:
        found: dict[str, Any] = json.loads(complete_answer(json.dumps(document)))
    except ValueError:
        return None
    return found
