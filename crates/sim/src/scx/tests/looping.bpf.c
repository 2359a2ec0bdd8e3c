/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* First in, first out, after a loop of TURNS turns. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

static volatile u64 sum;

void BPF_STRUCT_OPS(looping_enqueue, struct task_struct *p, u64 enq_flags)
{
	for (int i = 0; i < TURNS; i++)
		sum += i;
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
}

SCX_OPS_DEFINE(looping_ops, .enqueue = (void *)looping_enqueue, .name = "looping");
