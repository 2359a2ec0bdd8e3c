"""A language model's decode steps on a GPU by PyTorch, under the workload contract: how its thread waits for the GPU is set.

    swtch ai run --runs 2 -- python3 experiments/ai/gpu_decode.py --wait block --graph

A decoder of 12 layers and 768 channels with random weights (about 125 million parameters, half precision), one sequence, a token at a time, with
the keys and values of 512 positions. An inference is a token: the step is launched, and the thread waits for the token. `--graph` launches a step
as one CUDA graph, otherwise PyTorch launches a kernel at a time. Needs PyTorch with CUDA.
"""

from __future__ import annotations

import argparse
import ctypes

import torch
from torch.nn import functional

from swtch.ai.contract import Workload, now_ns
from swtch.ai.cuda import FLAGS

LAYERS, CHANNELS, HEADS, VOCABULARY, POSITIONS = 12, 768, 12, 50_000, 512
WARM_UP = 20


class Decoder:
    """One token from the one before."""

    def __init__(self) -> None:
        generator = torch.Generator("cuda").manual_seed(0)

        def weights(rows: int, columns: int) -> torch.Tensor:
            made = torch.randn(rows, columns, generator=generator, device="cuda", dtype=torch.half)
            return made / columns**0.5

        self.words = weights(VOCABULARY, CHANNELS)
        self.layers = [
            [
                weights(3 * CHANNELS, CHANNELS),
                weights(CHANNELS, CHANNELS),
                weights(4 * CHANNELS, CHANNELS),
                weights(CHANNELS, 4 * CHANNELS),
                torch.zeros(2, HEADS, POSITIONS, CHANNELS // HEADS, device="cuda", dtype=torch.half),
            ]
            for _ in range(LAYERS)
        ]
        self.token = torch.zeros(1, dtype=torch.long, device="cuda")
        self.position = torch.zeros(1, dtype=torch.long, device="cuda")

    def step(self) -> None:
        """Replaces the token by the next."""
        seen = torch.arange(POSITIONS, device="cuda") <= self.position
        state = self.words[self.token]
        for mixed, joined, wide, narrow, cache in self.layers:
            parts = functional.linear(functional.layer_norm(state, (CHANNELS,)), mixed)
            query, key, value = parts.view(3, HEADS, 1, CHANNELS // HEADS)
            cache[0].index_copy_(1, self.position, key)
            cache[1].index_copy_(1, self.position, value)
            found = functional.scaled_dot_product_attention(
                query, cache[0], cache[1], attn_mask=seen[None, None]
            )
            state = state + functional.linear(found.reshape(1, CHANNELS), joined)
            between = functional.linear(functional.layer_norm(state, (CHANNELS,)), wide)
            state = state + functional.linear(functional.gelu(between), narrow)
        self.token.copy_(functional.linear(functional.layer_norm(state, (CHANNELS,)), self.words).argmax(-1))
        self.position.copy_((self.position + 1) % POSITIONS)


def graph_of(decoder: Decoder) -> torch.cuda.CUDAGraph:
    """A step as one launch."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            decoder.step()
    torch.cuda.current_stream().wait_stream(side)
    made = torch.cuda.CUDAGraph()
    with torch.cuda.graph(made):
        decoder.step()
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--wait", choices=sorted(FLAGS), default="spin")
    parser.add_argument("--graph", action="store_true")
    options = parser.parse_args()
    workload = Workload()
    # Before PyTorch makes the context.
    ctypes.CDLL("libcuda.so.1").cuInit(0)
    assert ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxSetFlags_v2(0, FLAGS[options.wait]) == 0
    torch.set_grad_enabled(False)
    decoder = Decoder()
    step = graph_of(decoder).replay if options.graph else decoder.step
    for _ in range(WARM_UP):
        step()
        decoder.token.item()
    workload.reserve(1 << 16)
    flags, active = ctypes.c_uint(), ctypes.c_int()
    ctypes.CDLL("libcuda.so.1").cuDevicePrimaryCtxGetState(0, ctypes.byref(flags), ctypes.byref(active))
    workload.ready(
        device=torch.cuda.get_device_name(), wait=options.wait, graph=options.graph, flags=flags.value
    )
    if not workload.wait_for_go():
        return
    deadline_ns = now_ns() + int((workload.duration_s or 5.0) * 1e9)
    end_ns, launched_ns = 0, 0
    while end_ns < deadline_ns:
        begin_ns = now_ns()
        step()
        launched_ns += now_ns() - begin_ns
        decoder.token.item()
        end_ns = now_ns()
        workload.span(begin_ns, end_ns)
    workload.finish(inferences=workload.spans, launch_mean_ns=launched_ns / workload.spans)


if __name__ == "__main__":
    main()
