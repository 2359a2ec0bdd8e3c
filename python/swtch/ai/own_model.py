"""A model of the user's own, from its ONNX file: what it takes, and made-up inputs of that kind.

Shapes come from the file, where a dimension may have a name instead of a number. The first dimension of an input is its batch if it has a
name. The values of an input that selects rows of a table, such as token numbers, are below the table's length.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._errors import WrongUsage
from .errors import AiError

if TYPE_CHECKING:
    from .weights import Array

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes by the name of an input, or one number by the name of a dimension; of the only input by an empty name."""
SEED = 0
"""Of made-up inputs."""
_THROUGH = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten")
"""Operators that leave values as they are."""


class ModelFileError(AiError, WrongUsage, ValueError):
    """A file that is not an ONNX model, or from which an input cannot be made."""


@dataclass(frozen=True)
class Input:
    """What a model takes."""

    name: str
    """Its name in the file."""
    dtype: str
    """numpy's name of its type."""
    shape: tuple[int | str, ...]
    """Each dimension: its length, or its name where the length is open."""
    below: int | None = None
    """Its values are row numbers of a table of this length; `None` where they are none."""


@dataclass(frozen=True)
class ModelFile:
    """What a file says of its model."""

    path: Path
    """The file."""
    inputs: tuple[Input, ...]
    """What has to be fed."""
    parameters: int
    """Numbers that the file holds as weights."""

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem


@dataclass(frozen=True)
class Fed:
    """What an inference is fed."""

    arrays: dict[str, Array] = field(compare=False)
    """By the name of the input."""
    batch: int
    """The length of the first dimension of the first input."""


def shape(text: str) -> tuple[str, tuple[int, ...]]:
    """An option: `1,3,224,224` of the only input, `NAME=1,128` of one input, or `NAME=128` of a dimension."""
    name, sign, numbers = text.rpartition("=")
    try:
        lengths = tuple(int(number) for number in numbers.split(","))
    except ValueError:
        lengths = ()
    if not lengths or min(lengths) < 1 or (sign and not name):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a shape: give 1,3,224,224, or NAME=1,128 with the name of an input or of a dimension"
        )
    return name, lengths


def is_file(text: str) -> bool:
    """Whether a word on the command line means a file, and not a model of the suite."""
    return text.endswith(".onnx") or (("/" in text or "." in text) and Path(text).is_file())


def read(path: Path) -> ModelFile:
    """What the file says; raises `ModelFileError` for one that is not a model, `AiError` where the package onnx is missing."""
    try:
        import onnx
    except ImportError as error:
        raise AiError(f"a model file needs the package onnx ({error}); pip install 'swtch[ai]'") from None
    if not path.is_file():
        raise ModelFileError(f"{path} is not there; `swtch ai list` names the models that need no file")
    try:
        # Weights may lie beside it, and are not needed here.
        graph = onnx.load(str(path), load_external_data=False).graph
    except Exception as error:
        said = " ".join(str(error).split())[:100]
        raise ModelFileError(f"{path} is not an ONNX model ({said}); export it again") from None
    weights = {one.name: tuple(one.dims) for one in graph.initializer}
    tables = _tables(graph, weights)
    inputs = tuple(_input(one, tables) for one in graph.input if one.name not in weights)
    if not inputs:
        raise ModelFileError(f"{path} takes no input; is it a model for inference?")
    return ModelFile(path, inputs, sum(math.prod(dims) for dims in weights.values()))


def feed(
    model: ModelFile, batch: int = 1, shapes: Shapes | None = None, given: Mapping[str, Array] | None = None
) -> Fed:
    """Inputs for one inference: those that are `given`, and made-up ones for the rest.

    batch: the length of a first dimension that is open. shapes: of dimensions that are open.
    Raises `ModelFileError` when a length is missing, or when something given does not fit.
    """
    import numpy as np

    shapes, given = dict(shapes or {}), dict(given or {})
    if "" in shapes:
        if len(model.inputs) > 1:
            names = ", ".join(one.name for one in model.inputs)
            raise ModelFileError(
                f"{model.path} has the inputs {names}; say of which the shape is: --shape NAME=..."
            )
        shapes[model.inputs[0].name] = shapes.pop("")
    _known(model, [*shapes, *given])
    generator = np.random.default_rng(SEED)
    arrays = {}
    for one in model.inputs:
        if one.name in given:
            arrays[one.name] = _fitting(model, one, given[one.name])
        else:
            arrays[one.name] = _made_up(one, _lengths(model, one, batch, shapes), generator)
    first = arrays[model.inputs[0].name]
    return Fed(arrays, int(first.shape[0]) if first.ndim else 1)


