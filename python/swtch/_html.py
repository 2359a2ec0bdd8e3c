"""Short tables for notebooks and pages."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def answer_and_table(answer: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A sentence and a table below it. Nothing in them is markup: a task may be called as it likes."""
    return f"<p>{escape(answer)}</p>" + table(heads, ([escape(str(cell)) for cell in row] for row in rows))


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table whose cells are markup."""
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
