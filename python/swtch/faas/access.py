"""What deployed functions want besides an event: headers, tokens that expire, signatures. Also retries, which are counted."""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import os
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .._errors import CommandError, WrongUsage
from .._options import header
from . import sigv4
from .invoke import Reply, invoke, one_line

RETRIES = 2
_SERVICE = "lambda"
_EARLY_S = 60.0
"""A token is fetched again when it has less than this left."""
_TOKEN_S = 60.0
_WAIT_S = 0.5
_AGAIN = (429, 503)
"""Nothing was done by the function where these are the platform's answers: it may be asked again."""
_DENIED = (401, 403)
_SECRET = ("--header", "--bearer-from")


class Denied(CommandError):
    """A function, or a proxy, that refuses for want of rights: every other invocation would fail too."""


@dataclass
class Bearer:
    """A token that a command prints. It is fetched when it is first needed, and again before it expires."""

    command: str
    """For the shell: `gcloud auth print-identity-token`."""
    token: str | None = None
    """The last one."""
    expires_s: float | None = None
    """When it expires, by `time.time`; `None` when it does not say."""

    def current(self) -> str:
        """A token that has not expired. Raises `CommandError` when the command fails."""
        if self.token is None or (self.expires_s is not None and time.time() > self.expires_s - _EARLY_S):
            self.fetch()
        assert self.token is not None
        return self.token

    def fetch(self) -> None:
        """Runs the command."""
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", self.command], capture_output=True, text=True, timeout=_TOKEN_S, check=False
            )
        except subprocess.TimeoutExpired:
            raise CommandError(
                f"--bearer-from: {self.command!r} printed no token within {_TOKEN_S:g} s"
            ) from None
        token = done.stdout.strip()
        if done.returncode or not token:
            lines = done.stderr.strip().splitlines()
            how = f"ended with status {done.returncode}" if done.returncode else "printed nothing"
            raise CommandError(
                one_line(f"--bearer-from: {self.command!r} {how}{': ' + lines[-1] if lines else ''}")
            )
        if len(token.split()) > 1:
            raise CommandError(f"--bearer-from: {self.command!r} printed more than a token")
        self.token, self.expires_s = token, expiry(token)


def expiry(token: str) -> float | None:
    """When a JSON Web Token expires (`exp`, RFC 7519); `None` of any other token."""
    parts = token.split(".")
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
        return float(claims["exp"])
    except (IndexError, ValueError, KeyError, TypeError):
        return None


@dataclass
class Access:
    """How deployed functions are invoked."""

    headers: dict[str, str] = field(default_factory=dict)
    """With each request."""
    bearer: Bearer | None = None
    """Its token is in `Authorization`."""
    account: sigv4.Account | None = None
    """The account that signs."""
    service: str = _SERVICE
    """What is signed for."""
    retries: int = RETRIES
    """How often a request is repeated that was not taken."""

    def invoke(
        self,
        url: str,
        body: bytes,
        limit_s: float,
        retries: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Reply:
        """Invokes a function; every failure is an outcome, with the number of retries before it. Raises `Denied`."""
        most = self.retries if retries is None else retries
        renewed = False
        tried = 0
        whys: list[str] = []
        while True:
            reply = invoke(url, body, limit_s, self._headers(url, body))
            if reply.status == 401 and self.bearer is not None and not renewed:
                # It may have been taken back before its time.
                self.bearer.fetch()
                renewed = True
            elif _was_not_taken(reply) and tried < most:
                tried += 1
                sleep(_WAIT_S * 2 ** (tried - 1))
            else:
                break
            whys.append(str(reply.why))
        if reply.status in _DENIED or reply.proxy_refused:
            raise Denied(f"{url}: {reply.why}{self._advice(reply)}")
        return replace(reply, retries=len(whys), retried_why=whys[-1] if whys else None)

    def _headers(self, url: str, body: bytes) -> dict[str, str]:
        found = {"Content-Type": "application/json", **self.headers}
        if self.bearer is not None:
            found["Authorization"] = f"Bearer {self.bearer.current()}"
        if self.account is not None:
            now = datetime.datetime.now(datetime.timezone.utc)
            found = sigv4.signed(self.account, self.service, "POST", url, found, body, now)
        return found

    def _advice(self, reply: Reply) -> str:
        if reply.proxy_refused:
            return ""
        if self.bearer is not None and reply.status == 401:
            return f"; the token that {self.bearer.command!r} prints is not accepted, a new one neither"
        if self.account is not None:
            return "; the signature is not accepted: have the credentials expired, and may they invoke it?"
        if self.bearer is None and not self.headers:
            return "; it needs authorization: give --bearer-from COMMAND, --sigv4 or --header"
        return "; may this account invoke it?"


def _was_not_taken(reply: Reply) -> bool:
    unreached = not reply.reached and not reply.proxy_refused and reply.outcome != "timeout"
    return reply.status in _AGAIN or unreached


def add_to(group: Any) -> None:
    """Adds the options."""
    add = group.add_argument
    add(
        "--header",
        type=header,
        action="append",
        metavar="'NAME: VALUE'",
        help="a header of each request; give it several times for several",
    )
    add(
        "--bearer-from",
        metavar="COMMAND",
        help="send the token that this command prints; it is fetched again when it expires",
    )
    add(
        "--sigv4",
        nargs="?",
        const=_SERVICE,
        metavar="SERVICE",
        help=f"sign requests with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN [default: for {_SERVICE}]",
    )
    add(
        "--retries",
        type=_retries,
        default=RETRIES,
        metavar="N",
        help=f"repeat a request that was not taken: 429, 503 or no connection; they are counted [default: {RETRIES}]",
    )


def of_options(options: argparse.Namespace) -> Access:
    """What was asked for. Raises `WrongUsage` where two exclude each other."""
    headers = dict(options.header or ())
    ways = [
        name
        for name, given in (
            ("--bearer-from", options.bearer_from),
            ("--sigv4", options.sigv4),
            ("--header Authorization", any(name.lower() == "authorization" for name in headers)),
        )
        if given
    ]
    if len(ways) > 1:
        raise WrongUsage(f"{ways[0]} and {ways[1]} exclude each other; give one of them")
    return Access(
        headers,
        Bearer(options.bearer_from) if options.bearer_from else None,
        sigv4.account(os.environ) if options.sigv4 else None,
        options.sigv4 or _SERVICE,
        options.retries,
    )


def given(options: argparse.Namespace) -> str | None:
    """The first of these options that was given; `None` without any."""
    names = [name for name in ("header", "bearer_from", "sigv4") if getattr(options, name)]
    return f"--{names[0].replace('_', '-')}" if names else None


def without_secrets(words: Sequence[str]) -> list[str]:
    """A command line as documents have it: without headers and commands that print tokens.

    >>> without_secrets(["tiers", "--header", "X-Key: secret", "--bearer-from=print secret", "--runs", "3"])
    ['tiers', '--header', '...', '--bearer-from=...', '--runs', '3']
    """
    found: list[str] = []
    for word in words:
        name, is_one, _ = word.partition("=")
        if found and found[-1] in _SECRET:
            found.append("...")
        else:
            found.append(f"{name}=..." if is_one and name in _SECRET else word)
    return found


def _retries(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 3):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of retries, 0 to 99")
    return int(text)
