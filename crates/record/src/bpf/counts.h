/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the counting programs and the recorder share; the recorder's half is made of these types (src/sources/counts/shared.rs). */
#ifndef SWTCH_COUNTS_H
#define SWTCH_COUNTS_H

/* Two classes an octave: class 2n holds 2^n to 1.5 * 2^n ns, class 2n+1 the rest; the last holds all above. */
#define CLASSES 64

/* A task's counts since it was first seen: ours, and the kernel's own sums. */
struct task_counts {
	u64 first_ns;
	/* the kernel's sums at the last switch to it, and at the first */
	u64 run_ns;
	u64 first_run_ns;
	u64 delay_ns;
	u64 first_delay_ns;
	u64 first_voluntary;
	u64 first_involuntary;
	u64 wait_max_ns;
	u64 slice_max_ns;
	u64 arrivals;
	u64 cold_switch_ins;
	u64 process_switches;
	u64 cost_ns;
	u64 costs;
	/* of the time in run queues, the part in which a quota stopped the task */
	u64 quota_ns;
	/* at the last switch to it: how long its run queue had been throttled, and its involuntary switches */
	u64 throttled_ns;
	u64 involuntary;
	u32 cpu; /* one more than the last, 0 for none */
	u32 migrations[3]; /* within L2, within L3, across */
	u32 waits[CLASSES];
	u32 slices[CLASSES];
};

/* The record of a task. It is written when the task ends, or when all tasks are asked for. */
struct task_record {
	u64 now_ns;
	u32 tid;
	u32 pid;
	u32 parent_pid;
	u32 kernel_thread;
	u64 voluntary;
	u64 involuntary;
	u64 run_ns;
	u64 delay_ns;
	char comm[16];
	u64 group;
	struct task_counts counts;
	u64 lap; /* in the ring of those that ended: as in record.h */
};

/* A CPU. */
struct cpu_counts {
	u64 entered_ns;
	u64 entered_mm;
	u32 entered_tid;
	u32 last_tid;
	u64 switches;
	u64 idle_switches;
	/* by kind, as costs_by_kind */
	u64 cost_ns[3];
	u64 costs;
	u64 forks;
	u64 threads;
	u64 execs;
	u64 exits;
	/* arrivals of tasks that could not be counted, because the kernel gave no storage for them */
	u64 refused;
	u64 ended_head;
	u64 ended_lost;
	u64 ended_tail;
	/* whether this kernel has what quota_ns takes */
	u64 knows_quota;
	u64 pad[14];
	/* of switches between threads, between processes, from or to idle */
	u32 costs_by_kind[3 * CLASSES];
};

_Static_assert(sizeof(struct task_counts) == 664 && sizeof(struct task_record) == 752, "as the recorder reads them");
_Static_assert(sizeof(struct cpu_counts) == 1024 && __builtin_offsetof(struct cpu_counts, ended_tail) == 128, "likewise");

/* Places in the ring of ended tasks of each CPU; a power of two. */
#define ENDED_SHIFT 10

#endif
