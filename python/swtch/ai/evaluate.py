"""From what was seen of a run to its figures: a row of `runs` of `swtch/study/2`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .. import _native
from .._documents import to_document
from .._errors import ProfileError, TraceError
from .._trace import Trace
from .account import Account, account, between
from .contract import Collector
from .figures import latency, per
from .over_time import over_time
from .sampler import Sampler
from .timeline import Activity, Switch, activity, switches

_DRIVERS = ("nvidia", "nv_queue", "uvm")
"""What the names of the driver's threads have in them: irq/129-nvidia, nv_queue, UVM global queue."""
_COST = (
    "direct_ns",
    "indirect_ns",
    "indirect_from",
    "share",
    "measured_in_place",
    "switch_ns",
    "cpu_ns",
    "causes",
    "money",
)


@dataclass(frozen=True)
class Seen:
    """What the host saw of a run that ended well."""

    said: Sequence[Collector]
    """What each copy reported."""
    pids: Sequence[int]
    """Its process."""
    go_ns: int
    """When they were let go, by `CLOCK_MONOTONIC`."""
    sampler: Sampler
    """What was seen meanwhile."""
    cpu_time: float
    """CPUs worth of time that the run might use."""
    cpu_count: int
    """CPUs that it might run on."""
    throttled_ns: int | None = None
    """How long its quota stopped it, summed over CPUs; `None` where that is not counted."""
    recorder_ns: int | None = None
    """CPU time of the recorder's process during the run; `None` without one."""


def blank(
    name: str, workload: dict[str, Any], settings: dict[str, Any], repeat: int, predicted: int | None
) -> dict[str, Any]:
    """The row of a run of which nothing is known yet."""
    return {
        "id": name,
        "workload": workload,
        "settings": settings,
        "repeat": repeat,
        "outcome": "crashed",
        "error": None,
        "trace": None,
        "facts": None,
        "duration_ns": None,
        "inferences": None,
        "concurrency": None,
        "images_per_second": None,
        "latency_ns": None,
        "peak_rss_bytes": None,
        "predicted_peak_bytes": predicted,
        "threads_peak": None,
        "processes_peak": None,
        "switches": None,
        "per_inference": None,
        "per_second": None,
        "cpu": None,
        "disturbed": None,
        "wait_share_of_latency": None,
        "wait_share_bounds": None,
        "interrupts": [],
        "over_time": None,
        "cost": None,
        "recorder": None,
        "driver_threads": None,
        "unavailable": [],
    }


def fill(row: dict[str, Any], seen: Seen, trace: Trace | None, price: str | None = None) -> None:
    """Fills in the figures. Missing ones have their reason in `unavailable`. price: of a vCPU, to report the cost in money too."""
    begin_ns = min(min(one.begin_ns, default=seen.go_ns) for one in seen.said)
    end_ns = max(max(one.end_ns, default=seen.go_ns) for one in seen.said)
    inferences = sum(len(one.end_ns) for one in seen.said)
    duration_ns = end_ns - begin_ns
    row.update(
        facts={**seen.said[0].metrics, **(seen.said[0].ready or {})},
        duration_ns=duration_ns,
        inferences=inferences,
        concurrency=concurrency([(b, e) for one in seen.said for b, e in zip(one.begin_ns, one.end_ns)]),
        images_per_second=total(_images_per_second(one, row["settings"]["batch"]) for one in seen.said),
        latency_ns=latency([length for one in seen.said for length in one.latencies_ns()]),
        threads_peak=max((one.threads for one in seen.sampler.samples), default=None),
        processes_peak=max((one.processes for one in seen.sampler.samples), default=None),
    )
    if inferences == 0:
        row["unavailable"].append({"what": "latency_ns", "why": "the workload reported no inference"})
    found = None if trace is None else _recorded(row, seen, trace, price)
    _fill_rates(row, seen, found, (begin_ns, end_ns), inferences)
    row["over_time"] = over_time(seen.sampler.samples, (begin_ns, end_ns), trace, seen.cpu_time)


def total(values: Iterable[float | None]) -> Any:
    """The sum; `None` when one is unknown."""
    known = list(values)
    return None if not known or None in known else sum(value for value in known if value is not None)


def concurrency(spans: Iterable[tuple[int, int]]) -> int | None:
    """How many spans were open at the same time, at most; `None` without one.

    >>> concurrency([(0, 5), (5, 9), (7, 8)]), concurrency([])
    (2, None)
    """
    steps = [step for begin, end in spans for step in ((begin, 1), (end, -1))]
    most = still_open = 0
    # An end sorts before a beginning at the same time.
    for _, step in sorted(steps):
        still_open += step
        most = max(most, still_open)
    return most or None