def arrays_of(path: Path, model: ModelFile) -> dict[str, Array]:
    """The inputs in a file of numpy's: `.npz` by their names, `.npy` for the only input. Raises `ModelFileError`."""
    import numpy as np

    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ModelFileError(f"--input: {path} cannot be read ({error}); write it by numpy.savez") from None
    if isinstance(found, np.ndarray):
        if len(model.inputs) > 1:
            raise ModelFileError(
                f"--input: {path} has one array, and {model.path} takes {len(model.inputs)}; use .npz"
            )
        return {model.inputs[0].name: found}
    return {name: found[name] for name in found.files}


def _known(model: ModelFile, names: Sequence[str]) -> None:
    inputs = [one.name for one in model.inputs]
    dimensions = [part for one in model.inputs for part in one.shape if isinstance(part, str)]
    unknown = [name for name in names if name not in inputs and name not in dimensions]
    if unknown:
        takes = "; ".join(f"{one.name}: {_written(one.shape)}" for one in model.inputs)
        raise ModelFileError(f"{model.path} has no input {unknown[0]!r}; it takes {takes}")


def _lengths(model: ModelFile, one: Input, batch: int, shapes: Mapping[str, tuple[int, ...]]) -> list[int]:
    asked = shapes.get(one.name)
    if asked is not None:
        if not _fits(one, asked):
            raise ModelFileError(
                f"--shape {one.name}={_written(asked)} does not fit: {model.path} takes {_written(one.shape)}"
            )
        return list(asked)
    found = []
    for place, part in enumerate(one.shape):
        if isinstance(part, int):
            found.append(part)
        elif part in shapes:
            found.append(shapes[part][0])
        elif place == 0:
            found.append(batch)
        else:
            raise ModelFileError(
                f"{model.path} leaves open how long {part!r} of {one.name} is ({_written(one.shape)}); "
                f"give it: --shape {part}=128"
            )
    return found


def _made_up(one: Input, lengths: Sequence[int], generator: Any) -> Array:
    import numpy as np

    dtype = np.dtype(one.dtype)
    if one.below is not None:
        made = generator.integers(0, one.below, lengths)
    elif dtype.kind in "iu":
        # A mask that keeps everything, or a count.
        made = np.ones(lengths)
    elif dtype.kind == "b":
        made = np.ones(lengths, dtype=bool)
    else:
        made = generator.random(lengths, dtype=np.float32)
    found: Array = np.ascontiguousarray(made, dtype=dtype)
    return found


def _fitting(model: ModelFile, one: Input, array: Array) -> Array:
    import numpy as np

    if not _fits(one, array.shape):
        raise ModelFileError(
            f"--input: {one.name} is {_written(array.shape)}, and {model.path} takes {_written(one.shape)}"
        )
    if not np.can_cast(array.dtype, one.dtype, casting="same_kind"):
        raise ModelFileError(f"--input: {one.name} is {array.dtype}, and {model.path} takes {one.dtype}")
    found: Array = np.ascontiguousarray(array, dtype=one.dtype)
    return found


def _fits(one: Input, lengths: Sequence[int]) -> bool:
    """Whether an input may have that shape: an open dimension takes any length."""
    return len(lengths) == len(one.shape) and all(
        isinstance(part, str) or part == length for part, length in zip(one.shape, lengths)
    )


def _input(one: Any, tables: Mapping[str, int]) -> Input:
    from onnx.helper import tensor_dtype_to_np_dtype

    tensor = one.type.tensor_type
    try:
        dtype = str(tensor_dtype_to_np_dtype(tensor.elem_type))
    except KeyError:
        dtype = "object"
    if dtype == "object":
        raise ModelFileError(
            f"the input {one.name} is not an array of numbers; wrap the model in one that takes numbers"
        )
    dimensions = []
    for place, dimension in enumerate(tensor.shape.dim):
        if dimension.HasField("dim_value") and dimension.dim_value > 0:
            dimensions.append(dimension.dim_value)
        else:
            dimensions.append(dimension.dim_param or f"{one.name}_{place}")
    return Input(one.name, dtype, tuple(dimensions), tables.get(one.name))


def _tables(graph: Any, weights: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """The length of the table whose rows an input selects, by the input's name."""
    # Where a value that is passed through comes from.
    source: dict[str, str] = {}
    found: dict[str, int] = {}
    for node in graph.node:
        if node.op_type in _THROUGH and node.input:
            source[node.output[0]] = source.get(node.input[0], node.input[0])
        if node.op_type == "Gather" and len(node.input) > 1 and node.input[0] in weights:
            axis = next((one.i for one in node.attribute if one.name == "axis"), 0)
            table = weights[node.input[0]]
            if -len(table) <= axis < len(table):
                name = source.get(node.input[1], node.input[1])
                found[name] = min(table[axis], found.get(name, table[axis]))
    return found


def _written(lengths: Sequence[int | str]) -> str:
    return ",".join(str(part) for part in lengths) or "a single number"
