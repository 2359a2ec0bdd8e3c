"""`journal.jsonl`: the plan, then a line for each finished invocation, on the disk before the next begins."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from .._errors import CommandError
from .plan import Plan, from_document

FILE = "journal.jsonl"
VERSION = 2
"""1: each process calibrated its work for itself, and the front was in the cgroup, so that its lines cannot be compared with new ones."""

Line = dict[str, Any]
"""An invocation: `subject`, `purpose`, and what `swtch/faas-tiers/3` has of it."""


class Journal:
    """The journal of a study. Its invocations are never repeated."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / FILE
        """Where it is."""
        self.plan: Plan | None = None
        """The plan that it is the journal of; `None` when it is new."""
        self.created_at: str | None = None
        """When it was begun."""
        self.lines: list[Line] = []
        """The invocations so far."""
        self.calibrations: dict[str, dict[str, Any]] = {}
        """Of each function that does work by iterations, as `swtch/faas-tiers/3` has it."""
        self._file: IO[str] | None = None
        self._whole = 0
        if self.path.exists():
            self._read()

    @property
    def done(self) -> set[tuple[Any, ...]]:
        """Keys of the jobs that are done."""
        return {_key(line) for line in self.lines}

    def begin(self, plan: Plan, created_at: str) -> None:
        """Continues the journal, or begins it. Raises `CommandError` when it belongs to another study."""
        if self.plan is not None:
            fault = _difference(self.plan, plan)
            if fault is not None:
                raise CommandError(
                    f"{self.path.parent} has a study with {fault}; resume it with --resume {self.path.parent}, or give another --out"
                )
        try:
            self._file = open(self.path, "a")
            # Two at the same journal would do everything twice.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.lines.clear()
            self.calibrations.clear()
            self._read()
            os.truncate(self.path, self._whole)
            if self.plan is None:
                self.created_at = created_at
                self._append({"journal": VERSION, "created_at": created_at, "plan": plan.to_document()})
        except BlockingIOError:
            self.close()
            raise CommandError(
                f"another swtch faas tiers is at {self.path.parent}; wait for it, or give another --out"
            ) from None
        except OSError as error:
            raise CommandError(f"{self.path} cannot be written ({error.strerror})") from None
        self.plan = plan

    def add(self, *lines: Line) -> None:
        """Takes invocations; they are on the disk when this returns."""
        try:
            self._append(*lines)
        except OSError as error:
            raise CommandError(
                f"{self.path} cannot be written ({error.strerror}); its entries are kept, and --resume continues"
            ) from None
        self.lines += lines

    def calibrate(self, subject: str, calibration: dict[str, Any]) -> None:
        """Takes a calibration; it is on the disk when this returns, and a resumed study has the same."""
        try:
            self._append({"calibration": calibration, "subject": subject})
        except OSError as error:
            raise CommandError(f"{self.path} cannot be written ({error.strerror})") from None
        self.calibrations[subject] = calibration

    def close(self) -> None:
        """Lets the file go."""
        if self._file is not None:
            # Closing writes what could not be written before, such as on a full disk, and that has been reported.
            with contextlib.suppress(OSError):
                self._file.close()
            self._file = None

    def _append(self, *lines: Mapping[str, Any]) -> None:
        assert self._file is not None
        self._file.write("".join(json.dumps(line, allow_nan=False) + "\n" for line in lines))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self) -> None:
        try:
            data = self.path.read_bytes()
        except OSError as error:
            raise CommandError(f"{self.path} cannot be read ({error.strerror})") from None
        # A cut line belongs to an unfinished invocation.
        whole = data.rfind(b"\n") + 1
        for number, text in enumerate(data[:whole].splitlines(), start=1):
            try:
                line = json.loads(text)
                if number == 1:
                    if line["journal"] == 1:
                        raise CommandError(
                            f"{self.path} is from an older swtch, whose tiers did different amounts of work: "
                            "invocations cannot be added; give another --out"
                        )
                    if line["journal"] != VERSION:
                        raise ValueError(f"version {line['journal']}")
                    self.plan, self.created_at = from_document(line["plan"]), str(line["created_at"])
                elif "calibration" in line:
                    self.calibrations[str(line["subject"])] = dict(line["calibration"])
                else:
                    _key(line), line["outcome"], line["latency_ns"]
                    self.lines.append(line)
            except (ValueError, KeyError, TypeError) as error:
                raise CommandError(
                    f"line {number} of {self.path} cannot be read by this swtch ({error}); give another --out"
                ) from None
        self._whole = whole


def _key(line: Line) -> tuple[Any, ...]:
    return (line["subject"], line["tier"], line["purpose"], line["work_ms"], line["repeat"])


def _difference(before: Plan, after: Plan) -> str | None:
    """What a study cannot change on its way, in words. More runs do not count as a change."""
    old, new = before.to_document(), after.to_document()
    for name in old:
        if name != "repeats" and old[name] != new[name]:
            return f"another {name.replace('_', ' ')} ({_shown(old[name])}, not {_shown(new[name])})"
    return None


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else text[:57] + "..."
