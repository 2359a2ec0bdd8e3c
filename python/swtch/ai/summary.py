"""A study as text, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._text import table
from .settings import from_document
from .summarise import interference

Run = Mapping[str, Any]
SPIN_WAIT = 0.3
"""From this share of latency spent waiting for a CPU on, too many threads that spin are named as the reason."""

_COLUMNS: tuple[tuple[str, Callable[[Run], str]], ...] = (
    ("per s", lambda run: _figure(run["images_per_second"])),
    ("p50 ms", lambda run: _ms(run, "p50")),
    ("p90 ms", lambda run: _ms(run, "p90")),
    ("p99 ms", lambda run: _ms(run, "p99")),
    ("vol/inf", lambda run: _figure(_per_inference(run, "voluntary"))),
    ("inv/inf", lambda run: _figure(_per_inference(run, "involuntary"))),
    ("irq/inf", lambda run: _figure(_per_inference(run, "interrupts"))),
    ("wait %", lambda run: _percent(run["wait_share_of_latency"])),
    ("CPU %", lambda run: _percent((run["cpu"] or {}).get("utilisation"))),
    ("others %", lambda run: _of_cpus(run, "foreign_ns")),
    ("stolen %", lambda run: _of_cpus(run, "steal_ns")),
    ("threads", lambda run: _figure(run["threads_peak"])),
    ("MB", lambda run: _figure(None if run["peak_rss_bytes"] is None else run["peak_rss_bytes"] / 1e6)),
    ("cost %", lambda run: _cost(run)),
)


def text(study: Mapping[str, Any], directory: str | None, explained: str | None = None) -> str:
    """Everything that a person wants to know after a study. explained: why its slowest inferences were slow."""
    runs = study["runs"]
    lines = []
    if study["advice"]:
        lines += ["What to change:"]
        lines += [f"  {one['workload']['name']}: {one['text']}" for one in study["advice"]]
    if explained is not None:
        lines += ["Why the slowest inferences were slow:", f"  {explained}"]
    lines += first_lines(study)
    lines += _table([run for run in runs if run["outcome"] == "complete"])
    for run in runs:
        if run["outcome"] != "complete":
            lines.append(f"{run['id']}: {run['outcome']}: {run['error']}")
    lines += _largest(runs)
    overhead = study["recording_overhead"]
    if overhead is not None:
        lines.append(_overhead(overhead))
    lines += [f"not available: {row['what']}: {row['why']}" for row in _reasons(study)]
    if directory is not None:
        lines.append(f"Study: {directory}")
    if explained is not None:
        lines.append(f"More: swtch ai why {directory}")
    return "\n".join(lines) + "\n"


def first_lines(study: Mapping[str, Any]) -> list[str]:
    """What is large enough to explain the figures, and what could not be decided: before any figure."""
    runs = [run for run in study["runs"] if run["outcome"] == "complete"]
    met = [run for run in runs if run["disturbed"] is not None]
    lines = too_many_spin(runs)
    if met:
        lines.append(
            f"{len(met)} of {len(runs)} runs were disturbed ({interference(runs)}): do not trust differences between their "
            "throughputs and latencies; switches per inference are affected less"
        )
    unknown = [run for run in runs if run["cpu"] is not None and run["cpu"].get("foreign_ns") is None]
    if unknown:
        lines.append(
            f"It is unknown whether other load disturbed {len(unknown)} of {len(runs)} runs; the reasons are below"
        )
    return lines + [f"Not decided: {text}" for text in study["undecided"]]


def too_many_spin(runs: Sequence[Run]) -> list[str]:
    """Of each workload the run with most threads that spin where there are fewer CPUs for them, if it waits for CPUs: what happens there."""
    worst: dict[str, tuple[int, float, Run]] = {}
    for run in runs:
        settings, wait = run["settings"], run["wait_share_of_latency"]
        cpus = min((run["cpu"] or {}).get("cpu_count") or math.inf, settings["cpu_quota"] or math.inf)
        threads = settings["threads"] * settings["co_located"]
        if settings["spinning"] and threads > cpus and wait is not None and wait >= SPIN_WAIT:
            key = run["workload"]["slug"]
            if key not in worst or threads > worst[key][0]:
                worst[key] = (threads, cpus, run)
    return [_too_many(threads, cpus, run) for threads, cpus, run in worst.values()]


def _too_many(threads: int, cpus: float, run: Run) -> str:
    """Threads that spin hardly switch by themselves. A program that was asked to spin, and whose threads sleep all the same, is not said to spin."""
    named = f"{run['workload']['name']}: {threads} threads"
    on = f"{cpus:g} CPU{'s' if cpus != 1 else ''}"
    waiting = f"{100 * run['wait_share_of_latency']:.0f} % of the latency was waiting for one"
    fewer = f"--threads {max(1, int(cpus / run['settings']['co_located']))}"
    switches = run["per_inference"]["voluntary"] if run["per_inference"] else None
    if switches is None or switches < threads:
        return f"{named} that spin on {on}: those that wait for work hold the CPUs that the others need ({waiting}); {fewer}, or --spin off"
    return f"{named} on {on} wait for each other asleep {_figure(switches)} times an inference, and for CPUs ({waiting}); {fewer}"


def largest(runs: Sequence[Run]) -> Run | None:
    """The run that used most memory; `None` when none says."""
    known = [run for run in runs if run["peak_rss_bytes"] is not None]
    return max(known, key=lambda run: run["peak_rss_bytes"], default=None)


def _table(runs: Sequence[Run]) -> list[str]:
    if not runs:
        return []
    # Under each other what belongs together; the runs were made in another order.
    ordered = sorted(runs, key=_place)
    rows = [
        [_short(run["workload"]["name"]), _named(run)] + [get(run) for _, get in _COLUMNS] for run in ordered
    ]
    return table(["model", "settings", *(name for name, _ in _COLUMNS)], rows, 2)


def _named(run: Run) -> str:
    """What tells it from other runs of the workload; runs that were cut out of another are named after their settings."""
    slug = f"{run['workload']['slug']}."
    named: str = run["id"][len(slug) :] if run["id"].startswith(slug) else run["id"]
    label = from_document(run["settings"]).label
    return named if named.startswith(label) else f"{label}.r{run['repeat']}"


def _place(run: Run) -> tuple[Any, ...]:
    workload, settings = run["workload"], run["settings"]
    return (
        workload["number"] or 0,
        workload["slug"],
        settings["threads"],
        from_document(settings).label,
        run["repeat"],
    )


def _largest(runs: Sequence[Run]) -> list[str]:
    run = largest(runs)
    if run is None:
        return []
    predicted = run["predicted_peak_bytes"]
    before = "" if predicted is None else f" (at most {predicted / 1e6:.0f} MB predicted)"
    return [f"Most memory: {run['workload']['name']}, {run['peak_rss_bytes'] / 1e6:.0f} MB{before}"]


def _overhead(overhead: Mapping[str, Any]) -> str:
    ratio, cpu = overhead["throughput_ratio"], overhead["cpu_ratio"]
    text = f"Recorded intervals have {_interval(ratio)} of the throughput of unrecorded ones"
    if cpu is not None:
        text += f", and an inference takes {_interval(cpu)} of the CPU time"
    for name, words in (("p50", "median"), ("p99", "99th percentile")):
        one = overhead.get(f"latency_{name}_ratio")
        if one is not None:
            text += f", {_interval(one)} of the {words} of latency"
    if overhead["recorder_cpu_share"] is not None:
        text += f"; the recorder's process took {100 * overhead['recorder_cpu_share']:.2f} % of the CPUs"
    return f"{text}; {overhead['pairs']} pairs, confidence {100 * ratio['confidence']:.0f} %"


def _interval(of: Mapping[str, Any]) -> str:
    return f"{of['median']:.3f} ({of['ci_low']:.3f} to {of['ci_high']:.3f})"


def _reasons(study: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Each reason once, however many runs have it."""
    rows = list(study["unavailable"]) + [row for run in study["runs"] for row in run["unavailable"]]
    return list({(row["what"], row["why"]): row for row in rows}.values())


