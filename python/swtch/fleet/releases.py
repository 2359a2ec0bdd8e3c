"""Whether a service switches more since its last release, for each second of CPU time.

Switches for each second of CPU time do not follow the traffic as switches a second do. What they still have of it is taken off in two steps: the median
of all services in the same step, and the service's own line over its load. The rest is averaged by day, since steps of one day are alike. Days before
are compared with days after by Student's t, with an interval that holds for all services that are tested together (Bonferroni).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .student import two_sided_point

DAY_S = 86_400
LEAST_BEFORE, LEAST_AFTER = 3, 2
"""Days on either side that a comparison takes."""
MOST_BEFORE = 14
"""Days before a release that it is compared with, at most."""
LEAST_CHANGE = 1.05
"""A smaller change is the same for the verdict."""
CONFIDENCE = 0.95
"""Of all intervals together."""
_FLICKER_S = 3 * 3600
"""Versions that were the main one for less than this are a part of a rollout."""
_MOST_ROLLOUT_S = 2 * DAY_S
_WHOLE = 0.9
"""A release is complete when it has this share of the service's CPU time."""
_TRACE_OF = 0.01
"""Below this share a version does not count as begun."""
_LEAST_SPREAD = 0.005
"""Days that are more alike than this say more about a short time than about the service."""
_MANY = 10
"""From this number of services on, their median says what all have in common."""
_AGREE = 2 / 3
"""The share of machines that must have changed in the same direction."""


@dataclass
class Release:
    """The last release of a service: what is compared with what. Times in seconds since 1970."""

    service: str
    version: str | None
    since: float
    """Where the time before begins."""
    until: float
    """Where it ends: the new version begins to run."""
    at: float
    """The new version is the main one."""
    after: float
    """Where the time after begins: it has replaced the other."""


@dataclass
class Change:
    """The comparison of both sides."""

    release: Release
    ratio: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    verdict: str = "unclear"
    why: str = ""
    changed_at: float | None = None
    days_before: int = 0
    days_after: int = 0
    machines_up: int = 0
    machines_down: int = 0


@dataclass
class Course:
    """A service over time: arrays over all steps, not a number where it did not run."""

    times: Any
    per_run: Any
    """Logarithm of switches for each second of CPU time."""
    load: Any
    """Logarithm of CPU time."""
    versions: Mapping[str, Any]
    """CPU time by version."""


def courses(columns: Mapping[str, Any]) -> dict[str, Course]:
    """The services over time, from `query.series`."""
    import numpy as np

    times = np.unique(columns["began"])
    place = np.searchsorted(times, columns["began"])
    names, code = np.unique(columns["service"].astype(str), return_inverse=True)
    found = {}
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(len(names) + 1))
    for number, name in enumerate(names):
        rows = order[bounds[number] : bounds[number + 1]]
        switches = np.bincount(place[rows], columns["switches"][rows], len(times))
        run = np.bincount(place[rows], columns["run"][rows], len(times))
        version = columns["version"][rows].astype(str)
        with np.errstate(divide="ignore", invalid="ignore"):
            good = (run > 0) & (switches > 0)
            per_run = np.where(good, np.log(switches / run), np.nan)
            load = np.where(good, np.log(run), np.nan)
        found[str(name)] = Course(
            times,
            per_run,
            load,
            {
                str(one): np.bincount(
                    place[rows][version == one], columns["run"][rows][version == one], len(times)
                )
                for one in np.unique(version)
                if one
            },
        )
    return found


