/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fair sharing of cores of several kinds, after Kim and Huh ("Exploring the design space of fair scheduling supports for asymmetric multicore
 * systems", IEEE TC 67(8), 2018), in terms of sched_ext.
 *
 * An application has a share of each kind of core: the part of its CPU time that it is to spend there. User space computes the shares. Here
 * time is charged to the kind of core it was spent on. A task's lag is the time that it is owed on each kind; all its lags together are
 * 0. It runs a slice of a round of 30 ms, as much of it as its share of the kind of core says. A core whose task has had its slice swaps it
 * with the task of a core of a slower kind. It takes the swap that pays back the most of what both are owed. Waiting tasks are ordered by
 * how much they have run, in a queue for those that are owed most of each kind. A core takes from its own kind's first, and from another's
 * rather than idle.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

UEI_DEFINE(uei);

#define MAX_CPUS 1024
/* Shares and factors are parts of this. */
#define WHOLE (1 << 20)
/* A swap that pays back less than this of what two tasks are owed, ns, is not worth it. Each of them gains on two kinds of core. */
#define WORTH_NS (2 * 1000 * 1000LL)
/* Rounds that a task may be ahead or behind at most: what is older is forgiven. */
#define REMEMBERED_ROUNDS 8
/* A task is not fetched by an idle core before it has run as long, ns: what sleeps soon need not be moved. */
#define SETTLED_NS (1000 * 1000ULL)
/* The shortest and the longest that a slower core is held up at once, ns. */
#define LEAST_HELD_NS (6 * 1000 * 1000ULL)
#define MOST_HELD_NS (40 * 1000 * 1000ULL)

/* This many tasks waiting for each CPU make a crowd. */
#define MANY 16
/*
 * With very many tasks, slices are only as long as lets every task's turn come within this time, ns. The core ends a scheduler under which
 * a task waits for 30 s. Far shorter ones only switch more often. Where a hypervisor runs the CPU for a part of the time, a task may be
 * preempted before it got anything done.
 */
#define LONGEST_TURN_NS (8 * 1000 * 1000 * 1000ULL)

/* The weight of a task of nice 0. */
#define NICE_0 10000

/* The most kinds of cores; a power of 2. */
#define KINDS 4

/* The queue of a kind of core, and that of a CPU for what may not leave it. */
enum { KIND_DSQ = 0, CPU_DSQ = 0x10000 };
enum { NOWHERE = -1 };

/* A round, ns. */
const volatile u64 round_ns = 30 * 1000 * 1000ULL;
/* The shortest slice, ns: slices are checked at ticks. */
const volatile u64 least_slice_ns = 4 * 1000 * 1000ULL;
/* How many kinds of cores there are. */
const volatile u32 nr_kinds = 2;
/* The kind of a CPU, 0 for the fastest. */
const volatile u8 kind_of_cpu[MAX_CPUS];
/* Applications are cgroups instead of processes. */
const volatile bool by_cgroup;
/* The user-space half, which is not an application. */
const volatile u32 own_tgid;
/* CPUs of slower kinds are held up, so that they are slow where all are alike. */
const volatile bool holds_up;

static u32 nr_cpus;
static u32 nr_possible;
/* How much those have run that began last, ns. */
static u64 vtime_now;
/* The most of what was queued so far, ns: a task queued with more comes after all of them. */
static u64 vtime_last;
/* The fewest sections of RCU that a task was in when it was put aside. */
static s32 least_sections = 0x7fffffff;

/* What user space wants of an application. */
struct order {
	/* By kind of core; together WHOLE. */
	u32 share[KINDS];
	/* How many times slower it is to be there than on the fastest, in parts of WHOLE; at most WHOLE: not at all. */
	u32 slowdown[KINDS];
	/* The weight of each of its tasks, NICE_0 for the usual one. 0: the tasks' own, by their nice values. */
	u32 weight;
	u32 unused;
};

/* What holds for all. */
struct general {
	/* For applications without an order of their own. */
	struct order order;
	/* The interval of user space that this is, and from when on a task counts as busy in it, ns. */
	u64 interval;
	u64 busy_ns;
	/* No program is faster on one kind than on another: none is better off after a swap. */
	u64 stays;
};

/* What an application has had, ns; and work done meanwhile, where it is counted. */
struct usage {
	/* By kind of core. */
	u64 ran_ns[KINDS];
	u64 work[KINDS];
	/* What the task itself said last. */
	u64 reported_work;
	/* Sum over intervals of its tasks that were busy, and of their weights, 100 for nice 0. */
	u64 busy;
	u64 weight;
};

struct task_state {
	u64 app;
	u64 since_ns;		/* charged until here */
	u64 interval;		/* and of this interval */
	u64 in_interval_ns;	/* so much */
	u64 owed_ns;		/* it is to be held up for so long */
	s64 lag_ns[KINDS];	/* the time that it is owed on each kind of core; together 0 */
	struct order order;
	s32 goes_to;		/* the CPU that it goes to when it leaves this one */
};

/* What other CPUs want to know of the one that runs here. */
struct cpu_slot {
	u64 since_ns;
	u64 counter;		/* instructions when the last task left */
	s64 lag_ns[KINDS];
	u32 share[KINDS];
	s32 pid;		/* 0: nothing that could be moved */
	s32 sends_to;		/* where it is to go */
	u32 offline;
};

/* What was decided on a CPU, since loading. */
struct fair_counters {
	u64 swaps;		/* a core asked for the task of a slower one and gives its own */
	u64 fetches;		/* an idle core asked for the task of a slower one */
	u64 kept;		/* a task had another slice, as no task was further behind */
	u64 queued[KINDS];	/* a task went into the queue of this kind of core, the fastest first */
	u64 confined;		/* a task went into the queue of its CPU: it may not use all CPUs */
	u64 ran_ns[KINDS];	/* time that tasks ran here, by the kind of this CPU */
	u64 held_ns;		/* time that this CPU was held up */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct fair_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, struct cpu_slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_state);
} tasks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct order);
} orders SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct general);
} generals SEC(".maps");

