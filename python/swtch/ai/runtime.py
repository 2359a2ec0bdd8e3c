"""ONNX Runtime as the suite uses it: a session with the weights supplied in memory and the settings that matter for switches.

Everything is imported when it is needed, so that an installation without the extra `ai` can say so in one line.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import MissingRuntime

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
    """Raises `MissingRuntime` unless all packages and the device's provider are there."""
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


def version() -> str:
    """ONNX Runtime's version, of whichever package brought it."""
    import onnxruntime

    return str(onnxruntime.__version__)


def session(model: bytes, weights: Mapping[str, Array], settings: Settings) -> Any:
    """An `onnxruntime.InferenceSession`. The arrays are used in place and must live as long as the session."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = settings.intra_op_threads
    options.inter_op_num_threads = settings.inter_op_threads
    parallel = settings.inter_op_threads > 1
    options.execution_mode = ort.ExecutionMode.ORT_PARALLEL if parallel else ort.ExecutionMode.ORT_SEQUENTIAL
    spinning = "1" if settings.spin else "0"
    options.add_session_config_entry("session.intra_op.allow_spinning", spinning)
    options.add_session_config_entry("session.inter_op.allow_spinning", spinning)
    # Random weights can bring denormals about, which made inferences 36 times slower.
    options.add_session_config_entry("session.set_denormal_as_zero", "1")
    options.log_severity_level = 3
    names = list(weights)
    options.add_external_initializers(
        names, [ort.OrtValue.ortvalue_from_numpy(weights[name]) for name in names]
    )
    providers = [PROVIDERS[settings.device]]
    if settings.device != "cpu":
        # For the few operators that a GPU has not, shapes above all.
        providers.append(PROVIDERS["cpu"])
    return ort.InferenceSession(model, options, providers=providers)


def installed() -> dict[str, str | None]:
    """The version of each package of the extra `ai`; `None` for one that is missing. Imports nothing."""
    found: dict[str, str | None] = {}
    for package in NEEDED:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            found[package] = None
    return found
