/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * @NAME@: a sched_ext scheduler. As it stands it is a plain queue, first in, first out; change what you want to try.
 *
 *   sh @NAME@.test.sh                                   compiles it and runs it in a virtual machine
 *   sudo swtch sched @NAME@.bpf.c --for 10s             runs it on this machine
 *   swtch sched compare --vm --policies stock,@NAME@.bpf.c -- COMMAND
 */
#include <scx/common.bpf.h>

/* The kernel gives its functions to programs under a licence like this one. */
char _license[] SEC("license") = "Dual BSD/GPL";

/* Keeps the kernel's account of the end, which swtch prints: why it ended, and the state of the queues. */
UEI_DEFINE(uei);

/* How long a task runs before the next one has its turn, ns. Constants like this are set by --set slice_ns=1ms. */
const volatile u64 slice_ns = 20 * 1000 * 1000ULL;

/* A dispatch queue of your own. Tasks wait in it until a CPU asks for one. */
#define SHARED_DSQ 0

/* A task woke up: which CPU is it to run on? An idle one is found by the kernel, and may have the task at once. */
s32 BPF_STRUCT_OPS(@NAME@_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	if (is_idle)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, 0);
	return cpu;
}

/*
 * A task is to wait, because no CPU was idle or its slice is over. For an order of your own, use
 * scx_bpf_dsq_insert_vtime(p, SHARED_DSQ, slice_ns, vtime, enq_flags): the smallest vtime runs first.
 */
void BPF_STRUCT_OPS(@NAME@_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dsq_insert(p, SHARED_DSQ, slice_ns, enq_flags);
}

/* A CPU has nothing to run. prev is the task that ran last; it may run on if nothing is moved here. */
void BPF_STRUCT_OPS(@NAME@_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED_DSQ, 0);
}

/* It is loaded. A queue that is not created here does not exist. */
s32 BPF_STRUCT_OPS_SLEEPABLE(@NAME@_init)
{
	return scx_bpf_create_dsq(SHARED_DSQ, -1);
}

/* It ends: asked to, or because the kernel found a task that waited too long. */
void BPF_STRUCT_OPS(@NAME@_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(@NAME@_ops,
	       .select_cpu = (void *)@NAME@_select_cpu,
	       .enqueue = (void *)@NAME@_enqueue,
	       .dispatch = (void *)@NAME@_dispatch,
	       .init = (void *)@NAME@_init,
	       .exit = (void *)@NAME@_exit,
	       .name = "@NAME@");