/* Where applications count their work themselves: the address of a u64 of theirs. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, u64);
} reports SEC(".maps");

/* A counter of instructions for every CPU, where the machine has one. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, MAX_CPUS);
	__type(key, u32);
	__type(value, u32);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, u64);
	__type(value, struct usage);
} usages SEC(".maps");

static struct fair_counters *own_counters(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&counters, &first);
}

#define COUNT(what, by) ({ struct fair_counters *c = own_counters(); if (c) c->what += (by); })

static struct cpu_slot *slot_of(s32 cpu)
{
	u32 key = cpu;

	return bpf_map_lookup_elem(&slots, &key);
}

static u32 kind_of(s32 cpu)
{
	u32 index = cpu;

	return index < MAX_CPUS ? kind_of_cpu[index] % KINDS : nr_kinds - 1;
}

static bool is_slowest(u32 kind)
{
	return kind + 1 >= nr_kinds;
}

static struct task_state *state_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

static u64 app_of(struct task_struct *p)
{
	return by_cgroup ? BPF_CORE_READ(p, cgroups, dfl_cgrp, kn, id) : (u64)p->tgid;
}

/* What may not use every CPU stays with its CPU. */
static bool is_confined(struct task_struct *p)
{
	return (p->flags & PF_KTHREAD) || p->nr_cpus_allowed < nr_possible;
}

/*
 * Whether a preempted task is inside a section that RCU waits for the end of, as every task that frees memory is. After 21 s of that the
 * kernel ends the scheduler. The least that was ever seen of such sections is that of this program itself, which runs inside one, on behalf
 * of that task.
 */
static bool holds_up_rcu(struct task_struct *p)
{
	s32 sections;

	/* Kernels whose readers are not put aside do not count. */
	if (!bpf_core_field_exists(p->rcu_read_lock_nesting) || bpf_get_current_task_btf() != p)
		return false;
	sections = p->rcu_read_lock_nesting;
	if (sections < least_sections)
		least_sections = sections;
	return sections > least_sections;
}

static s64 within(s64 ns, s64 most)
{
	return ns > most ? most : ns < -most ? -most : ns;
}

