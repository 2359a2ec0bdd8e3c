/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * First in, first out, from one queue that all CPUs share: what a sched_ext scheduler costs that does nothing clever. Its queue has a
 * lock, which every CPU takes for every task.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

UEI_DEFINE(uei);

/* The time slice, ns: the kernel's default for sched_ext, 20 ms. */
const volatile u64 slice_ns = 20 * 1000 * 1000ULL;

#define SHARED_DSQ 0

/* What was decided on a CPU, since loading. */
struct fifo_counters {
	u64 idle_wakeups;	/* a task that woke found an idle CPU */
	u64 queued;		/* a task went to the end of the queue */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fifo_counters);
} counters SEC(".maps");

static struct fifo_counters *own_counters(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&counters, &first);
}

s32 BPF_STRUCT_OPS(fifo_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct fifo_counters *count = own_counters();
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
		if (count)
			count->idle_wakeups++;
	}
	return cpu;
}

void BPF_STRUCT_OPS(fifo_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct fifo_counters *count = own_counters();

	scx_bpf_dsq_insert(p, SHARED_DSQ, slice_ns, enq_flags);
	if (count)
		count->queued++;
}

void BPF_STRUCT_OPS(fifo_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ, 0);
}

/* Nothing is kept by CPU. Without these the core would end the scheduler when a CPU comes or goes. */
void BPF_STRUCT_OPS(fifo_cpu_online, s32 cpu)
{
}

void BPF_STRUCT_OPS(fifo_cpu_offline, s32 cpu)
{
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fifo_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

void BPF_STRUCT_OPS(fifo_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(global_fifo_ops,
	       .select_cpu = (void *)fifo_select_cpu,
	       .enqueue = (void *)fifo_enqueue,
	       .dispatch = (void *)fifo_dispatch,
	       .cpu_online = (void *)fifo_cpu_online,
	       .cpu_offline = (void *)fifo_cpu_offline,
	       .init = (void *)fifo_init,
	       .exit = (void *)fifo_exit,
	       .name = "global_fifo");
