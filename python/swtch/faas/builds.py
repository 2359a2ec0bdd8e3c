"""Builds and installations for a handler, once, in the cache directory.

Never beside the sources: those of an installed package may belong to another user. A directory of the cache is named by a digest of
everything that went into it. So what is found there is what would be made again. Two that make the same at once do not meet.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .._errors import CommandError
from .._files import user_directory
from .invoke import one_line

NEVER = frozenset({"__pycache__", "node_modules", ".pytest_cache", "target"})
"""Directories that do not hold sources."""
_NOT_COMPILED = ("deploy/", "core/src/test/")
"""Files of handlers that no compiler reads; what `deploy` says of compilers is in the recipe."""
_LIMIT_S = 900
_UNUSED_S = 7 * 86_400.0
"""Builds from other sources are deleted after this long."""
_SAYS_NOTHING = re.compile(
    r"#|go: downloading|warning|WARN|notice|deprecated|code |syscall |errno |path |command |"
    r"checking |compilation error|A complete log|Exit status|Lifecycle script|> |at |-> |$",
    re.IGNORECASE,
)
_SAYS_WHY = re.compile(
    r"\.java:\[|\berror\b|fatal|failed|cannot|could not|disabled|no such|denied|refused|timed out", re.I
)


@dataclass(frozen=True)
class Recipe:
    """How something is made in a directory of its own."""

    name: str
    """What its directory in the cache begins with."""
    doing: str
    """For people: `compiling the handler in Go`."""
    tools: tuple[str, ...]
    """Programs that have to be on PATH; the first makes it. With another version of them it is made again."""
    words: tuple[str, ...]
    """The command line without its program; `{built}` is the directory."""
    sources: Path
    """A directory, whose files count."""
    copied: bool = False
    """Whether it is made where copies of the sources are, and not in their directory."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What the command needs besides the environment of this process."""


def made(recipe: Recipe) -> Path:
    """The directory with what the recipe makes. Raises `CommandError` for what is not installed, and what cannot be made."""
    programs = [tool(name, recipe.doing) for name in recipe.tools]
    into = cache()
    directory = into / f"{recipe.name}-{_digest(recipe, programs)}"
    if directory.is_dir():
        # A build that is in use stays; another user's may be in use too.
        with contextlib.suppress(OSError):
            os.utime(directory)
        return directory
    print(f"swtch faas: {recipe.doing} with {recipe.tools[0]}, once, into {directory}", file=sys.stderr)
    try:
        into.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{recipe.name}-unfinished-", dir=into))
    except OSError as error:
        raise CommandError(
            f"{into} cannot be written ({error.strerror}); set XDG_CACHE_HOME to a directory that you can write to"
        ) from None
    try:
        _make(recipe, programs[0], unfinished, into / f"{recipe.name}.log")
        try:
            unfinished.rename(directory)
        except OSError as error:
            # If it exists now, another process built the same one first.
            if not directory.is_dir():
                raise CommandError(f"{directory} cannot be written ({error.strerror})") from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    _forget(into, recipe.name, directory)
    return directory


def said_by(
    words: Sequence[str], doing: str, environment: Mapping[str, str] | None = None, at: Path | None = None
) -> str:
    """The standard output of a tool. Raises `CommandError` with the line that says why it failed."""
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, errors="replace", timeout=_LIMIT_S, cwd=at, stdin=subprocess.DEVNULL,
            env={**os.environ, **(environment or {})},
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"{doing} failed: {one_line(str(error))}") from None
    if done.returncode != 0:
        why = reason(done.stderr) or f"{words[0]} ended with status {done.returncode}"
        raise CommandError(f"{doing} failed: {one_line(why)}")
    return done.stdout


def tool(name: str, doing: str) -> str:
    """A program on PATH. Raises `CommandError` where it is not."""
    found = shutil.which(name)
    if found is None:
        raise CommandError(f"{name} is not on PATH and {doing} needs it; install it")
    return found


def cache() -> Path:
    """The directory for it, which may not be there yet."""
    return user_directory("XDG_CACHE_HOME", ".cache") / "functions"


def source_files(top: Path) -> list[tuple[str, Path]]:
    """The files of a directory by their places in it, in order, without what is made of them and their tests."""
    found = []
    for path in sorted(top.rglob("*")):
        name = path.relative_to(top)
        made_or_test = path.suffix == ".pyc" or name.name.endswith("_test.go")
        if path.is_file() and not NEVER & set(name.parts) and not made_or_test:
            found.append((name.as_posix(), path))
    return found


def _make(recipe: Recipe, program: str, directory: Path, log: Path) -> None:
    """Runs the command; where it fails, all that it said is in a file."""
    words = [program, *(word.replace("{built}", str(directory)) for word in recipe.words)]
    try:
        if recipe.copied:
            for name, path in source_files(recipe.sources):
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, directory / name)
        done = subprocess.run(
            words,
            cwd=directory if recipe.copied else recipe.sources,
            env={**os.environ, **recipe.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=_LIMIT_S,
        )
        if done.returncode != 0:
            log.write_text(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CommandError(f"{recipe.doing} failed: {one_line(str(error))}") from None
    if done.returncode != 0:
        why = reason(done.stdout) or f"{recipe.tools[0]} ended with status {done.returncode}"
        raise CommandError(f"{recipe.doing} failed: {one_line(why)}; its whole output is in {log}")


def reason(said: str) -> str:
    """The line of a tool's words that says best why it failed.

    >>> reason("npm ERR! code 1\\nnpm ERR! Error: cmake is not installed.\\nnpm ERR! A complete log of this run")
    'Error: cmake is not installed.'
    """
    plain = re.sub(r"\x1b\[[\d;]*m", "", said)
    lines = (re.sub(r"^(\[\w+\]|npm (ERR!|error))\s*", "", line.strip()) for line in plain.splitlines())
    useful = [line for line in lines if not _SAYS_NOTHING.match(line)]
    return next((line for line in useful if _SAYS_WHY.search(line)), useful[-1] if useful else "")


def _digest(recipe: Recipe, programs: Iterable[str]) -> str:
    found = hashlib.sha256(repr((recipe.words, sorted(recipe.environment.items()))).encode())
    for program in programs:
        state = os.stat(program)
        found.update(repr((os.path.realpath(program), state.st_size, state.st_mtime_ns)).encode())
    for name, path in source_files(recipe.sources):
        if name.startswith(_NOT_COMPILED) or name.endswith(".md"):
            continue
        try:
            data = path.read_bytes()
        except OSError as error:
            raise CommandError(f"{path} cannot be read ({error.strerror})") from None
        found.update(f"{name}\0{len(data)}\0".encode() + data)
    return found.hexdigest()[:16]


def _forget(into: Path, name: str, but: Path) -> None:
    """Removes what was made of other sources and not used for long."""
    for directory in into.glob(f"{name}-*"):
        if directory != but and re.fullmatch(
            r"(unfinished-.*|[0-9a-f]{16})", directory.name[len(name) + 1 :]
        ):
            try:
                unused_s = time.time() - directory.stat().st_mtime
            except OSError:
                continue
            if unused_s > _UNUSED_S:
                shutil.rmtree(directory, ignore_errors=True)
