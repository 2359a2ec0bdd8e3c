"""The proxy that the environment names: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`, in either case."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass_environment  # type: ignore[attr-defined]

from .._errors import WrongUsage

_USUAL_PORT = 80


@dataclass(frozen=True)
class Proxy:
    """A proxy, over HTTP."""

    host: str
    port: int
    variable: str
    """Which variable names it."""
    headers: dict[str, str] = field(default_factory=dict)
    """The user of the proxy, where its URL has one."""

    @property
    def shown(self) -> str:
        """Without a password."""
        return f"{self.host}:{self.port}"


def proxy_of(parts: SplitResult) -> Proxy | None:
    """Of a URL. Raises `WrongUsage` for a proxy that cannot be used."""
    proxies = getproxies_environment()
    found = proxies.get(parts.scheme) or proxies.get("all")
    if not found or proxy_bypass_environment(parts.netloc.rpartition("@")[2], proxies):
        return None
    variable = f"{parts.scheme.upper()}_PROXY" if proxies.get(parts.scheme) else "ALL_PROXY"
    of = urlsplit(found if "//" in found else f"http://{found}")
    try:
        fine = of.scheme == "http" and bool(of.hostname)
        port = of.port or _USUAL_PORT
    except ValueError:
        fine, port = False, 0
    if not fine:
        # It may have a password, and is not shown.
        raise WrongUsage(
            f"{variable} is not a proxy that is spoken to over HTTP, such as http://proxy.example.com:3128"
        )
    headers = {}
    if of.username:
        user = f"{unquote(of.username)}:{unquote(of.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {base64.b64encode(user.encode()).decode()}"
    return Proxy(str(of.hostname), port, variable, headers)