/*
 * What a task is owed after it ran: its share of that time on each kind of core, less what it had. Where that is more than is remembered, all of it
 * shrinks alike, so that together it stays 0.
 */
static void charge_lag(struct task_state *state, u32 here, u64 ran_ns)
{
	u64 most = REMEMBERED_ROUNDS * round_ns, largest = 0, rest = ran_ns;
	u32 kind;

	for (kind = 0; kind < KINDS && kind < nr_kinds; kind++) {
		/* What rounding loses is the slowest kind's. */
		u64 due = is_slowest(kind) ? rest : state->order.share[kind] * (ran_ns >> 10) / (WHOLE >> 10);
		s64 lag = state->lag_ns[kind] + (s64)due - (kind == here ? (s64)ran_ns : 0);
		u64 size = lag < 0 ? -lag : lag;

		state->lag_ns[kind] = lag;
		rest -= due;
		largest = size > largest ? size : largest;
	}
	if (largest <= most)
		return;
	for (kind = 0; kind < KINDS && kind < nr_kinds; kind++) {
		s64 lag = state->lag_ns[kind];
		/* Parts of WHOLE: time in ns times time in ns would not fit. */
		u64 size = (lag < 0 ? -lag : lag) * (most * (WHOLE >> 10) / (largest >> 10)) / WHOLE;

		state->lag_ns[kind] = lag < 0 ? -(s64)size : size;
	}
}

/* By how much more a task is owed @kind than the kind of core where it is, ns. The task has run for this long since the last
 * report. */
static s64 rather_ns(struct cpu_slot *slot, u32 kind, u32 here, u64 ran_ns)
{
	s64 more;

	kind %= KINDS;
	here %= KINDS;
	more = (s64)slot->share[kind] - (s64)slot->share[here];
	return within(slot->lag_ns[kind] - slot->lag_ns[here] + (s64)ran_ns + (more * (s64)ran_ns >> 20), 2 * REMEMBERED_ROUNDS * (s64)round_ns);
}

static struct general *general(void)
{
	u32 first = 0;

	return bpf_map_lookup_elem(&generals, &first);
}

static void look_up_order(struct task_state *state)
{
	struct order *order = bpf_map_lookup_elem(&orders, &state->app);
	struct general *all = general();

	if (!order && all)
		order = &all->order;
	if (order)
		state->order = *order;
}

static u64 slice_of(struct task_state *state, u32 kind)
{
	u64 slice_ns = round_ns * state->order.share[kind % KINDS] / WHOLE;

	return slice_ns < least_slice_ns ? least_slice_ns : slice_ns;
}

/*
 * Holds up a slower CPU for the time that the task has run times one less than its slowdown. It does so seldom and for long, not often and
 * little: a program can then tell it from being interrupted.
 */
static void hold_up(struct task_state *state, u32 kind)
{
	u64 now = bpf_ktime_get_ns(), until;
	u32 slowdown = state->order.slowdown[kind % KINDS];

	if (slowdown <= WHOLE || now <= state->since_ns)
		return;
	state->owed_ns += (now - state->since_ns) * (u64)(slowdown - WHOLE) / WHOLE;
	if (state->owed_ns < LEAST_HELD_NS)
		return;
	until = now + (state->owed_ns < MOST_HELD_NS ? state->owed_ns : MOST_HELD_NS);
	bpf_repeat(1 << 22) {
		if (bpf_ktime_get_ns() >= until)
			break;
	}
	now = bpf_ktime_get_ns() - now;
	state->owed_ns -= now < state->owed_ns ? now : state->owed_ns;
	COUNT(held_ns, now);
}

static struct usage *usage_of(u64 app)
{
	struct usage none = {}, *usage = bpf_map_lookup_elem(&usages, &app);

	if (usage)
		return usage;
	bpf_map_update_elem(&usages, &app, &none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&usages, &app);
}

