"""`swtch faas serve`: the handler behind a platform's own framework on loopback, under the limits of a tier.

It serves what `swtch faas package` writes. For Lambda, the Runtime API and a front that takes HTTP are here; for the others, the
framework's own server listens.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from .. import _cgroup as cgroup
from .._errors import CommandError
from . import frameworks, scope
from .directories import LANGUAGES
from .languages import Command
from .measure import add_tier, chosen_tier
from .own_package import own_source
from .package import unpack
from .platforms import PLATFORMS, Platform
from .runner import NO_GROUP, PROGRAM, said_of
from .runtime_api import RuntimeApi
from .server import START_LIMIT_S, end_with_parent
from .tier_sets import Tier

_LIMIT_S = 900.0
"""Of an invocation, as Lambda has it."""
_LOOK_S = 0.05
_STDERR = 2
_EXAMPLES = """\
examples:
  swtch faas serve python --platform lambda --memory 128
  swtch faas serve python --platform gcf --memory 512 --port 8080
  swtch faas serve node --platform knative
  swtch faas serve go --platform openfaas --memory 128
  swtch faas serve java --platform lambda --memory 512
  swtch faas serve node --handler dist/app:handler --platform gcf --memory 512
  curl -d '{"work_ms": 100}' http://127.0.0.1:8080/

Ctrl-C ends it. A Python framework must already be installed. `--python` names the interpreter that has it, since one environment
cannot hold them all. Node.js frameworks are installed with npm; Go and Java are compiled with go and mvn. Both happen once, in
the cache directory. Exit status: 0 ended by Ctrl-C, 1 failed, 2 wrong usage."""


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "serve",
        help="serve the handler through a platform's framework, on loopback, under a tier",
        description="Start the handler through a platform's adapter on 127.0.0.1, under the limits of a memory tier.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("language", choices=LANGUAGES, help="the handler's language")
    add(
        "--handler",
        metavar="HANDLER",
        help="your own function in that language, as of swtch faas tiers, in place of the project's handler",
    )
    add("--platform", choices=PLATFORMS, required=True, help="the platform whose framework calls it")
    add_tier(parser)
    add("--port", type=_port, default=0, metavar="N", help="port to listen on [default: any free port]")
    add(
        "--python",
        default=sys.executable,
        metavar="PROGRAM",
        help="the Python interpreter that has the framework [default: this one]",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Serves until Ctrl-C; returns the exit status."""
    platform = Platform(options.language, options.platform, source=own_source(options.handler, options))
    own = "cloud-run" if options.platform == "gcf" else "lambda"
    tier, limits = chosen_tier(options.memory, options.tiers or own)
    if tier is not None:
        scope.enter(options.words[2:])
    _free_port(options.port)
    # It is started in another directory. Never resolved: that would leave its environment.
    python = os.path.abspath(options.python) if os.sep in options.python else options.python
    # Slow preparations, and those that can fail, come before limits are set; the port is taken last.
    values = frameworks.ready(platform, python)
    files = platform.files()
    platform.prepare()
    port = _free_port(options.port)
    values["port"] = str(port)
    if tier is not None:
        values["memory_mb"] = str(tier.memory_mb)
    served = platform.command(values)
    cgroup.remove_stale(PROGRAM, kill=True)
    with contextlib.ExitStack() as stack:
        # At the very end.
        stack.callback(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT) or signal.SIG_DFL)
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="swtch-faas-")))
        unpack(directory, files)
        group = stack.enter_context(cgroup.group(PROGRAM, f"serve-{options.platform}", limits))
        if group.directory is None and tier is not None:
            raise CommandError(NO_GROUP.format(tier=tier.name, why=group.why))
        api = None
        if options.platform == "lambda":
            api = _api(port)
            stack.callback(api.close)
        command = _with_environment(*served, tier, api, directory)
        process = _started(command, group, directory)
        stack.callback(_end, process, group)
        url = api.url if api is not None else f"http://127.0.0.1:{port}/"
        _wait(process, api, port, group)
        under = "" if tier is None else f" under {tier.name}"
        print(f"{options.language} for {options.platform}{under}: {url}", flush=True)
        try:
            while process.poll() is None and (api is None or api.broken is None):
                time.sleep(_LOOK_S)
        except KeyboardInterrupt:
            # Another Ctrl-C would interrupt the removing of the cgroup.
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return 0
        raise CommandError(_why(process, api, group))


def _api(port: int) -> RuntimeApi:
    try:
        return RuntimeApi(_LIMIT_S, port)
    except OSError as error:
        raise _taken(port, error) from None


def _with_environment(
    words: list[str], environment: dict[str, str], tier: Tier | None, api: RuntimeApi | None, directory: Path
) -> Command:
    """The command with its environment: the tier and, for Lambda, where events come from."""
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(directory), os.environ.get("PYTHONPATH")]))
    environment |= said_of(tier)
    if api is not None:
        environment |= {
            "AWS_LAMBDA_RUNTIME_API": api.api,
            "AWS_LAMBDA_FUNCTION_NAME": "swtch",
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_REGION": "local",
            "LAMBDA_TASK_ROOT": str(directory),
        }
        if tier is not None:
            environment["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = str(tier.memory_mb)
    return Command(tuple(words), environment)


def _started(command: Command, group: cgroup.Group, directory: Path) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            group.into(command.words),
            stdin=subprocess.DEVNULL,
            # Frameworks print too, and a line of theirs could end in the middle of ours.
            stdout=_STDERR,
            env={**os.environ, **command.environment},
            cwd=directory,
            start_new_session=True,
            preexec_fn=end_with_parent,
        )
    except OSError as error:
        raise CommandError(f"{command.words[0]} cannot be run: {error.strerror}") from None


def _wait(process: subprocess.Popen[bytes], api: RuntimeApi | None, port: int, group: cgroup.Group) -> None:
    """Until it takes invocations. Raises `CommandError` when it ends instead."""
    deadline = time.monotonic() + START_LIMIT_S
    while time.monotonic() < deadline:
        if process.poll() is not None or (api is not None and api.broken is not None):
            raise CommandError(_why(process, api, group))
        if api.polled if api is not None else _listens(port):
            return
        time.sleep(_LOOK_S)
    raise CommandError(f"the function was not ready within {START_LIMIT_S:g} s")


def _listens(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.connect()
        return True
    except OSError:
        return False
    finally:
        connection.close()


def _why(process: subprocess.Popen[bytes], api: RuntimeApi | None, group: cgroup.Group) -> str:
    if api is not None and api.broken is not None:
        return f"the function could not be initialised: {api.broken}"
    if group.counters().oom_kills:
        return "the function was killed by the kernel at the memory limit of its tier"
    return f"the function ended with status {process.poll()}; its own output is above"


def _end(process: subprocess.Popen[bytes], group: cgroup.Group) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, 9)
    group.kill()
    process.wait()


def _free_port(wanted: int) -> int:
    """That port, or any when 0. Raises `CommandError` where another program listens: it would be taken for the function."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", wanted))
        except OSError as error:
            raise _taken(wanted, error) from None
        return int(one.getsockname()[1])


def _taken(port: int, error: OSError) -> CommandError:
    return CommandError(f"nothing can listen on port {port} ({error.strerror}); give another --port")


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 <= int(text[:9]) < 65536 and len(text) < 6):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)
