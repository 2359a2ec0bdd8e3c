"""`swtch-sweep-store`: a sweep in an object store (`s3://`, `gs://`, `az://`). `swtch sweep` starts it for a directory with such a name.

The store has the names of the directory of a sweep: `manifest.json`, `inputs/`, `claims/`, `parts/`. A worker makes shards in a directory
of its own, by the program swtch. What many processes must agree on is agreed on in the store: a claim is an object that is only put where there is
none (put-if-absent), its holder puts it anew as a sign of life, and a part is put whole. Nothing else is asked of the store.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._command import Parser, run
from ._errors import CommandError, WrongUsage

MANIFEST = "manifest.json"
DIRECTORIES = ("inputs", "claims", "parts")
DIED = ".died"
SUFFIX = ".parquet"
LOOK_EVERY_S = 5.0
"""At most this long, what is known of the store is taken to be so: a claim is tried where it is not."""
BEATS = 4
"""Signs of life within a lease."""
TIMEOUT_S = 30
"""For one request; the library tries again after a failure."""
RETRIES = 5


class Store:
    """Objects by name below the address of a sweep."""

    def __init__(self, url: str) -> None:
        """Raises `CommandError` for an address that is none."""
        try:
            import obstore
            from obstore.store import from_url
        except ImportError as error:
            raise CommandError(f"cannot import {error.name}: pip install 'swtch[store]'") from None
        self.url = url.rstrip("/")
        """Without a slash at its end."""
        self._library: Any = obstore
        # The user's own server is often reached without TLS; where its address says so, that is wanted.
        plain = os.environ.get("AWS_ENDPOINT_URL", os.environ.get("AWS_ENDPOINT", "")).startswith("http://")
        client: Any = {"timeout": f"{TIMEOUT_S}s", **({"allow_http": True} if plain else {})}
        retries: Any = {"max_retries": RETRIES}
        try:
            self._store = from_url(self.url, client_options=client, retry_config=retries)
        except Exception as error:
            if "Missing" in str(error):
                raise CommandError(
                    f"cannot open {url}: {_first(error)}; credentials come from the environment, such as AWS_ACCESS_KEY_ID, "
                    "AWS_SECRET_ACCESS_KEY and AWS_REGION"
                ) from None
            raise WrongUsage(f"{url} is not the address of an object store: {_first(error)}") from None

    def create(self, name: str, data: bytes) -> bool:
        """Puts an object where there is none; false where there is one."""
        with self._reporting("write", name):
            try:
                self._library.put(self._store, name, data, mode="create")
            except self._library.exceptions.AlreadyExistsError:
                return False
        return True

    def replace(self, name: str, data: bytes) -> None:
        """Puts an object, whatever is there."""
        with self._reporting("write", name):
            self._library.put(self._store, name, data)

    def read(self, name: str) -> bytes | None:
        """An object; `None` where there is none."""
        with self._reporting("read", name):
            try:
                return bytes(self._library.get(self._store, name).bytes())
            except FileNotFoundError as error:
                if "NoSuchBucket" in str(error):
                    raise CommandError(f"cannot read {self.url}: there is no such bucket") from None
                return None

    def remove(self, name: str) -> None:
        """Removes an object; without effect where there is none."""
        with self._reporting("remove", name), suppress(FileNotFoundError):
            self._library.delete(self._store, name)

    def names(self, directory: str, after: str | None = None, until: str = "") -> dict[str, str]:
        """The objects of a directory, by name: what changes when one is put anew. after and until: only the names that sort between these."""
        found: dict[str, str] = {}
        with self._reporting("list", directory):
            offset = None if after is None else f"{directory}/{after}"
            for batch in self._library.list(self._store, directory, offset=offset):
                for one in batch:
                    name = one["path"].removeprefix(f"{directory}/")
                    if until and name > until:
                        return found
                    found[name] = f"{one['last_modified']} {one['e_tag']}"
        return found

    @contextmanager
    def _reporting(self, doing: str, name: str) -> Iterator[None]:
        try:
            yield
        except CommandError:
            raise
        except (self._library.exceptions.BaseError, OSError) as error:
            kept = "; finished shards are kept" if doing == "write" else ""
            raise CommandError(f"cannot {doing} {self.url}/{name}: {_first(error)}{kept}") from None


@dataclass(frozen=True)
class Shard:
    """Runs that one worker takes at once."""

    number: int
    first: int
    last: int

    @property
    def name(self) -> str:
        """As claims and parts have it."""
        return f"{self.first:09}-{self.last:09}"


@dataclass
class Known:
    """What the store was last seen to have."""

    done: set[int] = field(default_factory=set)
    """Shards."""
    runs: int = 0
    """Runs of all parts, each counted once."""
    latest: dict[int, int] = field(default_factory=dict)
    """The last attempt on a shard that left a trace."""
    held: dict[int, str] = field(default_factory=dict)
    """Shards that are claimed, with what changes at a sign of life."""
    looked: float = float("-inf")


class Agent:
    """The workers of this machine: they share what is known of the store."""

    def __init__(self, store: Store, program: str, home: Path, stop: threading.Event) -> None:
        self.store, self.program, self.home, self.stop = store, program, home, stop
        manifest = pull(store, home)
        self.shards = [Shard(at, one["first"], one["last"]) for at, one in enumerate(manifest["shards"])]
        self.by_range = {shard.name: shard.number for shard in self.shards}
        self.lease_s = float(manifest["lease_s"])
        self.worked = {"runs": 0, "failed": 0, "deaths": 0}
        self.failure: CommandError | None = None
        self._known = Known()
        self._own: dict[int, str] = {}
        self._seen: dict[tuple[int, int], tuple[str, float]] = {}
        self._taking = threading.Lock()
        """For what is known of the store, and held while it is asked."""
        self._lock = threading.Lock()
        """For what this process has claimed and made. Never held while the store is asked, so that no slow answer delays a sign of life."""
        self._owner = {"host": socket.gethostname(), "pid": os.getpid(), "began": time.time_ns()}

    def work(self, jobs: int, only: Sequence[int] | None) -> None:
        """Makes shards until none is left, or it is asked to end. Raises `CommandError`."""
        wanted = [shard for shard in self.shards if only is None or shard.number in only]
        threads = [threading.Thread(target=self._slot, args=(wanted,)) for _ in range(jobs)]
        ended = threading.Event()
        heart = threading.Thread(target=self._beat, args=(ended,), daemon=True)
        for thread in (heart, *threads):
            thread.start()
        for thread in threads:
            thread.join()
        ended.set()
        if self.failure is not None:
            raise self.failure

    def _slot(self, wanted: Sequence[Shard]) -> None:
        """One worker after the other."""
        start = random.randrange(max(1, len(wanted)))
        order = [*wanted[start:], *wanted[:start]]
        try:
            while not self.stop.is_set():
                shard, is_left = self._take(order)
                if shard is not None:
                    self._make(shard)
                elif is_left:
                    self.stop.wait(min(1.0, self.lease_s / 10))
                else:
                    return
        except CommandError as error:
            with self._lock:
                self.failure = self.failure or error
            self.stop.set()

    def _take(self, order: Sequence[Shard]) -> tuple[Shard | None, bool]:
        """A shard that this process has claimed now; and whether others are left."""
        with self._taking:
            known = self._look(order)
            left = [shard for shard in order if shard.number not in known.done]
            for shard in left:
                if self.stop.is_set():
                    break
                if shard.number in self._own or not self._is_free(shard, known):
                    continue
                attempt = known.latest.get(shard.number, 0) + 1
                name = f"{shard.name}.{attempt}"
                known.latest[shard.number] = attempt
                if not self.store.create(f"claims/{name}", self._life()):
                    known.held[shard.number] = ""
                    continue
                # What another one finished between the look and the claim is not made again.
                if self._is_done(shard):
                    known.done.add(shard.number)
                    self.store.remove(f"claims/{name}")
                    continue
                with self._lock:
                    self._own[shard.number] = name
                return shard, True
            return None, bool(left)

    def _look(self, order: Sequence[Shard]) -> Known:
        """What the store has, seen anew where that was long ago, or nothing would be left to claim."""
        known = self._known
        age_s = time.monotonic() - known.looked
        open_ones = (one.number for one in order if one.number not in known.done)
        idle = all(number in known.held or number in self._own for number in open_ones)
        if age_s < (min(1.0, self.lease_s / 10) if idle else LOOK_EVERY_S):
            return known
        claims, parts = self.store.names("claims"), ranges(self.store.names("parts"))
        fresh = Known(looked=time.monotonic())
        dead = {name[: -len(DIED)] for name in claims if name.endswith(DIED)}
        for name in claims:
            of, _, attempt = name.removesuffix(DIED).partition(".")
            number = self.by_range.get(of)
            if number is not None and attempt.isdigit():
                fresh.latest[number] = max(fresh.latest.get(number, 0), int(attempt))
        for number, last in fresh.latest.items():
            name = f"{self.shards[number].name}.{last}"
            if name in claims and name not in dead:
                fresh.held[number] = claims[name]
        fresh.runs = sum(last - first + 1 for first, last in parts)
        fresh.done = {one.number for one in self.shards if covers(parts, one)}
        self._known = fresh
        say(done=fresh.runs)
        return fresh

    def _is_free(self, shard: Shard, known: Known) -> bool:
        """Whether no worker has it: none has claimed it, or its holder gave no sign of life for a lease, by this machine's clock."""
        sign = known.held.get(shard.number)
        if sign is None:
            return True
        attempt = known.latest[shard.number]
        before, since = self._seen.get((shard.number, attempt), ("", 0.0))
        if before != sign:
            self._seen[shard.number, attempt] = (sign, time.monotonic())
            return False
        if time.monotonic() - since <= self.lease_s:
            return False
        name = f"claims/{shard.name}.{attempt}"
        is_first = self.store.create(name + DIED, f"no sign of life for {self.lease_s:g} s".encode())
        self.store.remove(name)
        with self._lock:
            self.worked["deaths"] += is_first
        return True

    def _is_done(self, shard: Shard) -> bool:
        # A name sorts behind its own first nine digits, and before those of the run after it.
        found = self.store.names("parts", f"{shard.first:09}", f"{shard.last + 1:09}")
        return covers(ranges(found), shard)

    def _make(self, shard: Shard) -> None:
        """Makes a shard that is claimed: in a directory, and then its parts in the store."""
        try:
            made = self._child(shard)
            for path in sorted((self.home / "parts").glob(f"*{SUFFIX}")):
                (range_of,) = ranges([path.name])
                if shard.first <= range_of[0] and range_of[1] <= shard.last:
                    self.store.create(f"parts/{path.name}", path.read_bytes())
                    path.unlink()
        finally:
            with self._lock:
                name = self._own.pop(shard.number)
            self.store.remove(f"claims/{name}")
        with self._lock:
            self.worked["runs"] += made["run_now"]
            self.worked["failed"] += made["failed_now"]
            self.worked["deaths"] += made["deaths"]
        if not made["left"]:
            with self._taking:
                self._known.done.add(shard.number)
                self._known.runs += made["run_now"]
                say(done=self._known.runs)

    def _child(self, shard: Shard) -> dict[str, Any]:
        """`swtch sweep work`, which survives a run that kills its process. Asked to end, it ends after its current run."""
        words = [self.program, "sweep", "work", "--until-eof", "--json", "--jobs", "1", "--shards", str(shard.number), "--", str(self.home)]  # fmt: skip
        # In a group of its own: Ctrl-C in a terminal is for this process, which passes it on by closing the pipe.
        child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )  # fmt: skip
        assert child.stdin is not None
        watch = threading.Thread(target=self._ending, args=(child,), daemon=True)
        watch.start()
        assert child.stdout is not None and child.stderr is not None
        printed, complaint = child.stdout.read(), child.stderr.read()
        status = child.wait()
        if status != 0:
            lines = complaint.strip().splitlines() or [f"swtch sweep work ended with status {status}"]
            # The directory is nothing that anybody asked for.
            line = lines[-1].removeprefix("swtch: ").replace(str(self.home), self.store.url)
            raise (WrongUsage if status == 2 else CommandError)(line)
        made: dict[str, Any] = json.loads(printed)
        return made

    def _ending(self, child: subprocess.Popen[str]) -> None:
        while child.poll() is None and not self.stop.wait(0.1):
            pass
        with suppress(OSError):
            assert child.stdin is not None
            child.stdin.close()

    def _beat(self, ended: threading.Event) -> None:
        """Signs of life for what this process has claimed."""
        while not ended.wait(self.lease_s / BEATS):
            with self._lock:
                held = dict(self._own)
            for number, name in held.items():
                with self._lock:
                    if number not in self._own:
                        continue
                # Where it fails the claim lapses, and its runs are made twice.
                with suppress(CommandError):
                    self.store.replace(f"claims/{name}", self._life())
                with self._lock:
                    gone = number not in self._own
                if gone:
                    # It was left between both, and is there again now.
                    with suppress(CommandError):
                        self.store.remove(f"claims/{name}")

    def _life(self) -> bytes:
        # Another text each time, so that also its tag differs.
        return json.dumps({**self._owner, "at_ns": time.monotonic_ns()}).encode()