def _images_per_second(said: Collector, batch: int) -> float | None:
    spans = len(said.end_ns)
    if spans == 0:
        return None
    told = said.metrics.get("images")
    images = told if isinstance(told, (int, float)) and not isinstance(told, bool) else spans * batch
    return per(images * 1e9, max(said.end_ns) - min(said.begin_ns))


def _recorded(row: dict[str, Any], seen: Seen, trace: Trace, price: str | None) -> Activity | None:
    """What the Trace says about the inferences; fills in the figures that need no calculation."""
    row["interrupts"] = [
        {name: one[name] for name in ("kind", "line", "name", "count")}
        for one in trace.table("interrupts").rows()
        if one["cpu"] is None
    ]
    try:
        bill = to_document(trace.bill(price=price))
        row["cost"] = {name: bill[name] for name in _COST}
    except (ProfileError, OSError) as error:
        row["unavailable"].append({"what": "cost", "why": str(error)})
    source, lost = trace.provenance.recorder.split("-")[0], sum(one.events for one in trace.lost)
    row["recorder"] = {
        "source": source,
        "lost": lost,
        "measured_cpu_ns": seen.recorder_ns,
        **to_document(trace.recorder),
    }
    rows = trace.table("tasks").rows()
    if lost:
        row["unavailable"].append({"what": "wait_share_of_latency", "why": f"{lost} events were lost"})
    start_ns = trace.provenance.started_monotonic_ns
    try:
        all_switches = switches(trace)
    except TraceError as error:
        why = f"single switches were not recorded (source {source}): {error}"
        row["unavailable"] += [
            {"what": what, "why": why} for what in ("wait_share_of_latency", "over_time.switches_per_s")
        ]
        return _from_totals(rows)
    row["driver_threads"] = driver_threads(rows) if row["settings"]["device"] != "cpu" else None
    parts = []
    whole = trace.scope.kind == "machine"
    for tids, said in zip(threads_of(rows, seen.pids, whole), seen.said):
        spans = [(begin - start_ns, end - start_ns) for begin, end in zip(said.begin_ns, said.end_ns)]
        if not saw_beginning(
            all_switches, tids, seen.go_ns - start_ns, min((b for b, _ in spans), default=0)
        ):
            row["unavailable"].append(
                {
                    "what": "beginning",
                    "why": "the recording may begin too late: the first inferences may be missing",
                }
            )
        running = [task["tid"] for task in rows if task["run_ns"]]
        parts.append(
            (
                activity(all_switches, running, tids, spans, trace.duration_ns),
                sum(e - b for b, e in spans),
            )
        )
    found = _together(parts)
    if not lost:
        row["wait_share_of_latency"] = found.wait_share
        row["wait_share_bounds"] = {"low": found.wait_share_low, "high": found.wait_share_high}
    return found


def threads_of(
    tasks: Sequence[Mapping[str, Any]], pids: Sequence[int], machine: bool = False
) -> list[frozenset[int]]:
    """The threads of each copy, by its process: its own and those of the processes that it started.

    machine: whether the recording was of the whole machine, not only of the copies.
    """
    parents = {task["pid"]: task["parent_pid"] or 0 for task in tasks}
    found: dict[int, set[int]] = {pid: set() for pid in pids}
    for task in tasks:
        if not task["in_scope"]:
            continue
        pid, steps = task["pid"], 0
        while pid not in found and pid in parents and steps < len(parents):
            pid, steps = parents[pid], steps + 1
        # A task whose parents have ended is in no copy's tree; with a single copy it belongs to that one.
        if pid not in found and len(pids) == 1 and not machine:
            pid = pids[0]
        if pid in found:
            found[pid].add(task["tid"])
    return [frozenset(found[pid]) for pid in pids]


