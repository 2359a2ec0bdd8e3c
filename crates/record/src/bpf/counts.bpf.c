// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts context switches in the kernel: nothing per event reaches the recorder, whatever the rate and however long.
 *
 * The kernel keeps sums for every task already: time on a CPU (se.sum_exec_runtime), in run queues (sched_info.run_delay), voluntary and
 * involuntary switches. One program, when a task comes, takes their differences since it came the last time: its wait before, its slice. So
 * wake-ups need not be traced, and a switch costs one look-up of one task.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "counts.h"
#include "followed.h"
#include "group.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_counts);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct cpu_counts);
} cpus SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct task_record);
} ended SEC(".maps");

/* By CPU, which caches it has: the numbers of its level 2 (low half) and level 3 (high half) caches. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} caches SEC(".maps");

static __always_inline struct cpu_counts *this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

static __always_inline u32 class_of(u64 ns)
{
	u32 value = ns > 0xffffffff ? 0xffffffff : ns, octave, rest;

	octave = (value > 0xffff) << 4;
	rest = value >> octave;
	u32 shift = (rest > 0xff) << 3;
	rest >>= shift;
	octave |= shift;
	shift = (rest > 0xf) << 2;
	rest >>= shift;
	octave |= shift;
	shift = (rest > 0x3) << 1;
	rest >>= shift;
	octave |= shift;
	octave |= rest >> 1;
	if (octave)
		value = octave * 2 + ((value >> (octave - 1)) & 1);
	/* The compiler knows that it is small enough, the kernel's verifier does not. */
	barrier_var(value);
	return value & (CLASSES - 1);
}

/*
 * The kernel gives no storage to a task while a preempted task works on another's on the same CPU. That loses an arrival, which `refused` counts.
 * Where none has arrived it is NULL: the next try comes in time.
 */
static __always_inline struct task_counts *counts_of(struct task_struct *task, u64 *refused)
{
	struct task_counts *counts = bpf_task_storage_get(&tasks, task, 0, 0);

	if (counts)
		return counts;
	if (scoped && !is_followed(task->pid))
		return NULL;
	counts = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!counts) {
		if (refused)
			(*refused)++;
		return NULL;
	}
	/* Only here: reading the clock takes as long as much of the rest. */
	counts->first_ns = bpf_ktime_get_ns();
	counts->run_ns = counts->first_run_ns = task->se.sum_exec_runtime;
	counts->delay_ns = counts->first_delay_ns = task->sched_info.run_delay;
	counts->first_voluntary = task->nvcsw;
	counts->first_involuntary = task->nivcsw;
	return counts;
}

static __always_inline void moved(struct task_counts *counts, u32 cpu)
{
	u32 before = counts->cpu - 1;
	u64 *from = bpf_map_lookup_elem(&caches, &before), *to = bpf_map_lookup_elem(&caches, &cpu);

	if (!from || !to)
		return;
	if ((u32)*from == (u32)*to)
		counts->migrations[0]++;
	else if (*from >> 32 == *to >> 32)
		counts->migrations[1]++;
	else
		counts->migrations[2]++;
}

static __always_inline bool knows_quota(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->throttled_clock_self_time);
}

/*
 * The part of a wait in which a quota, of the task's cgroup or one above it, stopped the task. The kernel sums how long each run queue was
 * throttled. A wait after an involuntary switch began at that switch, so what that sum gained since then is in the wait. From 6.18 on a task
 * is only stopped on its way out of the kernel, by an involuntary switch; before that a task that wakes may wait for a quota, too, and
 * that is taken for a wait for a CPU.
 */
