"""The quota and the period that handlers of every language see from inside, against the cgroup's own numbers.

    python experiments/serverless/quota.py [--rounds N] [--languages python,go] [--periods 100ms,20ms] [--record FILE] [--from FILE]

Each answer is of a handler that spins for 1 s in a cgroup with that quota. The handler alone is in the cgroup. Languages and tiers take turns, in
random order. The group has 20 times the weight of another program, so that it can use its quota up. --record appends the raw timelines to a
file, a JSON object a line. --from makes the tables of such a file, and measures nothing. --vectors writes its timelines as golden vectors. It
needs the package swtch, and for measuring cgroups version 1 and the right to make some.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from swtch._native import complete_answer
from swtch.faas.languages import server

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "functions")]

from limited_group import limited_group  # noqa: E402

LANGUAGES = ("python", "node", "go", "java", "rust")
TIERS = (0.0417, 0.05, 0.072, 0.0833, 0.145, 0.1667, 0.3333, 0.5, 1.0, 1.5, 2.0)
"""CPUs. The first in 100 ms and the second in 20 ms: the kernel takes no quota below 1 ms. With as many CPUs as the last nothing is throttled."""
ONLY = {0.0417: 100, 0.05: 20}
TOLERANCE = 0.5
"""Percent of the quota."""
PERIOD_TOLERANCE = 0.75
"""Likewise: in 1 s of periods of 100 ms, ends that a tick of 4 ms delays leave so much open."""
WEIGHT = 20480
SPIN_MS = 1000

Row = dict[str, Any]


def main() -> None:
    """Measures or reads, and prints the tables."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--languages", default=",".join(LANGUAGES))
    parser.add_argument("--periods", default="100ms,20ms")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--from", dest="file", type=Path, action="append")
    parser.add_argument("--vectors", type=Path)
    options = parser.parse_args()
    languages = options.languages.split(",")
    periods_ms = [int(one.removesuffix("ms")) for one in options.periods.split(",")]
    if options.file:
        rows = [json.loads(line) for path in options.file for line in path.read_text().splitlines()]
    else:
        rows = list(_measured(languages, periods_ms, options.rounds))
    if options.record:
        with options.record.open("a") as file:
            file.writelines(f"{json.dumps(row)}\n" for row in rows)
    if options.vectors:
        options.vectors.write_text(_vectors(rows))
    _print(rows)


def _measured(languages: list[str], periods_ms: list[int], rounds: int) -> Iterator[Row]:
    """Answers without their figures, as rows."""
    cases = [
        (language, cpus, period_ms)
        for language in languages
        for cpus in TIERS
        for period_ms in periods_ms
        if ONLY.get(cpus, period_ms) == period_ms
    ]
    handlers = {language: _Handler(language) for language in languages}
    try:
        with limited_group(-1, 100_000, WEIGHT) as group:
            for _ in range(rounds):
                for language, cpus, period_ms in random.sample(cases, len(cases)):
                    quota_us = round(cpus * period_ms * 1000)
                    for name, value in (("quota", -1), ("period", period_ms * 1000), ("quota", quota_us)):
                        (group / f"cpu.cfs_{name}_us").write_text(str(value))
                    answer = handlers[language].invoke_in(group, 2 if cpus >= 1 else 1)
                    yield {"cpus": cpus, "period_ms": period_ms, "quota_us": quota_us, "answer": answer}
    finally:
        for handler in handlers.values():
            handler.end()


