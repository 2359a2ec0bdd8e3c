/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the counting programs and the recorder share; the recorder's half is made of these types (src/sources/counts/shared.rs). */
#ifndef SWTCH_COUNTS_H
#define SWTCH_COUNTS_H

/* Two classes an octave: class 2n holds 2^n to 1.5 * 2^n ns, class 2n+1 the rest; the last holds all above. */
#define CLASSES 64

/* What only a switch shows of a task, as far as switches were seen. */
struct task_counts {
	/* switches to it that were seen, and of those: */
	u64 arrivals;
	u64 process_switches;
	/* with the task known that ran here before, and it was another or on another CPU */
	u64 with_last;
	u64 cold_switch_ins;
	u64 cost_ns;
	u64 costs;
	u64 wait_max_ns;
	u64 slice_max_ns;
	/* the kernel's sums after the last switch to it that was seen */
	u64 pcount;
	u64 delay_ns;
	/*
	 * for the interval of the cost: arrivals and cost before the last window that saw it. Over the windows before that one, the sums of
	 * squares and products of theirs, costs in COST_UNIT_NS
	 */
	u64 arrivals_before;
	u64 cost_before_ns;
	u64 arrivals_squared;
	u64 arrivals_by_cost;
	u64 cost_squared;
	u32 window;
	u32 cpu;
	u32 migrations[3]; /* within L2, within L3, across */
	u32 pad;
	u32 waits[CLASSES];
	u32 slices[CLASSES];
};

/* Squares of costs in this unit fit for weeks. */
#define COST_UNIT_NS 64

/* A task's record: the kernel's own sums since it was created. It is written when the task has ended, or when all are asked for. */
struct task_record {
	u64 now_ns;
	u64 start_ns;
	u64 address;
	u32 tid;
	u32 pid;
	u32 parent_pid;
	u32 flags;
	u64 voluntary;
	u64 involuntary;
	u64 run_ns;
	u64 delay_ns;
	u64 arrivals;
	u64 migrations;
	/* the run queue that it is in, and for how long that was throttled by a quota */
	u64 run_queue;
	u64 throttled_ns;
	/* likewise all run queues of its cgroup, summed */
	u64 group_throttled_ns;
	u64 group;
	u32 policy;
	s32 nice;
	u32 realtime_priority;
	u32 pad;
	char comm[16];
};

/* In `flags`. */
#define KERNEL_THREAD 1
#define ENDED 2 /* it has left its CPU for good */
#define WAITING 4
#define COUNTED 8 /* its task_counts follow */

/* Tasks that are about to end, at most. */
#define MOST_DYING 8192

/* A CPU. */
struct cpu_counts {
	/* the switch that is underway */
	u64 entered_ns;
	u32 entered_kind; /* one more than as costs_by_kind; 0 where it is not known */
	u32 last_tid;
	/* the kernel's sums, as at the last list: switches from tasks, and from idle */
	u64 switches;
	u64 idle_switches;
	/* of the switches that were seen: how many, and of tasks that are counted */
	u64 seen;
	u64 arrivals;
	u64 arrivals_cost_ns;
	u64 migrations[3];
	/* by kind, as costs_by_kind */
	u64 cost_ns[3];
	u64 costs;
	u64 forks;
	u64 threads;
	u64 execs;
	u64 exits;
	/* tasks that were kept when they began to end, and where the last of them is */
	u64 kept;
	u64 last_kept;
	/* ends that were recorded before the last switch, because the tasks could not be kept */
	u64 early_ends;
	/* arrivals that could not be counted, because the kernel gave no storage for them */
	u64 refused;
	u64 ended_lost;
	/* whether this kernel tells how long a run queue was throttled */
	u64 knows_quota;
	/* from a pointer to per-CPU memory to that of this CPU; where run queues of groups are such memory */
	u64 percpu_offset;
	/* switches that took longer than `most_cost_ns`, those to tasks that are counted, and their time */
	u64 outliers;
	u64 arrivals_outliers;
	u64 outliers_ns;
	u64 pad[4];
	/* of switches between threads, between processes, from or to idle */
	u32 costs_by_kind[3 * CLASSES];
};

_Static_assert(sizeof(struct task_counts) == 656 && sizeof(struct task_record) == 152, "as the recorder reads them");
_Static_assert(sizeof(struct cpu_counts) == 1024, "likewise");

#endif
