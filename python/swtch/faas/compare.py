"""`swtch faas compare`: the same function in two studies, such as here and deployed, tier by tier."""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from .. import _native
from .._errors import CommandError
from .._text import duration, figure, table
from . import study
from .advice import money, of_work

SCHEMA = "swtch/faas-compare/1"
_EXAMPLES = """\
examples:
  swtch faas compare local/ deployed/
  swtch faas compare before/ after/ --json

For the project's handler both studies must do the same work: the second is run with --same-work-as local/. Exit status: 0 done, 1 failed,
2 wrong usage."""
_FIGURES = (("latency_ns", "latency"), ("cpu_ns", "CPU time"))
_WORDS = {"worse": "more", "better": "less", "same": "the same", "unclear": "not distinguishable"}
"""Verdicts as a column has them: of times and of money, less is better."""

Found = Optional[dict[str, Any]]


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "compare",
        help="compare two studies of tiers: latency, CPU time and cost",
        description="Compare two studies of a function, such as one on this machine and one of the deployed function, tier by tier.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", type=Path, metavar="OLD", help="a study's directory, or its tiers.json")
    parser.add_argument("new", type=Path, metavar="NEW", help="the study to compare with it")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compares them; returns the exit status."""
    found = compared(study.read(options.old), study.read(options.new), str(options.old), str(options.new))
    print(json.dumps(found, indent=1) if options.json else text(found))
    return 0


def compared(old: Mapping[str, Any], new: Mapping[str, Any], old_name: str, new_name: str) -> dict[str, Any]:
    """The comparison. Raises `CommandError` when no tier and work is in both."""
    sides = [_by_names(old), _by_names(new)]
    rows = [{(row["tier"], row["work_ms"]): row for row in side["rows"] if row["n"]} for side in sides]
    both = [key for key in rows[0] if key in rows[1]]
    if not both:
        have = [", ".join(dict.fromkeys(tier for tier, _ in one)) or "no complete invocation" for one in rows]
        raise CommandError(
            f"the studies have no tier with the same work: {old_name} has {have[0]}, {new_name} has {have[1]}"
        )
    changes = _changes(sides)
    found = []
    for tier, work_ms in both:
        pair = [one[tier, work_ms] for one in rows]
        why = _other_work(pair)
        of = f"{tier}, {work_ms:g} ms of work"
        row: dict[str, Any] = {
            "tier": tier,
            "work_ms": work_ms,
            "n": [one["n"] for one in pair],
            "why_not": why,
        }
        for name, label in _FIGURES:
            row[name] = None if why else _of_change(changes.get(f"{label}, {of}"))
        row["cost_usd"] = None if why else _of_cost(*(one["cost_usd"] for one in pair))
        found.append(row)
    only = [[tier for tier, _ in one if all(tier != other for other, _ in both)] for one in rows]
    return {
        "schema": SCHEMA,
        "old": old_name,
        "new": new_name,
        "rows": found,
        "only_old": list(dict.fromkeys(only[0])),
        "only_new": list(dict.fromkeys(only[1])),
    }


def text(found: Mapping[str, Any]) -> str:
    """The comparison for a terminal, its answer first."""
    lines = [_answer(found), ""]
    header = ("tier", "work", "n", "latency", "CPU time", "bill")
    cells = [
        [
            row["tier"],
            of_work(row["work_ms"]),
            f"{row['n'][0]} and {row['n'][1]}",
            *(
                _cell(row[name], shown)
                for name, shown in (("latency_ns", duration), ("cpu_ns", duration), ("cost_usd", money))
            ),
        ]
        for row in found["rows"]
    ]
    lines += table(header, cells, 2)
    lines += [
        f"{row['tier']}, {of_work(row['work_ms'])}: {row['why_not']}"
        for row in found["rows"]
        if row["why_not"]
    ]
    for which, name in (("only_old", found["old"]), ("only_new", found["new"])):
        if found[which]:
            lines.append(f"only in {name}: {', '.join(found[which])}")
    return "\n".join(lines)


def _answer(found: Mapping[str, Any]) -> str:
    """A sentence on latency: in which tiers it differs, and by how much."""
    parts = []
    for verdict, words in (
        ("worse", "takes longer"),
        ("better", "is faster"),
        ("same", "takes as long"),
        ("unclear", "cannot be told apart"),
    ):
        same = [row for row in found["rows"] if row["latency_ns"] and row["latency_ns"]["verdict"] == verdict]
        if same:
            ratios = [row["latency_ns"]["ratio"] for row in same]
            low, high = figure(min(ratios)), figure(max(ratios))
            by = (
                ""
                if verdict in ("same", "unclear")
                else f" ({low if low == high else f'{low} to {high}'} times)"
            )
            parts.append(f"{words} at {', '.join(dict.fromkeys(row['tier'] for row in same))}{by}")
    said = "; ".join(parts) if parts else "cannot be compared: see below"
    return f"Compared with {found['old']}, {found['new']} {said}."


def _cell(of: Found, shown: Any) -> str:
    if of is None:
        return "n/a"
    both = f"{shown(of['old'])} and {shown(of['new'])}"
    if of["ratio"] is None:
        return both
    interval = "" if of["ci_low"] is None else f" ({figure(of['ci_low'])} to {figure(of['ci_high'])})"
    return f"{both}: {figure(of['ratio'])} times{interval}, {_WORDS[of['verdict']]}"


def _by_names(of: Mapping[str, Any]) -> dict[str, Any]:
    """The study with tiers called by their memory, however each side calls them."""
    names = {
        tier["name"]: f"{tier['memory_mb']} MB" if tier["memory_mb"] is not None else tier["name"]
        for tier in of["tiers"]
    }
    if len(set(names.values())) < len(names):
        names = {}

    def renamed(rows: Sequence[Mapping[str, Any]], key: str) -> list[dict[str, Any]]:
        return [{**row, key: names.get(row[key], row[key])} for row in rows]

    return {
        **of,
        "tiers": renamed(of["tiers"], "name"),
        "rows": renamed(of["rows"], "tier"),
        "invocations": renamed(of["invocations"], "tier"),
        "quota_check": [],
        "advice": [],
    }


def _changes(sides: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What `swtch diff` says of each figure, with its correction for their number."""
    with tempfile.TemporaryDirectory(prefix="swtch-faas-") as at:
        paths = []
        for place, side in enumerate(sides):
            directory = Path(at) / str(place)
            directory.mkdir()
            paths.append(study.write(directory, side))
        found = json.loads(_native.diff([paths[0]], [paths[1]], []))
    return {one["metric"]: one for one in found["changes"]}


