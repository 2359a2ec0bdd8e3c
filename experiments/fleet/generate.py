"""A fleet that never was, as the tables that `swtch fleet import` writes, with known regressions and known odd machines.

    python experiments/fleet/generate.py DIR [--machines 1000] [--days 30] [--services 200] [--per-machine 20] [--seed 1]

Five services get worse with their last release (`regressions` of DIR/truth.json) and three machines are odd (`odd`). Around them is what makes this
hard: a daily and a weekly rhythm, services that switch more per CPU second when there is less to do, noise by service and day, machines that differ,
restarts of agents, counters that went back, gaps, machines that came later or were off for days, releases that changed nothing, that doubled the
traffic, that were taken back, and a change three days before a release.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import duckdb
import numpy as np

TYPES = (("m6i.xlarge", 4), ("m7i.2xlarge", 8), ("c7i.2xlarge", 8), ("m7g.2xlarge", 8))
FACTORS = (1.2, 1.3, 1.45, 1.7, 2.2)
HOURS = 24
START_S = 1_793_491_200  # 2026-11-01


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("directory", type=Path)
    for name, value in (
        ("machines", 1000),
        ("days", 30),
        ("services", 200),
        ("per-machine", 20),
        ("seed", 1),
    ):
        parser.add_argument(f"--{name}", type=int, default=value)
    generate(**vars(parser.parse_args()))


def generate(
    directory: Path, machines: int, days: int, services: int, per_machine: int, seed: int
) -> dict[str, object]:
    """Writes the tables and `truth.json`; returns what that holds."""
    random = np.random.default_rng(seed)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "fleet.json").write_text(json.dumps({"schema": "swtch/fleet-data/1", "step_seconds": 3600}))
    fleet = Fleet(random, machines, days, services, min(per_machine, services))
    database = duckdb.connect()
    database.register("names", {"code": np.arange(services), "service": np.array(fleet.names, dtype=object)})
    database.register("hosts", {"code": np.arange(machines), "machine": np.array(fleet.hosts, dtype=object)})
    for day in range(days):
        rows, hosts = fleet.day(day)
        for table, columns in (("services", rows), ("machines", hosts)):
            database.register("rows", columns)
            chosen = (
                """make_timestamp(CAST(began AS BIGINT) * 1000000) AS began, machine, service, 'v' || CAST(version AS INTEGER) AS version,
                seconds, switches, run_seconds FROM rows JOIN hosts ON host = hosts.code JOIN names ON task = names.code"""
                if table == "services"
                else """make_timestamp(CAST(began AS BIGINT) * 1000000) AS began, machine, instance_type, CAST(cpus AS INTEGER) AS cpus, seconds, switches,
                involuntary, run_seconds, wait_seconds, steal_seconds, cpu_seconds, direct_seconds, cost_low_seconds, cost_high_seconds
                FROM rows JOIN hosts ON host = hosts.code"""
            )
            database.execute(
                f"COPY (SELECT {chosen} ORDER BY began, machine) TO '{directory}/{table}-{day:03}.parquet' (FORMAT parquet, COMPRESSION zstd)"
            )
    (directory / "truth.json").write_text(json.dumps(fleet.truth, indent=1) + "\n")
    return fleet.truth


class Fleet:
    """The services, the machines, and what is wrong with some."""

    def __init__(
        self, random: np.random.Generator, machines: int, days: int, services: int, per_machine: int
    ) -> None:
        self.random, self.days = random, days
        self.names = [f"shop/service-{number:03}" for number in range(services)]
        self.hosts = [f"machine-{number:04}" for number in range(machines)]
        self.task = np.concatenate([random.permutation(services)[:per_machine] for _ in range(machines)])
        self.host = np.repeat(np.arange(machines), per_machine)
        self.kind = random.integers(len(TYPES), size=machines)
        self.cpus = np.array([TYPES[kind][1] for kind in self.kind], dtype=float)
        hours = days * HOURS
        # Services: CPU use of a machine, rhythm, switches for each second of it.
        self.use = random.lognormal(np.log(0.12), 0.7, services) * 20 / per_machine
        self.phase, self.swing = random.uniform(0, 24, services), random.uniform(0.1, 0.6, services)
        self.per_run = random.lognormal(np.log(900), 1.0, services)
        self.elastic = random.uniform(-0.3, 0.0, services)
        self.wander = np.cumsum(random.normal(0, 0.004, (services, days)), axis=1) + random.normal(
            0, 0.015, (services, days)
        )
        noise = random.normal(0, 1, (services, hours))
        for hour in range(1, hours):
            noise[:, hour] = 0.8 * noise[:, hour - 1] + 0.6 * noise[:, hour]
        self.load = 0.1 * noise
        # Machines: speed, how much of the common load, what a switch costs, and what is odd.
        self.host_run, self.host_switch = (
            random.lognormal(0, 0.15, machines),
            random.lognormal(0, 0.07, machines),
        )
        self.switch_ns = np.array([1500.0, 1300.0, 1250.0, 1700.0])[self.kind] * random.lognormal(
            0, 0.05, machines
        )
        self.wait = random.lognormal(np.log(0.15), 0.3, machines)
        self.steal = np.abs(random.normal(0.002, 0.003, machines))
        odd = random.permutation(machines)[:3]
        self.host_switch[odd[0]] *= 1.9
        self.switch_ns[odd[1]] *= 2.5
        self.steal[odd[2]], self.wait[odd[2]] = 0.22, self.wait[odd[2]] * 4
        self.born, self.gone = np.zeros(machines), np.full(machines, -1.0)
        late = random.permutation(machines)[: max(1, machines // 100)]
        self.born[late] = random.integers(1, max(2, hours // 2), late.size)
        off = random.permutation(machines)[: max(1, machines // 50)]
        self.gone[off] = random.integers(0, hours, off.size)
        self._release(random, services, hours)
        self.truth: dict[str, object] = {
            "regressions": {self.names[one]: factor for one, factor in self.worse.items()},
            "odd": {
                self.hosts[odd[0]]: "switches_per_cpu_second",
                self.hosts[odd[1]]: "switch_cost_ns",
                self.hosts[odd[2]]: "steal_share",
            },
            "machines": machines,
            "services": services,
            "days": days,
        }

    def _release(self, random: np.random.Generator, services: int, hours: int) -> None:
        """When each service was released for the last time (or never), how long that took, and what it changed."""
        order = random.permutation(services)
        self.released = random.uniform(0.35, 0.85, services) * hours
        self.released[order[: services // 5]] = np.inf
        self.earlier = random.uniform(0.03, 0.15, services) * hours
        self.rollout = random.uniform(1, 8, services)
        self.change = np.zeros((services, hours))
        self.back = np.full(services, np.inf)
        others = order[services // 5 :]
        self.worse = dict(zip((int(one) for one in others), FACTORS))
        at = np.arange(hours)
        # Not regressions: twice the traffic, a version that was taken back, a gain, a step before the release.
        rest = others[len(FACTORS) :]
        for one in rest[:3]:
            self.load[one] += np.where(at >= self.released[one], np.log(2), 0)
        for one in rest[3:5]:
            self.back[one] = self.released[one] + 6
        for one in rest[5:6]:
            self.change[one] = np.where(at >= self.released[one], np.log(0.75), 0)
        for one in rest[6:7]:
            self.change[one] = np.where(at >= self.released[one] - 72, np.log(1.4), 0)

    def day(self, day: int) -> tuple[dict[str, object], dict[str, object]]:
        """The rows of a day about services on machines, and those about machines."""
        random = self.random
        hours = np.arange(day * HOURS, (day + 1) * HOURS)
        task, host = np.repeat(self.task, HOURS), np.repeat(self.host, HOURS)
        hour = np.tile(hours, self.task.size)
        weekend = (day + 6) % 7 >= 5
        rhythm = 1 + self.swing[task] * np.sin(2 * np.pi * (hour - self.phase[task]) / 24)
        level = rhythm * (0.65 if weekend else 1.0) * np.exp(self.load[task, hour])
        run = 3600 * self.use[task] * level * self.host_run[host] * random.lognormal(0, 0.1, hour.size)
        # A machine gets the release at a place of its own in the rollout.
        place = (
            np.repeat(random.permutation(self.task.size) / self.task.size, HOURS) if day == 0 else self._place
        )
        self._place = place
        moved = hour >= self.released[task] + place * self.rollout[task]
        back = hour >= self.back[task] + place * self.rollout[task]
        version = 1.0 + (hour >= self.earlier[task]) + (moved & ~back)
        worse = np.zeros(len(self.names))
        for one, factor in self.worse.items():
            worse[one] = np.log(factor)
        log_rate = (
            np.log(self.per_run[task]) + self.elastic[task] * np.log(level) + self.wander[task, day] + self.change[task, hour]
            + np.where(moved, worse[task], 0)
        )  # fmt: skip
        switches = run * np.exp(log_rate) * self.host_switch[host] * random.lognormal(0, 0.06, hour.size)
        # A host's hour is seen whole, in part (a restart) or not at all.
        shape = (len(self.hosts), HOURS)
        seen = np.where(random.random(shape) < 0.01, random.random(shape), 1.0)
        seen[random.random(shape) < 0.005] = 0
        seen[hours[None, :] < self.born[:, None]] = 0
        seen[
            (self.gone[:, None] >= 0) & (hours >= self.gone[:, None]) & (hours < self.gone[:, None] + 60)
        ] = 0
        part = seen[host, hour - hours[0]]
        switches[random.random(switches.size) < 1e-5] *= -1
        rows = {
            "began": START_S + 3600.0 * hour, "host": host, "task": task, "version": version, "seconds": 3600 * part,
            "switches": switches * part, "run_seconds": run * part,
        }  # fmt: skip
        kept = part > 0
        return {name: values[kept] for name, values in rows.items()}, self._hosts(hours, host, rows, seen)

    def _hosts(
        self, hours: np.ndarray, host: np.ndarray, rows: dict[str, np.ndarray], seen: np.ndarray
    ) -> dict[str, object]:
        random, count = self.random, len(self.hosts)
        where = host * HOURS + np.tile(np.arange(HOURS), self.task.size)
        run = np.bincount(where, rows["run_seconds"], count * HOURS).reshape(count, HOURS)
        switches = np.bincount(where, np.abs(rows["switches"]), count * HOURS).reshape(count, HOURS)
        each = self.switch_ns[:, None] * random.lognormal(0, 0.05, seen.shape) / 1e9
        cpu = 3600 * self.cpus[:, None] * seen
        columns = {
            "began": np.broadcast_to(START_S + 3600.0 * hours, seen.shape),
            "host": np.broadcast_to(np.arange(count)[:, None], seen.shape),
            "cpus": np.broadcast_to(self.cpus[:, None], seen.shape),
            "seconds": 3600 * seen, "switches": switches, "run_seconds": run, "cpu_seconds": cpu,
            "involuntary": switches * 0.2 * random.lognormal(0, 0.1, seen.shape),
            "wait_seconds": run * self.wait[:, None] * random.lognormal(0, 0.2, seen.shape),
            "steal_seconds": cpu * self.steal[:, None], "direct_seconds": switches * each,
            "cost_low_seconds": switches * each, "cost_high_seconds": switches * each * 3.5,
        }  # fmt: skip
        kept = (seen > 0).ravel()
        flat = {name: np.ascontiguousarray(values).ravel()[kept] for name, values in columns.items()}
        kinds = np.array([TYPES[kind][0] for kind in self.kind], dtype=object)
        return {**flat, "instance_type": kinds[flat["host"].astype(int)]}


if __name__ == "__main__":
    main()
