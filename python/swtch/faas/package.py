"""`swtch faas package`: packages the handler for a platform. The same sources (and compiler) give the same bytes."""

from __future__ import annotations

import argparse
import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._errors import CommandError, WrongUsage
from .directories import LANGUAGES
from .own_package import own_source
from .platforms import ARCHITECTURES, PLATFORMS, Platform

_EXAMPLES = """\
examples:
  swtch faas package python --platform lambda -o handler.zip
  swtch faas package python --platform gcf -o handler.zip
  swtch faas package python --platform openfaas -o handler.tar.gz
  swtch faas package python --platform knative -o handler
  swtch faas package go --platform lambda --architecture arm64 -o handler.zip
  swtch faas package java --platform gcf -o handler
  swtch faas package node --handler dist/app:handler --platform gcf -o mine

A name that ends in .zip, .tar or .tar.gz makes an archive; any other name makes a directory. Exit status: 0 done, 1 failed, 2 wrong usage."""
_ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)


def add_to(commands: Any) -> None:
    """Adds the command to those of `swtch faas`."""
    parser = commands.add_parser(
        "package",
        help="package the handler for a platform",
        description="Write what is to be deployed: an archive or a build directory. The same sources give the same bytes.",
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
    add("--platform", choices=PLATFORMS, required=True, help="the platform to package for")
    add("-o", "--out", type=Path, required=True, metavar="FILE", help="the archive or directory to write")
    add(
        "--architecture",
        choices=ARCHITECTURES,
        help="CPU architecture to compile for (go for lambda only) [default: this machine's]",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Writes it; returns the exit status."""
    platform = Platform(
        options.language, options.platform, options.architecture, own_source(options.handler, options)
    )
    if options.architecture is not None and not platform.is_compiled_for_one:
        raise WrongUsage(
            f"--architecture is for handlers that are compiled for one machine; {options.language} for {options.platform} runs on any"
        )
    found = platform.files()
    if not is_archive(options.out):
        found |= platform.template()
    write(options.out, found)
    size = sum(map(len, found.values()))
    print(f"{options.out}: {len(found)} files, {size} bytes")
    print("To deploy it:")
    print("\n".join(f"  {line}" for line in platform.how_to_deploy(str(options.out))))
    return 0


def is_archive(out: Path) -> bool:
    """Whether that name makes an archive, and not a directory."""
    return out.name.endswith((".zip", ".tar", ".tar.gz", ".tgz"))


def write(out: Path, found: Mapping[str, bytes]) -> None:
    """Writes an archive or a directory. Raises `CommandError` when it cannot be written, or a directory has something in it."""
    try:
        if out.name.endswith(".zip"):
            out.write_bytes(zipped(found))
        elif out.name.endswith((".tar", ".tar.gz", ".tgz")):
            data = tarred(found)
            out.write_bytes(data if out.name.endswith(".tar") else gzip.compress(data, mtime=0))
        else:
            if out.exists() and (not out.is_dir() or any(out.iterdir())):
                raise CommandError(f"{out} exists and is not empty; remove it, or give another name")
            unpack(out, found)
    except OSError as error:
        raise CommandError(f"{out} cannot be written ({error.strerror})") from None


def unpack(directory: Path, found: Mapping[str, bytes]) -> None:
    """The files in a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in sorted(found.items()):
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(_mode(data))


def zipped(found: Mapping[str, bytes]) -> bytes:
    """A zip without the times, users and order of the machine that made it."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in sorted(found.items()):
            entry = zipfile.ZipInfo(name, _ZIP_EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # Unix, whatever made it.
            entry.create_system = 3
            entry.external_attr = (0o100000 | _mode(data)) << 16
            archive.writestr(entry, data)
    return memory.getvalue()


def tarred(found: Mapping[str, bytes]) -> bytes:
    """Likewise a tar."""
    memory = io.BytesIO()
    with tarfile.open(fileobj=memory, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(found.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(data), _mode(data)
            archive.addfile(entry, io.BytesIO(data))
    return memory.getvalue()


def _mode(data: bytes) -> int:
    return 0o755 if data[:2] == b"#!" or data[:4] == b"\x7fELF" else 0o644
