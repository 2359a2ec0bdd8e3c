/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A queue for all CPUs, ordered by virtual time; macros make it behave badly. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

const volatile u64 slice_ns = 20000000;
static u64 vtime_now;
UEI_DEFINE(uei);

#define SHARED 5

void BPF_STRUCT_OPS(shared_enqueue, struct task_struct *p, u64 enq_flags)
{
	u64 vtime = p->scx.dsq_vtime;

#ifdef GIVES_UP
	if (p->pid == 2)
		scx_bpf_error("no more of %s, task %d", p->comm, p->pid);
#endif
#ifdef BAD_DSQ
	scx_bpf_dsq_insert(p, 99, slice_ns, enq_flags);
	return;
#endif
#ifdef BAD_CPU
	scx_bpf_kick_cpu(77, 0);
#endif
#ifdef PREEMPT
	if (enq_flags & SCX_ENQ_WAKEUP) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags | SCX_ENQ_PREEMPT);
		return;
	}
#endif
	if (time_before(vtime, vtime_now - slice_ns))
		vtime = vtime_now - slice_ns;
	scx_bpf_dsq_insert_vtime(p, SHARED, slice_ns, vtime, enq_flags);
}

void BPF_STRUCT_OPS(shared_dispatch, s32 cpu, struct task_struct *prev)
{
	scx_bpf_dsq_move_to_local(SHARED, 0);
}

void BPF_STRUCT_OPS(shared_running, struct task_struct *p)
{
	if (time_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(shared_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += (slice_ns - p->scx.slice) * 100 / p->scx.weight;
}

void BPF_STRUCT_OPS(shared_enable, struct task_struct *p)
{
	p->scx.dsq_vtime = vtime_now;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(shared_init)
{
#ifdef BAD_INIT
	return -EINVAL;
#endif
	return scx_bpf_create_dsq(SHARED, -1);
}

void BPF_STRUCT_OPS(shared_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(shared_ops,
	       .enqueue = (void *)shared_enqueue,
	       .dispatch = (void *)shared_dispatch,
	       .running = (void *)shared_running,
	       .stopping = (void *)shared_stopping,
	       .enable = (void *)shared_enable,
	       .init = (void *)shared_init,
	       .exit = (void *)shared_exit,
	       .name = "shared");
