"""The service that a cgroup belongs to, from its labels (`swtch_cgroup_info`) or its names in a Trace."""

from __future__ import annotations

import re
from collections.abc import Mapping

OTHER = "other"
"""Where the cgroups without series of their own are counted."""
# The letters that Kubernetes makes random parts of names from.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]"
_OF_DEPLOYMENT = re.compile(rf"^(.+)-{_RANDOM}{{6,10}}-{_RANDOM}{{5}}$")
_OF_STATEFUL_SET = re.compile(r"^(.+)-\d+$")
_OF_DAEMON_SET = re.compile(rf"^(.+)-{_RANDOM}{{5}}$")
_INSTANCE = re.compile(r"@.+(?=\.(?:service|scope|slice)$)")
_ID = re.compile(r"\b[0-9a-f]{12,64}\b")
_NUMBERED = re.compile(r"\d+(?=\.scope$)")


def service(labels: Mapping[str, str], cgroup: str) -> str:
    """Its name. All pods of a workload are one service, and so are all instances of a unit.

    >>> service({"namespace": "shop", "pod": "cart-7d4b9c6f5d-x2x9z", "container": "cart"}, "")
    'shop/cart'
    >>> service({"namespace": "shop", "pod": "db-0", "container": "backup"}, "")
    'shop/db/backup'
    >>> service({"name": "getty@tty1.service"}, ""), service({"name": "session-12.scope"}, ""), service({}, "/a/b")
    ('getty@.service', 'session-.scope', '/a/b')
    >>> service({"name": "docker 0123456789ab"}, "")
    'docker'
    """
    pod, namespace = labels.get("pod"), labels.get("namespace")
    if pod and namespace:
        work = workload(pod)
        container = labels.get("container")
        return f"{namespace}/{work}" + (f"/{container}" if container and container != work else "")
    name = labels.get("name") or cgroup
    name = _NUMBERED.sub("", _INSTANCE.sub("@", name))
    return _ID.sub("", name).strip() or cgroup


def workload(pod: str) -> str:
    """The Deployment, StatefulSet or DaemonSet that a pod's name says it is of.

    >>> workload("web-5d8f7c9b6d-k2l4m"), workload("db-12"), workload("agent-x7k2p"), workload("job")
    ('web', 'db', 'agent', 'job')
    """
    for pattern in (_OF_DEPLOYMENT, _OF_STATEFUL_SET, _OF_DAEMON_SET):
        found = pattern.match(pod)
        if found:
            return found[1]
    return pod


def tag(image: str) -> str:
    """The tag of an image, or the beginning of its digest.

    >>> tag("ghcr.io:443/shop/cart:1.4.2"), tag("cart@sha256:0123456789abcdef"), tag("cart")
    ('1.4.2', '0123456789ab', 'latest')
    """
    name, _, digest = image.partition("@sha256:")
    last = name.rpartition("/")[2]
    if ":" in last:
        return last.partition(":")[2]
    return digest[:12] if digest else "latest"