def _figure(value: float | None) -> str:
    if value is None:
        return "n/a"
    return (
        f"{value:.0f}"
        if value >= 100 or value == int(value)
        else f"{value:.1f}"
        if value >= 1
        else f"{value:.2f}"
    )


def _percent(share: float | None) -> str:
    return "n/a" if share is None else f"{100 * share:.0f}"


def _ms(run: Run, name: str) -> str:
    return "n/a" if run["latency_ns"] is None else _figure(run["latency_ns"][name] / 1e6)


def _per_inference(run: Run, name: str) -> float | None:
    value: float | None = (run["per_inference"] or {}).get(name)
    return value


def _of_cpus(run: Run, name: str) -> str:
    """A part of the CPUs' time while the workload was watched, in per cent."""
    cpu = run["cpu"] or {}
    if cpu.get(name) is None or not cpu.get("window_ns"):
        return "n/a"
    return _percent(cpu[name] / (cpu["window_ns"] * cpu["cpu_count"]))


def _cost(run: Run) -> str:
    """What switches cost of the workload's CPU time, as a range of per cent."""
    share = (run["cost"] or {}).get("share")
    if share is None:
        return "n/a"
    low, high = _figure(100 * share["low"]), _figure(100 * share["high"])
    return low if low == high else f"{low}-{high}"


def _short(name: str) -> str:
    return name if len(name) <= 28 else f"{name[:27]}…"
