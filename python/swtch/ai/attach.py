"""`swtch ai attach`: records a server that runs, sends it requests at a rate or takes its own spans, and says what made the slow ones slow."""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from .._command import Parser
from .._errors import WrongUsage
from .._options import count, header, rate, seconds
from .._progress import Progress
from .._text import duration
from . import inferences, why
from .errors import AiError
from .figures import latency
from .http_load import Request, Sent, run_load
from .launch import listening_pid
from .record import recorder
from .sampler import descendants

DURATION_S = 10.0
RATE_PER_S = 10.0
CALLERS = 16
DEFAULT = "ai-attach.swtch"
"""Where the recording goes."""

_EXAMPLES = """\
examples:
  swtch ai attach http://127.0.0.1:8000/predict --body request.json --rate 20
  swtch ai attach 4711 --duration 30s                    while others use it; it marks spans, or:
  swtch ai attach 4711 --spans otel.json
  swtch ai attach 4711 --spans access.log --log-format '"$request" $msec $request_time $pid'

Requests are due at their times, whatever became of earlier ones, and latencies are from then: what waits behind a slow one is slow.
Exit status: 0 done, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch ai`."""
    parser: Parser = commands.add_parser(
        "attach",
        help="record a server that runs, under requests at a rate, and explain the slow ones",
        description="Record a server of this machine while requests are sent to it, and explain the slowest ones.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("server", metavar="URL|PID", help="where it answers, or its process")
    add("--rate", type=rate, default=RATE_PER_S, metavar="N", help="requests a second [default: 10]")
    add("--duration", type=seconds, default=DURATION_S, metavar="TIME", help="how long [default: 10s]")
    add("--body", type=Path, metavar="FILE", help="what is sent, by POST [default: nothing, by GET]")
    add(
        "--header",
        type=header,
        action="append",
        default=[],
        metavar="NAME: VALUE",
        help="sent along; may be repeated",
    )
    add(
        "--callers", type=count, default=CALLERS, metavar="N", help="requests under way at most [default: 16]"
    )
    add(
        "--pid",
        type=_number,
        metavar="PID",
        help="the server's process [default: the one that listens at the URL]",
    )
    add(
        "--spans",
        type=Path,
        metavar="FILE",
        help="spans that the server wrote: OTLP/JSON, an access log, or the contract's lines",
    )
    add("--log-format", metavar="FORMAT", help="the spans are an access log of this format")
    add(
        "--slowest",
        default=why.SLOWEST,
        metavar="SHARE",
        help="the share of requests that counts as slow [default: 1%%]",
    )
    add(
        "-o",
        "--out",
        type=Path,
        default=Path(DEFAULT),
        metavar="TRACE",
        help=f"the recording [default: {DEFAULT}]",
    )
    add("--json", action="store_true", help="print JSON instead of text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Records and explains; returns the exit status."""
    is_url = "/" in options.server
    if is_url and options.spans is not None:
        raise WrongUsage("--spans is for a server that others use; give its PID instead of a URL")
    request = _request(options) if is_url else None
    pid = options.pid or (_listener(options.server) if is_url else _number(options.server))
    pids = [one for one in descendants([pid]) if os.path.exists(f"/proc/{one}")]
    if not pids:
        raise WrongUsage(f"there is no process {pid}; `ss -tlnp` lists servers")
    sent = _recorded(options, pids, request)
    if sent.failed and not sent.spans:
        raise AiError(f"no request was answered: {sent.first_failure}")
    if request is not None:
        inferences.write_spans(options.out, "request", pids[0] if len(pids) == 1 else None, sent.spans)
    answered = [end - begin for begin, end in sent.spans]
    document: dict[str, Any] = {
        "schema": "swtch/ai-attach/1",
        "trace": str(options.out),
        "pids": pids,
        "requests": len(sent.spans),
        "failed": sent.failed,
        "rate_per_s": options.rate if is_url else None,
        "latency_ns": latency(answered),
    }
    more = [] if options.spans is None else ["--spans", str(options.spans)]
    more += [] if options.log_format is None else ["--log-format", options.log_format]
    if options.json:
        document["why"] = json.loads(why.explain(options.out, options.slowest, *more, "--json"))
        print(json.dumps(document, indent=1))
    else:
        explained = why.explain(options.out, options.slowest, *more)
        print(_text(document, sent.first_failure) + explained, end="")
    return 0


def _recorded(options: argparse.Namespace, pids: Sequence[int], request: Request | None) -> Sent:
    with recorder(options.out, pids) as running:
        if request is not None:
            sent = run_load(request, options.rate, options.duration, options.callers)
        else:
            progress, until = Progress(), time.monotonic() + options.duration
            while (left := until - time.monotonic()) > 0 and os.path.exists(f"/proc/{pids[0]}"):
                progress.show(f"recording, {left:.0f} s left")
                time.sleep(min(left, 0.5))
            progress.clear()
            sent = Sent([], 0, None)
        running.stop()
    return sent


def _request(options: argparse.Namespace) -> Request:
    parts = urlsplit(options.server)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise WrongUsage(f"{options.server!r} is not a URL such as http://127.0.0.1:8000/predict")
    headers = dict(options.header)
    try:
        body = None if options.body is None else options.body.read_bytes()
    except OSError as error:
        raise WrongUsage(f"--body: {options.body} cannot be read ({error.strerror})") from None
    if body is not None:
        headers.setdefault("Content-Type", "application/json")
    return Request(options.server, body, headers)


def _listener(url: str) -> int:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    pid = listening_pid(port)
    if pid is None:
        raise WrongUsage(
            f"no process of this machine that can be seen listens at port {port}; give --pid, or run it as root"
        )
    return pid


def _number(text: str) -> int:
    if not text.isdigit():
        raise WrongUsage(f"{text!r} is neither a URL nor a PID; give http://HOST:PORT/PATH or a number")
    return int(text)


def _text(document: Mapping[str, Any], first_failure: str | None) -> str:
    found = document["latency_ns"]
    lines = []
    if found is not None:
        lines.append(
            f"{document['requests']} requests at {document['rate_per_s']:g} a second: p50 {duration(found['p50'])}, "
            f"p99 {duration(found['p99'])}, longest {duration(found['max'])}"
        )
    if document["failed"]:
        lines.append(f"{document['failed']} requests failed; the first: {first_failure}")
    return "".join(f"{line}\n" for line in lines)