def _of_change(change: Mapping[str, Any] | None) -> Found:
    if change is None:
        return None
    keys = ("old", "new", "ratio", "ci_low", "ci_high", "verdict", "reason")
    return {key: change.get(key) for key in keys}


def _of_cost(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Found:
    """Of two bills, which are means. They differ where their intervals do not meet: both at 95 %, so that chance seldom does that."""
    if old is None or new is None:
        return None
    found = {
        "old": old["mean"],
        "new": new["mean"],
        "ratio": new["mean"] / old["mean"],
        "ci_low": None,
        "ci_high": None,
    }
    bounds = [one.get(end) for one in (old, new) for end in ("mean_ci_low", "mean_ci_high")]
    ends = [float(end) for end in bounds if end is not None]
    if len(ends) < len(bounds):
        why = "ten invocations of each are needed for the interval of a mean"
        return {**found, "verdict": "unclear", "reason": why}
    old_low, old_high, new_low, new_high = ends
    verdict = "worse" if new_low > old_high else "better" if new_high < old_low else "unclear"
    return {
        **found,
        "ci_low": new_low / old_high,
        "ci_high": new_high / old_low,
        "verdict": verdict,
        "reason": None,
    }


def _other_work(pair: Sequence[Mapping[str, Any]]) -> str | None:
    """Why two rows cannot be compared: the handler's work is a number of iterations."""
    old, new = (row["iterations"] for row in pair)
    if old == new:
        return None
    return (
        f"not the same work, {old or 'an unknown number of'} and {new or 'an unknown number of'} iterations; "
        "run the second study with --same-work-as the first"
    )
