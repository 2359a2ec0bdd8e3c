/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs in the kernel and the recorder share; the recorder's half is made of these types (src/sources/bpf/shared.rs). */
#ifndef SWTCH_RECORD_H
#define SWTCH_RECORD_H

enum event_kind {
	EVENT_SWITCH = 1,
	EVENT_WAKE = 2,
	EVENT_INTERRUPTS = 3,
	/* which of the first 64 CPUs are idle: bits, the low half in `tid`, the high half in `other`; only where some tasks are recorded */
	EVENT_IDLE = 4,
};

enum event_flag {
	/* Switch: the scheduler was entered to preempt, not because the task asked. */
	EVENT_PREEMPT = 1 << 0,
	/* Switch: the address space changed. */
	EVENT_ADDRESS_SPACE = 1 << 1,
	/* Switch: the task that left has ended for good. */
	EVENT_DEAD = 1 << 2,
	/* Switch: its cost was measured. */
	EVENT_COST = 1 << 3,
	/* Wake: from an interrupt; the task that ran then is not the cause. Switch: an interrupt was served between the scheduler's entry and its exit. */
	EVENT_INTERRUPT = 1 << 4,
	/* Wake: of a task just made. */
	EVENT_NEW = 1 << 5,
	/* Switch: the task that left could go on, and did not work but wait on its CPU. `state` is not a state then but a `spin_kind`. */
	EVENT_SPINNING = 1 << 5,
	/* Switch: this CPU made switches since the last event of a switch here that have no event (outside the scope, or lost). */
	EVENT_GAP = 1 << 6,
	/* Switch: the quota of a cgroup stopped the task that left. */
	EVENT_THROTTLED = 1 << 7,
};

/* How a task waits on its CPU. */
enum spin_kind {
	/* in a loop, which has an instruction for the CPU that says so */
	SPIN_LOOP = 1,
	/* by sched_yield */
	SPIN_YIELD = 2,
};

/*
 * `entered_ns` before its time is read. An event's time is older than its place in the ring. The recorder must know of every time that is
 * still to come (src/sources/bpf/horizon.rs). So this is stored before the time is read, and 0 after the event is complete.
 */
#define ENTERING 1

/* One event in a CPU's ring: 32 bytes, two to a cache line. */
struct event {
	u64 at_ns;   /* CLOCK_MONOTONIC */
	u32 tid;     /* switch: the task that leaves; wake: the task that is woken */
	u32 other;   /* switch: the task that comes; wake: the waker */
	u32 cost_ns; /* switch: from the scheduler's entry to its exit; interrupts: how long they had the CPU since the last such event here */
	u16 state;   /* switch: state of the task that leaves, as the scheduler found it; with EVENT_SPINNING how it waited */
	u8 kind;
	u8 flags;
	/*
	 * switch: the kernel's own counts of the task that leaves, from before this switch (their low bits). interrupts: `voluntary` is of how
	 * much time before `at_ns` the event is
	 */
	u32 voluntary;
	u16 involuntary;
	/* how often the ring was gone round, from 1; written last: with it the event is complete */
	u16 lap;
};

/*
 * One CPU's rings of events and of infos. The programs move the heads, the recorder the tails, each on cache lines of its own. The end of a
 * switch is written with interrupts on, and an interrupt may write a wake-up meanwhile. So a place is taken first, and is complete when it
 * has its `lap`.
 */
struct ring {
	u64 head;
	u64 lost_switches;
	u64 lost_wakes;
	u64 info_head;
	u64 infos_lost;
	/* the switch that was entered and has no event yet: 0 none, ENTERING, or when */
	u64 entered_ns;
	u64 entered_mm;
	u32 entered_tid;
	u32 entered_voluntary;
	u32 entered_involuntary;
	u16 entered_state;
	u8 entered_flags;
	/* its event is being written; an interrupt must not write it too */
	u8 writing;
	/* the interrupts that are being served */
	u64 hard_began_ns;
	u64 hard_total_ns;
	u64 soft_began_ns;
	u64 soft_hard_ns;
	u64 timer_began_ns;
	/* interrupts served, and how many when the switch was entered */
	u32 interrupts;
	u32 entered_interrupts;
	/* switches without an event since the last one that has one */
	u32 gap;
	/* tasks of the scope that were woken or preempted here and have not come */
	u32 waiting;
	u64 tail;
	u64 info_tail;
	u64 pad1[6];
	/* time in interrupts that no event has reported */
	u64 interrupt_ns;
	/* since when that is */
	u64 interrupt_from_ns;
	/* how the task that leaves waited on its CPU: a spin_kind, or 0 */
	u64 entered_spinning;
	u64 pad2[5];
};

_Static_assert(sizeof(struct event) == 32, "two to a cache line");
_Static_assert(sizeof(struct ring) == 256 && __builtin_offsetof(struct ring, tail) == 128, "as the recorder reads it");

enum info_kind {
	INFO_FORK = 1,
	INFO_EXEC = 2,
	INFO_EXIT = 3,
	/* it is not of the scope, and had a CPU that a task of the scope waited for */
	INFO_SEEN = 4,
	/* it took another name without executing a program */
	INFO_NAME = 5,
};

/* The report of a task that is made, renamed by exec, or gone. */
struct info {
	u64 at_ns;
	u32 kind;
	u32 tid;
	u32 pid;
	u32 parent_pid;
	char comm[16];
	u64 group;
	u64 cpus; /* it may use: the first 64 */
	u32 kernel_thread;
	u32 policy;
	s32 nice;
	u32 realtime_priority;
	u32 cpus_allowed; /* how many */
	u32 lap; /* as in an event */
};

_Static_assert(sizeof(struct info) == 80 && __builtin_offsetof(struct info, lap) == 76, "as the recorder reads it");

/* Places in the ring of infos of each CPU; a power of two. */
#define INFO_SHIFT 12

/* Lines of hard interrupts that are told apart; the kinds of soft interrupts and the CPU's own timer follow them. */
#define HARD_LINES 1024
#define SOFT_KINDS 16
#define TIMER_LINE (HARD_LINES + SOFT_KINDS)
#define LINES (TIMER_LINE + 1)

struct interrupt {
	u64 count;
	u64 ns;
};

#endif