static __always_inline void add_quota(struct task_counts *counts, struct task_struct *task, u64 wait_ns, u32 number)
{
	u64 throttled_ns, gained_ns, involuntary = task->nivcsw;

	throttled_ns = task->se.cfs_rq->throttled_clock_self_time;
	if (throttled_ns != counts->throttled_ns) {
		gained_ns = throttled_ns - counts->throttled_ns;
		/* Another run queue of that CPU would be another cgroup's: then the sum may be less. */
		if (counts->cpu == number + 1 && involuntary != counts->involuntary && throttled_ns > counts->throttled_ns &&
		    task->prio >= MAX_RT_PRIO)
			counts->quota_ns += gained_ns < wait_ns ? gained_ns : wait_ns;
		counts->throttled_ns = throttled_ns;
	}
	counts->involuntary = involuntary;
}

/* A task has come to this CPU. */
static __always_inline void arrive(struct cpu_counts *cpu, struct task_struct *task, u64 cost_ns, u64 mm_before)
{
	u32 number = bpf_get_smp_processor_id(), tid = task->pid, kind;
	struct task_counts *counts;
	u64 mm = (u64)task->mm, wait_ns, slice_ns;
	bool process = mm && mm != mm_before;

	if (cpu->entered_tid)
		cpu->switches++;
	else
		cpu->idle_switches++;
	if (cost_ns) {
		kind = !tid || !cpu->entered_tid ? 2 : process ? 1 : 0;
		cpu->costs_by_kind[kind * CLASSES + class_of(cost_ns)]++;
		cpu->cost_ns[kind] += cost_ns;
		cpu->costs++;
	}
	if (!tid)
		return;
	counts = counts_of(task, &cpu->refused);
	if (counts) {
		wait_ns = task->sched_info.run_delay - counts->delay_ns;
		slice_ns = task->se.sum_exec_runtime - counts->run_ns;
		counts->delay_ns += wait_ns;
		counts->run_ns += slice_ns;
		if (knows_quota())
			add_quota(counts, task, wait_ns, number);
		counts->waits[class_of(wait_ns)]++;
		if (wait_ns > counts->wait_max_ns)
			counts->wait_max_ns = wait_ns;
		if (counts->arrivals) {
			counts->slices[class_of(slice_ns)]++;
			if (slice_ns > counts->slice_max_ns)
				counts->slice_max_ns = slice_ns;
		}
		counts->arrivals++;
		counts->cold_switch_ins += cpu->last_tid != tid;
		counts->process_switches += process;
		if (cost_ns) {
			counts->cost_ns += cost_ns;
			counts->costs++;
		}
		if (counts->cpu && counts->cpu != number + 1)
			moved(counts, number);
		counts->cpu = number + 1;
	}
	cpu->last_tid = tid;
}

static __always_inline void describe(struct task_record *record, struct task_struct *task, struct task_counts *counts)
{
	record->now_ns = bpf_ktime_get_ns();
	record->tid = task->pid;
	record->pid = task->tgid;
	record->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	record->kernel_thread = task->flags & PF_KTHREAD ? 1 : 0;
	record->voluntary = task->nvcsw;
	record->involuntary = task->nivcsw;
	record->run_ns = task->se.sum_exec_runtime;
	record->delay_ns = task->sched_info.run_delay;
	record->group = group_of(task);
	__builtin_memcpy(record->comm, task->comm, sizeof(record->comm));
	__builtin_memcpy(&record->counts, counts, sizeof(*counts));
}

/*
 * Writes the record of a task that ends, because its storage ends with it. `counted` is 1 when its voluntary switches include the last one, which
 * is then taken off.
 */