def ranges(names: Sequence[str] | dict[str, str]) -> list[tuple[int, int]]:
    """The runs of parts, each once, in order. Names of other things are left out.

    >>> ranges(["000000004-000000009.parquet", "000000000-000000004.parquet", "notes.txt"])
    [(0, 9)]
    """
    found = []
    for name in names:
        first, _, last = name.removesuffix(SUFFIX).partition("-")
        if name.endswith(SUFFIX) and first.isdigit() and last.isdigit():
            found.append((int(first), int(last)))
    whole: list[tuple[int, int]] = []
    for begin, end in sorted(found):
        if whole and begin <= whole[-1][1] + 1:
            whole[-1] = (whole[-1][0], max(whole[-1][1], end))
        else:
            whole.append((begin, end))
    return whole


def covers(parts: Sequence[tuple[int, int]], shard: Shard) -> bool:
    """Whether all rows of a shard are there."""
    at = bisect.bisect_right(parts, (shard.first, sys.maxsize)) - 1
    return at >= 0 and parts[at][1] >= shard.last


def pull(store: Store, home: Path, all_of_it: bool = False) -> dict[str, Any]:
    """Copies the manifest and the inputs into a directory, and with `all_of_it` parts and the names of claims, what is gone there included.

    Raises `CommandError` where there is no plan.
    """
    text = store.read(MANIFEST)
    if text is None:
        raise WrongUsage(
            f"{store.url} has no {MANIFEST}; plan the sweep first: swtch sweep plan grid.toml {store.url}"
        )
    try:
        manifest: dict[str, Any] = json.loads(text)
        _ = manifest["shards"], manifest["lease_s"]
    except (ValueError, KeyError):
        raise WrongUsage(
            f"{store.url}/{MANIFEST} is not a manifest; plan the sweep into a new place"
        ) from None
    try:
        place = home / MANIFEST
        if not place.exists() or place.read_bytes() != text:
            # Of another sweep.
            for directory in DIRECTORIES:
                shutil.rmtree(home / directory, ignore_errors=True)
        for directory in DIRECTORIES:
            (home / directory).mkdir(parents=True, exist_ok=True)
        copied = ["inputs", *(["claims", "parts"] if all_of_it else [])]
        for directory in copied:
            _mirror(store, directory, home / directory)
        place.write_bytes(text)
    except OSError as error:
        raise CommandError(f"cannot write {error.filename} ({error.strerror})") from None
    return manifest


