"""A container image as a function: started by a tool without a daemon, so that it is in the cgroup of its tier."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path

from .._errors import CommandError
from .builds import said_by
from .languages import Command

_TOOLS = ("podman", "buildah")
_PREFIX = "swtch-faas-"


def container(image: str) -> Command:
    """What starts the image's program, which answers HTTP at the port of the environment variable `PORT`. Raises `CommandError`."""
    found = next((name for name in _TOOLS if shutil.which(name)), None)
    if found is None:
        raise CommandError(
            f"neither {' nor '.join(_TOOLS)} is on PATH and --image needs one of them (docker's daemon starts containers outside of "
            "the tier's cgroup); install podman, or give the program itself as --command"
        )
    if found == "podman":
        # No cgroup of its own: it stays in the tier's.
        return Command(
            ("podman", "run", "--rm", "--network=host", "--cgroups=disabled", "--env", "PORT", image)
        )
    return _by_buildah(image)


def _by_buildah(image: str) -> Command:
    """A working container that all tiers share: what one writes into its files, the others see."""
    doing = f"preparing the image {image}"
    _remove_stale()
    name = f"{_PREFIX}{os.getpid()}-{zlib.crc32(image.encode())}"
    said_by(["buildah", "from", "--name", name, image], doing)
    # What is killed before that leaves it to the next run.
    atexit.register(subprocess.run, ("buildah", "rm", name), capture_output=True)
    config = json.loads(said_by(["buildah", "inspect", name], doing))["OCIv1"].get("config") or {}
    words = [*(config.get("Entrypoint") or ()), *(config.get("Cmd") or ())]
    if not words:
        raise CommandError(f"the image {image} names no program to start (ENTRYPOINT or CMD)")
    start = 'exec buildah run --isolation chroot --network host --env PORT="$PORT" "$@"'
    return Command(("/bin/sh", "-c", start, "sh", name, "--", *words))


def _remove_stale() -> None:
    """Removes containers of runs that were killed."""
    with contextlib.suppress(CommandError):
        names = said_by(["buildah", "containers", "--format", "{{.ContainerName}}"], "listing containers")
        for name in names.split():
            pid = name.removeprefix(_PREFIX).split("-")[0]
            if name.startswith(_PREFIX) and pid.isdigit() and not Path(f"/proc/{pid}").exists():
                subprocess.run(["buildah", "rm", name], capture_output=True)
