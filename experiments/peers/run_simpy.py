"""Round robin in SimPy: one process a CPU, one run queue. Prints one JSON object. Started by simulators.py."""

import json
import sys
import time
from collections import deque

import simpy


def run(tasks, cpus, slice_ms, simulated_ms):
    """Context switches of `tasks` that always want a CPU."""
    env = simpy.Environment()
    queue = deque(range(tasks))
    switches = [0] * cpus

    def cpu(number):
        running = None
        while queue:
            task = queue.popleft()
            if task != running:
                switches[number] += 1
                running = task
            yield env.timeout(slice_ms)
            queue.append(task)

    for number in range(cpus):
        env.process(cpu(number))
    env.run(until=simulated_ms)
    return sum(switches)


def main():
    tasks, cpus = int(sys.argv[1]), int(sys.argv[2])
    slice_ms, simulated_ms = float(sys.argv[3]), float(sys.argv[4])
    wall, cpu = time.perf_counter(), time.process_time()
    switches = run(tasks, cpus, slice_ms, simulated_ms)
    cpu_seconds, wall_seconds = time.process_time() - cpu, time.perf_counter() - wall
    result = {"context_switches": switches, "cpu_seconds": cpu_seconds, "wall_seconds": wall_seconds}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
