"""The comparison with other simulators, without the network: sizes, commands and what is made of their output."""

import argparse
import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "experiments/peers/simulators.py"


@pytest.fixture(scope="module")
def simulators():
    spec = importlib.util.spec_from_file_location("simulators", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_size_has_more_tasks_than_cpus(simulators):
    assert simulators.size_of("1000x228") == (1000, 228)
    for wrong in ("4x10", "4x4", "10x0", "10", "x4", "-1x4"):
        with pytest.raises(argparse.ArgumentTypeError, match="not a size"):
            simulators.size_of(wrong)


def test_runs_of_swtch_are_added_up(simulators):
    text = '{"runs": [{"events": 9, "context_switches": {tasks}00, "wall_seconds": 0.25}, {"events": 1, "context_switches": {cpus}, "wall_seconds": 0.25}]}'
    run = simulators.swtch_run(f'{sys.executable} -c \'print("""{text}""")\'', (10, 4), 4.0, 100.0)
    assert (run["events"], run["context_switches"], run["wall_seconds"]) == (10, 1004, 0.5)
    assert run["context_switches_per_wall_second"] == 2008
    assert simulators.ratio(run, {"context_switches_per_cpu_second": 1004}) == 2


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("/no/such/program", "No such file"),
        ("sh -c 'echo it broke >&2; exit 3'", "it broke"),
        ("echo no json", "Expecting value"),
        ("echo '{}'", "its JSON has no 'runs'"),
        ('echo \'{"runs": [{"events": 1, "context_switches": 2, "wall_seconds": 0}]}\'', "zero"),
    ],
)
def test_a_command_that_does_not_work_is_said_so(simulators, command, reason):
    assert reason in simulators.swtch_run(command, (10, 4), 4.0, 100.0)["unavailable"]
