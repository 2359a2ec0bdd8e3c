/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds a CPU up for a part of each period, in its timer's interrupt: whatever runs there gets less done in the same time, as on a slower CPU. No task
 * is involved, so no scheduler sees anything but that. A CPU with nothing to do is left alone.
 *
 * Kernels that account the time of interrupts (CONFIG_IRQ_TIME_ACCOUNTING) take it off the task's CPU time, and off what the CPU can do.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

#define MOST_CPUS 1024
#define MOST_PROGRAMS 4096
#define NAME_BYTES 16
/* As often as bpf_loop() does: far more than fits into a period. */
#define MOST_LOOKS (1 << 23)

/* include/uapi/linux/bpf.h, Linux 6.7 */
#define TIMER_ABS 1
#define TIMER_CPU_PIN 2
#define CLOCK_MONOTONIC 1

/* How long a period is, and how much of it a CPU is held up; set for each before it starts. */
struct slow_cpu {
	struct bpf_timer timer;
	u64 period_ns;
	u64 held_ns;
	u64 next_ns;
	u64 kind;	/* of slow CPUs, in the order in which they were named */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CPUS);
	__type(key, u32);
	__type(value, struct slow_cpu);
} slow_cpus SEC(".maps");

/* Programs that are slower or less slow there than others. */
struct slow_program {
	char name[NAME_BYTES];
	u64 kind;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MOST_PROGRAMS);
	__type(key, struct slow_program);
	__type(value, u64);	/* how long of a period they are held up */
} programs SEC(".maps");

/* What start() is called with. */
struct slow_wish {
	u64 period_ns;
	u64 held_ns;
	u64 kind;
};

static int look(u32 index, u64 *until_ns)
{
	return bpf_ktime_get_ns() >= *until_ns;
}

static int hold(void *map, u32 *cpu, struct slow_cpu *slow)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct slow_program program = { .kind = slow->kind };
	u64 *own_ns;
	/* From when the interrupt was due: what it took to come counts too. */
	u64 now_ns = bpf_ktime_get_ns(), until_ns = slow->next_ns + slow->held_ns;

	if (task->pid) {
		__builtin_memcpy(program.name, task->comm, NAME_BYTES);
		own_ns = bpf_map_lookup_elem(&programs, &program);
		if (own_ns)
			until_ns = slow->next_ns + *own_ns;
		bpf_loop(MOST_LOOKS, look, &until_ns, 0);
	}
	slow->next_ns += slow->period_ns;
	/* Where the machine itself stood still, no period is made up for. */
	if (slow->next_ns <= now_ns)
		slow->next_ns = now_ns + slow->period_ns;
	bpf_timer_start(&slow->timer, slow->next_ns, TIMER_ABS | TIMER_CPU_PIN);
	return 0;
}

/* Begins on the CPU that it is called on. */
SEC("syscall")
int start(struct slow_wish *wish)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct slow_cpu *slow = bpf_map_lookup_elem(&slow_cpus, &cpu);

	if (!slow)
		return 1;
	slow->period_ns = wish->period_ns;
	slow->held_ns = wish->held_ns;
	slow->kind = wish->kind;
	slow->next_ns = bpf_ktime_get_ns() + wish->period_ns;
	if (bpf_timer_init(&slow->timer, &slow_cpus, CLOCK_MONOTONIC))
		return 2;
	if (bpf_timer_set_callback(&slow->timer, hold))
		return 3;
	return bpf_timer_start(&slow->timer, slow->next_ns, TIMER_ABS | TIMER_CPU_PIN) ? 4 : 0;
}
