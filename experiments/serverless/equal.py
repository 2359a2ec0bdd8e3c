"""Equal tiers under different names, and one function twice: how many of 100 studies call them different. No more than 5 should.

    python experiments/serverless/equal.py [--studies N] [--rounds N] [--cpus 0.3] [--work-ms N] [--out FILE]

Two cgroups have the same quota, and each the same function. Rounds invoke both, in random order; each study is that many rounds of them. The bills
of the two are compared as `swtch faas tiers` does for tiers, and the latencies as for variants. Each round is a line of FILE at once, and the
same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from loop import built, invoked, iterations_of

from swtch.faas import variants
from swtch.faas.advice import advise
from swtch.faas.languages import Command, server
from swtch.faas.plan import WORK, Plan
from swtch.faas.price import find
from swtch.faas.rows import cells
from swtch.faas.runner import Place
from swtch.faas.tier_sets import Tier

NAMES = ("one", "other")
MOST = 5
_PRICE = "lambda-x86"


def main() -> int:
    """Prints how many studies call them different; 1 when those are more than 5 %."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--studies", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--cpus", type=float, default=0.3)
    parser.add_argument("--work-ms", type=float, default=10.0)
    parser.add_argument("--out", type=Path, default=Path("equal.jsonl"))
    options = parser.parse_args()
    tiers = tuple(Tier(name, 512, options.cpus) for name in NAMES)
    plan = Plan(
        kind="own", subjects=("own",), name="loop", tier_set="equal", tier_source="", tiers=tiers, price=_PRICE,
        period_us=100_000, works_ms=(0.0,), repeats=options.rounds, seed=0, limit_s=60.0,
    )  # fmt: skip
    measure(plan, options.studies * options.rounds, options.work_ms, options.out)
    rounds = [json.loads(text) for text in options.out.read_text().splitlines()]
    studies = [rounds[at : at + options.rounds] for at in range(0, len(rounds), options.rounds)]
    by_bill = sum(differ_by_bill(plan, study) for study in studies)
    by_latency = sum(differ_by_latency(plan, study) for study in studies)
    print(
        f"{len(studies)} studies of {options.rounds} rounds: {by_bill} call the tiers' bills different, {by_latency} the variants' latencies"
    )
    return int(max(by_bill, by_latency) > MOST / 100 * len(studies))


def measure(plan: Plan, rounds: int, work_ms: float, out: Path) -> None:
    """Rounds of both, as far as FILE has not."""
    done = len(out.read_text().splitlines()) if out.exists() else 0
    if done >= rounds:
        return
    with contextlib.ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        body = json.dumps({"iterations": iterations_of(built(directory), work_ms)}).encode()
        found = server("python", "swtch_loop_function:function")
        command = Command(
            found.words, {**found.environment, "PYTHONPATH": f"{directory}:{found.environment['PYTHONPATH']}"}
        )
        places = {
            tier.name: Place(f"equal-{tier.name}", command, body, plan, tier, stack) for tier in plan.tiers
        }
        file = stack.enter_context(open(out, "a"))
        for number in range(done, rounds):
            line = {}
            for name in random.Random(number).sample(NAMES, len(NAMES)):
                reply, _ = invoked(places[name], body, plan.limit_s)
                line[name] = reply.latency_ns
            file.write(json.dumps(line) + "\n")
            file.flush()


def _lines(study: list[dict[str, int]]) -> list[dict[str, Any]]:
    return [
        {
            "purpose": WORK, "tier": name, "work_ms": 0.0, "repeat": repeat, "outcome": "complete", "cold": False, "latency_ns": ns,
            "response": None, "group": None,
        }
        for repeat, one in enumerate(study)
        for name, ns in one.items()
    ]  # fmt: skip


def differ_by_bill(plan: Plan, study: list[dict[str, int]]) -> bool:
    """Whether the sentence about the cheapest tier leaves the other one out of those that cannot be distinguished."""
    (said,) = advise(cells(plan, _lines(study), find(_PRICE)), None)
    return "not distinguishable from it" not in said["text"]


def differ_by_latency(plan: Plan, study: list[dict[str, int]]) -> bool:
    """Whether they were called faster or slower, had they been variants in one tier."""
    sides = [
        [{**line, "tier": "the tier"} for line in _lines(study) if line["tier"] == name] for name in NAMES
    ]
    one, other = (cells(plan, side, None) for side in sides)
    found = variants.corrected(variants.compare("other", other, "one", one, 1))
    return any(each["verdict"] in (variants.FASTER, variants.SLOWER) for each in found)


if __name__ == "__main__":
    sys.exit(main())
