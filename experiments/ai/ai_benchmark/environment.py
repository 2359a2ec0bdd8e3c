"""The environment that AI Benchmark runs in: its own packages, in the cache directory, installed on demand."""

from __future__ import annotations

import json
import platform
import shutil
import subprocess
import sys
from pathlib import Path

from swtch._files import user_directory
from swtch.ai.errors import AiError

VERSION = "0.1.2"
"""Of AI Benchmark, the study's successor in kind: 42 tests in 19 sections."""
SIZE_GB = 1.7
"""What the environment takes on the disk, with TensorFlow for the CPU."""
_PACKAGES = (f"ai-benchmark=={VERSION}", "numpy==1.23.5", "setuptools<70", "protobuf<5")
_TENSORFLOW = "2.12.1"
_PYTHONS = ((3, 8), (3, 11))
"""TensorFlow 2.12 has wheels from the first to the last of these."""
_MARK = "installed.json"


def directory() -> Path:
    """Its place, whether or not it exists."""
    return user_directory("XDG_CACHE_HOME", ".cache") / f"ai-benchmark-{VERSION}"


def python(install: bool) -> Path:
    """Its interpreter. Raises `AiError` when it is not there and may not be installed, or cannot be."""
    place = directory()
    if not (place / _MARK).exists():
        if not install:
            raise AiError(
                f"AI Benchmark {VERSION} is not installed; add --install to download it with TensorFlow "
                f"{_TENSORFLOW} ({SIZE_GB} GB) into {place}"
            )
        _install(place)
    return place / "bin" / "python"


def tensorflow() -> str:
    """The package that brings TensorFlow: on x86-64 the one without CUDA, which is half the size."""
    name = (
        "tensorflow-cpu"
        if platform.machine() == "x86_64" and not Path("/dev/nvidiactl").exists()
        else "tensorflow"
    )
    return f"{name}=={_TENSORFLOW}"


def interpreter() -> str:
    """A Python that TensorFlow 2.12 has wheels for: this one, or one on PATH. Raises `AiError` when there is none."""
    if _PYTHONS[0] <= sys.version_info[:2] <= _PYTHONS[1]:
        return sys.executable
    for minor in range(_PYTHONS[1][1], _PYTHONS[0][1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found is not None:
            return found
    raise AiError(
        f"TensorFlow {_TENSORFLOW} needs Python 3.8 to 3.11, and PATH has none; install one in addition to this {platform.python_version()}"
    )


def _install(place: Path) -> None:
    free = shutil.disk_usage(_existing(place)).free
    if free < SIZE_GB * 1e9:
        raise AiError(
            f"{place} needs {SIZE_GB} GB and {free / 1e9:.1f} GB are free; set XDG_CACHE_HOME to a larger file system"
        )
    print(f"installing AI Benchmark {VERSION} and {tensorflow()} into {place}", file=sys.stderr)
    base = interpreter()
    _step([base, "-m", "venv", "--clear", str(place)], "make an environment")
    pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    _step([*pip, *_PACKAGES, tensorflow()], "download the packages")
    # Last, so that an installation that was cut off is begun again.
    (place / _MARK).write_text(json.dumps({"packages": [*_PACKAGES, tensorflow()], "python": base}))


def _step(command: list[str], what: str) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        last = next(
            (line for line in reversed(lines) if "ERROR" in line), lines[-1] if lines else "no reason given"
        )
        raise AiError(f"cannot {what}: {last}; is the package index reachable?")


def _existing(place: Path) -> Path:
    """The nearest existing directory above."""
    while not place.exists():
        place = place.parent
    return place
