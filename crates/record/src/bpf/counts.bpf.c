// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts context switches without a program at a switch.
 *
 * The kernel keeps sums for every task: switches of both kinds, time on a CPU and in run queues. A task iterator reads them; what ends is
 * kept until its last switch is over, and read then. Some figures only a switch can show: waits, slices, costs, cold caches. `entered`,
 * `switched` and `left` count them. The recorder attaches these for short windows of time, or for all of it.
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

/* A task_record of each task that ended, with its task_counts where it has any. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1);
} ended SEC(".maps");

/* CPUs there may be. */
const volatile u32 cpu_limit = 1;

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

static __always_inline bool knows_rq(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) && bpf_core_field_exists(((struct cfs_rq *)0)->rq);
}

/*
 * The kernel gives no storage to a task while a preempted task works on another's on the same CPU, and when it has none ready. `refused` counts
 * that.
 */
static __always_inline struct task_counts *counts_of(struct cpu_counts *cpu, struct task_struct *task)
{
	struct task_counts *counts = bpf_task_storage_get(&tasks, task, 0, 0);

	if (counts || (scoped && !is_followed(task->pid)))
		return counts;
	counts = bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!counts)
		cpu->refused++;
	return counts;
}

/*
 * For storage of this size the kernel has one piece ready on each CPU, and gets more when interrupts are on again (prefill_mem_cache in
 * kernel/bpf/memalloc.c, v6.18). A switch between two tasks that no window saw before needs two. The recorder runs this on each CPU before the
 * first window: after it some sixteen are ready.
 */
SEC("raw_tp/sched_switch")
int ready_storage(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if (bpf_task_storage_get(&tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE))
		bpf_task_storage_delete(&tasks, task);
	return 0;
}

static __always_inline void moved(struct cpu_counts *cpu, struct task_counts *counts, u32 number)
{
	u32 before = counts->cpu;
	u64 *from = bpf_map_lookup_elem(&caches, &before), *to = bpf_map_lookup_elem(&caches, &number);

	if (!from || !to)
		return;
	if ((u32)*from == (u32)*to) {
		counts->migrations[0]++;
		cpu->migrations[0]++;
	} else if (*from >> 32 == *to >> 32) {
		counts->migrations[1]++;
		cpu->migrations[1]++;
	} else {
		counts->migrations[2]++;
		cpu->migrations[2]++;
	}
}

/* The number of the window that is open. */
u32 window;
/* A switch that takes longer was stopped on its way: its time is not the scheduler's. */
u64 most_cost_ns;

/* What the last window saw of the task is complete. */
static __always_inline void end_window(struct task_counts *counts)
{
	u64 arrivals = counts->arrivals - counts->arrivals_before;
	u64 cost = (counts->cost_ns - counts->cost_before_ns) / COST_UNIT_NS;

	counts->arrivals_squared += arrivals * arrivals;
	counts->arrivals_by_cost += arrivals * cost;
	counts->cost_squared += cost * cost;
	counts->arrivals_before = counts->arrivals;
	counts->cost_before_ns = counts->cost_ns;
	counts->window = window;
}

/* A task comes to this CPU. Its wait is the kernel's: since it was queued here, and before that where its last switch was seen, too. */
static __always_inline void arrive(struct cpu_counts *cpu, struct task_struct *task, u64 clock_ns, bool process)
{
	u64 queued_ns = task->sched_info.last_queued, wait_ns = 0, delay_ns = task->sched_info.run_delay;
	struct task_counts *counts = counts_of(cpu, task);
	u32 number = bpf_get_smp_processor_id();
	bool consecutive;

	if (!counts)
		return;
	if (counts->window != window)
		end_window(counts);
	/* Without a clock, a wait counts at the switch after it. */
	if (queued_ns && queued_ns < clock_ns)
		wait_ns = clock_ns - queued_ns;
	delay_ns += wait_ns;
	consecutive = counts->arrivals && counts->pcount == task->sched_info.pcount;
	if (consecutive) {
		/* It may have waited on another CPU first. */
		wait_ns = delay_ns - counts->delay_ns;
		if (counts->cpu != number)
			moved(cpu, counts, number);
	}
	counts->pcount = task->sched_info.pcount + 1;
	counts->delay_ns = delay_ns;
	if (clock_ns || consecutive) {
		counts->waits[class_of(wait_ns)]++;
		if (wait_ns > counts->wait_max_ns)
			counts->wait_max_ns = wait_ns;
	}
	counts->arrivals++;
	counts->process_switches += process;
	if (cpu->last_tid) {
		counts->with_last++;
		counts->cold_switch_ins += cpu->last_tid != task->pid;
	}
	counts->cpu = number;
	cpu->arrivals++;
}