class _Handler:
    """A handler that answers lines."""

    def __init__(self, language: str) -> None:
        command = server(language)
        self._process = subprocess.Popen(
            [*command.words, "--lines"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **command.environment},
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()
        # The first is slower: what is loaded then would be charged to the quota.
        self._invoke(1, 50)

    def invoke_in(self, group: Path, spinners: int) -> Row:
        """An answer from within the group, which it leaves again."""
        (group / "cgroup.procs").write_text(str(self._process.pid))
        try:
            return self._invoke(spinners, SPIN_MS)
        finally:
            (group.parent / "cgroup.procs").write_text(str(self._process.pid))

    def _invoke(self, spinners: int, spin_ms: int) -> Row:
        assert self._process.stdin is not None and self._process.stdout is not None
        request = {"methods": [], "spin_ms": spin_ms, "spinners": spinners}
        self._process.stdin.write(f"{json.dumps(request)}\n")
        self._process.stdin.flush()
        found: Row = json.loads(self._process.stdout.readline())["document"]
        return found

    def end(self) -> None:
        """Lets it end."""
        self._process.communicate()


def _errors(row: Row) -> tuple[float, float] | None:
    """Of period and quota in percent; `None` where no quota was inferred."""
    inferred = json.loads(complete_answer(json.dumps(row["answer"])))["throttling"]["inferred"]
    if inferred["period_ns"] is None:
        return None
    period = 100 * (inferred["period_ns"] / (row["period_ms"] * 1e6) - 1)
    return period, 100 * (inferred["quota_ns"] / (row["quota_us"] * 1e3) - 1)


def _print(rows: list[Row]) -> None:
    of: dict[tuple[float, int, str], list[tuple[float, float] | None]] = {}
    for row in rows:
        key = (row["cpus"], row["period_ms"], row["answer"]["handler"]["language"])
        of.setdefault(key, []).append(_errors(row))
    languages = [one for one in LANGUAGES if any(key[2] == one for key in of)]
    print(f"| CPUs | period | {' | '.join(languages)} |\n| ---: | ---: |{' --- |' * len(languages)}")
    for period_ms in sorted({key[1] for key in of}, reverse=True):
        for cpus in sorted({key[0] for key in of if key[1] == period_ms}):
            cells = [_cell(of.get((cpus, period_ms, language), [])) for language in languages]
            print(f"| {cpus} | {period_ms} ms | {' | '.join(cells)} |")
    print(
        f"\n| language | quota within {TOLERANCE:g} % | median error | largest | largest error of the period | none inferred |\n| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for language in languages:
        limited = [
            one for key, errors in of.items() for one in errors if key[2] == language and key[0] < max(TIERS)
        ]
        known = sorted(abs(one[1]) for one in limited if one is not None)
        within = sum(one <= TOLERANCE for one in known)
        middle, largest = (known[len(known) // 2], known[-1]) if known else (float("nan"), float("nan"))
        period = max((abs(one[0]) for one in limited if one is not None), default=float("nan"))
        print(
            f"| {language} | {within} of {len(limited)} | {middle:.2f} % | {largest:.2f} % | {period:.2f} % | {len(limited) - len(known)} |"
        )


def _cell(errors: list[tuple[float, float] | None]) -> str:
    return ", ".join("none" if one is None else f"{one[1]:+.2f}" for one in errors)


def _vectors(rows: list[Row]) -> str:
    """The first timeline of each case, as `functions/vectors/recorded.json` has them."""
    found: dict[str, Row] = {}
    for row in rows:
        answer = row["answer"]
        spun = answer["throttling"]["spun"]
        name = f"{answer['handler']['language']}-{row['cpus']:g}-{row['period_ms']}-ms"
        limited = row["cpus"] < max(TIERS)
        period_ns, quota_ns = row["period_ms"] * 1_000_000, row["quota_us"] * 1000
        expected = {
            "period_ns": period_ns if limited else None,
            "quota_ns": quota_ns if limited else None,
            "cpus": quota_ns / period_ns if limited else answer["cpu"]["received"],
        }
        found.setdefault(
            name,
            {
                "name": name,
                "kernel": answer["host"]["kernel_release"],
                "expected": expected,
                "others_cpus": spun["others_cpus"],
                "spinners": spun["intervals"],
            },
        )
    lines = ",\n".join(f"    {json.dumps(found[name])}" for name in sorted(found))
    return f'{{\n  "tolerance": {TOLERANCE / 100},\n  "period_tolerance": {PERIOD_TOLERANCE / 100},\n  "vectors": [\n{lines}\n  ]\n}}\n'


if __name__ == "__main__":
    main()
