"""The table of `swtch sched bench` for a page: how each scheduler does beside the stock class, load by load.

    swtch sched bench --policies flsched,fair --boots 7 --runs 1 --out bench
    python3 experiments/sched/table.py bench/bench.json

A cell is the ratio of medians to the stock class, and whether boots tell the two apart (`against_stock`, corrected by Holm's method for all figures of
a scheduler). Then the loads in which each scheduler is worse, with the reasons.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path


def main() -> None:
    """Prints Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("bench", type=Path, metavar="bench.json")
    options = parser.parse_args()
    found = json.loads(options.bench.read_text())
    stock, *others = found["schedulers"]
    cells = {(one["load"], one["metric"], one["scheduler"]): one for one in found["cells"]}
    figures = list(dict.fromkeys((one["load"], one["metric"]) for one in found["cells"]))
    print(f"| load | figure | {stock} | 95 % | {' | '.join(others)} |")
    print("| --- | --- |" + " ---: |" * (2 + len(others)))
    for load, metric in figures:
        base = cells.get((load, metric, stock))
        if base is None or base["median"] is None:
            continue
        row = [load, f"{metric}, {base['unit']}", number(base["median"])]
        row.append(f"{number(base['ci_low'])} to {number(base['ci_high'])}")
        row += [cell(cells.get((load, metric, name))) for name in others]
        print(f"| {' | '.join(row)} |")
    print()
    for name in others:
        of = [one for one in found["cells"] if one["scheduler"] == name and one["against_stock"]]
        counts = {
            mark: sum(one["against_stock"] == mark for one in of) for mark in ("better", "worse", "same")
        }
        print(
            f"{name}: {counts['better']} better, {counts['worse']} worse, {counts['same']} not told apart, of {len(of)}"
        )
    for name in others:
        for one in found["cells"]:
            if one["scheduler"] == name and one["against_stock"] == "worse":
                print(
                    f"- **{name}, {one['load']}** ({one['metric']}, {number(one['ratio'])} of stock): {one['why']}"
                )


def cell(one: dict | None) -> str:
    """The ratio, bold where it is worse, with an asterisk where boots do not tell it apart."""
    if one is None or one["ratio"] is None:
        return "n/a"
    ratio = number(one["ratio"])
    return {"worse": f"**{ratio}**", "better": ratio}.get(one["against_stock"], f"{ratio}\\*")


def number(value: float) -> str:
    """Three digits, never a power of ten."""
    return f"{float(f'{value:.3g}'):,.10g}"


if __name__ == "__main__":
    main()
