"""The platforms' own tools look at the lines that `swtch faas package` prints, without an account.

    python experiments/serverless/deploy_lint.py [--aws DIR]

--aws: a directory with `sam` and `aws` (`pip install aws-sam-cli awscli`). Templates go through `sam validate --lint`. Lines are run by
`aws`, which checks their arguments, against a server of this script that answers everything with nothing. gcloud, docker, kubectl,
func and faas-cli are in no registry of packages; their lines are only checked as shell, and each func.yaml by a test in Python. Exit status 0: nothing was found.
"""

from __future__ import annotations

import argparse
import http.server
import os
import re
import shlex
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from swtch.faas.directories import LANGUAGES
from swtch.faas.package import zipped
from swtch.faas.platforms import PLATFORMS, Platform

OUTS = {"lambda": ("handler", "handler.zip", "handler.tar.gz"), "gcf": ("handler", "a handler.zip")}
FOUND: list[str] = []


def main() -> int:
    """Looks at all of them."""
    options = argparse.ArgumentParser(allow_abbrev=False)
    options.add_argument("--aws", type=Path)
    given = options.parse_args()
    counts: dict[str, int] = {}
    account, seen = _account(), set[str]()
    with tempfile.TemporaryDirectory() as at:
        (Path(at) / "handler.zip").write_bytes(zipped({"x": b"x"}))
        for language in LANGUAGES:
            for name in PLATFORMS:
                platform = Platform(language, name)
                for out in OUTS.get(name, ("handler", "handler.tar.gz")):
                    for line in platform.how_to_deploy(out):
                        _count(counts, "sh -n", _ran(["sh", "-n", "-c", line], line))
                        if given.aws is not None and line not in seen and (words := _aws(line)):
                            seen.add(line)
                            command = [str(given.aws / "aws"), "--endpoint-url", account, *words]
                            _count(counts, "aws", _ran(command, line, Path(at)))
                if name == "lambda" and given.aws is not None:
                    path = Path(at) / f"{language}.yaml"
                    path.write_bytes(platform.template()["template.yaml"])
                    _count(counts, "sam validate --lint", _ran([str(given.aws / "sam"), "validate", "--lint", "-t", str(path)], f"{language}'s template"))  # fmt: skip
    for what, count in counts.items():
        print(f"{what}: {count}")
    print("\n".join(FOUND) or "nothing was found")
    return 1 if FOUND else 0


def _count(counts: dict[str, int], what: str, done: bool) -> None:
    counts[what] = counts.get(what, 0) + done


def _ran(command: list[str], what: str, directory: Path | None = None) -> bool:
    environment = {
        **os.environ,
        "AWS_DEFAULT_REGION": "us-east-1",
        "SAM_CLI_TELEMETRY": "0",
        "REGISTRY": "docker.io/you",
        "AWS_ACCESS_KEY_ID": "made",
        "AWS_SECRET_ACCESS_KEY": "up",
    }
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=directory, check=False
    )
    if done.returncode:
        FOUND.append(f"{what}: {' '.join((done.stderr or done.stdout).split())[:400]}")
    return True


def _aws(line: str) -> list[str]:
    """The words of a line for `aws`, with what other commands print made up; nothing of a line that waits, or is for another program."""
    words = shlex.split(re.sub(r'"\$\(.*?\)"', "arn:aws:iam::123456789012:role/swtch", line))
    return words[1:] if words[0] == "aws" and words[2] != "wait" else []


def _account() -> str:
    """The address of a server that takes every request: of IAM in XML, of Lambda in JSON."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = b"{}" if self.path.startswith("/20") else b"<Done><CreateRoleResult/></Done>"
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}"


if __name__ == "__main__":
    sys.exit(main())