SEC("tp_btf/sched_entry_tp")
int BPF_PROG(entered, bool preempt)
{
	struct cpu_counts *cpu = this_cpu();

	if (cpu) {
		cpu->entered_kind = 0;
		cpu->entered_ns = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct cpu_counts *cpu = this_cpu();
	u64 clock_ns = knows_rq() ? prev->se.cfs_rq->rq->clock : 0, slice_ns, mm = (u64)next->mm;
	u32 from = prev->pid, to = next->pid;
	bool process = mm && mm != (u64)prev->active_mm;
	struct task_counts *counts;

	if (!cpu)
		return 0;
	cpu->seen++;
	if (from) {
		counts = counts_of(cpu, prev);
		slice_ns = clock_ns - prev->sched_info.last_arrival;
		/* The clocks of two CPUs may differ a little. */
		if (counts && clock_ns && (__s64)slice_ns >= 0 && prev->sched_info.last_arrival) {
			counts->slices[class_of(slice_ns)]++;
			if (slice_ns > counts->slice_max_ns)
				counts->slice_max_ns = slice_ns;
		}
		cpu->last_tid = from;
	}
	if (to)
		arrive(cpu, next, clock_ns, process);
	cpu->entered_kind = !from || !to ? 3 : process ? 2 : 1;
	return 0;
}

/* The kind is a constant, so that the kernel's verifier knows the places. */
static __always_inline void add_cost(struct cpu_counts *cpu, const u32 kind, u64 cost_ns)
{
	cpu->costs_by_kind[kind * CLASSES + class_of(cost_ns)]++;
	cpu->cost_ns[kind] += cost_ns;
}

SEC("tp_btf/sched_exit_tp")
int BPF_PROG(left, bool is_switch)
{
	struct cpu_counts *cpu;
	struct task_counts *counts;
	u64 cost_ns;

	if (!is_switch)
		return 0;
	cost_ns = bpf_ktime_get_ns();
	cpu = this_cpu();
	/* The cost is unknown of one that began before the window. So is that of one to a new task, which does not come out of the scheduler here. */
	if (!cpu || !cpu->entered_ns || !cpu->entered_kind)
		return 0;
	cost_ns -= cpu->entered_ns;
	cpu->entered_ns = 0;
	counts = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	if (cost_ns > most_cost_ns) {
		cpu->outliers++;
		cpu->outliers_ns += cost_ns;
		cpu->arrivals_outliers += counts ? 1 : 0;
		return 0;
	}
	if (cpu->entered_kind == 1)
		add_cost(cpu, 0, cost_ns);
	else if (cpu->entered_kind == 2)
		add_cost(cpu, 1, cost_ns);
	else
		add_cost(cpu, 2, cost_ns);
	cpu->costs++;
	if (counts) {
		counts->cost_ns += cost_ns;
		counts->costs++;
		cpu->arrivals_cost_ns += cost_ns;
	}
	return 0;
}

static __always_inline void describe(struct task_record *record, struct task_struct *task, u32 flags)
{
	record->now_ns = bpf_ktime_get_ns();
	record->start_ns = task->start_time;
	record->address = (u64)task;
	record->tid = task->pid;
	record->pid = task->tgid;
	record->parent_pid = BPF_CORE_READ(task, real_parent, tgid);
	record->flags = flags | (task->flags & PF_KTHREAD ? KERNEL_THREAD : 0);
	record->voluntary = task->nvcsw;
	record->involuntary = task->nivcsw;
	record->run_ns = task->se.sum_exec_runtime;
	record->delay_ns = task->sched_info.run_delay;
	record->arrivals = task->sched_info.pcount;
	record->migrations = task->se.nr_migrations;
	record->run_queue = 0;
	record->throttled_ns = 0;
	record->group_throttled_ns = 0;
	record->group = group_of(task);
	record->policy = task->policy;
	record->nice = task->static_prio - DEFAULT_PRIO;
	record->realtime_priority = task->rt_priority;
	record->pad = 0;
	__builtin_memcpy(record->comm, task->comm, sizeof(record->comm));
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

struct counted_record {
	struct task_record record;
	struct task_counts counts;
};

/* Writes the record of a task that ended. */
static __always_inline void tell_end(struct task_struct *task, u32 parent_pid, u64 more)
{
	struct task_counts *counts = bpf_task_storage_get(&tasks, task, 0, 0);
	struct counted_record *counted;
	struct task_record *record;
	struct cpu_counts *cpu;

	if (counts) {
		counted = bpf_ringbuf_reserve(&ended, sizeof(*counted), 0);
		if (counted) {
			describe(&counted->record, task, ENDED | COUNTED);
			counted->record.parent_pid = parent_pid;
			counted->record.voluntary += more;
			__builtin_memcpy(&counted->counts, counts, sizeof(*counts));
			bpf_ringbuf_submit(counted, BPF_RB_NO_WAKEUP);
			return;
		}
	}
	record = bpf_ringbuf_reserve(&ended, sizeof(*record), 0);
	if (record) {
		describe(record, task, ENDED);
		record->parent_pid = parent_pid;
		record->voluntary += more;
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
		return;
	}
	cpu = this_cpu();
	if (cpu)
		__sync_fetch_and_add(&cpu->ended_lost, 1);
}

/* A task that ends, kept from being freed until its last switch is over and its figures are read. */
struct dying_task {
	struct task_struct __kptr *task;
	u32 parent_pid;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, MOST_DYING);
	__type(key, u64);
	__type(value, struct dying_task);
} dying SEC(".maps");

extern struct task_struct *bpf_task_acquire(struct task_struct *task) __ksym __weak;
extern void bpf_task_release(struct task_struct *task) __ksym __weak;

/* How many tasks are kept. */
u64 kept_tasks;

static __always_inline bool keep(struct task_struct *task, u32 parent_pid)
{
	struct dying_task none = { .parent_pid = parent_pid }, *place;
	struct task_struct *kept;
	u64 key = (u64)task;

	if (!bpf_ksym_exists(bpf_task_acquire) || bpf_map_update_elem(&dying, &key, &none, 0))
		return false;
	place = bpf_map_lookup_elem(&dying, &key);
	kept = place ? bpf_task_acquire(task) : NULL;
	if (!kept)
		return false;
	kept = bpf_kptr_xchg(&place->task, kept);
	if (kept)
		bpf_task_release(kept);
	__sync_fetch_and_add(&kept_tasks, 1);
	return true;
}

static long collect(struct bpf_map *map, u64 *key, struct dying_task *place, void *context)
{
	struct task_struct *task = bpf_kptr_xchg(&place->task, NULL);
	u32 parent_pid;

	if (!task)
		return 0;
	if (!(task->__state & TASK_DEAD) || task->on_cpu) {
		task = bpf_kptr_xchg(&place->task, task);
		if (task)
			bpf_task_release(task);
		return 0;
	}
	parent_pid = place->parent_pid;
	/* Before the task is released, and another one may take its place. */
	bpf_map_delete_elem(&dying, key);
	tell_end(task, parent_pid, 0);
	bpf_task_release(task);
	__sync_fetch_and_sub(&kept_tasks, 1);
	return 0;
}

/* The task that was kept on this CPU before has mostly left it by now. */
static __always_inline void collect_last(struct cpu_counts *cpu, struct task_struct *task)
{
	u64 last = cpu->last_kept;
	struct dying_task *place = last ? bpf_map_lookup_elem(&dying, &last) : NULL;

	if (place)
		collect((struct bpf_map *)&dying, &last, place, NULL);
	cpu->last_kept = (u64)task;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	struct cpu_counts *cpu = this_cpu();
	u32 parent_pid = BPF_CORE_READ(task, real_parent, tgid);

	if (!cpu || (scoped && !is_followed(task->pid)))
		return 0;
	/* Its number may be given to another task. */
	if (scoped)
		set_followed(task->pid, false);
	if (task->pid == task->tgid)
		__sync_fetch_and_add(&cpu->exits, 1);
	if (keep(task, parent_pid)) {
		__sync_fetch_and_add(&cpu->kept, 1);
		collect_last(cpu, task);
		return 0;
	}
	/* Its last switch is a voluntary one; what it does before that is lost. */
	__sync_fetch_and_add(&cpu->early_ends, 1);
	tell_end(task, parent_pid, 1);
	return 0;
}

static long collect_last_of(u32 number, void *context)
{
	struct cpu_counts *cpu = bpf_map_lookup_elem(&cpus, &number);
	u64 last = cpu ? cpu->last_kept : 0;
	struct dying_task *place = last ? bpf_map_lookup_elem(&dying, &last) : NULL;

	if (place)
		collect((struct bpf_map *)&dying, &last, place, NULL);
	return 0;
}

/* Reports the tasks that have left their CPUs for good. The recorder runs it; it returns how many have not. */
SEC("syscall")
int collect_dead(void *context)
{
	/* Mostly there are no others; to look through all places for them takes twenty times as long. */
	if (kept_tasks)
		bpf_loop(cpu_limit, collect_last_of, NULL, 0);
	if (kept_tasks)
		bpf_for_each_map_elem(&dying, collect, NULL, 0);
	return kept_tasks;
}

/* Up to 7.2 a group has an array of pointers to its queues, one for each CPU. From 7.3 on its queues are per-CPU memory. */
struct task_group___queues {
	struct cfs_rq **cfs_rq;
} __attribute__((preserve_access_index));

struct task_group___percpu {
	struct cfs_rq *cfs_rq;
} __attribute__((preserve_access_index));

static __always_inline bool queues_are_percpu(void)
{
	return bpf_core_type_matches(struct task_group___percpu);
}

static __always_inline bool knows_quota(void)
{
	return bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) &&
	       bpf_core_field_exists(((struct cfs_rq *)0)->throttled_clock_self_time) &&
	       (bpf_core_type_matches(struct task_group___queues) || queues_are_percpu());
}