static void charge_usage(struct task_struct *p, struct task_state *state, u32 kind, u64 ran_ns)
{
	struct usage *usage = usage_of(state->app);
	struct general *all = general();

	if (!usage || !all)
		return;
	__sync_fetch_and_add(&usage->ran_ns[kind % KINDS], ran_ns);
	if (state->interval != all->interval) {
		state->interval = all->interval;
		state->in_interval_ns = 0;
	}
	if (state->in_interval_ns < all->busy_ns && state->in_interval_ns + ran_ns >= all->busy_ns) {
		__sync_fetch_and_add(&usage->weight, p->scx.weight ?: 100);
		__sync_fetch_and_add(&usage->busy, 1);
	}
	state->in_interval_ns += ran_ns;
}

/* Asks the running task what it has got done; what it did since it was last asked, it did on this CPU. */
static void charge_reported(struct task_state *state, u32 kind)
{
	u64 *address = bpf_map_lookup_elem(&reports, &state->app), work, more;
	struct usage *usage;

	/* Others' memory cannot be read: a task that changes a running task's attributes stops it from elsewhere. */
	if (!address || bpf_get_current_pid_tgid() >> 32 != state->app)
		return;
	usage = bpf_map_lookup_elem(&usages, &state->app);
	if (!usage || bpf_probe_read_user(&work, sizeof(work), (void *)*address))
		return;
	more = work > usage->reported_work && usage->reported_work ? work - usage->reported_work : 0;
	usage->reported_work = work;
	__sync_fetch_and_add(&usage->work[kind % KINDS], more);
}

/* Tells other CPUs about the task that runs here. */
static void tell(struct cpu_slot *slot, struct task_state *state)
{
	u32 kind;

	slot->since_ns = state->since_ns;
	for (kind = 0; kind < KINDS && kind < nr_kinds; kind++) {
		slot->lag_ns[kind] = state->lag_ns[kind];
		slot->share[kind] = state->order.share[kind];
	}
}

static u32 weight_of(struct task_struct *p, struct task_state *state)
{
	u32 weight = state->order.weight ?: p->scx.weight * (NICE_0 / 100);

	return weight ?: NICE_0;
}

/* Charges what the running task has run since the last time, and tells others about it. */
static void charge(struct task_struct *p, struct task_state *state, s32 cpu)
{
	struct cpu_slot *slot = slot_of(cpu);
	u32 kind = kind_of(cpu);
	u64 now, ran_ns;

	if (!slot || !state->since_ns)
		return;
	if (holds_up)
		hold_up(state, kind);
	now = bpf_ktime_get_ns();
	ran_ns = now > state->since_ns ? now - state->since_ns : 0;
	state->since_ns = now;
	charge_lag(state, kind, ran_ns);
	scx_bpf_task_set_dsq_vtime(p, p->scx.dsq_vtime + ran_ns * NICE_0 / weight_of(p, state));
	if (!(p->flags & PF_KTHREAD) && p->tgid != own_tgid) {
		charge_usage(p, state, kind, ran_ns);
		charge_reported(state, kind);
	}
	COUNT(ran_ns[kind % KINDS], ran_ns);
	look_up_order(state);
	tell(slot, state);
}

/*
 * By how much more the share of a round is on @kind than on the kind of core where a task is, ns: what it comes to be owed besides while it
 * waits for a round. With that, of all swaps those are made that keep the sum of the squares of what is owed least. A task that is to be here
 * all of its time is not sent away for one that is owed a little.
 */
static s64 to_come_ns(struct cpu_slot *slot, u32 kind, u32 here)
{
	return ((s64)slot->share[kind % KINDS] - (s64)slot->share[here % KINDS]) * (s64)(round_ns >> 10) >> 10;
}

/*
 * The CPU of a slower kind than @kind whose task should rather be here, by more than @than; NOWHERE if there is none. Where a task of @own would go
 * there instead, that counts too.
 */
static s32 best_to_take(u32 kind, struct cpu_slot *own, s64 than, u64 settled_ns)
{
	u64 now = bpf_ktime_get_ns();
	s32 cpu, found = NOWHERE;

	bpf_for(cpu, 0, nr_cpus) {
		struct cpu_slot *slot = slot_of(cpu);
		u32 other = kind_of(cpu);
		s64 gain_ns;

		if (other <= kind || !slot || !slot->pid || slot->sends_to != NOWHERE || now < slot->since_ns + settled_ns)
			continue;
		gain_ns = rather_ns(slot, kind, other, now - slot->since_ns);
		if (own) {
			gain_ns += rather_ns(own, other, kind, 0);
			gain_ns += to_come_ns(slot, kind, other) + to_come_ns(own, other, kind);
		}
		if (gain_ns > than) {
			than = gain_ns;
			found = cpu;
		}
	}
	return found;
}

