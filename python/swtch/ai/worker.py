"""`python -m swtch.ai.worker MODEL`: runs one model, of the suite or of a file, in this process and reports by the workload contract.

It reports `ready` when the model is loaded and warmed up, waits for `go` and infers for the duration. Then it writes when every
inference began and ended, and its costs. SIGTERM ends the measured phase early. Exit status: 0 done, 1 failed (one line says why), 2 wrong usage. Without a host the same
lines go to standard output.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import os
import signal
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from .._command import Parser
from . import language, own_model, runtime
from .catalogue import Model, find
from .contract import Workload, now_ns
from .errors import AiError, UnknownModel
from .settings import cpus_of

Feed = dict[str, Any]
"""Arrays by the name of the input."""
Infer = Callable[[], Any]
"""Makes one inference; returns its output."""
DEFAULT_DURATION_S = 10.0
"""When neither the command line nor the host says how long."""
INPUT_SEED = 0
"""Of the random image that is fed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the worker; returns its exit status."""
    options = _parser().parse_args(arguments)
    spoken = language.find(options.model)
    if own_model.is_file(options.model):
        model: Model | Path | language.LanguageModel = Path(options.model)
    elif spoken is not None and len(spoken) == 1:
        model = spoken[0]
    else:
        try:
            models = find(options.model)
        except UnknownModel as error:
            return _failed(str(error), status=2)
        if len(models) != 1:
            return _failed(f"a worker runs one model, and {options.model!r} names {len(models)}", status=2)
        model = models[0]
    try:
        workload = Workload()
    except (ValueError, OSError) as error:
        return _failed(f"cannot follow the workload contract: {error}", status=2)
    try:
        _work(model, options, workload)
    except AiError as error:
        return _failed(str(error), workload)
    except MemoryError:
        return _failed(
            f"{model.name} at batch {options.batch} needs more memory than this process may have; use a smaller batch or model",
            workload,
        )
    except BrokenPipeError:
        return _failed("the host has gone")
    return 0


def _work(
    model: Model | Path | language.LanguageModel, options: argparse.Namespace, workload: Workload
) -> None:
    # numpy's own threads have nothing to do here, and would be counted as the model's.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Before all else, so that nothing is built in vain.
    runtime.check(options.device)
    if options.pin is not None:
        _pin(options.pin)
    started = time.monotonic()
    if isinstance(model, language.LanguageModel):
        infer, facts = _load_decoder(model, options)
    else:
        session, feed, facts = (
            _load_file(model, options) if isinstance(model, Path) else _load(model, options)
        )
        infer = functools.partial(session.infer, feed)
    load_s = time.monotonic() - started
    slowest_ns = _warm_up(infer, options.warm_up)
    duration_s = _first(options.duration, workload.duration_s, DEFAULT_DURATION_S)
    inferences = max(int(_first(options.inferences, workload.inferences, sys.maxsize)), 1)
    workload.reserve(min(inferences, int(duration_s * 2e9 / slowest_ns) + 1))
    workload.ready(**facts, load_s=load_s, peak_rss_bytes=peak_rss_bytes(), thread_count=_thread_count())
    if not workload.wait_for_go():
        raise AiError("the host ended before it sent go")
    output = _measured(infer, workload, duration_s, inferences)
    workload.finish(
        inferences=workload.spans,
        images=workload.spans * facts["batch"],
        peak_rss_bytes=peak_rss_bytes(),
        **_output_facts(output),
    )


def _first(*values: float | None) -> float:
    """The first that is given: by the command line, by the host, by default."""
    return next(value for value in values if value is not None)


def _output_facts(output: Any) -> dict[str, Any]:
    """What tells one output from another; nothing of one that is not an array of numbers."""
    if getattr(output, "dtype", None) is None or output.dtype.kind not in "biuf" or not output.size:
        return {}
    return {"output_mean": float(output.mean()), "output_crc32": zlib.crc32(output.tobytes())}


def _load_file(path: Path, options: argparse.Namespace) -> tuple[runtime.Session, Feed, dict[str, Any]]:
    """The same for a model of the user's own."""
    model = own_model.read(path)
    given = own_model.arrays_of(options.input, model) if options.input is not None else None
    fed = own_model.feed(model, options.batch, dict(options.shape), given)
    settings = runtime.Settings(options.threads, options.inter_op, options.spin, options.device)
    session = runtime.Session(str(path), {}, settings)
    first = fed.arrays[model.inputs[0].name]
    facts = {
        "workload": model.name,
        "model": path.name,
        "number": None,
        **_runtime_facts(session, options),
        "batch": fed.batch,
        "input_shape": list(first.shape),
        "parameters": model.parameters,
        "graph_bytes": path.stat().st_size,
        "weights": str(path),
        "inputs": "made up" if given is None else str(options.input),
    }
    return session, fed.arrays, facts


def _load_decoder(model: language.LanguageModel, options: argparse.Namespace) -> tuple[Infer, dict[str, Any]]:
    """One inference of a language model, and the facts."""
    if options.batch != 1:
        raise AiError(
            "a language model here makes one text at a time; use --co-located for several, and --batch 1"
        )
    settings = runtime.Settings(options.threads, options.inter_op, options.spin, options.device)
    decoder = language.Decoder(model, settings, options.seed)
    began_ns = now_ns()
    infer = decoder.step()
    facts = {
        "workload": model.slug,
        "model": model.name,
        "number": None,
        **_runtime_facts(decoder.session, options),
        "batch": 1,
        "prompt_tokens": language.PROMPT_TOKENS,
        "first_prompt_ns": now_ns() - began_ns,
        "like": model.of_size().like,
        "parameters": decoder.parameters,
        "graph_bytes": decoder.graph_bytes,
        "weights": "random",
        "seed": options.seed,
    }
    return infer, facts


