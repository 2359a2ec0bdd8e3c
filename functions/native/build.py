"""Builds the helper's wheels: one for each libc and architecture that functions run on.

    python functions/native/build.py --out target/functions/wheels

It needs `pip install -r functions/native/requirements.txt`. A shared library and no extension module: one wheel does for every Python.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAME, VERSION = "swtch_native", "0.1.0"
LIBRARY = "libswtch_pipe.so"
MADE = (2026, 1, 1, 0, 0, 0)
"""In the archive: the same source gives the same bytes."""


@dataclass(frozen=True)
class Target:
    """Where a wheel is for."""

    compiler: str
    """As `zig cc -target` has it; with the oldest glibc."""
    tag: str
    """As pip has it."""


TARGETS = (
    Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    Target("x86_64-linux-musl", "musllinux_1_1_x86_64"),
    Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    Target("aarch64-linux-musl", "musllinux_1_1_aarch64"),
)


def build(target: Target, out: Path) -> Path:
    """The wheel's path; `CalledProcessError` when the compiler refuses."""
    with tempfile.TemporaryDirectory() as directory:
        library = Path(directory) / LIBRARY
        # Without a cache of its own the compiler fills the home directory.
        caches = {name: str(out / ".zig") for name in ("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR")}
        options = ["-O2", "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden"]
        subprocess.run(
            [sys.executable, "-m", "ziglang", "cc", "-target", target.compiler, *options]
            + [
                "-shared",
                "-fPIC",
                "-pthread",
                "-s",
                "-Wl,-soname," + LIBRARY,
                "-o",
                str(library),
                str(HERE / "pipe.c"),
            ],
            check=True,
            env={**os.environ, **caches},
        )
        return _wheel(target, library.read_bytes(), out)


def _wheel(target: Target, library: bytes, out: Path) -> Path:
    info = f"{NAME}-{VERSION}.dist-info"
    tags = "".join(f"Tag: py3-none-{tag}\n" for tag in target.tag.split("."))
    files = {
        f"{NAME}/__init__.py": (HERE / NAME / "__init__.py").read_bytes(),
        f"{NAME}/{LIBRARY}": library,
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {NAME.replace('_', '-')}\nVersion: {VERSION}\n"
            "Summary: Pipe ping-pong in C, for swtch's Python function\nLicense: MIT OR Apache-2.0\nRequires-Python: >=3.9\n"
        ).encode(),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: swtch\nRoot-Is-Purelib: false\n{tags}".encode(),
    }
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    path = out / f"{NAME}-{VERSION}-py3-none-{target.tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, MADE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return path


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main() -> None:
    """Builds all, or those whose tag has a word in it."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="the directory for the wheels")
    parser.add_argument("--only", default="", help="a part of the tag, such as musl")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for target in TARGETS:
        if options.only in target.tag:
            print(build(target, options.out.resolve()))


if __name__ == "__main__":
    main()
