"""Short tables for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def answer_and_table(answer: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """A sentence and a table below it. Nothing in them is markup: a task may be called as it likes."""
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f"<p>{escape(answer)}</p><table><tr>{head}</tr>{body}</table>"