def driver_threads(tasks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What the kernel's threads of a GPU's driver did over the recording, busiest first."""
    rows = [
        {
            "name": task["comm"],
            "voluntary": task["voluntary"],
            "involuntary": task["involuntary"],
            "run_ns": task["run_ns"],
        }
        for task in tasks
        if task["kernel_thread"] and any(name in task["comm"].lower() for name in _DRIVERS)
    ]
    return sorted(rows, key=lambda one: -one["run_ns"])


def saw_beginning(switches: Iterable[Switch], tids: frozenset[int], go_ns: int, first_ns: int) -> bool:
    """Whether a thread of the workload was seen to come onto a CPU between `go` and its first inference.

    It was blocked, waiting for `go`; it must have arrived. A recorder that did not see that began too late.
    """
    return any(one.next_tid in tids and go_ns <= one.at_ns <= first_ns for one in switches)


def _from_totals(tasks: Sequence[Mapping[str, Any]]) -> Activity:
    """Of the whole recording, where single switches are not there."""
    scope = [task for task in tasks if task["in_scope"]]

    def summed(column: str) -> int:
        return sum(task[column] for task in scope)

    return Activity(
        summed("voluntary"), summed("involuntary"), summed("run_ns"), summed("wait_ns"), None, None, None
    )


def _together(parts: Sequence[tuple[Activity, int]]) -> Activity:
    """The copies' sums; shares are means by the length of their inferences."""

    def mean(name: str) -> float | None:
        pairs = [(getattr(one, name), weight) for one, weight in parts]
        if any(value is None for value, _ in pairs):
            return None
        return per(sum(value * weight for value, weight in pairs), sum(weight for _, weight in pairs))

    return Activity(
        sum(one.voluntary for one, _ in parts),
        sum(one.involuntary for one, _ in parts),
        sum(one.run_ns for one, _ in parts),
        sum(one.wait_ns for one, _ in parts),
        mean("wait_share"),
        mean("wait_share_low"),
        mean("wait_share_high"),
    )


def _fill_rates(
    row: dict[str, Any], seen: Seen, found: Activity | None, window: tuple[int, int], inferences: int
) -> None:
    duration_ns = window[1] - window[0]
    ends = between(seen.sampler.samples, *window)
    of_cpus = None if ends is None else account(*ends, seen.cpu_count)
    watched_ns = None if ends is None else ends[1].at_ns - ends[0].at_ns
    interrupts = None if ends is None else ends[1].interrupts - ends[0].interrupts
    interrupts_per_s = per(None if interrupts is None else interrupts * 1e9, watched_ns)
    own_ns = None if of_cpus is None else of_cpus.own_ns
    voluntary = None if found is None else found.voluntary
    involuntary = None if found is None else found.involuntary
    row["switches"] = None if found is None else {"voluntary": voluntary, "involuntary": involuntary}
    row["per_inference"] = {
        "voluntary": per(voluntary, inferences),
        "involuntary": per(involuntary, inferences),
        "interrupts": per(
            None if interrupts_per_s is None else interrupts_per_s * duration_ns / 1e9, inferences
        ),
        "cpu_ns": per(own_ns, inferences),
        "wait_ns": per(None if found is None else found.wait_ns, inferences),
    }
    row["per_second"] = {
        "voluntary": per(None if voluntary is None else voluntary * 1e9, duration_ns),
        "involuntary": per(None if involuntary is None else involuntary * 1e9, duration_ns),
        "interrupts": interrupts_per_s,
    }
    if of_cpus is None:
        row["unavailable"].append({"what": "cpu", "why": "the run ended before a second snapshot"})
        return
    if of_cpus.why is not None:
        row["unavailable"].append({"what": "cpu", "why": of_cpus.why})
    row["cpu"] = {
        "utilisation": utilisation(of_cpus, seen.cpu_time),
        **of_cpus.to_document(),
        "throttled_ns": seen.throttled_ns,
        "sampling_ns": seen.sampler.cost_ns,
    }
    row["disturbed"] = disturbed(of_cpus.foreign_ns, of_cpus.steal_ns or 0, of_cpus.capacity_ns)


def utilisation(of: Account, cpu_time: float) -> float | None:
    """The workload's CPU time, of the time that it might use. A clock may be as much ahead as the account's tolerance: that is cut off at 1."""
    share = per(of.own_ns, of.window_ns * cpu_time)
    slack = per(of.tolerance_ns, of.window_ns * cpu_time) or 0.0
    return 1.0 if share is not None and 1 < share <= 1 + slack else share


def disturbed(foreign_ns: int | None, steal_ns: int, cpus_ns: int) -> str | None:
    """Why a run was not alone, in words; `None` when it was, nearly. foreign_ns: `None` where that is not known.

    >>> disturbed(300, 0, 1000)
    'others used 30 % of its CPUs'
    """
    if cpus_ns <= 0 or (foreign_ns or 0) + steal_ns <= _native.DISTURBED_SHARE * cpus_ns:
        return None
    parts = []
    if foreign_ns is not None:
        parts.append(f"others used {100 * foreign_ns / cpus_ns:.0f} % of its CPUs")
    if steal_ns:
        parts.append(f"the hypervisor took {100 * steal_ns / cpus_ns:.0f} %")
    return ", ".join(parts)