struct throttled_sum {
	u64 queues;
	u64 ns;
};

static long add_throttled(u64 cpu, struct throttled_sum *sum)
{
	struct cfs_rq *queue = NULL;

	if (queues_are_percpu()) {
		u32 number = cpu;
		struct cpu_counts *counts = bpf_map_lookup_elem(&cpus, &number);

		if (counts && counts->percpu_offset)
			queue = (struct cfs_rq *)(sum->queues + counts->percpu_offset);
	} else {
		bpf_probe_read_kernel(&queue, sizeof(queue), (struct cfs_rq **)sum->queues + cpu);
	}
	if (queue)
		sum->ns += BPF_CORE_READ(queue, throttled_clock_self_time);
	return 0;
}

/* The sum of the last cgroup with a quota, whose tasks mostly follow each other in the list, and in which list that was. */
u64 summed_group, summed_ns, summed_session;

static __always_inline u64 group_throttled_ns(struct task_group *group, u64 session)
{
	struct throttled_sum sum = { .queues = (u64)BPF_CORE_READ(group, cfs_rq) };

	if (group->cfs_bandwidth.hierarchical_quota < 0)
		return 0;
	if (summed_group != (u64)group || summed_session != session) {
		bpf_loop(cpu_limit, add_throttled, &sum, 0);
		summed_group = (u64)group;
		summed_session = session;
		summed_ns = sum.ns;
	}
	return summed_ns;
}

