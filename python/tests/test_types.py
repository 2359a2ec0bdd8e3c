"""The typed objects have the fields and types of the documents: each dataclass against the JSON Schema of the Rust type."""

from __future__ import annotations

import json
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_args

import pytest

import swtch
from swtch import _documents, _native

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = {name: json.loads(schema) for name, schema in _native.schemas().items()}
OTHER_NAMES = {
    "Trace": {"Provenance": "TraceProvenance", "Ended": "TraceEnded", "Table": "TableFiles"},
    # What a caveat has besides its kind depends on that.
    "Bill": {"Caveat": "dict[str, Any]"},
    "Diff": {"Caveat": "dict[str, Any]"},
}
"""Types of a document that are called otherwise in Python, where those of a Profile have their names."""
UNLIKE = {"Trace", "Scope", "dict[str, Any]"}
"""A header's fields are a Trace's attributes; a scope has the fields of each of its kinds."""


def types() -> dict[str, dict[str, Any]]:
    """Every type of the documents by its name in Python."""
    found: dict[str, dict[str, Any]] = {}
    for name, schema in SCHEMAS.items():
        names = OTHER_NAMES.get(name, {})
        for one, part in {**schema["$defs"], name: schema}.items():
            text = json.dumps(part)
            for theirs, ours in names.items():
                text = text.replace(f'"#/$defs/{theirs}"', f'"#/$defs/{ours}"')
            found[names.get(one, one)] = json.loads(text)
    return {name: schema for name, schema in found.items() if name not in UNLIKE}


def annotation(schema: dict[str, Any]) -> str:
    """A property's type in Python's notation."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "anyOf" in schema:
        kind, null = schema["anyOf"]
        assert null == {"type": "null"}
        return f"{annotation(kind)} | None"
    kind, *null = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    assert null in ([], ["null"])
    if kind == "array":
        return f"tuple[{annotation(schema['items'])}, ...]"
    return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}[kind] + (
        " | None" if null else ""
    )


@pytest.mark.parametrize(("name", "schema"), types().items())
def test_no_type_has_drifted(name: str, schema: dict[str, Any]) -> None:
    kind = getattr(swtch, name)
    if "oneOf" in schema:
        assert list(get_args(kind)) == [one["const"] for one in schema["oneOf"]]
        return
    assert is_dataclass(kind)
    fields = [(_documents.key(field), str(field.type)) for field in _documents.data_fields(kind)]
    assert fields == [(key, annotation(one)) for key, one in schema["properties"].items()]
    assert kind.__doc__ and not kind.__doc__.startswith(f"{name}(")


def test_a_trace_has_what_its_header_has() -> None:
    trace = swtch.Trace.load(ROOT / "fixtures" / "traces" / "machine.swtch")
    assert {*SCHEMAS["Trace"]["properties"]} - {"schema", "tables"} <= {*vars(trace)}
    assert trace.header["schema"] == "swtch/trace/3" and [*trace.tables] == [one.name for one in trace.files]
    kinds = [one["properties"] for one in SCHEMAS["Trace"]["$defs"]["Scope"]["oneOf"]]
    assert {key for properties in kinds for key in properties} == {*vars(trace.scope)}
    assert [properties["kind"]["const"] for properties in kinds] == [
        "command",
        "processes",
        "cgroup",
        "machine",
    ]


def test_every_type_is_exported() -> None:
    assert set(types()) <= set(swtch.__all__)
    assert all(hasattr(swtch, name) for name in swtch.__all__)


@pytest.mark.parametrize("name", ["server", "vm"])
def test_a_document_is_the_same_after_the_round_trip(name: str, golden: Path) -> None:
    path = golden.with_name(f"{name}.json")
    profile = swtch.Profile.load(path)
    assert profile.to_dict() == json.loads(path.read_text()) == json.loads(profile.to_json())


def test_doctor_is_typed() -> None:
    found = swtch.doctor()
    assert {row.state for row in found.capabilities} <= set(get_args(swtch.State))
    assert found.host.cpus and isinstance(found.probes.pinning, swtch.Probe)
    assert found.to_dict()["schema"] == "swtch/doctor/1"
    assert repr(found).startswith("<swtch.Doctor: ") and "ok" in repr(found)
