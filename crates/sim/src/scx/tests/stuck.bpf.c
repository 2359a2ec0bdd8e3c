/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Schedulers that forget their tasks or do not come back, each by a macro. */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

UEI_DEFINE(uei);

#define QUEUE 7

volatile u64 iterations;
u64 sum;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, 4);
} numbers SEC(".maps");

#ifdef LOOPS_IN_MAP
static long look(void *map, u32 *key, u64 *value, void *context)
{
	for (;;)
		sum += *key;
	return 0;
}
#endif

#ifdef LOOPS_IN_TIMER
struct ring {
	struct bpf_timer timer;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct ring);
	__uint(max_entries, 1);
} rings SEC(".maps");

static int rang(void *map, int *key, struct ring *ring)
{
	bpf_timer_start(&ring->timer, 0, 0);
	return 0;
}
#endif

/* Without it the core puts tasks onto idle CPUs itself. */
s32 BPF_STRUCT_OPS(stuck_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags) { return prev_cpu; }

void BPF_STRUCT_OPS(stuck_enqueue, struct task_struct *p, u64 enq_flags)
{
#ifdef LOOPS
	for (;;)
		;
#endif
#ifdef LOOPS_IN_MAP
	bpf_for_each_map_elem(&numbers, look, NULL, 0);
#endif
#ifdef ITERATES
	for (u64 i = 0; i < iterations; i++)
		sum += i;
#endif
#ifdef FORGETS
	return;
#endif
#ifdef FORGETS_SECOND
	if (p->pid == 2)
		return;
#endif
#ifdef QUEUES
	scx_bpf_dsq_insert(p, QUEUE, SCX_SLICE_DFL, enq_flags);
#else
	scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, enq_flags);
#endif
}

s32 BPF_STRUCT_OPS_SLEEPABLE(stuck_init)
{
#ifdef LOOPS_IN_TIMER
	u32 key = 0;
	struct ring *ring = bpf_map_lookup_elem(&rings, &key);

	if (!ring)
		return -1;
	bpf_timer_init(&ring->timer, &rings, 0);
	bpf_timer_set_callback(&ring->timer, rang);
	bpf_timer_start(&ring->timer, 1000000, 0);
#endif
#ifdef LOOPS_IN_INIT
	while (1)
		sum++;
#endif
	return scx_bpf_create_dsq(QUEUE, -1);
}

void BPF_STRUCT_OPS(stuck_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(stuck_ops, .select_cpu = (void *)stuck_select_cpu, .enqueue = (void *)stuck_enqueue, .init = (void *)stuck_init, .exit = (void *)stuck_exit,
	       .name = "stuck");