/* The kernel's sums of a CPU, which its own threads lead to. Those of its idle task are the switches from it. */
static __always_inline void read_cpu(struct task_struct *task)
{
	const struct rq *rq = task->se.cfs_rq->rq;
	u32 number = rq->cpu;
	struct cpu_counts *cpu = bpf_map_lookup_elem(&cpus, &number);
	u64 idle;

	if (!cpu)
		return;
	idle = rq->idle->nvcsw + rq->idle->nivcsw;
	cpu->idle_switches = idle;
	cpu->switches = rq->nr_switches - idle;
	cpu->knows_quota = knows_quota();
	/* Where the per-CPU memory of this CPU is: a kernel thread's queue is its group's. Not every kernel has `__per_cpu_offset` as a symbol. */
	if (queues_are_percpu())
		cpu->percpu_offset = (u64)BPF_CORE_READ(task, se.cfs_rq) - (u64)BPF_CORE_READ(task, sched_task_group, cfs_rq);
}

/* As a task was when the recorder was last given it. */
struct listed_task {
	u64 sums;
	u64 facts;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct listed_task);
} listed SEC(".maps");

/* The recorder wants all tasks, not only those that changed since the list before. */
u32 list_all;

/* Of a task that may be changing right now: no list is its last word. */
#define UNSETTLED 0