/* Asks a CPU of a slower kind for its task. */
static bool ask_for(s32 from, s32 to)
{
	struct cpu_slot *slot = slot_of(from);

	if (!slot)
		return false;
	slot->sends_to = to;
	scx_bpf_kick_cpu(from, SCX_KICK_PREEMPT);
	return true;
}

/* Whether a CPU is asked for its task by this one, and still has it. */
static bool is_expected_from(s32 from, s32 cpu)
{
	struct cpu_slot *slot = from == NOWHERE ? NULL : slot_of(from);

	return slot && slot->pid && !slot->offline && slot->sends_to == cpu;
}

/* An idle CPU of the fastest kind that has one; not of the slowest. */
static s32 idle_faster_cpu(struct task_struct *p)
{
	s32 kind, cpu;

	bpf_for(kind, 0, nr_kinds - 1) {
		bpf_for(cpu, 0, nr_cpus) {
			if (kind_of(cpu) == (u32)kind && bpf_cpumask_test_cpu(cpu, p->cpus_ptr) && scx_bpf_test_and_clear_cpu_idle(cpu))
				return cpu;
		}
	}
	return NOWHERE;
}

/* How many wait. 0 unless they are a crowd that has to run in the order of coming, or the last would wait for too long. */
static u32 crowd(s32 cpu)
{
	s32 waiting = scx_bpf_dsq_nr_queued(CPU_DSQ + cpu);
	u32 kind;

	for (kind = 0; kind < KINDS && kind < nr_kinds; kind++)
		waiting += scx_bpf_dsq_nr_queued(KIND_DSQ + kind);
	return waiting > MANY * (s32)nr_cpus ? waiting : 0;
}

/* The slice of one in a crowd, which would have @slice_ns. */
static u64 crowded_slice(u32 waiting, u64 slice_ns)
{
	u64 fair_ns = LONGEST_TURN_NS * nr_cpus / waiting;

	if (fair_ns < least_slice_ns)
		fair_ns = least_slice_ns;
	return slice_ns < fair_ns ? slice_ns : fair_ns;
}

s32 BPF_STRUCT_OPS(fair_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_state *state = state_of(p);
	bool is_idle = false;
	s32 cpu = NOWHERE;

	if (!is_confined(p))
		cpu = idle_faster_cpu(p);
	if (cpu == NOWHERE)
		cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	else
		is_idle = true;
	if (is_idle && state)
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_of(state, kind_of(cpu)), 0);
	return cpu;
}

/* The kind of core that a task is owed most of; of equals the slowest. */
static u32 most_owed(struct task_state *state)
{
	u32 kind, found = 0;

	for (kind = 1; kind < KINDS && kind < nr_kinds; kind++) {
		if (state->lag_ns[kind] >= state->lag_ns[found % KINDS])
			found = kind;
	}
	return found;
}

/* Sends a task that leaves its CPU to another one, if it may go there. */
static bool send(struct task_struct *p, struct task_state *state, s32 to, u64 enq_flags)
{
	struct cpu_slot *slot = slot_of(to);

	if (to == NOWHERE || !slot || slot->offline || !bpf_cpumask_test_cpu(to, p->cpus_ptr))
		return false;
	/* The task that runs there makes room at once, and goes where it is to go. */
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL_ON | to, slice_of(state, kind_of(to)), enq_flags | SCX_ENQ_PREEMPT);
	return true;
}

