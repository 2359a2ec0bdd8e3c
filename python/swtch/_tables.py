"""Rows as tables of Arrow and pandas. Both are imported when asked for: swtch itself needs neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._documents import data_fields, item_type, key, row_type

if TYPE_CHECKING:
    import pandas
    import pyarrow

IN_NANOSECONDS = {"median", "ci_low", "ci_high", "mean", "min", "undisturbed", "launch_medians"}
"""Fields of an `Estimate` or `Indirect` that are times; the unit of the whole comes last in their columns' names."""


class Column(NamedTuple):
    """A column of a table: its name, the annotation of its values, and the fields that lead to a value from a row."""

    name: str
    annotation: str
    path: tuple[str, ...]


def columns(kind: type) -> Iterator[Column]:
    """The columns of a row type: `switch_cost_ns: Estimate` becomes `switch_cost_median_ns`, `switch_cost_cov` and so on."""
    for field in data_fields(kind):
        annotation = str(field.type)
        part = row_type(annotation, kind)
        if part is None:
            yield Column(key(field), annotation, (field.name,))
            continue
        for inner in data_fields(part):
            unit = "_ns" if inner.name in IN_NANOSECONDS else ""
            name = key(field)[: -len("_ns")] + "_" + key(inner) + unit
            yield Column(name, str(inner.type), (field.name, inner.name))


def arrow(kind: type, rows: Sequence[object]) -> pyarrow.Table:
    """The rows of a dataclass as an Arrow table; a table without rows has the same columns and types."""
    pa = import_pyarrow()
    table = {
        c.name: pa.array([_get(row, c.path) for row in rows], arrow_type(pa, c.annotation))
        for c in columns(kind)
    }
    return pa.table(table)


def arrow_from_parquet(file: bytes) -> pyarrow.Table:
    """The table in the bytes of a Parquet file."""
    pa = import_pyarrow()
    import pyarrow.parquet as parquet

    return parquet.read_table(pa.BufferReader(file))


def pandas_from_arrow(table: pyarrow.Table) -> pandas.DataFrame:
    """The same as a DataFrame; whole numbers stay whole (`Int64`, `Int32`) also where one is missing."""
    pandas, pa = import_pandas(), import_pyarrow()
    whole = {pa.int64(): pandas.Int64Dtype(), pa.int32(): pandas.Int32Dtype()}
    return table.to_pandas(types_mapper=whole.get)


def import_pandas() -> Any:
    """The module pandas, or one line on how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise _missing("pandas", "pandas") from error
    return pandas


def import_pyarrow() -> Any:
    """The module pyarrow, or one line on how to get it."""
    try:
        import pyarrow
    except ImportError as error:
        raise _missing("pyarrow", "arrow") from error
    return pyarrow


def _missing(module: str, extra: str) -> ImportError:
    return ImportError(
        f"tables need {module}, which is not installed; run: pip install 'swtch[{extra}]'", name=module
    )


def _get(row: object, path: tuple[str, ...]) -> Any:
    for name in path:
        row = getattr(row, name)
    return list(row) if isinstance(row, tuple) else row


def arrow_type(pa: Any, annotation: str) -> Any:
    """The Arrow type of an annotation."""
    item = item_type(annotation)
    if item is not None:
        return pa.list_(arrow_type(pa, item))
    plain = {"float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    # The rest is text: `str`, or one of a few words such as `Ended`.
    return plain.get(annotation.split(" | ")[0], pa.string())
