"""Profiles as tables."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pandas
import pyarrow
import pytest

import swtch

TABLES = ["direct", "total", "ring", "regions", "knees", "messages", "unavailable"]


@pytest.fixture
def server(golden: Path) -> swtch.Profile:
    return swtch.Profile.load(golden)


def test_estimates_are_columns_with_their_unit_last(server: swtch.Profile) -> None:
    table = server.to_arrow("direct")
    types = {field.name: field.type for field in table.schema}
    assert types["method"] == pyarrow.string() and types["class"] == pyarrow.string()
    assert types["cpus"] == pyarrow.list_(pyarrow.int64())
    assert types["switch_cost_median_ns"] == types["switch_cost_cov"] == pyarrow.float64()
    assert types["switch_cost_batches"] == pyarrow.int64()
    assert types["switch_cost_launch_medians_ns"] == pyarrow.list_(pyarrow.float64())
    assert types["switches_per_round_trip"] == pyarrow.float64()
    assert table["switch_cost_median_ns"].to_pylist() == [row.switch_cost_ns.median for row in server.direct]
    assert "indirect_cost_ci_low_ns" in server.to_arrow("total").column_names


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_there_and_an_empty_table_has_the_same_columns(name: str, server: swtch.Profile) -> None:
    full = server.to_arrow(name)
    assert full.num_rows == len(getattr(server, name))
    empty = dataclasses.replace(server, **{name: ()}).to_arrow(name)
    assert empty.schema == full.schema and empty.num_rows == 0


@pytest.mark.parametrize("name", TABLES)
def test_pandas_has_the_same_columns(name: str, server: swtch.Profile) -> None:
    frame = server.to_pandas(name)
    assert list(frame.columns) == server.to_arrow(name).column_names
    assert len(frame) == len(getattr(server, name))


def test_references_are_a_table_of_what_was_measured(server: swtch.Profile) -> None:
    table = server.to_arrow("references")
    assert table["operation"].to_pylist() == ["syscall", "fork", "thread_create"]
    assert table["time_median_ns"].to_pylist()[0] == server.references.syscall_ns.median
    none = dataclasses.replace(server, references=dataclasses.replace(server.references, fork_ns=None))
    assert none.to_arrow("references")["operation"].to_pylist() == ["syscall", "thread_create"]
    assert none.to_arrow("references").schema == table.schema


def test_whole_numbers_stay_whole_where_one_is_missing(server: swtch.Profile) -> None:
    odd = dataclasses.replace(server.knees[0], cache_bytes=None, cache_level=None)
    frame = dataclasses.replace(server, knees=(*server.knees, odd)).to_pandas("knees")
    assert frame["array_bytes"].dtype == frame["cache_bytes"].dtype == pandas.Int64Dtype()
    assert frame["cache_bytes"].isna().iloc[-1]


def test_samples(measured: swtch.Profile) -> None:
    frame = measured.to_pandas("samples")
    assert len(frame) == measured.noise.batches
    assert frame["round_ns"].dtype == float and frame["migrated"].dtype == bool
    assert frame["array_bytes"].dtype == pandas.Int64Dtype() and frame["rounds"].dtype == pandas.Int32Dtype()
    assert frame["round_ns"].gt(0).all()


def test_samples_that_are_not_there_are_said_to_be(
    server: swtch.Profile, tmp_path: Path, measured: swtch.Profile
) -> None:
    with pytest.raises(swtch.ProfileError, match="samples"):
        server.to_arrow("samples")
    measured.save(tmp_path / "x.json")
    (tmp_path / "x.samples.parquet").unlink()
    with pytest.raises(swtch.ProfileError, match=r"'x\.samples\.parquet', which are not next to it"):
        swtch.Profile.load(tmp_path / "x.json").to_pandas("samples")


def test_an_unknown_table_is_refused(server: swtch.Profile) -> None:
    with pytest.raises(swtch.UsageError, match="unknown table 'indirect'; there are direct, "):
        server.to_arrow("indirect")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("modules", "extra"), [(["pyarrow"], "arrow"), (["pandas"], "pandas"), (["pandas", "pyarrow"], "pandas")]
)
def test_a_missing_library_is_one_line(
    modules: list[str], extra: str, server: swtch.Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"run: pip install 'swtch\[{extra}\]'") as missing:
        server.to_pandas()
    assert "\n" not in str(missing.value)