def _runtime_facts(session: runtime.Session, options: argparse.Namespace) -> dict[str, Any]:
    return {
        "runtime": "ONNX Runtime",
        "runtime_version": runtime.version(),
        "providers": session.providers,
        "threads": options.threads,
        "inter_op_threads": options.inter_op,
        "spin": options.spin,
        "device": options.device,
        "cpus": sorted(os.sched_getaffinity(0)),
    }


def _load(model: Model, options: argparse.Namespace) -> tuple[runtime.Session, Feed, dict[str, Any]]:
    """The session, what is fed to it, and the facts about both."""
    import numpy as np

    from .graphs.onnx_model import serialised
    from .weights import load_weights, random_weights

    graph = model.build(options.batch)
    proto = serialised(graph)
    if options.weights is not None:
        weights = load_weights(graph, options.weights)
    else:
        weights = random_weights(graph, options.seed, threads=options.threads)
    settings = runtime.Settings(options.threads, options.inter_op, options.spin, options.device)
    session = runtime.Session(proto, weights, settings)
    generator = np.random.default_rng(INPUT_SEED)
    feed = {one.name: generator.random(one.shape, dtype=np.float32) for one in graph.inputs}
    facts = {
        "workload": model.slug,
        "model": model.name,
        "number": model.number,
        **_runtime_facts(session, options),
        "batch": options.batch,
        "input_shape": list(graph.inputs[0].shape),
        "output_shape": list(graph.outputs[0].shape),
        "parameters": graph.parameters,
        "macs": graph.macs,
        "graph_bytes": len(proto),
        "weights": "random" if options.weights is None else str(options.weights),
        "seed": options.seed if options.weights is None else None,
    }
    return session, feed, facts


def _warm_up(infer: Infer, times: int) -> int:
    """Infers this many times, at least once; returns the time of the last in nanoseconds."""
    for _ in range(max(times, 1)):
        begin_ns = now_ns()
        infer()
        last_ns = now_ns() - begin_ns
    return max(last_ns, 1)


def _measured(infer: Infer, workload: Workload, duration_s: float, inferences: int) -> Any:
    """Infers until the time is over or SIGTERM comes, at least once; returns the last output."""
    stopped: list[int] = []
    # The measurements until then are written.
    before = signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    span = workload.span
    deadline_ns = now_ns() + int(duration_s * 1e9)
    for _ in range(inferences):
        begin_ns = now_ns()
        output = infer()
        end_ns = now_ns()
        span(begin_ns, end_ns)
        if end_ns >= deadline_ns or stopped:
            break
    signal.signal(signal.SIGTERM, before)
    return output


def peak_rss_bytes() -> int | None:
    """The most memory that this process had resident at once; `None` where procfs does not say.

    From `VmHWM`, because `getrusage` inherits the maximum of the process that forked this one.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _thread_count() -> int | None:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return None


def _pin(cpus: set[int]) -> None:
    try:
        os.sched_setaffinity(0, cpus)
    except OSError as error:
        allowed = sorted(os.sched_getaffinity(0))
        raise AiError(
            f"cannot pin to the CPUs {sorted(cpus)} ({error.strerror}); this process may use {allowed}"
        ) from None


def _failed(message: str, workload: Workload | None = None, status: int = 1) -> int:
    """Says why in one line, to the host where there is one."""
    if workload is not None:
        # The host may be what failed.
        with contextlib.suppress(BrokenPipeError):
            workload.error(message)
    print(f"swtch ai: {message}", file=sys.stderr)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="python -m swtch.ai.worker", description="Run one model under the workload contract."
    )
    add = parser.add_argument
    add("model", help="a number or a name from `swtch ai list`, or an ONNX file")
    add(
        "--threads",
        type=_positive,
        default=1,
        metavar="N",
        help="threads that share an operator [default: 1]",
    )
    add(
        "--inter-op",
        type=_positive,
        default=1,
        metavar="N",
        help="operators that run at the same time [default: 1]",
    )
    waiting = parser.add_mutually_exclusive_group()
    waiting.add_argument(
        "--spin", dest="spin", action="store_true", default=True, help="waiting threads spin first [default]"
    )
    waiting.add_argument("--block", dest="spin", action="store_false", help="waiting threads block at once")
    add("--batch", type=_positive, default=1, metavar="N", help="images per inference [default: 1]")
    add(
        "--duration",
        type=_seconds,
        metavar="S",
        help="seconds to measure for [default: what the host asks for, or 10]",
    )
    add("--inferences", type=_positive, metavar="N", help="stop after N inferences")
    add(
        "--warm-up",
        type=_positive,
        default=2,
        metavar="N",
        help="inferences before the model is ready [default: 2]",
    )
    add(
        "--device",
        choices=sorted(runtime.PROVIDERS),
        default="cpu",
        help="where the model runs [default: cpu]",
    )
    add("--weights", type=Path, metavar="DIR", help="trained weights: DIR/NAME.npz instead of random ones")
    add("--seed", type=int, default=0, metavar="N", help="seed of the random weights [default: 0]")
    add(
        "--shape",
        type=own_model.shape,
        action="append",
        default=[],
        metavar="[NAME=]N,...",
        help="of an input of the file",
    )
    add("--input", type=Path, metavar="FILE", help="arrays to feed to the file's model: .npz or .npy")
    add("--pin", type=_cpus, metavar="CPULIST", help="run on these CPUs only, such as 0,2-3")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a time in seconds above 0")
    return value


def _cpus(text: str) -> set[int]:
    try:
        return set(cpus_of(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of CPUs such as 0,2-3") from None


if __name__ == "__main__":
    sys.exit(main())
