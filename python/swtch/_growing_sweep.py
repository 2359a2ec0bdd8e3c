"""A sweep that other processes run: its table as it grows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native, _tables
from ._errors import SimulationError
from ._program import binary

if TYPE_CHECKING:
    import pandas
    import pyarrow

_LOOK_EVERY_S = 0.1


class GrowingSweep:
    """A sweep in a directory, and its rows so far. `swtch.sweep(..., on=...)` starts one.

    `with` ends it: what is done stays done, and the same call continues. Any process that sees the directory can look at it:
    `GrowingSweep(directory)`.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        """Where the sweep is."""
        self._command: subprocess.Popen[str] | None = None

    @classmethod
    def _start(
        cls,
        file: Path,
        directory: Path,
        on: str,
        profile: str | os.PathLike[str] | None,
        jobs: int | None,
        options: Sequence[str],
    ) -> GrowingSweep:
        words: list[str] = [str(binary()), "sweep", "run", f"--on={on}", *options]
        if profile is not None:
            words += ["--profile", os.fspath(profile)]
        if jobs is not None:
            words += ["--jobs", str(jobs)]
        self = cls(directory)
        # Ctrl-C in a notebook is for the notebook: `stop` ends the sweep.
        self._command = subprocess.Popen(
            [*words, "--", str(file), str(directory)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        # Without the plan there is no status.
        while not (directory / "manifest.json").exists() and self._command.poll() is None:
            time.sleep(_LOOK_EVERY_S)
        if self._command.poll() not in (None, 0):
            self._finish()
        return self

    def status(self) -> dict[str, Any]:
        """How far it is: what `swtch sweep status --json` prints (`runs`, `done`, `failed`, `claimed`, `left_s`, `cpu_s`, `shards`)."""
        found: dict[str, Any] = json.loads(self._run("status", "--json", "--", str(self.directory)))
        return found

    @property
    def is_running(self) -> bool:
        """Whether the command that this object started still runs."""
        return self._command is not None and self._command.poll() is None

    def wait(self) -> GrowingSweep:
        """Waits until all runs are done, and returns itself. Raises `SimulationError` when the command fails; rows that are done stay."""
        if self._command is not None:
            self._command.wait()
            self._finish()
        return self

    def stop(self) -> None:
        """Ends the command. Workers finish their current runs, and the same call continues."""
        if self._command is not None and self._command.poll() is None:
            self._command.send_signal(signal.SIGTERM)
            self._command.communicate()

    def __enter__(self) -> GrowingSweep:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def to_arrow(self) -> pyarrow.Table:
        """The rows so far, by the numbers of their runs. Needs `pip install 'swtch[arrow]'`."""
        with tempfile.TemporaryDirectory(prefix="swtch-") as folder:
            table = Path(folder) / "so-far.parquet"
            self._run("merge", "--so-far", "-o", str(table), "--", str(self.directory), failed_rows=True)
            return _tables.arrow_from_parquet(table.read_bytes())

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a data frame. Needs `pip install 'swtch[pandas]'`."""
        return _tables.pandas_from_arrow(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows so far for any program that reads Arrow: `polars.DataFrame(sweep)`."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def tables(self, every_s: float = 1.0) -> Iterator[pyarrow.Table]:
        """The table again and again: whenever there are more rows, at most once in this time, and at last the whole.

        It ends when all runs are done, or the command has ended.
        """
        shown = -1
        while True:
            ended = not self.is_running
            found = self.status()
            if found["done"] > shown:
                table = self.to_arrow()
                # Runs may have ended since the look.
                shown = table.num_rows
                yield table
            if found["done"] == found["runs"] or (ended and self._command is not None):
                break
            time.sleep(every_s)
        self.wait()

    def _run(self, *words: str, failed_rows: bool = False) -> str:
        done = subprocess.run([binary(), "sweep", *words], capture_output=True, text=True)
        if done.returncode != 0 and not (failed_rows and _only_runs_failed(done.returncode, done.stderr)):
            raise _error(done.returncode, done.stderr)
        return done.stdout

    def _finish(self) -> None:
        assert self._command is not None
        _, complaint = self._command.communicate()
        status, self._command = self._command.returncode, None
        # A run that failed is a row with its reason.
        if status != 0 and not _only_runs_failed(status, complaint):
            raise _error(status, complaint)


def _only_runs_failed(status: int, complaint: str) -> bool:
    return status == 1 and "runs failed" in complaint


def _error(status: int, complaint: str) -> Exception:
    lines = complaint.strip().splitlines() or [f"swtch sweep ended with status {status}"]
    line = lines[-1].removeprefix("swtch: ")
    return _native.UsageError(line) if status == 2 else SimulationError(line)
