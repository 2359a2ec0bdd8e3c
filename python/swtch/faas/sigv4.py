"""AWS Signature Version 4 of a request, with what the environment says of the account.

Source: "Signing AWS requests with Signature Version 4" (AWS General Reference). The tests have the published test suite's vectors.
"""

from __future__ import annotations

import datetime
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from .._errors import WrongUsage

_ALGORITHM = "AWS4-HMAC-SHA256"
_FUNCTION_URL = re.compile(r"\.lambda-url\.([a-z0-9-]+)\.on\.aws$")


@dataclass(frozen=True)
class Account:
    """An account with its keys."""

    key_id: str
    """`AWS_ACCESS_KEY_ID`."""
    secret: str
    """`AWS_SECRET_ACCESS_KEY`."""
    token: str | None = None
    """`AWS_SESSION_TOKEN`, of credentials that expire."""
    region: str | None = None
    """`AWS_REGION` or `AWS_DEFAULT_REGION`, for addresses that do not name theirs."""

    def region_of(self, url: str) -> str:
        """Where a URL is. Raises `WrongUsage` when nothing says so.

        >>> Account("id", "secret").region_of("https://abc.lambda-url.eu-west-1.on.aws/")
        'eu-west-1'
        """
        found = _FUNCTION_URL.search(urlsplit(url).hostname or "")
        region = found[1] if found else self.region
        if not region:
            raise WrongUsage(f"{url} does not name its AWS region; set AWS_REGION")
        return region


def account(environment: Mapping[str, str]) -> Account:
    """The account of the usual environment variables. Raises `WrongUsage` without them."""
    key_id, secret = environment.get("AWS_ACCESS_KEY_ID"), environment.get("AWS_SECRET_ACCESS_KEY")
    if not key_id or not secret:
        raise WrongUsage(
            "--sigv4 needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; "
            "eval $(aws configure export-credentials --format env) sets them"
        )
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    return Account(key_id, secret, environment.get("AWS_SESSION_TOKEN"), region)


def signed(
    of: Account,
    service: str,
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    now: datetime.datetime,
) -> dict[str, str]:
    """The headers of a request and those that sign it.

    now: the time, in UTC.
    """
    parts, region = urlsplit(url), of.region_of(url)
    day, moment = now.strftime("%Y%m%d"), now.strftime("%Y%m%dT%H%M%SZ")
    found = {**headers, "X-Amz-Date": moment}
    if of.token:
        found["X-Amz-Security-Token"] = of.token
    told = {name.lower(): " ".join(value.split()) for name, value in found.items()} | {"host": parts.netloc}
    names = ";".join(sorted(told))
    request = "\n".join([
        method,
        # A path that is encoded already is encoded once more, as every service but S3 wants it.
        quote(parts.path or "/", safe="/~"),
        "&".join(sorted(pair if "=" in pair else f"{pair}=" for pair in parts.query.split("&") if pair)),
        *(f"{name}:{told[name]}" for name in sorted(told)),
        "",
        names,
        hashlib.sha256(body).hexdigest(),
    ])  # fmt: skip
    scope = f"{day}/{region}/{service}/aws4_request"
    key = f"AWS4{of.secret}".encode()
    for part in scope.split("/"):
        key = _hmac(key, part)
    to_sign = "\n".join([_ALGORITHM, moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    signature = _hmac(key, to_sign).hex()
    found["Authorization"] = (
        f"{_ALGORITHM} Credential={of.key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return found


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()
