"""As much of JSON Schema as the published schemas use, so that no package is needed for it."""

from __future__ import annotations

import re
from typing import Any

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}
KNOWN = {
    "$schema", "$defs", "$ref", "title", "description", "type", "properties", "required", "additionalProperties",
    "items", "anyOf", "oneOf", "enum", "const", "minimum", "maximum", "pattern", "default", "format",
}  # fmt: skip


def _is(value: Any, kind: str) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def faults(
    value: Any, schema: dict[str, Any], root: dict[str, Any] | None = None, at: str = "$"
) -> list[str]:
    """What of a value is not as the schema says, each with its place."""
    root = schema if root is None else root
    unknown = set(schema) - KNOWN
    assert not unknown, f"the checker does not know {unknown}"
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root, at)
    if "anyOf" in schema or "oneOf" in schema:
        each = [faults(value, one, root, at) for one in schema.get("anyOf", []) + schema.get("oneOf", [])]
        fitting = sum(not one for one in each)
        if fitting > 1 and "oneOf" in schema:
            return [f"{at}: {value!r} is more than one of what it may be"]
        return [] if fitting else min(each, key=len)
    if "const" in schema and value != schema["const"]:
        return [f"{at}: {value!r} is not {schema['const']!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r} is none of {schema['enum']}"]
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(_is(value, kind) for kind in kinds):
        return [f"{at}: {value!r} is not {' or '.join(kinds)}"]
    if value is None:
        return []
    found: list[str] = []
    if "minimum" in schema and value < schema["minimum"] or "maximum" in schema and value > schema["maximum"]:
        found.append(f"{at}: {value!r} is out of range")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{at}: {value!r} does not match {schema['pattern']}")
    if isinstance(value, dict):
        found += [f"{at}: {key} is missing" for key in schema.get("required", []) if key not in value]
        properties = schema.get("properties", {})
        for key, one in value.items():
            if key in properties:
                found += faults(one, properties[key], root, f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                found.append(f"{at}: {key} is not in the schema")
    if isinstance(value, list) and "items" in schema:
        for index, one in enumerate(value):
            found += faults(one, schema["items"], root, f"{at}[{index}]")
    return found
