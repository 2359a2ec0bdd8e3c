"""AI workloads under the recorder: the sixteen models of the study by Suo et al., and their runner.

`pip install 'swtch[ai]'` brings what they need. Importing this package imports none of it.

Modules: `catalogue` (the sixteen models as data), `graphs` (each network built by code: shapes, parameters and work, without any
runtime; `onnx_model` writes it), `weights` (seeded or from files), `memory` (predicted), `runtime` (ONNX Runtime), `contract` (how any
workload tells when its work begins and ends), `worker` (one model in a process of its own), `own_model` (of an ONNX file), `language`
(decoders, by `graphs.decoder`). `swtch ai` is `command` with `list`, `run`, `tune`, `attach`, `why`, `predict` and `gpu` (arguments in, output); `sweep` (which runs, in which order), `study` (all runs, the document after each), `one_run` (one,
from its cgroup to its figures) with `launch` (the workload's process), `record` (records beside it, in this process where that
may see as much as the program) and `sampler`; `evaluate` and `over_time` (from what was seen to a row); pure: `timeline` (which tasks ran and
waited inside inferences), `account` (where the CPUs' time went), `figures`, `summarise`, `comparisons` (tests, corrected for their
number), `objective`, `advice`, `settings`; `pool_fit` (the work of an inference, from runs) and `pool` (how it is simulated); `inferences` (kept as spans) and `data` (as a table); `http_load` (requests to a server);
`cuda` and `gpu_worker` (the driver of a GPU, and a workload on it); `result` (the document) and `summary` (text); `scheduler` (another one for the time of a run), `vm` and
`in_guest` (the same in a virtual machine, and its inner side); `overhead`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .data import LoadedStudy, load

__all__ = ["LoadedStudy", "load"]


def __getattr__(name: str) -> Any:
    # Only what is asked for is imported, so that the command starts at once.
    if name in __all__:
        from . import data

        return getattr(data, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