def _mirror(store: Store, directory: str, into: Path) -> None:
    there = store.names(directory)
    for path in [path for path in into.rglob("*") if path.is_file()]:
        if path.relative_to(into).as_posix() not in there:
            path.unlink()
    for name in there:
        path = into / name
        # Parts and inputs never change, and of a claim its name is enough.
        if path.exists():
            continue
        data = b"" if directory == "claims" else store.read(f"{directory}/{name}")
        # It may be gone again.
        if data is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f".{path.name}.{os.getpid()}")
            beside.write_bytes(data)
            beside.replace(path)


def push(store: Store, home: Path) -> bool:
    """Puts a plan into the store, its manifest last; false where the same plan is there. Raises `CommandError` where another one is."""
    text = (home / MANIFEST).read_bytes()
    manifest = json.loads(text)
    for name in (manifest["grid"], manifest["profile"]):
        if name is not None and os.path.isabs(name):
            raise WrongUsage(
                f"{manifest['grid']} names files outside its directory, which workers of {store.url} do not have; put them below it"
            )
    inputs = home / "inputs"
    for path in sorted(path for path in inputs.rglob("*") if path.is_file()):
        store.create(f"inputs/{path.relative_to(inputs).as_posix()}", path.read_bytes())
    if store.create(MANIFEST, text):
        return True
    there = json.loads(store.read(MANIFEST) or b"{}")
    if there.get("identity") != manifest["identity"]:
        raise WrongUsage(f"{store.url} has the plan of another sweep; choose another place")
    return False


