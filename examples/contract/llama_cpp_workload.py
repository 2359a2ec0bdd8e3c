"""A language model in llama.cpp as a workload, token by token: llama_cpp_workload.py [MODEL.gguf] [--threads N] [--threads-batch N] [--spin 0|1] [--poll 0..100]

Speaks the workload contract (docs/workload-contract.md): each token after the first of a text is a span. llama.cpp comes in the package xllamacpp. Without a
file the model has the sizes of `llm-15m` of `swtch ai`, and seeded random weights that the package gguf writes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from swtch.ai.contract import Workload, now_ns
from swtch.ai.language import MOST_TOKENS, PROMPT_TOKENS, SIZES, Size

DURATION_S = 10.0
"""Unless the host says how long."""
POLL = 50
"""As llama.cpp has it by default."""
SCALE = 0.02
"""Of the random weights."""
BYTES = 256
"""Tokens that stand for a byte, which every vocabulary has."""
UNKNOWN, CONTROL, OF_A_BYTE, NORMAL = 2, 3, 6, 1
"""Kinds of tokens (`llama_token_type` in include/llama.h)."""


def main(arguments: list[str]) -> int:
    """Runs the model; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("model", nargs="?", type=Path, metavar="MODEL.gguf")
    parser.add_argument("--threads", type=int, default=1, metavar="N")
    parser.add_argument(
        "--threads-batch", type=int, metavar="N", help="threads of the prompt [default: --threads]"
    )
    parser.add_argument("--spin", type=int, default=1, choices=(0, 1), help="as --poll 50, or --poll 0")
    parser.add_argument("--poll", type=int, metavar="0..100", help="how long threads spin before they block")
    options = parser.parse_args(arguments)
    if options.poll is None:
        options.poll = POLL if options.spin else 0
    workload = Workload()
    try:
        import gguf
        import xllamacpp
    except ImportError as error:
        return failed(workload, f"{error}; pip install xllamacpp gguf")
    with tempfile.TemporaryDirectory() as made:
        path = options.model or Path(made) / "model.gguf"
        if options.model is None:
            write(gguf, path, SIZES[0])
        try:
            server = xllamacpp.Server(parameters(xllamacpp, path, options))
        except Exception as error:
            return failed(workload, f"{path} cannot be loaded ({error}); is it a GGUF file?")
        return run(workload, server, path, options, xllamacpp.__version__)


def parameters(xllamacpp: Any, path: Path, options: argparse.Namespace) -> Any:
    """As of llama-server with --threads, --threads-batch and --poll."""
    found = xllamacpp.CommonParams()
    found.model.path, found.n_gpu_layers = str(path), 0
    found.n_ctx, found.n_parallel = 2 * (PROMPT_TOKENS + MOST_TOKENS), 1
    found.verbosity = -1
    of_prompt = options.threads_batch or options.threads
    for one, threads in ((found.cpuparams, options.threads), (found.cpuparams_batch, of_prompt)):
        one.n_threads, one.poll = threads, options.poll
    return found


def run(workload: Workload, server: Any, path: Path, options: argparse.Namespace, version: str) -> int:
    """One text after another, until the time is over."""
    asked = {
        "prompt": [3 + number % BYTES for number in range(PROMPT_TOKENS)],
        "n_predict": MOST_TOKENS,
        "stream": True,
        "ignore_eos": True,
        "temperature": 0.0,
        "cache_prompt": False,
    }
    first_ns: list[int] = []

    def text(deadline_ns: int | None) -> None:
        """Makes one; without a deadline only the machine gets warm."""
        before_ns, last_ns = now_ns(), None

        def comes(_: Any) -> bool:
            nonlocal last_ns
            at_ns = now_ns()
            if last_ns is None:
                first_ns.append(at_ns - before_ns)
            elif deadline_ns is not None:
                workload.span(last_ns, at_ns)
            last_ns = at_ns
            # That it is enough.
            return deadline_ns is not None and (at_ns >= deadline_ns or enough(workload))

        server.handle_completions(asked, comes)

    text(None)
    of_prompt = options.threads_batch or options.threads
    facts = {
        "threads": options.threads,
        "threads_batch": of_prompt,
        "poll": options.poll,
        "prompt_tokens": PROMPT_TOKENS,
        "batch": 1,
    }
    name = "llama.cpp" if options.model is None else path.stem
    workload.ready(workload=name, model=path.name, runtime="llama.cpp", runtime_version=version, **facts)
    if not workload.wait_for_go():
        return failed(workload, "the host ended before it said go")
    first_ns.clear()
    deadline_ns = now_ns() + int((workload.duration_s or DURATION_S) * 1e9)
    while now_ns() < deadline_ns and not enough(workload):
        text(deadline_ns)
    workload.finish(inferences=workload.spans, first_token_ns=sorted(first_ns)[len(first_ns) // 2])
    return 0


def enough(workload: Workload) -> bool:
    """Whether the host wanted no more."""
    return workload.inferences is not None and workload.spans >= workload.inferences


def write(gguf: Any, path: Path, size: Size) -> None:
    """A model of these sizes with seeded weights of 16 bits."""
    import numpy as np

    file, random = gguf.GGUFWriter(path, "llama"), np.random.default_rng(0)
    file.add_context_length(2048)
    file.add_embedding_length(size.width)
    file.add_block_count(size.layers)
    file.add_feed_forward_length(size.hidden)
    file.add_head_count(size.heads)
    file.add_head_count_kv(size.key_heads)
    file.add_rope_dimension_count(size.head)
    file.add_layer_norm_rms_eps(1e-5)
    file.add_vocab_size(size.vocabulary)
    file.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    named = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(BYTES))]
    others = size.vocabulary - len(named)
    file.add_tokenizer_model("llama")
    file.add_token_list([*named, *(f"word{number}" for number in range(others))])
    file.add_token_scores([0.0] * size.vocabulary)
    file.add_token_types([UNKNOWN, CONTROL, CONTROL, *[OF_A_BYTE] * BYTES, *[NORMAL] * others])
    file.add_bos_token_id(1)
    file.add_eos_token_id(2)
    kept = size.key_heads * size.head
    matrices = {
        "attn_q": (size.width, size.width),
        "attn_k": (kept, size.width),
        "attn_v": (kept, size.width),
        "attn_output": (size.width, size.width),
    }
    matrices |= {
        "ffn_gate": (size.hidden, size.width),
        "ffn_up": (size.hidden, size.width),
        "ffn_down": (size.width, size.hidden),
    }
    whole = {"token_embd": (size.vocabulary, size.width), "output": (size.vocabulary, size.width)}
    whole |= {
        f"blk.{layer}.{name}": shape for layer in range(size.layers) for name, shape in matrices.items()
    }
    for name, shape in whole.items():
        file.add_tensor(
            f"{name}.weight", (random.standard_normal(shape, dtype=np.float32) * SCALE).astype(np.float16)
        )
    for name in (
        "output_norm",
        *(f"blk.{layer}.{one}_norm" for layer in range(size.layers) for one in ("attn", "ffn")),
    ):
        file.add_tensor(f"{name}.weight", np.ones(size.width, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def failed(workload: Workload, message: str) -> int:
    """Says why, to the host and to people."""
    workload.error(message)
    print(f"llama_cpp_workload: {message}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
