"""Language models of three sizes with seeded weights, and their two phases: the prompt, and token after token.

Of each size there are two workloads. In `llm-15m.prompt` an inference is the reading of a whole prompt: its latency is the time to the
first token. In `llm-15m.token` an inference is one further token, after a prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from . import runtime
from .graphs.graph import FLOAT_BYTES

Phase = Literal["prompt", "token"]
"""What an inference is."""
PHASES: tuple[Phase, ...] = ("prompt", "token")
PREFIX = "llm-"
"""Names of these workloads begin with it."""
PROMPT_TOKENS = 64
"""Length of a prompt."""
MOST_TOKENS = 128
"""The cache begins anew from the prompt after this many further tokens, so that every stretch of a run does the same work."""
_BESIDE_BYTES = 200_000_000
"""What the runtime and Python take besides the weights, which the runtime packs a second time."""


@dataclass(frozen=True)
class Size:
    """How large a model is."""

    slug: str
    """For command lines and files."""
    name: str
    """For people."""
    layers: int
    """Layers."""
    width: int
    """Numbers that stand for a token between layers."""
    heads: int
    """Heads of queries."""
    key_heads: int
    """Heads of keys and values."""
    hidden: int
    """Width inside a gated layer."""
    vocabulary: int
    """Different tokens."""
    like: str
    """The published model with these sizes."""

    @property
    def head(self) -> int:
        """Numbers of one head."""
        return self.width // self.heads

    @property
    def parameters(self) -> int:
        """Weights, the table of tokens once: it is used at both ends."""
        kept = self.key_heads * self.head
        layer = 2 * self.width * (self.width + kept) + 3 * self.width * self.hidden + 2 * self.width
        return self.layers * layer + self.vocabulary * self.width + self.width


SIZES = (
    Size("15m", "15 M parameters", 6, 288, 6, 6, 768, 32_000, "stories15M (Karpathy, llama2.c)"),
    Size("125m", "125 M parameters", 12, 768, 12, 12, 2048, 50_257, "GPT-2 small's width, depth and tokens"),
    Size("1b", "1.1 G parameters", 22, 2048, 32, 4, 5632, 32_000, "TinyLlama 1.1B"),
)
"""The sizes, smallest first."""


@dataclass(frozen=True)
class LanguageModel:
    """A size in one of its phases."""

    size: str
    """The slug of its size."""
    phase: Phase
    """What an inference is."""

    @property
    def slug(self) -> str:
        """For command lines and files."""
        return f"{PREFIX}{self.size}.{self.phase}"

    @property
    def name(self) -> str:
        """For people."""
        return f"LLM {self.size}, {'prompt' if self.phase == 'prompt' else 'per token'}"

    def of_size(self) -> Size:
        """Its sizes."""
        return next(one for one in SIZES if one.slug == self.size)

    def predicted_peak_bytes(self) -> int:
        """About the most memory that it takes: its weights twice, because the runtime packs them."""
        return 2 * FLOAT_BYTES * self.of_size().parameters + _BESIDE_BYTES


def find(text: str) -> list[LanguageModel] | None:
    """The workloads of a name: `llm-15m` is both phases, `llm-15m.token` one. `None` for a name of something else."""
    if not text.startswith(PREFIX):
        return None
    size, _, phase = text[len(PREFIX) :].partition(".")
    if size not in [one.slug for one in SIZES] or (phase and phase not in PHASES):
        return None
    return [LanguageModel(size, one) for one in PHASES if phase in ("", one)]


def names() -> list[str]:
    """What `find` knows, without the phases."""
    return [PREFIX + one.slug for one in SIZES]


class Decoder:
    """A loaded model that reads a prompt and goes on."""

    def __init__(self, model: LanguageModel, settings: runtime.Settings, seed: int) -> None:
        """Makes the weights and loads. Raises `RuntimeFailed` when the runtime refuses it."""
        import numpy as np

        from .graphs.decoder import decoder
        from .weights import random_weights

        self._size, self._phase = model.of_size(), model.phase
        proto, graph = decoder(self._size)
        self.graph_bytes, self.parameters = len(proto), graph.parameters
        self.session = runtime.Session(
            proto, random_weights(graph, seed, settings.intra_op_threads), settings
        )
        generator = np.random.default_rng(seed)
        self._prompt = generator.integers(0, self._size.vocabulary, (1, PROMPT_TOKENS))
        self._causal = np.triu(np.full((PROMPT_TOKENS, PROMPT_TOKENS), -np.inf, np.float32), 1)
        self._caches = [
            f"{what}.{number}" for number in range(self._size.layers) for what in ("key", "value")
        ]
        empty = np.zeros((1, self._size.key_heads, 0, self._size.head), np.float32)
        self._empty = self.session.value(empty)
        self._after_prompt: list[Any] = []
        self._cache: list[Any] = []
        self._token: Any = None
        self._length = 0

    def step(self) -> Callable[[], Any]:
        """What one inference does; returns the number of the next token."""
        self.prompt()
        return self.prompt if self._phase == "prompt" else self.token

    def prompt(self) -> Any:
        """Reads the prompt."""
        feeds = {"tokens": self._prompt, "mask": self._causal}
        self._token, self._cache = self.session.run_cached(
            feeds, self._caches, [self._empty] * len(self._caches)
        )
        self._after_prompt, self._length = self._cache, PROMPT_TOKENS
        return self._token

    def token(self) -> Any:
        """Makes one more token."""
        import numpy as np

        if self._length >= PROMPT_TOKENS + MOST_TOKENS:
            self._cache, self._length = self._after_prompt, PROMPT_TOKENS
        self._length += 1
        feeds = {"tokens": self._token.reshape(1, 1), "mask": np.zeros((1, self._length), np.float32)}
        self._token, self._cache = self.session.run_cached(feeds, self._caches, self._cache)
        return self._token