static __always_inline void tell_end(struct cpu_counts *cpu, struct task_struct *task, u64 counted)
{
	u32 number = bpf_get_smp_processor_id(), index;
	/* Made here, if no try before went well: a task that ends has a record, whatever was refused. */
	struct task_counts *counts = counts_of(task, NULL);
	struct task_record *record;
	u64 place;

	/* Its number may be given to another task. */
	if (scoped)
		set_followed(task->pid, false);
	if (!counts)
		return;
	if (*(volatile u64 *)&cpu->ended_head - *(volatile u64 *)&cpu->ended_tail > (1 << ENDED_SHIFT) - 8) {
		__sync_fetch_and_add(&cpu->ended_lost, 1);
		return;
	}
	place = __sync_fetch_and_add(&cpu->ended_head, 1);
	index = (number << ENDED_SHIFT) + ((u32)place & ((1 << ENDED_SHIFT) - 1));
	record = bpf_map_lookup_elem(&ended, &index);
	if (!record)
		return;
	describe(record, task, counts);
	record->voluntary -= counted;
	/* An atomic instruction that returns a value is a full barrier: the record is whole before its lap is there. */
	__sync_fetch_and_add(&record->now_ns, 0);
	*(volatile u64 *)&record->lap = (place >> ENDED_SHIFT) + 1;
}

SEC("tp_btf/sched_entry_tp")
int BPF_PROG(entered, bool preempt)
{
	struct cpu_counts *cpu = this_cpu();
	struct task_struct *task = bpf_get_current_task_btf();

	if (!cpu)
		return 0;
	/* The first switch to a new task does not come out of the scheduler here: it is counted when that task goes in for the first time. */
	if (cpu->entered_ns && cpu->entered_tid != task->pid)
		arrive(cpu, task, 0, cpu->entered_mm);
	if (task->__state & TASK_DEAD)
		tell_end(cpu, task, 0);
	cpu->entered_tid = task->pid;
	cpu->entered_mm = (u64)task->active_mm;
	cpu->entered_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(left, bool is_switch)
{
	struct cpu_counts *cpu;
	u64 now_ns;

	if (!is_switch)
		return 0;
	now_ns = bpf_ktime_get_ns();
	cpu = this_cpu();
	if (!cpu || !cpu->entered_ns)
		return 0;
	arrive(cpu, bpf_get_current_task_btf(), now_ns - cpu->entered_ns, cpu->entered_mm);
	cpu->entered_ns = 0;
	return 0;
}

/* Instead of the two above where they are missing. The sums of the one that comes are up to date here (kernel/sched/core.c, v6.18). */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct cpu_counts *cpu = this_cpu();

	if (!cpu)
		return 0;
	if (prev_state & TASK_DEAD)
		tell_end(cpu, prev, 1);
	cpu->entered_tid = prev->pid;
	arrive(cpu, next, 0, (u64)prev->active_mm);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	struct cpu_counts *cpu = this_cpu();

	if (scoped) {
		if (!is_followed(parent->pid))
			return 0;
		set_followed(child->pid, true);
	}
	if (!cpu)
		return 0;
	/* From its birth on, not from when it first comes. */
	counts_of(child, NULL);
	__sync_fetch_and_add(&cpu->threads, 1);
	if (child->pid == child->tgid)
		__sync_fetch_and_add(&cpu->forks, 1);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(execed, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	struct cpu_counts *cpu = this_cpu();

	if (cpu && (!scoped || is_followed(task->pid)))
		__sync_fetch_and_add(&cpu->execs, 1);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct cpu_counts *cpu = this_cpu();

	if (cpu && task->pid == task->tgid && (!scoped || is_followed(task->pid)))
		__sync_fetch_and_add(&cpu->exits, 1);
	return 0;
}

/* A place to put a record together, which the stack has no room for. One reader at a time. */
struct task_record scratch;

SEC("iter/task")
int dump(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct cpu_counts *cpu = this_cpu();
	struct task_counts *counts;

	/* The record of a task that ended was written then. Such a task may stay for its parent to collect. */
	if (task && task->__state & TASK_DEAD)
		return 0;
	if (cpu)
		cpu->knows_quota = knows_quota();
	/* The first time round, this makes the counts of the tasks that are there already. */
	counts = task && task->pid && cpu ? counts_of(task, NULL) : NULL;
	if (!counts)
		return 0;
	describe(&scratch, task, counts);
	bpf_seq_write(ctx->meta->seq, &scratch, sizeof(scratch));
	return 0;
}