/* Each of these only grows, and so the sum stays the same only while each of them does. */
static __always_inline u64 sums_of(const struct task_record *record)
{
	return 1 + record->voluntary + record->involuntary + record->run_ns + record->delay_ns + record->arrivals + record->migrations +
	       record->throttled_ns + record->group_throttled_ns;
}

/* What another task can change of one that sleeps, as one number. */
static __always_inline u64 facts_of(const struct task_record *record)
{
	const u64 *comm = (const u64 *)record->comm;
	u64 facts = record->group * 0x9e3779b97f4a7c15 + record->start_ns;

	facts = (facts ^ facts >> 32) * 0x9e3779b97f4a7c15 + comm[0];
	facts = (facts ^ facts >> 32) * 0x9e3779b97f4a7c15 + comm[1];
	facts = (facts ^ facts >> 32) * 0x9e3779b97f4a7c15 + ((u64)record->parent_pid << 32 | record->pid);
	facts = (facts ^ facts >> 32) * 0x9e3779b97f4a7c15 + ((u64)record->policy << 48 | (u64)record->realtime_priority << 32 | (u32)record->nice);
	return facts;
}

/* A place to put a record together, which the stack has no room for. One reader at a time. */
struct task_record scratch;

SEC("iter/task")
int dump(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct listed_task *before;
	struct task_counts *counts;
	u64 sums, facts;
	u32 flags = 0;
	bool on_cpu;

	if (!task)
		return 0;
	if (knows_rq() && task->flags & PF_KTHREAD)
		read_cpu(task);
	if (!task->pid || (scoped && !is_followed(task->pid)))
		return 0;
	/* Its end has a record of its own. Such a task may stay for its parent to collect. */
	if (task->__state & TASK_DEAD)
		return 0;
	/* Before the sums: what the task does after this reading is in those of a later list. */
	on_cpu = task->on_cpu;
	if (task->sched_info.last_queued)
		flags |= WAITING;
	describe(&scratch, task, flags);
	if (knows_quota() && task->prio >= MAX_RT_PRIO) {
		scratch.run_queue = (u64)task->se.cfs_rq;
		scratch.throttled_ns = task->se.cfs_rq->throttled_clock_self_time;
		if (task->sched_task_group)
			scratch.group_throttled_ns = group_throttled_ns(task->sched_task_group, ctx->meta->session_id);
	}
	sums = on_cpu || flags & WAITING ? UNSETTLED : sums_of(&scratch);
	facts = facts_of(&scratch);
	before = bpf_task_storage_get(&listed, task, 0, 0);
	if (before && !list_all && sums != UNSETTLED && before->sums == sums && before->facts == facts)
		return 0;
	counts = bpf_task_storage_get(&tasks, task, 0, 0);
	if (counts)
		scratch.flags |= COUNTED;
	/* A task that does not fit is given by the next call. */
	if (bpf_seq_write(ctx->meta->seq, &scratch, sizeof(scratch)) || (counts && bpf_seq_write(ctx->meta->seq, counts, sizeof(*counts))))
		return 0;
	/* Without a place for it, the task is in every list. */
	if (!before)
		before = bpf_task_storage_get(&listed, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (before) {
		before->sums = sums;
		before->facts = facts;
	}
	return 0;
}
