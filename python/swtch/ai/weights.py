"""Weights: seeded random ones, or real ones from a file, always in memory and never in a graph.

Random kernels are He-normal (He, Zhang, Ren, Sun, "Delving Deep into Rectifiers", ICCV 2015): mean 0, variance 2 / fan-in, so
that activations neither vanish nor explode. Every initialiser has a generator of its own, seeded by the seed and its name.
Its numbers depend neither on order nor on what else the model has.
"""

from __future__ import annotations

import hashlib
import math
import os
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import WeightsError
from .graphs.graph import Graph, Initialiser

Array = NDArray[np.float32]

_PIECE = 1 << 22
"""Numbers drawn by one generator: large kernels are filled by several threads, in pieces that do not depend on how many."""
_FILLED = {"bias": 0.0, "shift": 0.0, "mean": 0.0, "scale": 1.0, "variance": 1.0}
"""What is not drawn: biases and normalisation do nothing."""


def random_weights(graph: Graph, seed: int = 0, threads: int = 1) -> dict[str, Array]:
    """Arrays for all initialisers of the graph, by name. The same seed gives the same numbers on every machine."""
    arrays: dict[str, Array] = {}
    pieces: list[tuple[Array, float, Any]] = []
    for one in graph.initialisers:
        if one.role == "kernel":
            arrays[one.name] = np.empty(one.shape, np.float32)
            pieces += _pieces(arrays[one.name].reshape(-1), one, seed)
        else:
            arrays[one.name] = np.full(one.shape, _FILLED[one.role], np.float32)
    if threads <= 1:
        for piece in pieces:
            _draw(*piece)
        return arrays
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(_draw, *piece) for piece in pieces]:
            done.result()
    return arrays


def load_weights(graph: Graph, directory: os.PathLike[str] | str) -> dict[str, Array]:
    """The arrays of `directory/NAME.npz`, where NAME is the graph's, one float array for each initialiser by its name.

    Raises `WeightsError` for the first thing that does not fit, before any number is used. Nothing in the file is executed.
    """
    path = Path(directory) / f"{graph.name}.npz"
    try:
        archive = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise WeightsError(
            f"there are no weights at {path}; expected one .npz per model, with its name (`swtch ai list`)"
        ) from None
    # numpy takes a file that is not an archive for a pickle, and refuses it with a ValueError.
    except (OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise WeightsError(f"the weights {path} cannot be read ({error}); is it a whole .npz file?") from None
    if not hasattr(archive, "files"):
        raise WeightsError(
            f"{path} holds one array without a name; expected an .npz with an array for each name"
        )
    with archive:
        _check_names(path, graph.initialisers, archive.files)
        return {one.name: _fitting(path, one, archive) for one in graph.initialisers}


def _pieces(flat: Array, one: Initialiser, seed: int) -> list[tuple[Array, float, Any]]:
    deviation = math.sqrt(2 / one.fan_in)
    digest = hashlib.sha256(f"{seed} {one.name}".encode()).digest()
    root = np.random.SeedSequence(int.from_bytes(digest, "little"))
    starts = range(0, flat.size, _PIECE)
    return [
        (flat[start : start + _PIECE], deviation, child)
        for start, child in zip(starts, root.spawn(len(starts)))
    ]


def _draw(out: Array, deviation: float, seed: Any) -> None:
    np.random.Generator(np.random.SFC64(seed)).standard_normal(out=out, dtype=np.float32)
    out *= np.float32(deviation)


def _check_names(path: Path, initialisers: Sequence[Initialiser], found: Sequence[str]) -> None:
    wanted = [one.name for one in initialisers]
    missing = [name for name in wanted if name not in set(found)]
    extra = [name for name in found if name not in set(wanted)]
    if missing:
        shape = next(one.shape for one in initialisers if one.name == missing[0])
        raise WeightsError(
            f"the weights {path} lack {missing[0]!r}, which must have the shape {shape}"
            + (f" ({len(missing)} are missing)" if len(missing) > 1 else "")
        )
    if extra:
        raise WeightsError(
            f"the weights {path} have {extra[0]!r}, which the model does not have; is it another model's file?"
        )


def _fitting(path: Path, one: Initialiser, archive: Any) -> Array:
    try:
        array = archive[one.name]
    # A damaged archive fails in as many ways as there are layers under this: zip, compression, header, shape.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise WeightsError(f"{one.name!r} in the weights {path} cannot be read ({reason})") from None
    if array.shape != one.shape:
        raise WeightsError(
            f"{one.name!r} in the weights {path} has the shape {array.shape}; the model needs {one.shape}"
        )
    if array.dtype.kind != "f":
        raise WeightsError(f"{one.name!r} in the weights {path} is {array.dtype}; the model needs float32")
    with np.errstate(over="ignore"):
        fitting: Array = np.ascontiguousarray(array, np.float32)
    if not np.isfinite(fitting).all():
        raise WeightsError(f"{one.name!r} in the weights {path} has values that are not finite in float32")
    return fitting