def say(**facts: Any) -> None:
    """A line for the program that started this one."""
    print(json.dumps(facts), flush=True)


def _until_eof(stop: threading.Event) -> None:
    sys.stdin.read()
    stop.set()


def _numbers(text: str) -> list[int]:
    """A list such as `3,17-19`.

    >>> _numbers("3,17-19")
    [3, 17, 18, 19]
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def _first(error: BaseException) -> str:
    """What the library says, in one line without its ways of saying it."""
    text = str(error).strip() or type(error).__name__
    code = re.search(r"<Code>(\w+)</Code>", text)
    text = re.sub(r"<\?xml.*|<Error>.*", "", text.splitlines()[0])
    text = re.sub(
        r"^Generic \w+ error: |.*Error performing \w+ \S+ in \S+( after \d+ retries.*?)? +- ", "", text
    )
    return text.strip(" :") + ("" if code is None else f" ({code[1]})")


def command(words: Sequence[str] | None = None) -> int:
    """The program."""
    parser = Parser(prog="swtch-sweep-store", description=__doc__.splitlines()[0] if __doc__ else None)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("pull", "push", "work"):
        one = verbs.add_parser(verb)
        one.add_argument("url")
        if verb == "work":
            one.add_argument("--swtch", required=True, metavar="PROGRAM", help="the program swtch")
            one.add_argument("--jobs", type=int, default=1)
            one.add_argument("--shards", type=_numbers)
            one.add_argument("--until-eof", action="store_true")
        else:
            one.add_argument("directory", type=Path, metavar="DIR")
        if verb == "pull":
            one.add_argument("--all", action="store_true", help="parts and claims too")
            one.add_argument("--may-be-missing", action="store_true")
    options: argparse.Namespace = parser.parse_args(words)
    store = Store(options.url)
    if options.verb == "push":
        say(is_new=push(store, options.directory))
        return 0
    if options.verb == "pull":
        if options.may_be_missing and store.read(MANIFEST) is None:
            shutil.rmtree(options.directory, ignore_errors=True)
            return 0
        pull(store, options.directory, options.all)
        return 0
    stop = threading.Event()
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, lambda *_: stop.set())
    if options.until_eof:
        threading.Thread(target=_until_eof, args=(stop,), daemon=True).start()
    with tempfile.TemporaryDirectory(prefix="swtch-sweep-") as home:
        agent = Agent(store, options.swtch, Path(home), stop)
        agent.work(options.jobs, options.shards)
        say(**agent.worked, left=stop.is_set())
    return 0


def main() -> None:
    """`swtch-sweep-store`."""
    sys.exit(run("swtch", command))


if __name__ == "__main__":
    main()
