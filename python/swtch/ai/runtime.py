"""ONNX Runtime as the suite uses it: a session with the weights supplied in memory and the settings that matter for switches.

Everything is imported when it is needed, so that an installation without the extra `ai` can say so in one line.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import MissingRuntime, RuntimeFailed

if TYPE_CHECKING:
    from .weights import Array

Device = Literal["cpu", "cuda"]
"""Where a model runs."""
PROVIDERS: dict[Device, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
"""ONNX Runtime's name of each device."""
NEEDED = ("numpy", "onnx", "onnxruntime")
"""The packages of the extra `ai`."""


@dataclass(frozen=True)
class Settings:
    """How a session runs."""

    intra_op_threads: int = 1
    """Threads that share one operator."""
    inter_op_threads: int = 1
    """Operators at once; above 1 they run in parallel where the graph allows it."""
    spin: bool = True
    """Whether threads without work spin before they block, which is ONNX Runtime's default."""
    device: Device = "cpu"
    """Where it runs."""


def check(device: Device = "cpu") -> None:
    """Raises `MissingRuntime` unless all packages and the device's provider are installed."""
    for package in NEEDED:
        try:
            __import__(package)
        except ImportError as error:
            raise MissingRuntime(
                f"the models need {package}, which cannot be imported ({error}); pip install 'swtch[ai]'"
            ) from None
    import onnxruntime

    available = onnxruntime.get_available_providers()
    if PROVIDERS[device] not in available:
        raise MissingRuntime(
            f"--device {device} needs ONNX Runtime's {PROVIDERS[device]}, and this installation has "
            f"{', '.join(available)}; on a machine with an NVIDIA GPU: pip install onnxruntime-gpu"
        )

    if device != "cpu" and (why := _unusable(PROVIDERS[device])):
        raise MissingRuntime(
            f"--device {device}: {why}; is there a GPU (nvidia-smi), and the CUDA and cuDNN that "
            f"ONNX Runtime {onnxruntime.__version__} wants?"
        )


def _unusable(provider: str) -> str | None:
    """Why a provider does not run a model of one operator: it can be listed where its libraries or the device are missing."""
    import onnxruntime as ort

    from .graphs.builder import Builder
    from .graphs.onnx_model import serialised

    builder = Builder("probe")
    graph = builder.output(builder.relu(builder.input((1, 1))))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(serialised(graph), options, providers=[provider, PROVIDERS["cpu"]])
    except Exception as error:
        return f"{provider} failed ({' '.join(str(error).split())[:200]})"
    return None if provider in session.get_providers() else f"{provider} did not load"


def version() -> str:
    """ONNX Runtime's version, of whichever package brought it."""
    import onnxruntime

    return str(onnxruntime.__version__)


class Session:
    """A loaded model. It keeps the arrays of its weights, which the runtime uses in place."""

    def __init__(self, model: bytes | str, weights: Mapping[str, Array], settings: Settings) -> None:
        """Loads a model without weights, or the file of one with weights; raises `RuntimeFailed` when the runtime refuses it."""
        import onnxruntime as ort

        self._weights = dict(weights)
        options = _options(ort, settings)
        options.add_external_initializers(
            list(self._weights), [ort.OrtValue.ortvalue_from_numpy(array) for array in self._weights.values()]
        )
        providers = [PROVIDERS[settings.device]]
        if settings.device != "cpu":
            # For the few operators that a GPU lacks, shapes above all.
            providers.append(PROVIDERS["cpu"])
        try:
            self._session = ort.InferenceSession(model, options, providers=providers)
        # What the runtime raises has no common base but this.
        except Exception as error:
            raise _refused("load the model", error) from None
        self.providers = tuple(self._session.get_providers())
        """Where it runs, by the runtime's names."""

    def infer(self, feed: Mapping[str, Array]) -> Array:
        """The first output for the inputs by name."""
        try:
            output: Array = self._session.run(None, feed)[0]
        except Exception as error:
            raise _refused("infer", error) from None
        return output

    @staticmethod
    def value(array: Array) -> Any:
        """An array as the runtime holds it."""
        import onnxruntime as ort

        return ort.OrtValue.ortvalue_from_numpy(array)

    def run_cached(
        self, feed: Mapping[str, Any], names: Sequence[str], cache: Sequence[Any]
    ) -> tuple[Any, list[Any]]:
        """The first output, and the others as the runtime holds them, without a copy: the cache of the next call.

        names: of the outputs in the cache; their inputs have `past_` before it. cache: the values of those inputs.
        """
        bound = self._session.io_binding()
        for name, array in feed.items():
            bound.bind_cpu_input(name, array)
        for name, value in zip(names, cache, strict=True):
            bound.bind_ortvalue_input(f"past_{name}", value)
        for name in ("next", *names):
            bound.bind_output(name)
        try:
            self._session.run_with_iobinding(bound)
        except Exception as error:
            raise _refused("infer", error) from None
        first, *rest = bound.get_outputs()
        return first.numpy(), rest


def _options(ort: Any, settings: Settings) -> Any:
    options = ort.SessionOptions()
    options.intra_op_num_threads = settings.intra_op_threads
    options.inter_op_num_threads = settings.inter_op_threads
    parallel = settings.inter_op_threads > 1
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL if parallel else ort.ExecutionMode.ORT_SEQUENTIAL
    spinning = "1" if settings.spin else "0"
    options.add_session_config_entry("session.intra_op.allow_spinning", spinning)
    options.add_session_config_entry("session.inter_op.allow_spinning", spinning)
    # Random weights can bring denormals about, which make inferences tens of times slower.
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    # Errors arrive as exceptions, and become one line.
    options.log_severity_level = 4
    return options


def _refused(what: str, error: Exception) -> RuntimeFailed:
    words = " ".join(str(error).split())
    memory = "alloc" in words.lower()
    hint = (
        "too little memory? use a smaller batch or model"
        if memory
        else "a newer one may: pip install -U onnxruntime"
    )
    return RuntimeFailed(f"ONNX Runtime {version()} could not {what} ({words[:300]}); {hint}")


def installed() -> dict[str, str | None]:
    """The version of each package of the extra `ai`; `None` for one that is missing. Imports nothing."""
    found: dict[str, str | None] = {}
    for package in NEEDED:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found
