"""What a context switch costs on this machine.

>>> import swtch
>>> profile = swtch.measure(quick=True)  # doctest: +SKIP
>>> profile.save("profile.json")  # doctest: +SKIP
>>> table = profile.to_pandas("direct")[["method", "tasks", "placement", "switch_cost_median_ns"]]  # doctest: +SKIP

Times are nanoseconds and sizes are bytes, and names end in their unit. `docs/method.md` of the project says how each figure
is taken.
"""

from ._comparison import Change, Comparison, Verdict
from ._doctor import Capability, Doctor, Probe, Probes, State, doctor
from ._errors import Interrupted, MeasureError, ProfileError, SimulationError, UsageError
from ._host import (
    Cache,
    CacheKind,
    CoreKind,
    Cpu,
    CpuQuota,
    Frequency,
    Host,
    Kernel,
    Limits,
    Mitigation,
    NumaNode,
    Virtualisation,
)
from ._measure import measure
from ._model import (
    Clock,
    Direct,
    Ended,
    Estimate,
    Indirect,
    Knee,
    Message,
    Noise,
    NoiseReason,
    Provenance,
    References,
    Region,
    RegionKind,
    Ring,
    Total,
    Unavailable,
)
from ._profile import Profile, TableName
from ._report import report
from ._shares import Shares, shares
from ._simulate import (
    ApplicationShare,
    Assumption,
    CoreType,
    CpuUse,
    Durations,
    Fairness,
    HandOver,
    HookCalls,
    Jitter,
    Recorded,
    ReplayError,
    ReplayVerdict,
    Run,
    SimulatedMachine,
    SimulatedWorkload,
    Simulation,
    SimulationTable,
    TaskGroup,
    simulate,
)
from ._sweep import Sweep, sweep

__all__ = [
    "ApplicationShare",
    "Assumption",
    "Cache",
    "CacheKind",
    "Capability",
    "Change",
    "Clock",
    "Comparison",
    "CoreKind",
    "CoreType",
    "Cpu",
    "CpuQuota",
    "CpuUse",
    "Direct",
    "Doctor",
    "Durations",
    "Ended",
    "Estimate",
    "Fairness",
    "Frequency",
    "HandOver",
    "HookCalls",
    "Host",
    "Indirect",
    "Interrupted",
    "Jitter",
    "Kernel",
    "Knee",
    "Limits",
    "MeasureError",
    "Message",
    "Mitigation",
    "Noise",
    "NoiseReason",
    "NumaNode",
    "Probe",
    "Probes",
    "Profile",
    "ProfileError",
    "Provenance",
    "Recorded",
    "References",
    "Region",
    "RegionKind",
    "ReplayError",
    "ReplayVerdict",
    "Ring",
    "Run",
    "Shares",
    "SimulatedMachine",
    "SimulatedWorkload",
    "Simulation",
    "SimulationError",
    "SimulationTable",
    "State",
    "Sweep",
    "TableName",
    "TaskGroup",
    "Total",
    "Unavailable",
    "UsageError",
    "Verdict",
    "Virtualisation",
    "doctor",
    "measure",
    "report",
    "shares",
    "simulate",
    "sweep",
]
