/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FLSCHED (Jo, Kang, Min, Kim: "FLSCHED: A Lockless and Lightweight Approach to OS Scheduler for Xeon Phi", APSys 2017) in terms of
 * sched_ext. The same source runs on a kernel and in the simulator.
 *
 *   no lock of its own       only local queues, which belong to their CPU's run queue; no shared queue, and only counters that each
 *                            CPU has for itself
 *   no immediate preemption  a task that wakes goes to the end of the queue; the core checks slices at ticks only
 *   plain round robin        every task gets the same slice; nothing is kept about a task
 *   balance on fork, wake-up the default search for an idle CPU; a new task finds the shortest queue. Queues are never pulled from.
 *                            (The original also balances on exec; sched_ext does not ask a scheduler then.)
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

UEI_DEFINE(uei);

/* The time slice, ns. What the kernel's round robin, from which FLSCHED derives, has: DEF_TIMESLICE, 100 ms. */
const volatile u64 slice_ns = 100 * 1000 * 1000ULL;

/*
 * How long a turn through a queue may take at most, ns. Where enough wait that it would take longer, slices are shorter, and the kernel's
 * own threads are next. A task that wakes looks for the shortest queue then. The core ends a scheduler under which a task waits for 30 s,
 * or RCU waits for 21 s for a thread of its own, and the kernel's threads may have to wait several times until something is done: 4 s. 0
 * for slices that are always the same, as the original's.
 */
const volatile u64 turn_ns = 4 * 1000 * 1000 * 1000ULL;

/* How many queues a new task looks at; on a machine with more CPUs they are chosen at random. */
#define LOOKS 16

/* What was decided on a CPU, since loading. */
struct flsched_counters {
	u64 idle_wakeups;	/* a task that woke found an idle CPU */
	u64 queued_wakeups;	/* a task that woke went to the end of a queue */
	u64 forks;		/* a new task looked for the shortest queue */
	u64 rotations;		/* a task went to the end of its queue without having slept: its slice was used up, or it was moved */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct flsched_counters);
} counters SEC(".maps");

static u32 nr_cpus;

static struct flsched_counters *own_counters(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&counters, &first);
}

/* The CPU with the fewest tasks waiting among those that @p may use, beginning with @first. Reading a length takes no lock. */
static s32 shortest_queue(struct task_struct *p, s32 first)
{
	bool look_at_all = nr_cpus <= LOOKS;
	s32 chosen = first, least = 0x7fffffff;
	u32 i;

	bpf_for(i, 0, look_at_all ? nr_cpus : LOOKS) {
		u32 cpu = (u32)first + i;
		s32 queued;

		if (!look_at_all && i > 0)
			cpu = bpf_get_prandom_u32();
		cpu = nr_cpus ? cpu % nr_cpus : 0;
		if (!bpf_cpumask_test_cpu(cpu, p->cpus_ptr))
			continue;
		queued = scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu);
		if (queued >= 0 && queued < least) {
			least = queued;
			chosen = cpu;
		}
	}
	return chosen;
}

/* How many wait for a CPU, where that matters. */
static s32 waiting_for(s32 cpu)
{
	return turn_ns ? scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) : 0;
}

/* Whether a turn through this many would take too long with whole slices. */
static bool is_crowded(s32 queued)
{
	return turn_ns && queued > 0 && slice_ns * queued > turn_ns;
}

/*
 * The slice at the end of a crowded queue. It falls with the square of the queue's length. Tasks that came while it grew have longer
 * slices. With the square all of these together take no more than another turn, however many come at once.
 */
static u64 crowded_slice(s32 queued)
{
	return turn_ns / queued * turn_ns / (slice_ns * queued);
}

s32 BPF_STRUCT_OPS(flsched_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct flsched_counters *count = own_counters();
	bool is_idle = false, is_new = wake_flags & SCX_WAKE_FORK;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
		if (count)
			count->idle_wakeups++;
	} else if (is_new || is_crowded(waiting_for(cpu))) {
		cpu = shortest_queue(p, cpu);
		if (is_new && count)
			count->forks++;
	}
	return cpu;
}

void BPF_STRUCT_OPS(flsched_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct flsched_counters *count = own_counters();
	s32 queued = waiting_for(scx_bpf_task_cpu(p));
	u64 slice = slice_ns;

	if (is_crowded(queued)) {
		slice = crowded_slice(queued);
		if (p->flags & PF_KTHREAD)
			enq_flags |= SCX_ENQ_HEAD;
	}
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice, enq_flags);
	if (!count)
		return;
	if (enq_flags & SCX_ENQ_WAKEUP)
		count->queued_wakeups++;
	else
		count->rotations++;
}

/* A CPU that comes or goes changes nothing here: its queue comes and goes with it. Without these the core would end the scheduler. */
void BPF_STRUCT_OPS(flsched_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(flsched_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(flsched_init)
{
	nr_cpus = scx_bpf_nr_cpu_ids();
	return 0;
}

void BPF_STRUCT_OPS(flsched_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(flsched_ops,
	       .select_cpu = (void *)flsched_select_cpu,
	       .enqueue = (void *)flsched_enqueue,
	       .cpu_online = (void *)flsched_cpu_online,
	       .cpu_offline = (void *)flsched_cpu_offline,
	       .init = (void *)flsched_init,
	       .exit = (void *)flsched_exit,
	       .name = "flsched");
