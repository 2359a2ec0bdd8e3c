/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FLSCHED (Jo, Kang, Min, Kim: "FLSCHED: A Lockless and Lightweight Approach to OS Scheduler for Xeon Phi", APSys 2017) in terms of
 * sched_ext. The same source runs on a kernel and in the simulator.
 *
 *   no lock of its own       only local queues, which belong to their CPU's run queue; no shared queue, no map
 *   no immediate preemption  a task that wakes goes to the end of the queue; the core checks slices at ticks only
 *   plain round robin        every task gets the same slice; nothing is kept about a task
 *   balance on fork, wake-up the default search for an idle CPU; a new task finds the shortest queue. Queues are never pulled from
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

UEI_DEFINE(uei);

/* The time slice, ns. What the kernel's round robin, from which FLSCHED derives, has: DEF_TIMESLICE, 100 ms. */
const volatile u64 slice_ns = 100 * 1000 * 1000ULL;

/* How many queues a new task looks at; on a machine with more CPUs they are chosen at random. */
#define LOOKS 16

static u32 nr_cpus;

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

s32 BPF_STRUCT_OPS(flsched_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	else if (wake_flags & SCX_WAKE_FORK)
		cpu = shortest_queue(p, cpu);
	return cpu;
}

void BPF_STRUCT_OPS(flsched_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
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
	       .init = (void *)flsched_init,
	       .exit = (void *)flsched_exit,
	       .name = "flsched");
