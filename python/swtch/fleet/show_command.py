"""`swtch fleet show`: the answer."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from .. import _files, _options
from .._progress import Progress
from . import answer, deploys, page, price, sources, store, text

_EXAMPLES = """\
examples:
  swtch fleet show http://127.0.0.1:9090 --since 30d
  swtch fleet show fleet --top 20 --price 0.04/vcpu-hour
  swtch fleet show fleet --deploys deploys.csv --json
  swtch fleet show fleet --machines machines.csv -o fleet.html

FILE of --deploys is CSV with the columns service,at and optionally version; that of --machines has machine,instance_type.
Exit status: 0 done, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch fleet`."""
    parser = commands.add_parser(
        "show",
        help="which services pay most, which got worse since a release, which machines are odd (the default)",
        description="Print which services pay most for context switches, which got worse since their last release, and which machines are odd ones out.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "sources",
        nargs="+",
        metavar="SOURCE",
        help="address of a Prometheus, directory of 'swtch fleet import' or of Traces, or OTLP/JSON file",
    )
    add(
        "--deploys",
        type=Path,
        metavar="FILE",
        help="deployments [default: where a service's image tag changes]",
    )
    add("--price", metavar="PRICE", help="one price for all machines, e.g. 0.05/vcpu-hour")
    add(
        "--price-table",
        default=price.DEFAULT,
        metavar="NAME",
        help=f"prices of instances: a list of 'swtch fleet prices', or FILE.json [default: {price.DEFAULT}]",
    )
    add("--machines", type=Path, metavar="FILE", help="types of machines, where the data does not have them")
    add("--top", type=_options.count, default=10, metavar="N", help="rows of each table [default: 10]")
    add(
        "--memory",
        type=_memory,
        default="1GB",
        metavar="SIZE",
        help="most memory of the database, which then uses the disk [default: 1GB]",
    )
    add("--json", action="store_true", help="print the answer as JSON")
    add("-o", "--out", type=Path, metavar="FILE", help="also write it as a page, FILE.html")  # fmt: skip
    sources.add_options(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints it; returns the exit status."""
    question = answer.Question(
        price.one_price(options.price) if options.price else price.find(options.price_table),
        {} if options.machines is None else price.read_types(options.machines),
        None if options.deploys is None else deploys.read(options.deploys),
        options.memory,
    )
    progress = Progress()
    with tempfile.TemporaryDirectory(prefix="swtch-fleet-") as scratch:
        directories: list[Path] = []
        traces: dict[str, list[str]] = {}
        for number, source in enumerate(options.sources):
            if sources.is_data(source):
                directories.append(Path(source))
                continue
            directory = Path(scratch) / str(number)
            database = store.connect(options.memory)
            try:
                brought = sources.bring(database, source, directory, options, progress.show)
            finally:
                progress.clear()
                database.close()
            traces.update(brought.get("traces") or {})
            directories.append(directory)
        document = answer.ask(directories, question)
    if traces:
        document["traces"] = traces
    if options.out is not None:
        _files.replace(options.out, page.page(document))
    warning = question.prices.warning()
    if warning is not None:
        print(f"swtch fleet: warning: {warning}", file=sys.stderr)
    sys.stdout.write(
        json.dumps(document, indent=1) + "\n" if options.json else text.text(document, options.top)
    )
    return 0


def _memory(text: str) -> str:
    number = text.upper().rstrip("IB").rstrip("KMGT")
    unit = text.upper()[len(number) :]
    if not (number.isdigit() and int(number) > 0 and unit in ("MB", "GB", "M", "G", "MIB", "GIB")):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 500MB or 2GB")
    return f"{number}{unit if unit.endswith('B') else unit + 'B'}"
