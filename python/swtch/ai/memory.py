"""How much memory a model will need, predicted before any of it is allocated.

The prediction is meant to be too high rather than too low, by less than a factor of three. It is made of what is known:

- the shared libraries of the runtime, at their full size;
- the weights four times. They are handed over, held once more while they are loaded, and laid out anew for the CPU in
  the runtime's arena. That arena grows by doubling and so can hold twice what is in it;
- tensors between operators that are alive at once, four times. They are twice in the arena, and twice in a second block of the arena.
  That one is laid out once a first inference has shown what is needed. Channels count in blocks of 16, the widest that the runtime's
  convolutions work on (`NCHWc`).
"""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .graphs.graph import Graph

WEIGHTS_COPIES = 4
"""How often weights are in memory, at most."""
ACTIVATIONS_COPIES = 4
"""How much the arena can hold, of what is alive at once."""
CHANNELS_BLOCK = 16
"""Channels are filled up to a multiple of this."""
LIBRARIES = ("numpy", "numpy.libs", "onnx", "onnxruntime")
"""The directories among the installed packages that hold the runtime's shared libraries."""


def predicted_peak_bytes(graph: Graph) -> int:
    """The most memory that a process running this graph on the CPU will have resident."""
    activations = graph.activations_bytes(CHANNELS_BLOCK)
    return runtime_bytes() + WEIGHTS_COPIES * graph.weights_bytes + ACTIVATIONS_COPIES * activations


def runtime_bytes() -> int:
    """The size of the runtime's shared libraries; 0 where it is not installed."""
    found = importlib.util.find_spec("numpy")
    if found is None or found.origin is None:
        return 0
    packages = Path(found.origin).parent.parent
    return sum(
        file.stat().st_size
        for name in LIBRARIES
        for file in (packages / name).rglob("*.so*")
        if file.is_file()
    )
