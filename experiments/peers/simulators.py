"""One task set in SimPy and in SimSo, and in swtch where a command is given: context switches per second.

    python3 experiments/peers/simulators.py
    python3 experiments/peers/simulators.py --swtch 'target/release/swtch simulate ... --tasks {tasks} --cpus {cpus} --json'

Round robin with one run queue: `tasks` that always want a CPU, on `cpus` CPUs. Each simulator is installed from PyPI, pinned, into an environment of its
own under target/peers. Prints one JSON object; what cannot run is in it with the reason.
"""

import argparse
import json
import shlex
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent.parent / "target" / "peers"
# Context switches of a run: about a second of it.
PEERS = {"simpy": 1_000_000, "simso": 20_000}
SIZES = ("10x4", "1000x4", "1000x228")


def environment(peer):
    """The interpreter of the environment of `peer`, made and filled when it is not there, or not with these requirements."""
    directory = ENVIRONMENTS / peer
    python, done = directory / "bin" / "python", directory / "installed.txt"
    requirements = HERE / f"requirements-{peer}.txt"
    if not done.is_file() or done.read_text() != requirements.read_text():
        venv.create(directory, with_pip=True, clear=True)
        command = [
            python,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
            requirements,
        ]
        subprocess.run(command, check=True, stdout=sys.stderr)
        done.write_text(requirements.read_text())
    return python


def failure(error):
    """One line about a process that failed."""
    lines = [line for line in (getattr(error, "stderr", None) or str(error)).splitlines() if line.strip()]
    return lines[-1] if lines else str(error)


def peer_run(peer, size, slice_ms, switches):
    """One run of a simulator, long enough for about this many context switches."""
    tasks, cpus = size
    simulated_ms = max(1.0, switches / cpus) * slice_ms
    arguments = [str(value) for value in (tasks, cpus, slice_ms, simulated_ms)]
    run = {
        "simulator": peer,
        "tasks": tasks,
        "cpus": cpus,
        "slice_ms": slice_ms,
        "simulated_ms": simulated_ms,
    }
    try:
        command = [environment(peer), HERE / f"run_{peer}.py", *arguments]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
        run |= json.loads(done.stdout.splitlines()[-1])
        run["context_switches_per_cpu_second"] = run["context_switches"] / run["cpu_seconds"]
    except (subprocess.SubprocessError, OSError, ValueError) as error:
        run["unavailable"] = failure(error)
    return run


def plain(value):
    """A number without exponent: 5000000, 0.5."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def swtch_run(command, size, slice_ms, simulated_ms):
    """What the given command says of the same task set: a JSON object with runs[] {events, context_switches, wall_seconds}."""
    tasks, cpus = size
    run = {
        "simulator": "swtch",
        "tasks": tasks,
        "cpus": cpus,
        "slice_ms": slice_ms,
        "simulated_ms": simulated_ms,
    }
    named = {"tasks": tasks, "cpus": cpus, "slice_ms": slice_ms, "simulated_ms": simulated_ms}
    for name, value in named.items():
        command = command.replace("{" + name + "}", plain(value))
    try:
        done = subprocess.run(shlex.split(command), check=True, capture_output=True, text=True, timeout=300)
        runs = json.loads(done.stdout)["runs"]
        for key in ("events", "context_switches", "wall_seconds"):
            run[key] = sum(one[key] for one in runs)
        # It runs in one thread and waits for nothing, so this is a figure per CPU-second too.
        run["context_switches_per_wall_second"] = run["context_switches"] / run["wall_seconds"]
    except KeyError as error:
        run["unavailable"] = f"its JSON has no {error}"
    except (subprocess.SubprocessError, OSError, ValueError, ZeroDivisionError, TypeError) as error:
        run["unavailable"] = failure(error)
    return run


def ratio(swtch, peer):
    """How many times more context switches a second swtch makes."""
    return swtch["context_switches_per_wall_second"] / peer["context_switches_per_cpu_second"]


def size_of(text):
    """'1000x4' is 1000 tasks on 4 CPUs."""
    tasks, _, cpus = text.partition("x")
    if not (tasks.isdigit() and cpus.isdigit() and int(cpus) > 0 and int(tasks) > int(cpus)):
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a size: expected TASKSxCPUS, with more tasks than CPUs"
        )
    return int(tasks), int(cpus)


def main():
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--size", type=size_of, action="append", help=f"tasks and CPUs (default: {' '.join(SIZES)})"
    )
    parser.add_argument("--slice-ms", type=float, default=4.0, help="time slice (default: 4)")
    parser.add_argument(
        "--part", type=float, default=1.0, help="part of the length of the simulators' runs (default: 1)"
    )
    parser.add_argument(
        "--swtch", metavar="COMMAND", help="{tasks} {cpus} {slice_ms} {simulated_ms} are filled in"
    )
    parser.add_argument(
        "--swtch-switches", type=float, default=5e6, help="context switches a run of it (default: 5e6)"
    )
    arguments = parser.parse_args()
    runs, ratios = [], []
    for size in arguments.size or [size_of(size) for size in SIZES]:
        peers = [peer_run(peer, size, arguments.slice_ms, arguments.part * PEERS[peer]) for peer in PEERS]
        runs += peers
        if arguments.swtch:
            simulated_ms = arguments.swtch_switches / size[1] * arguments.slice_ms
            swtch = swtch_run(arguments.swtch, size, arguments.slice_ms, simulated_ms)
            runs.append(swtch)
            for peer in peers:
                if "unavailable" not in peer and "unavailable" not in swtch:
                    against = {"tasks": size[0], "cpus": size[1], "against": peer["simulator"]}
                    ratios.append(against | {"times": ratio(swtch, peer)})
    print(json.dumps({"runs": runs, "ratios": ratios}, indent=1))
    return 0 if any("unavailable" not in run for run in runs) else 1


if __name__ == "__main__":
    sys.exit(main())
