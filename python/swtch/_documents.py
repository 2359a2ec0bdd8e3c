"""JSON documents as typed objects and back.

The types' annotations are the description: `float`, `str | None`, `tuple[Direct, ...]`, `Estimate | None`. They are read as
text, so that they may be written in today's notation and still work on every Python that is supported.
"""

from __future__ import annotations

import sys
from dataclasses import Field, fields, is_dataclass
from typing import Any, TypeVar

T = TypeVar("T")


def key(field: Field[Any]) -> str:
    """A field's name in documents: `class` for `class_`, which Python needs to tell it from the keyword."""
    return field.name.rstrip("_")


def data_fields(of: Any) -> list[Field[Any]]:
    """The fields that are part of the document; those that begin with an underscore are not."""
    return [field for field in fields(of) if not field.name.startswith("_")]


def item_type(annotation: str) -> str | None:
    """`X` for `tuple[X, ...]`."""
    return annotation[len("tuple[") : -len(", ...]")] if annotation.startswith("tuple[") else None


def row_type(annotation: str, seen_from: type) -> type | None:
    """The dataclass that an annotation in `seen_from` names, or None for plain values."""
    name = annotation.split(" | ")[0]
    found = getattr(sys.modules[seen_from.__module__], name, None)
    return found if isinstance(found, type) and is_dataclass(found) else None


def from_document(kind: type[T], document: dict[str, Any], **rest: Any) -> T:
    """An object of a dataclass from a document; a field that it leaves out is `None`. `rest` are the fields outside the document."""
    values = {f.name: _value(str(f.type), kind, document.get(key(f))) for f in data_fields(kind)}
    return kind(**values, **rest)


def _value(annotation: str, seen_from: type, value: Any) -> Any:
    if value is None:
        return None
    item = item_type(annotation)
    if item is not None:
        return tuple(_value(item, seen_from, one) for one in value)
    kind = row_type(annotation, seen_from)
    return value if kind is None else from_document(kind, value)


def to_document(value: Any) -> Any:
    """The JSON value of an object: dicts, lists, and plain values."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key(field): to_document(getattr(value, field.name)) for field in data_fields(value)}
    return [to_document(one) for one in value] if isinstance(value, tuple) else value