void BPF_STRUCT_OPS(fair_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_state *state = state_of(p);
	s32 cpu = scx_bpf_task_cpu(p), to;
	struct cpu_slot *slot = slot_of(cpu);
	u64 vtime = p->scx.dsq_vtime, slice_ns;
	u32 kind, waiting;

	if (!state || !slot) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, least_slice_ns, enq_flags);
		return;
	}
	to = state->goes_to;
	state->goes_to = NOWHERE;
	if (to != NOWHERE && send(p, state, to, enq_flags))
		return;
	if (slot->pid == p->pid && slot->sends_to != NOWHERE) {
		to = slot->sends_to;
		slot->sends_to = NOWHERE;
		slot->pid = 0;
		if (send(p, state, to, enq_flags))
			return;
	}
	slice_ns = slice_of(state, kind_of(cpu));
	waiting = crowd(cpu);
	/*
	 * The kernel's own threads are next: others wait for them, and they are brief. So is, in a crowd, a task that holds up RCU. Its section
	 * ends soon, its next turn may be seconds away, and a turn that the machine had no time for would be one more. It is asked first, crowd or
	 * not, so that the least is known by then.
	 */
	if (slot->offline || (p->flags & PF_KTHREAD) || (holds_up_rcu(p) && waiting)) {
		scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, slice_ns, enq_flags);
		return;
	}
	/* A task that slept is not owed all of that time. */
	if (time_before(vtime, vtime_now - round_ns))
		vtime = vtime_now - round_ns;
	/* And no task, however little weight it has, waits until the others have run for very many rounds: the core ends such schedulers. */
	if (time_before(vtime_now + REMEMBERED_ROUNDS * round_ns, vtime))
		vtime = vtime_now + REMEMBERED_ROUNDS * round_ns;
	/* In a crowd even that would be too long: in the order of coming, whichever queue it is. */
	if (waiting && time_before(vtime, vtime_last + 1))
		vtime = vtime_last + 1;
	if (time_before(vtime_last, vtime))
		vtime_last = vtime;
	if (is_confined(p)) {
		COUNT(confined, 1);
		scx_bpf_dsq_insert_vtime(p, CPU_DSQ + cpu, slice_ns, vtime, enq_flags);
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return;
	}
	kind = most_owed(state) % KINDS;
	COUNT(queued[kind], 1);
	scx_bpf_dsq_insert_vtime(p, KIND_DSQ + kind, slice_ns, vtime, enq_flags);
	to = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	if (to >= 0)
		scx_bpf_kick_cpu(to, SCX_KICK_IDLE);
}

/* How much the first in a queue has run; U64_MAX for an empty one. */
static u64 head_of(u64 dsq)
{
	struct task_struct *p = __COMPAT_scx_bpf_dsq_peek(dsq);

	return p ? p->scx.dsq_vtime : (u64)-1;
}

static bool take(u64 dsq)
{
	return scx_bpf_dsq_move_to_local(dsq, 0);
}

/* Takes the one that should run next here; a task that has run more than @limit is not taken. Another kind's must have run less by @margin_ns. */
static bool take_next(s32 cpu, u64 limit, u64 margin_ns)
{
	u32 kind, own_kind = kind_of(cpu), other_kind = !own_kind;
	u64 own = head_of(KIND_DSQ + own_kind), other = (u64)-1, confined = head_of(CPU_DSQ + cpu), later;

	/* Of the other kinds' the one that has run least. */
	for (kind = 0; kind < KINDS && kind < nr_kinds; kind++) {
		u64 head = kind == own_kind ? (u64)-1 : head_of(KIND_DSQ + kind);

		if (head < other) {
			other = head;
			other_kind = kind;
		}
	}
	/* They wait for their own cores, unless they have run less by the margin. */
	later = other < (u64)-1 - margin_ns ? other + margin_ns : (u64)-1;
	if (confined < own && confined < later && confined <= limit && take(CPU_DSQ + cpu))
		return true;
	if (own <= later && own <= limit && take(KIND_DSQ + own_kind))
		return true;
	if (other <= limit && take(KIND_DSQ + other_kind))
		return true;
	if ((own <= limit && take(KIND_DSQ + own_kind)) || (confined <= limit && take(CPU_DSQ + cpu)))
		return true;
	/* The first of another kind's has gone elsewhere meanwhile. */
	for (kind = 0; nr_kinds > 2 && kind < KINDS && kind < nr_kinds; kind++) {
		if (head_of(KIND_DSQ + kind) <= limit && take(KIND_DSQ + kind))
			return true;
	}
	return false;
}