def last_release(service: str, course: Course, step_s: int) -> Release | None:
    """The last change of the main version; `None` where versions are not known or never changed."""
    import numpy as np

    if len(course.versions) < 2:
        return None
    names = list(course.versions)
    run = np.array([course.versions[name] for name in names])
    seen = np.flatnonzero(run.sum(axis=0) > 0)
    main = run[:, seen].argmax(axis=0)
    main = _without_flicker(main, max(1, _FLICKER_S // step_s))
    changes = np.flatnonzero(np.diff(main)) + 1
    if not changes.size:
        return None
    start = changes[-1]
    new, old_since = main[start], changes[-2] if changes.size > 1 else 0
    share = run[new, seen] / run[:, seen].sum(axis=0)
    begun = np.flatnonzero(share[old_since : start + 1] > _TRACE_OF)
    # A version that comes back ran before; only the last stretch of it is this release.
    gaps = np.flatnonzero(np.diff(begun) > max(1, DAY_S // step_s))
    first = old_since + (begun[gaps[-1] + 1 if gaps.size else 0] if begun.size else start - old_since)
    soon = np.flatnonzero(share[start:] >= _WHOLE)
    whole = start + soon[0] if soon.size else start
    times = course.times[seen]
    if times[whole] - times[start] > _MOST_ROLLOUT_S:
        whole = start
    since = max(float(times[old_since]), float(times[first]) - MOST_BEFORE * DAY_S)
    if old_since:
        # The rollout of the version before is not in the time before.
        since = min(float(times[first]), since + (DAY_S / 2 if since == float(times[old_since]) else 0))
    return Release(service, names[new], since, float(times[first]), float(times[start]), float(times[whole]))


def release_at(
    service: str, course: Course, deploys: list[tuple[float, str | None]], step_s: int
) -> Release | None:
    """The last release that a list of deployments has within the time of the data."""
    inside = sorted(
        (at, version) for at, version in deploys if course.times[0] < at <= course.times[-1] + step_s
    )
    if not inside:
        return None
    at, version = inside[-1]
    earlier = inside[-2][0] + DAY_S / 2 if len(inside) > 1 else float(course.times[0])
    until = at - at % step_s
    # Steps that hold the release belong to neither side; an hour of rollout is assumed.
    return Release(
        service, version, min(until, max(earlier, at - MOST_BEFORE * DAY_S)), until, at, until + step_s + 3600
    )


def compare(courses: Mapping[str, Course], releases: list[Release], step_s: int) -> dict[str, Change]:
    """Each service before and after its last release."""
    import numpy as np

    if not courses:
        return {}
    common = _common(courses)
    changes, sides = {}, {}
    for release in releases:
        course = courses[release.service]
        change = changes[release.service] = Change(release)
        values = _without_load(course, course.per_run - common, release)
        before = _days(course.times, values, release.since, release.until, step_s, backwards=True)
        after = _days(course.times, values, release.after, math.inf, step_s, backwards=False)
        change.days_before, change.days_after = len(before), len(after)
        if len(before) < LEAST_BEFORE or len(after) < LEAST_AFTER:
            change.why = (
                f"there are {len(before)} whole days before it and {len(after)} after it; "
                f"{LEAST_BEFORE} and {LEAST_AFTER} are needed"
            )
            continue
        sides[release.service] = (before, after)
        change.changed_at = _changed_at(course.times, values, release)
    if not sides:
        return changes
    wider = _inflation(sides.values())
    confidence = 1 - (1 - CONFIDENCE) / len(sides)
    for service, (before, after) in sides.items():
        df = len(before) + len(after) - 2
        squares = np.sum((before - before.mean()) ** 2) + np.sum((after - after.mean()) ** 2)
        spread = max(_LEAST_SPREAD, math.sqrt(squares / df)) * wider
        half = two_sided_point(confidence, df) * spread * math.sqrt(1 / len(before) + 1 / len(after))
        difference = float(after.mean() - before.mean())
        change = changes[service]
        change.ratio = math.exp(difference)
        change.ci_low, change.ci_high = math.exp(difference - half), math.exp(difference + half)
        _judge(change)
    return changes


def agree(change: Change, up: int, down: int) -> None:
    """Takes a verdict back that most machines do not share: then it is a few machines, not the release."""
    change.machines_up, change.machines_down = up, down
    paired = up + down
    mine = up if change.verdict == "worse" else down
    if change.verdict in ("worse", "better") and paired >= 3 and mine < _AGREE * paired:
        change.verdict, change.why = (
            "unclear",
            f"only {mine} of {paired} machines changed this way; a few machines make the difference",
        )


def _judge(change: Change) -> None:
    assert change.ratio and change.ci_low and change.ci_high
    if change.ci_low > 1 and change.ratio >= LEAST_CHANGE:
        change.verdict = "worse"
    elif change.ci_high < 1 and change.ratio <= 1 / LEAST_CHANGE:
        change.verdict = "better"
    elif change.ci_low >= 1 / LEAST_CHANGE and change.ci_high <= LEAST_CHANGE:
        change.verdict = "same"
    else:
        change.why = "the days differ too much among themselves, or the change is too small"
    release, at = change.release, change.changed_at
    if change.verdict in ("worse", "better") and at is not None:
        off = at - release.until if at < release.until else max(0.0, at - release.after)
        if abs(off) > DAY_S:
            change.verdict, change.why = (
                "unclear",
                f"the change began {abs(off) / DAY_S:.1f} days {'before' if off < 0 else 'after'} the release",
            )


def _without_flicker(main: Any, least: int) -> Any:
    """Runs of a main version that are shorter than this become part of the one before."""
    import numpy as np

    main = main.copy()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(main)) + 1, [main.size]])
    for begin, end in zip(starts[1:-1], starts[2:]):
        if end - begin < least and end != main.size:
            main[begin:end] = main[begin - 1]
    return main


def _common(courses: Mapping[str, Course]) -> Any:
    """What all services have in common in each step; zero where they are few."""
    import warnings

    import numpy as np

    one = next(iter(courses.values()))
    if len(courses) < _MANY:
        return np.zeros(one.times.size)
    with warnings.catch_warnings():
        # A step without any service has no median, and none is used.
        warnings.simplefilter("ignore", RuntimeWarning)
        rows = np.array([course.per_run - np.nanmedian(course.per_run) for course in courses.values()])
        return np.nan_to_num(np.nanmedian(rows, axis=0))


def _without_load(course: Course, values: Any, release: Release) -> Any:
    """Less the line over the load, whose slope is that within each side: a release that changes the load itself does not bend it."""
    import numpy as np

    x, y = [], []
    sides = ((release.since, release.until), (release.after, math.inf))
    for begin, end in sides:
        inside = (course.times >= begin) & (course.times < end) & np.isfinite(values)
        if inside.sum() > 2:
            x.append(course.load[inside] - course.load[inside].mean())
            y.append(values[inside] - values[inside].mean())
    if not x:
        return values
    load, rest = np.concatenate(x), np.concatenate(y)
    spread = float(load @ load)
    slope = float(load @ rest) / spread if spread > 1e-9 else 0.0
    return values - slope * (course.load - np.nanmean(course.load))


def _days(times: Any, values: Any, begin: float, end: float, step_s: int, *, backwards: bool) -> Any:
    """Medians of whole days, counted from the release; a day needs half of its steps."""
    import numpy as np

    inside = (times >= begin) & (times < end) & np.isfinite(values)
    day = ((end - step_s / 2 - times) if backwards else (times - begin)) // DAY_S
    least = max(1, DAY_S // step_s // 2)
    numbers = np.unique(day[inside])
    kept = [values[inside & (day == number)] for number in numbers]
    return np.array([np.median(one) for one in kept if one.size >= least])


def _inflation(sides: Any) -> float:
    """How much wider intervals must be since a day is like the one before, by the correlation of all services together."""
    import numpy as np

    above = below = 0.0
    for pair in sides:
        for side in pair:
            rest = side - side.mean()
            if rest.size > 3:
                # A short series looks less correlated than it is, by about 1 / n.
                above += float(rest[1:] @ rest[:-1]) + float(rest @ rest) / rest.size
                below += float(rest @ rest)
    correlation = min(0.8, max(0.0, above / below)) if below > 0 else 0.0
    return float(np.sqrt((1 + correlation) / (1 - correlation)))


def _changed_at(times: Any, values: Any, release: Release) -> float | None:
    """Where the largest change is, as the extreme of the cumulative sum of differences from the mean."""
    import numpy as np

    inside = (times >= release.since) & np.isfinite(values)
    if inside.sum() < 3:
        return None
    rest = values[inside]
    sums = np.abs(np.cumsum(rest - rest.mean()))[:-1]
    return float(times[inside][1:][sums.argmax()])
