"""The answer as a page: one file without network, with each service's machines to fold out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from .._html import answer_and_table, table
from .._text import figure
from .text import RELEASE_HEADER, SERVICE_HEADER, basis, changed, release_rows, service_rows

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
table { border-collapse: collapse; } th, td { padding: .2rem .8rem .2rem 0; text-align: left; border-bottom: 1px solid #8884; vertical-align: top; }
summary { cursor: pointer; } h1 { font-size: 1.2rem; } h2 { font-size: 1.05rem; margin-top: 2rem; } code { font-size: .9em; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #ddd; } }
"""


def page(document: Mapping[str, Any]) -> str:
    """The whole page."""
    services = document["services"]
    moved = changed(services)
    parts = [
        f"<h1>{escape(document['answer'])}</h1>",
        f"<p>{escape(basis(document))}</p>",
        *(f"<p>{escape(note)}</p>" for note in document["notes"]),
        "<h2>Services, the dearest first</h2>",
        table([*SERVICE_HEADER, "machines that switch most"], _services(services, document)),
    ]
    if moved:
        parts += [
            "<h2>Changed with their last release</h2>",
            answer_and_table("", RELEASE_HEADER, release_rows(moved)),
        ]
    if document["outliers"]:
        rows = [[one["machine"], one["metric"], one["why"]] for one in document["outliers"]]
        parts += ["<h2>Odd machines</h2>", answer_and_table("", ["machine", "what", "why"], rows)]
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>Context switches of a fleet</title><style>{_STYLE}</style></head><body>\n{body}\n</body></html>\n"
    )


def _services(services: Iterable[Mapping[str, Any]], document: Mapping[str, Any]) -> Iterable[list[str]]:
    traces: Mapping[str, list[str]] = document.get("traces") or {}
    for one, cells in zip(services, service_rows(list(services))):
        yield [*(escape(cell) for cell in cells), _machines(one["busiest_machines"], traces)]


def _machines(machines: Iterable[Mapping[str, Any]], traces: Mapping[str, list[str]]) -> str:
    """The machines that switch most for it, and where to look on each: its Traces, or how to record one."""
    lines = []
    for one in machines:
        known = traces.get(one["machine"]) or []
        look = " ".join(f"<code>swtch report {escape(path)}</code>" for path in known[:3])
        lines.append(
            f"<li>{escape(one['machine'])}: {figure(one['switches_per_second'])}/s {look or '<code>swtch record -a --duration 10s</code> there'}</li>"
        )
    return f"<details><summary>{len(lines)}</summary><ul>{''.join(lines)}</ul></details>"
