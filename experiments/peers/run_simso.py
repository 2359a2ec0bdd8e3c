"""Round robin in SimSo: its own scheduler class, a timer a CPU. Prints one JSON object. Started by simulators.py."""

import json
import sys
import time

from simso.configuration import Configuration
from simso.core import Model, Scheduler, Timer


class RoundRobin(Scheduler):
    """One run queue; what runs goes to its end when the timer of its CPU fires."""

    slice_ms = 4.0

    def init(self):
        self.ready = []
        self.switches = 0
        for cpu in self.CPUs:
            Timer(self.sim, RoundRobin.expired, (self, cpu), self.slice_ms, one_shot=False, cpu=cpu).start()

    def expired(self, cpu):
        cpu.resched()

    def on_activate(self, job):
        # Tasks begin together, and CPUs take them when their timers first fire.
        self.ready.append(job)

    def on_terminated(self, job):
        if job in self.ready:
            self.ready.remove(job)

    def schedule(self, cpu):
        if not self.ready:
            return None
        if cpu.running:
            self.ready.append(cpu.running)
        following = self.ready.pop(0)
        self.switches += following is not cpu.running
        return (following, cpu)


def model(tasks, cpus, slice_ms, simulated_ms):
    """The same task set: each task one job that is longer than the simulation."""
    configuration = Configuration()
    configuration.duration = int(simulated_ms * configuration.cycles_per_ms)
    longer_ms = 2 * simulated_ms
    for number in range(1, tasks + 1):
        configuration.add_task(
            f"T{number}", number, period=longer_ms, wcet=longer_ms, deadline=longer_ms, abort_on_miss=False
        )
    for number in range(1, cpus + 1):
        configuration.add_processor(f"CPU {number}", number)
    RoundRobin.slice_ms = slice_ms
    configuration.scheduler_info.clas = RoundRobin
    return Model(configuration)


def main():
    tasks, cpus = int(sys.argv[1]), int(sys.argv[2])
    slice_ms, simulated_ms = float(sys.argv[3]), float(sys.argv[4])
    wall, cpu = time.perf_counter(), time.process_time()
    simulation = model(tasks, cpus, slice_ms, simulated_ms)
    # Ends with its pass over the results, without which it has no output.
    simulation.run_model()
    cpu_seconds, wall_seconds = time.process_time() - cpu, time.perf_counter() - wall
    result = {
        "context_switches": simulation.scheduler.switches,
        "cpu_seconds": cpu_seconds,
        "wall_seconds": wall_seconds,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