/* What becomes of a task that has had its slice while no other is due: another slice, or a swap. */
static void go_on(struct task_struct *p, struct task_state *state, s32 cpu, struct cpu_slot *slot)
{
	u32 kind = kind_of(cpu);
	struct general *all = general();
	s32 from;

	/*
	 * The one that it is swapped with has not left yet, as where a slower CPU is held up. Asking another one besides would bring two
	 * here, and leave both of their CPUs without a task.
	 */
	if (is_expected_from(state->goes_to, cpu)) {
		COUNT(kept, 1);
		scx_bpf_task_set_slice(p, least_slice_ns);
		return;
	}
	state->goes_to = NOWHERE;
	slot->pid = is_confined(p) ? 0 : p->pid;
	if (!is_slowest(kind) && slot->pid && slot->sends_to == NOWHERE && all && !all->stays) {
		from = best_to_take(kind, slot, WORTH_NS, 0);
		/* It goes on until the other one is there, and no other may have it meanwhile. */
		if (from != NOWHERE && bpf_cpumask_test_cpu(from, p->cpus_ptr) && ask_for(from, cpu)) {
			state->goes_to = from;
			slot->pid = 0;
			COUNT(swaps, 1);
		}
	}
	COUNT(kept, 1);
	scx_bpf_task_set_slice(p, state->goes_to == NOWHERE ? slice_of(state, kind) : least_slice_ns);
}

void BPF_STRUCT_OPS(fair_dispatch, s32 cpu, struct task_struct *prev)
{
	struct cpu_slot *slot = slot_of(cpu);
	struct task_state *state = NULL;
	bool crowded;
	s32 from;

	if (!slot)
		return;
	if (prev && (prev->scx.flags & SCX_TASK_QUEUED))
		state = state_of(prev);
	if (state) {
		charge(prev, state, cpu);
		/* It is to leave; enqueue sends it. */
		if (slot->sends_to != NOWHERE && slot->pid == prev->pid)
			return;
	}
	/* In a crowd the task that came first is next. One kind's queue may be far longer than another's, and its last would wait for too long. */
	crowded = crowd(cpu);
	if (take_next(cpu, state && !crowded ? prev->scx.dsq_vtime : (u64)-1, crowded ? 0 : round_ns))
		return;
	if (state) {
		go_on(prev, state, cpu, slot);
	} else if (!is_slowest(kind_of(cpu))) {
		/* A core does not idle while a slower one works. */
		from = best_to_take(kind_of(cpu), NULL, -2 * (s64)(REMEMBERED_ROUNDS * round_ns) - 1, SETTLED_NS);
		if (from != NOWHERE && ask_for(from, cpu))
			COUNT(fetches, 1);
	}
}

