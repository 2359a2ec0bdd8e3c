"""Weights: the same numbers from the same seed, and files that do not fit refused before anything runs."""

from __future__ import annotations

import hashlib
import math

import pytest

np = pytest.importorskip("numpy", reason="numpy is not installed; tools/setup test installs it")

from swtch.ai import weights  # noqa: E402
from swtch.ai.catalogue import find  # noqa: E402
from swtch.ai.errors import WeightsError  # noqa: E402
from swtch.ai.graphs.builder import Builder  # noqa: E402


@pytest.fixture(scope="module")
def graph():
    return find("mobilenet-v2")[0].build()


@pytest.fixture
def small():
    """A graph with one of each role."""
    b = Builder("small")
    x = b.batch_norm(b.conv(b.input((1, 2, 4, 4)), 3, 3))
    return b.output(b.dense(b.global_average_pool(x), 5))


def saved(directory, graph, **changes):
    """Writes weights for the graph, with some replaced (or left out, where `None`)."""
    arrays = {
        **weights.random_weights(graph),
        **{key.replace("__", "."): value for key, value in changes.items()},
    }
    np.savez(
        directory / f"{graph.name}.npz", **{key: array for key, array in arrays.items() if array is not None}
    )
    return directory


def test_the_seed_decides_and_nothing_else(graph) -> None:
    one, two = weights.random_weights(graph, 7), weights.random_weights(graph, 7, threads=3)
    assert one.keys() == {item.name for item in graph.initialisers}
    assert all(np.array_equal(one[name], two[name]) for name in one)
    other = weights.random_weights(graph, 8)
    assert not np.array_equal(one["dense.weight"], other["dense.weight"])


def test_numbers_depend_on_the_name_and_not_on_the_model() -> None:
    def first(extra: bool):
        b = Builder("a" if extra else "b")
        x = b.conv(b.input((1, 3, 4, 4)), 8, 3)
        return weights.random_weights(b.output(b.conv(x, 2, 1) if extra else x))["conv.weight"]

    assert np.array_equal(first(True), first(False))


def test_the_numbers_are_what_they_have_always_been(graph) -> None:
    # Results are compared over years; a new numpy or a change here must not go unnoticed.
    array = weights.random_weights(graph)["conv.weight"]
    digest = hashlib.sha256(array.astype("<f4").tobytes()).hexdigest()
    assert digest == "94925d2b445f10dc844c77dc162f3b10e4a6e48ae3909c22f299092b6265a6f3"


def test_large_kernels_are_drawn_in_pieces_that_differ(monkeypatch, graph) -> None:
    monkeypatch.setattr(weights, "_PIECE", 1000)
    flat = weights.random_weights(graph, threads=2)["dense.weight"].reshape(-1)
    assert not np.array_equal(flat[:1000], flat[1000:2000])
    assert np.array_equal(flat, weights.random_weights(graph)["dense.weight"].reshape(-1))


def test_kernels_are_he_normal_and_the_rest_does_nothing(graph) -> None:
    arrays = weights.random_weights(graph)
    for one in graph.initialisers:
        array = arrays[one.name]
        assert array.dtype == np.float32 and array.shape == one.shape
        if one.role != "kernel":
            assert (array == (1 if one.role in ("scale", "variance") else 0)).all()
        elif one.elements > 10_000:
            deviation = math.sqrt(2 / one.fan_in)
            assert array.std() == pytest.approx(deviation, rel=0.03)
            assert abs(array.mean()) < 5 * deviation / math.sqrt(one.elements)


def test_a_file_gives_back_what_was_saved(tmp_path, small) -> None:
    wanted = weights.random_weights(small, 3)
    wanted["conv.bias"] = np.arange(3, dtype=np.float64)
    np.savez(tmp_path / "small.npz", **wanted)
    found = weights.load_weights(small, tmp_path)
    assert found.keys() == wanted.keys() and found["conv.bias"].dtype == np.float32
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"conv__weight": np.zeros((3, 2, 5, 5), np.float32)},
            "has the shape (3, 2, 5, 5); the model needs (3, 2, 3, 3)",
        ),
        ({"conv__weight": np.zeros((3, 2, 3, 3), np.int32)}, "is int32; the model needs float32"),
        ({"conv__weight": None}, "lack 'conv.weight', which must have the shape (3, 2, 3, 3)"),
        ({"conv__weight": None, "dense__bias": None}, "(2 are missing)"),
        ({"conv_9__weight": np.zeros(1, np.float32)}, "have 'conv_9.weight', which the model does not have"),
        ({"dense__bias": np.array([1, 2, np.nan, 4, 5], np.float32)}, "not finite"),
        ({"dense__bias": np.full(5, 1e300)}, "not finite"),
        ({"dense__bias": np.array([{}, {}, {}, {}, {}], dtype=object)}, "'dense.bias' in the weights"),
    ],
)
def test_weights_that_do_not_fit_are_named(tmp_path, small, change, words) -> None:
    with pytest.raises(WeightsError) as caught:
        weights.load_weights(small, saved(tmp_path, small, **change))
    message = str(caught.value)
    assert words in message and str(tmp_path / "small.npz") in message and "\n" not in message


def test_files_that_are_no_weights(tmp_path, small) -> None:
    path = tmp_path / "small.npz"
    with pytest.raises(WeightsError, match="there are no weights .*small.npz"):
        weights.load_weights(small, tmp_path)
    path.mkdir()
    with pytest.raises(WeightsError, match="cannot be read"):
        weights.load_weights(small, tmp_path)
    path.rmdir()
    for content in (b"", b"no archive at all", b"PK\x03\x04 cut off"):
        path.write_bytes(content)
        with pytest.raises(WeightsError, match="cannot be read"):
            weights.load_weights(small, tmp_path)
    np.save(tmp_path / "bare.npy", np.zeros(3))
    (tmp_path / "bare.npy").rename(path)
    with pytest.raises(WeightsError, match="one array without a name"):
        weights.load_weights(small, tmp_path)


def test_a_damaged_archive_is_an_error_and_never_wrong_numbers(tmp_path, small) -> None:
    saved(tmp_path, small)
    path = tmp_path / "small.npz"
    whole, wanted = path.read_bytes(), weights.random_weights(small)
    refused = 0
    for at in range(0, len(whole), 37):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            found = weights.load_weights(small, tmp_path)
        except WeightsError:
            refused += 1
        else:
            # Fields of the archive that no reader uses, such as times.
            assert all(np.array_equal(found[name], wanted[name]) for name in wanted)
    assert refused > len(whole) // 37 // 2
