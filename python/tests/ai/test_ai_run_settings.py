"""Settings as they are typed, as they are parsed, and the order of the runs."""

from __future__ import annotations

import argparse
import random

import pytest

from swtch import _options
from swtch._machine import Usable
from swtch.ai import options
from swtch.ai.catalogue import find
from swtch.ai.errors import AiError
from swtch.ai.pinning import pinned
from swtch.ai.settings import Settings, cpu_list, cpus_of, from_document
from swtch.ai.subject import of_model, of_program
from swtch.ai.sweep import Forecast, Grid, by_settings, jobs

SMT = Usable(cpus=(0, 1, 2, 3), quota_cpus=None, memory_bytes=None, cores=((0, 2), (1, 3)))


def test_settings_survive_the_document():
    one = Settings(4, 2, False, "0+1", 2, 1.5, 8, "cuda", "flsched")
    assert from_document(one.to_document()) == one


def test_labels_are_distinct_and_fit_into_names_of_files():
    every = Grid(
        (1, 2), (1, 2), (True, False), ("none", "spread", "0,2-3"), (1, 2), (None, 0.5), (1, 4)
    ).settings(SMT)
    labels = {one.label for one in every}
    assert len(labels) == len(every)
    assert all(set(label) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-+_") for label in labels)


def test_lists_of_cpus_are_the_kernels():
    generator = random.Random(4)
    for _ in range(200):
        cpus = sorted(generator.sample(range(40), generator.randrange(1, 12)))
        assert cpus_of(cpu_list(cpus)) == cpus
    for wrong in ("", "a", "3-1", "-1", "1,,2", "99999999"):
        with pytest.raises(ValueError):
            cpus_of(wrong)


def test_spreading_takes_cores_before_siblings():
    assert pinned("spread", 2, 1, SMT) == "0-1"
    assert pinned("compact", 2, 1, SMT) == "0,2"
    assert pinned("spread", 2, 2, SMT) == "0-1+2-3"
    assert pinned("spread", 8, 1, SMT) == "0-3"
    assert pinned("none", 2, 1, SMT) is None
    assert pinned("0,2", 1, 2, SMT) == "0,2+0,2"
    with pytest.raises(AiError, match=r"cannot pin to CPU 9.*0-3"):
        pinned("9", 1, 1, SMT)


def test_the_quota_counts_and_not_the_machine():
    assert SMT.cpu_count == 4
    assert Usable((0, 1, 2, 3), 1.5, None, ()).cpu_count == 2
    assert Usable((0, 1, 2, 3), 0.5, None, ()).cpu_count == 1
    assert Usable((0, 1), 64.0, None, ()).cpu_count == 2
    assert Usable((0, 1, 2, 3), 1.5, None, ()).cpu_time == 1.5


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (_options.seconds, "500ms", 0.5),
        (_options.seconds, "2m", 120),
        (_options.seconds, "1h", 3600),
        (_options.counts, "1,2,4,2", (1, 2, 4)),
        (options.switches, "on,off", (True, False)),
        (options.quotas, "none,1.5", (None, 1.5)),
        (options.pins, "none,spread,0+2-3", ("none", "spread", "0,2-3")),
    ],
)
def test_what_is_typed(parse, text, value):
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (_options.seconds, "0s"),
        (_options.seconds, "-1s"),
        (_options.seconds, "nan"),
        (_options.seconds, "inf"),
        (_options.seconds, "2d"),
        (_options.seconds, "s"),
        (_options.counts, "0"),
        (_options.counts, "1,,2"),
        (_options.counts, "²"),
        (_options.counts, "99999999999999999999"),
        (options.switches, "yes"),
        (options.quotas, "0"),
        (options.quotas, "nan"),
        (options.pins, "all"),
        (options.pins, "3-1"),
    ],
)
def test_what_is_mistyped_is_said(parse, text):
    with pytest.raises(argparse.ArgumentTypeError):
        parse(text)


def test_every_round_has_every_setting_once_and_rounds_differ():
    subjects = [of_model(model) for model in find("1,5")]
    settings = Grid((1, 2, 4)).settings(SMT)
    found = jobs(subjects, settings, 4, seed=1)
    rounds = [found[start : start + 6] for start in range(0, 24, 6)]
    for number, one in enumerate(rounds):
        assert {job.repeat for job in one} == {number}
        assert len({(job.subject.slug, job.settings) for job in one}) == 6
    assert len({tuple((job.subject.slug, job.settings) for job in one) for one in rounds}) > 1
    assert jobs(subjects, settings, 4, seed=1) == found
    assert len({job.id for job in found}) == 24


def test_cut_short_every_workload_has_had_its_first_settings():
    subjects = [of_model(model) for model in find("1,5,10")]
    found = by_settings(subjects, Grid((2, 4)).settings(SMT))
    assert {job.subject.slug for job in found[:3]} == {one.slug for one in subjects}


def test_the_forecast_learns():
    job = jobs([of_model(find("1")[0])], [Settings()], 1)[0]
    forecast = Forecast(1.0, 2)
    first = forecast.seconds([job])
    forecast.add(job, 3 * first)
    assert forecast.seconds([job, job]) == pytest.approx(6 * first)


def test_a_program_gets_its_settings(tmp_path):
    script = tmp_path / "my workload.py"
    script.write_text("")
    one = of_program(["python3", str(script), "--threads={threads}", "{batch}", "{spin}"])
    assert one.slug == "my-workload"
    assert one.arguments(Settings(3, batch=2, spinning=False))[2:] == ["--threads=3", "2", "0"]
    assert one.environment(Settings(3))["OMP_NUM_THREADS"] == "3"
    assert one.predicted_peak_bytes(Settings()) is None


def test_copies_need_so_many_times_the_memory():
    one = of_model(find("mobilenet-v2")[0])
    assert one.predicted_peak_bytes(Settings(co_located=3)) == 3 * one.predicted_peak_bytes(Settings())
