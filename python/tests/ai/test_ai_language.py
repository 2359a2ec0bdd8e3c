"""Language models: their sizes, and that the cache of keys and values gives what reading everything again gives."""

from __future__ import annotations

import pytest
from run_host import needs_runtime

from swtch.ai import language
from swtch.ai.command import main


def test_sizes_are_those_of_what_they_are_like():
    # stories15M has 15.2 M, GPT-2 small 124 M, TinyLlama 1.10 G parameters, the last with two tables of tokens.
    found = {one.slug: one.parameters / 1e6 for one in language.SIZES}
    assert found["15m"] == pytest.approx(15.2, rel=0.01)
    assert found["125m"] == pytest.approx(124, rel=0.01)
    assert found["1b"] + 32_000 * 2048 / 1e6 == pytest.approx(1100, rel=0.01)


def test_the_cache_gives_what_reading_everything_again_gives():
    needs_runtime()
    import numpy as np

    from swtch.ai import runtime
    from swtch.ai.graphs.decoder import decoder
    from swtch.ai.weights import random_weights

    # Two heads of keys for four of queries.
    size = language.Size("tiny", "tiny", 3, 32, 4, 2, 48, 500, "none")
    proto, graph = decoder(size)
    assert graph.parameters == size.parameters
    session = runtime.Session(proto, random_weights(graph, 3), runtime.Settings())
    names = [f"{what}.{number}" for number in range(3) for what in ("key", "value")]
    empty = [session.value(np.zeros((1, 2, 0, 8), np.float32))] * 6
    tokens = np.random.default_rng(4).integers(0, 500, (1, 9))

    def causal(new):
        return np.triu(np.full((new, new), -np.inf, np.float32), 1)

    whole, expected = session.run_cached({"tokens": tokens, "mask": causal(9)}, names, empty)
    _, cache = session.run_cached({"tokens": tokens[:, :8], "mask": causal(8)}, names, empty)
    last = {"tokens": tokens[:, 8:], "mask": np.zeros((1, 9), np.float32)}
    found, cache = session.run_cached(last, names, cache)
    assert found.item() == whole.item()
    for one, other in zip(cache, expected):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-4, atol=1e-5)


def test_a_name_is_both_phases_or_one(capsys):
    assert [one.slug for one in language.find("llm-15m")] == ["llm-15m.prompt", "llm-15m.token"]
    assert [one.phase for one in language.find("llm-1b.token")] == ["token"]
    for unknown in ("llm-7b", "llm-15m.answer", "mobilenet-v2"):
        assert language.find(unknown) is None
    assert main(["tune", "llm-15m"]) == 2
    assert "has two phases; tune llm-15m.prompt or llm-15m.token" in capsys.readouterr().err
    assert main(["run", "llm-7b"]) == 2
    assert "llm-15m" in capsys.readouterr().err
