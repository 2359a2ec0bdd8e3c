"""How many instructions the kernel's core of sched_ext takes for a callback, a queue and each of its functions.

    python experiments/sched_ext/instructions.py [--swtch PATH] [--only NAME...]

The simulator charges these counts (crates/sim/src/scx/instructions.rs and kfuncs/table.rs). Each scheduler here does one thing more than another, once or
16 times in a switch, and `perf bench sched pipe` runs under it in a virtual machine with one CPU that counts instructions: the difference is the count. The
figures are the same wherever it runs. Prints Markdown.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROUNDS = 20_000
"""Of the pipe: what is not of the switches hardly counts then."""
SWITCHES = 2
"""In a round."""
COPIES = 16
ENQUEUE = "struct task_struct *p, u64 enq_flags"
LOCAL = "scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, 20000000ULL, enq_flags);"
OWN = "scx_bpf_dsq_insert(p, MINE, 20000000ULL, enq_flags);"
BY_VTIME = "scx_bpf_dsq_insert_vtime(p, MINE, 20000000ULL, p->scx.dsq_vtime, enq_flags);"
MOVE = "scx_bpf_dsq_move_to_local(MINE, 0);"
VALUE = "struct value *v = bpf_map_lookup"

CALLBACKS = {
    "runnable": "struct task_struct *p, u64 enq_flags",
    "running": "struct task_struct *p",
    "stopping": "struct task_struct *p, bool runnable",
    "quiescent": "struct task_struct *p, u64 deq_flags",
}
QUEUES = (
    ("the CPU's own queue, from a callback", LOCAL, None),
    ("that of a named CPU", "scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | 0, 20000000ULL, enq_flags);", None),
    ("a global queue", "scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, 20000000ULL, enq_flags);", None),
    ("a queue of the scheduler's", OWN, MOVE),
    ("the same by virtual time", BY_VTIME, MOVE),
    ("the same, four looks into the empty queue more", OWN, MOVE * 5),
    (
        "the same by an iteration",
        OWN,
        "struct task_struct *p; bpf_for_each(scx_dsq, p, MINE, 0)"
        " { if (scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, 0)) break; }",
    ),
    (
        "the same, an iteration that moves nothing more",
        OWN,
        "struct task_struct *p; bpf_for_each(scx_dsq, p, MINE, 0) { break; } " + MOVE,
    ),
    ("the CPU's own, kicked once", LOCAL + " scx_bpf_kick_cpu(0, SCX_KICK_IDLE);", None),
)
FUNCTIONS = {
    "a store, which most below have": "sink += i;",
    "scx_bpf_now": "sink += scx_bpf_now();",
    "bpf_get_prandom_u32": "sink += bpf_get_prandom_u32();",
    "scx_bpf_cpuperf_cap": "sink += scx_bpf_cpuperf_cap(0);",
    "scx_bpf_cpu_curr, bpf_rcu_read_lock and unlock": "bpf_rcu_read_lock(); sink += (u64)!!scx_bpf_cpu_curr(0); bpf_rcu_read_unlock();",
    "bpf_rcu_read_lock and unlock": "bpf_rcu_read_lock(); bpf_rcu_read_unlock();",
    "scx_bpf_locked_rq": "sink += (u64)!!scx_bpf_locked_rq();",
    "bpf_task_from_pid and release": "struct task_struct *t = bpf_task_from_pid(p->pid); if (t) bpf_task_release(t);",
    "scx_bpf_task_running": "sink += scx_bpf_task_running(p);",
    "scx_bpf_task_cpu": "sink += scx_bpf_task_cpu(p);",
    "scx_bpf_task_cgroup and release": "struct cgroup *c = scx_bpf_task_cgroup(p); sink += (u64)!!c; bpf_cgroup_release(c);",
    "scx_bpf_task_set_slice": "scx_bpf_task_set_slice(p, 1000000);",
    "scx_bpf_dsq_nr_queued": "sink += scx_bpf_dsq_nr_queued(MINE);",
    "scx_bpf_dsq_peek": "sink += (u64)!!scx_bpf_dsq_peek(MINE);",
    "scx_bpf_select_cpu_and": "sink += scx_bpf_select_cpu_and(p, 0, 0, p->cpus_ptr, 0);",
    "scx_bpf_pick_idle_cpu": "sink += scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);",
    "scx_bpf_pick_any_cpu": "sink += scx_bpf_pick_any_cpu(p->cpus_ptr, 0);",
    "scx_bpf_test_and_clear_cpu_idle": "sink += scx_bpf_test_and_clear_cpu_idle(0);",
    "scx_bpf_get_idle_cpumask and put": "const struct cpumask *m = scx_bpf_get_idle_cpumask(); sink += (u64)!!m; scx_bpf_put_cpumask(m);",
    "scx_bpf_kick_cpu": "scx_bpf_kick_cpu(0, SCX_KICK_IDLE);",
    "bpf_cpumask_create and release": "struct bpf_cpumask *m = bpf_cpumask_create(); if (m) bpf_cpumask_release(m);",
    "bpf_cpumask_any_and_distribute": "sink += bpf_cpumask_any_and_distribute(p->cpus_ptr, p->cpus_ptr);",
    "bpf_cpumask_test_cpu": "sink += bpf_cpumask_test_cpu(0, p->cpus_ptr);",
    "bpf_map_lookup_elem, an array": "u32 k = 0; " + VALUE + "_elem(&of_all, &k); if (v) sink += v->a;",
    "the same, an array by CPU": "u32 k = 0; " + VALUE + "_elem(&by_cpu, &k); if (v) sink += v->a;",
    "the same, a hash": "u32 k = 1; " + VALUE + "_elem(&by_key, &k); if (v) sink += v->a;",
    "bpf_map_lookup_percpu_elem": "u32 k = 0; "
    + VALUE
    + "_percpu_elem(&by_cpu, &k, 0); if (v) sink += v->a;",
    "bpf_map_update_elem, a hash": "u32 k = 1; struct value v = {i}; bpf_map_update_elem(&by_key, &k, &v, 0);",
    "bpf_task_storage_get": "struct value *v = bpf_task_storage_get(&of_task, p, 0, 0); if (v) sink += v->a;",
    "bpf_timer_start": "u32 k = 0; struct clock *c = bpf_map_lookup_elem(&clocks, &k); if (c) bpf_timer_start(&c->timer, 1000000000ULL, 0);",
}
SOURCE = """#include <scx/common.bpf.h>
char _license[] SEC("license") = "GPL";
UEI_DEFINE(uei);
#define MINE 7
struct value { u64 a; };
struct clock { struct bpf_timer timer; };
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct value); } of_all SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct value); } by_cpu SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_HASH); __uint(max_entries, 64); __type(key, u32); __type(value, struct value); } by_key SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct clock); } clocks SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE); __uint(map_flags, BPF_F_NO_PREALLOC); __type(key, int); __type(value, struct value);
} of_task SEC(".maps");
volatile u64 sink;
@CALLBACKS@
static int rings(void *map, u32 *key, struct clock *clock) { return 0; }
s32 BPF_STRUCT_OPS_SLEEPABLE(count_init)
{
	u32 k = 1, first = 0;
	struct value v = {};
	struct clock *c = bpf_map_lookup_elem(&clocks, &first);

	bpf_map_update_elem(&by_key, &k, &v, 0);
	if (c) {
		bpf_timer_init(&c->timer, &clocks, 1);
		bpf_timer_set_callback(&c->timer, rings);
	}
	return scx_bpf_create_dsq(MINE, -1);
}
s32 BPF_STRUCT_OPS(count_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	return bpf_task_storage_get(&of_task, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}
void BPF_STRUCT_OPS(count_exit, struct scx_exit_info *ei) { UEI_RECORD(uei, ei); }
SCX_OPS_DEFINE(count_ops, @OPS@ .init = (void *)count_init, .init_task = (void *)count_init_task, .exit = (void *)count_exit, .name = "count");
"""


class Failed(RuntimeError):
    """A guest that did not do what it was to; the text is one line."""


def main() -> int:
    """Runs the schedulers one after the other and prints the table."""
    parser = argparse.ArgumentParser(
        allow_abbrev=False, description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--swtch", default="swtch", help="the command, with scx_file next to it")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the functions only these")
    options = parser.parse_args()
    functions = {name: FUNCTIONS[name] for name in options.only or FUNCTIONS}
    with tempfile.TemporaryDirectory() as directory:
        guest = Guest(options.swtch, Path(directory))
        try:
            base = guest.switch({"enqueue": (ENQUEUE, LOCAL)})
            print("| what | instructions a switch | more |\n| --- | ---: | ---: |")
            print(line("no callback: a global queue", guest.switch({}), base))
            if not options.only:
                others(guest, base)
        except Failed as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        print("\n| function | instructions a call |\n| --- | ---: |")
        for name, call in functions.items():
            try:
                found = guest.switch({"enqueue": (ENQUEUE, repeated(call))})
            except Failed as error:
                print(f"{name}: {error}", file=sys.stderr)
            else:
                print(f"| {name} | {(found - base) / COPIES:.0f} |", flush=True)
    return 0


def others(guest: Guest, base: float) -> None:
    """Prints the lines of callbacks and queues."""
    for name, arguments in CALLBACKS.items():
        found = guest.switch({"enqueue": (ENQUEUE, LOCAL), name: (arguments, "")})
        print(line(f"an empty `{name}`", found, base))
    for name, insert, dispatch in QUEUES:
        callbacks = {"enqueue": (ENQUEUE, insert)}
        if dispatch:
            callbacks["dispatch"] = ("s32 cpu, struct task_struct *prev", dispatch)
        print(line(name, guest.switch(callbacks), base), flush=True)


def line(name: str, found: float, base: float) -> str:
    """A row of the first table."""
    return f"| {name} | {found:,.0f} | {found - base:+.0f} |"


def repeated(call: str) -> str:
    """The body of `enqueue` with a call many times."""
    return f'{LOCAL}\n\t_Pragma("unroll") for (int i = 0; i < {COPIES}; i++) {{ {call} }}'


class Guest:
    """Runs the pipe's benchmark under schedulers that are made here."""

    def __init__(self, swtch: str, directory: Path) -> None:
        self.swtch = swtch
        self.source = directory / "count.bpf.c"

    def switch(self, callbacks: dict[str, tuple[str, str]]) -> float:
        """Instructions of a switch, with these callbacks: their arguments and bodies."""
        code = [
            f"void BPF_STRUCT_OPS(count_{name}, {arguments})\n{{\n\t{body}\n}}"
            for name, (arguments, body) in callbacks.items()
        ]
        ops = [f".{name} = (void *)count_{name}," for name in callbacks]
        text = SOURCE.replace("@CALLBACKS@", "\n".join(code)).replace("@OPS@", " ".join(ops))
        self.source.write_text(text)
        command = [self.swtch, "vm", "--deterministic", "--cpus", "1", "--sched", str(self.source), "--"]
        command += ["perf", "bench", "sched", "pipe", "-l", str(ROUNDS)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = re.search(r"([\d.]+) usecs/op", done.stdout)
        if not found:
            raise Failed((done.stderr or done.stdout).strip().splitlines()[-1])
        # The guest's clock shows an instruction as a nanosecond.
        return float(found.group(1)) * 1_000 / SWITCHES


if __name__ == "__main__":
    sys.exit(main())