void BPF_STRUCT_OPS(fair_running, struct task_struct *p)
{
	struct task_state *state = state_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_slot *slot = slot_of(cpu);
	u32 waiting;

	if (!state || !slot)
		return;
	state->app = app_of(p);
	state->since_ns = bpf_ktime_get_ns();
	state->goes_to = NOWHERE;
	look_up_order(state);
	if (time_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
	waiting = crowd(cpu);
	if (waiting)
		scx_bpf_task_set_slice(p, crowded_slice(waiting, slice_of(state, kind_of(cpu))));
	tell(slot, state);
	slot->sends_to = NOWHERE;
	slot->pid = is_confined(p) ? 0 : p->pid;
}

void BPF_STRUCT_OPS(fair_stopping, struct task_struct *p, bool runnable)
{
	struct task_state *state = state_of(p);
	s32 cpu = scx_bpf_task_cpu(p);
	struct cpu_slot *slot = slot_of(cpu);

	if (!state || !slot)
		return;
	charge(p, state, cpu);
	state->since_ns = 0;
	if (runnable)
		return;
	/* A task that waits for it need not any more. */
	state->goes_to = NOWHERE;
	slot->pid = 0;
	if (slot->sends_to != NOWHERE)
		scx_bpf_kick_cpu(slot->sends_to, SCX_KICK_IDLE);
	slot->sends_to = NOWHERE;
}

void BPF_STRUCT_OPS(fair_tick, struct task_struct *p)
{
	struct task_state *state = state_of(p);
	struct general *all = general();

	/* What it had is charged when it stops, or has had its slice. Others want to know earlier, where they may swap with it. */
	if (state && !(all && all->stays))
		charge(p, state, scx_bpf_task_cpu(p));
}

/* Charges instructions to the task that leaves a CPU. Loaded only where they can be counted. */
SEC("tp_btf/sched_switch")
int BPF_PROG(count_work, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct task_state *state = state_of(prev);
	s32 cpu = bpf_get_smp_processor_id();
	struct cpu_slot *slot = slot_of(cpu);
	struct bpf_perf_event_value value;
	struct usage *usage;
	u64 before;

	if (!slot || bpf_perf_event_read_value(&events, BPF_F_CURRENT_CPU, &value, sizeof(value)))
		return 0;
	before = slot->counter;
	slot->counter = value.counter;
	if (!state || !before || value.counter < before)
		return 0;
	usage = bpf_map_lookup_elem(&usages, &state->app);
	if (usage)
		__sync_fetch_and_add(&usage->work[kind_of(cpu) % KINDS], value.counter - before);
	return 0;
}

s32 BPF_STRUCT_OPS(fair_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_state *state = bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!state)
		return -ENOMEM;
	state->app = app_of(p);
	state->goes_to = NOWHERE;
	look_up_order(state);
	return 0;
}

void BPF_STRUCT_OPS(fair_enable, struct task_struct *p)
{
	/* A new task does not owe the time before. */
	scx_bpf_task_set_dsq_vtime(p, vtime_now);
}

void BPF_STRUCT_OPS(fair_cpu_online, s32 cpu)
{
	struct cpu_slot *slot = slot_of(cpu);

	if (slot)
		slot->offline = 0;
}

void BPF_STRUCT_OPS(fair_cpu_offline, s32 cpu)
{
	struct cpu_slot *slot = slot_of(cpu);
	struct task_struct *p;

	if (!slot)
		return;
	slot->offline = 1;
	slot->pid = 0;
	/* The core moves what is in the local queue; it does not know of the one here. */
	bpf_for_each(scx_dsq, p, CPU_DSQ + cpu, 0) {
		scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | cpu, 0);
	}
}

s32 BPF_STRUCT_OPS_SLEEPABLE(fair_init)
{
	const struct cpumask *possible = scx_bpf_get_possible_cpumask();
	s32 cpu, kind, error;

	nr_possible = bpf_cpumask_weight(possible);
	scx_bpf_put_cpumask(possible);
	nr_cpus = scx_bpf_nr_cpu_ids();
	if (nr_cpus > MAX_CPUS) {
		scx_bpf_error("%u CPUs; at most %d", nr_cpus, MAX_CPUS);
		return -EINVAL;
	}
	bpf_for(cpu, 0, nr_cpus) {
		struct cpu_slot *slot = slot_of(cpu);

		if (slot)
			slot->sends_to = NOWHERE;
		error = scx_bpf_create_dsq(CPU_DSQ + cpu, -1);
		if (error)
			return error;
	}
	bpf_for(kind, 0, nr_kinds) {
		error = scx_bpf_create_dsq(KIND_DSQ + kind, -1);
		if (error)
			return error;
	}
	return 0;
}

void BPF_STRUCT_OPS(fair_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(fair_ops,
	       .select_cpu = (void *)fair_select_cpu,
	       .enqueue = (void *)fair_enqueue,
	       .dispatch = (void *)fair_dispatch,
	       .tick = (void *)fair_tick,
	       .running = (void *)fair_running,
	       .stopping = (void *)fair_stopping,
	       .init_task = (void *)fair_init_task,
	       .enable = (void *)fair_enable,
	       .cpu_online = (void *)fair_cpu_online,
	       .cpu_offline = (void *)fair_cpu_offline,
	       .init = (void *)fair_init,
	       .exit = (void *)fair_exit,
	       .flags = SCX_OPS_ENQ_LAST,
	       .name = "fair");
