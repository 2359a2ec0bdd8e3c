// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Records context switches, wake-ups, lives of tasks, and interrupts. Each program does the least that is needed: what can be derived is
 * derived by the recorder.
 *
 * A switch needs two programs, not three. `sched_entry_tp` notes the task that is about to leave. `sched_exit_tp` says which task came and
 * how long the switch took, so `sched_switch` need not be traced at all. Kernels without the two (before v6.15; see kernel/sched/core.c there)
 * have `sched_switch`.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "record.h"
#include "followed.h"
#include "group.h"
#include "spinning.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Events a ring holds, less one; a power of two, less one. */
const volatile u32 ring_mask = 0;
const volatile u32 ring_shift = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct event);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct ring);
} rings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct info);
} infos SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct interrupt);
} interrupts SEC(".maps");

static __always_inline struct ring *this_ring(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/* Places that stay free, for interrupts that come between the check and the taking. */
#define SLACK 8

/* Takes the place of this CPU's next event; there is none when the recorder has fallen behind by a whole ring. */
static __always_inline struct event *next_event(struct ring *ring, u64 *place)
{
	u32 cpu = bpf_get_smp_processor_id(), index;

	if (*(volatile u64 *)&ring->head - *(volatile u64 *)&ring->tail > ring_mask - SLACK)
		return NULL;
	*place = __sync_fetch_and_add(&ring->head, 1);
	index = (cpu << ring_shift) + ((u32)*place & ring_mask);
	return bpf_map_lookup_elem(&events, &index);
}

/* Lets nothing that was written before be seen after what is written next. `any` is memory that may be touched. */
static __always_inline void order_stores(u64 *any)
{
#if defined(__TARGET_ARCH_x86)
	/* x86 keeps the order of stores; only the compiler must. */
	barrier();
#else
	/* An atomic instruction that returns a value is a full barrier. */
	__sync_fetch_and_add(any, 0);
#endif
}

/* Makes the event complete for the recorder. */
static __always_inline void complete(struct event *event, u64 place)
{
	order_stores(&event->at_ns);
	*(volatile u16 *)&event->lap = (place >> ring_shift) + 1;
}

/* Time in interrupts is worth an event when it is at least this, ns: at any moment, and at a switch. */
#define INTERRUPTS_NS 50000
#define INTERRUPTS_AT_SWITCH_NS 5000

/* Writes how long interrupts had this CPU until `at_ns`, if it is `least_ns` or more. The task `tid` was there. */
static __always_inline void report_interrupts(struct ring *ring, u32 tid, u64 at_ns, u64 least_ns)
{
	u64 ns = ring->interrupt_ns, over_ns = at_ns - ring->interrupt_from_ns, place;
	struct event *event;

	if (ns < least_ns)
		return;
	ring->interrupt_ns = 0;
	ring->interrupt_from_ns = at_ns;
	if (scoped && !ring->waiting && !is_followed(tid))
		return;
	event = next_event(ring, &place);
	/* Without room, a switch is lost too, and that is counted. */
	if (!event)
		return;
	event->at_ns = at_ns;
	event->tid = 0;
	event->other = 0;
	event->cost_ns = ns > 0xffffffff ? 0xffffffff : ns;
	event->state = 0;
	event->kind = EVENT_INTERRUPTS;
	event->flags = 0;
	event->voluntary = over_ns > 0xffffffff ? 0xffffffff : over_ns;
	event->involuntary = 0;
	complete(event, place);
}

static __always_inline void add_interrupt(struct ring *ring, u64 ns)
{
	ring->interrupt_ns += ns;
	report_interrupts(ring, bpf_get_current_task_btf()->pid, bpf_ktime_get_ns(), INTERRUPTS_NS);
}

/* Whether events say which CPUs are idle while tasks of the scope wait: only some tasks are recorded, on at most 64 CPUs. */
const volatile bool tells_idle = false;

/* One bit for each CPU: it is idle; a task of the scope waits for it; the last event said that it is idle. */
u64 idle_cpus, waiting_cpus, told_cpus;

/* Lets nothing that comes after be seen before the change of `word`. An atomic instruction of x86 does. */
static __always_inline void order_change(u64 *word)
{
#if !defined(__TARGET_ARCH_x86)
	__sync_fetch_and_add(word, 0);
#endif
}

static __always_inline u64 bit_of(u32 cpu)
{
	return 1ULL << (cpu & 63);
}

/*
 * A task begins to wait: its CPU is marked, then this time is read, then which CPUs are idle. A CPU changes: that is noted, then read whether a
 * task waits, then the time. So a change that this has not seen has an event of its own, with a later time.
 */
static __always_inline void write_idle(struct ring *ring)
{
	struct event *event;
	u64 place, idle;

	event = next_event(ring, &place);
	/* Without room the recorder knows it no better than before. */
	if (!event)
		return;
	event->at_ns = bpf_ktime_get_ns();
	idle = *(volatile u64 *)&idle_cpus;
	*(volatile u64 *)&told_cpus = idle;
	event->tid = idle;
	event->other = idle >> 32;
	event->cost_ns = 0;
	event->state = 0;
	event->kind = EVENT_IDLE;
	event->flags = 0;
	event->voluntary = 0;
	event->involuntary = 0;
	complete(event, place);
}

/* Notes whether this CPU is idle after its switch. */
static __always_inline void note_idle(struct ring *ring, u32 tid, u32 other)
{
	u64 bit = bit_of(bpf_get_smp_processor_id());

	if (!tells_idle || (tid && other))
		return;
	if (other)
		__sync_fetch_and_and(&idle_cpus, ~bit);
	else
		__sync_fetch_and_or(&idle_cpus, bit);
	order_change(&idle_cpus);
	if (*(volatile u64 *)&waiting_cpus)
		write_idle(ring);
}

/* A task of the scope begins to wait for a CPU. For one that is idle it does not wait long, and no other could be sooner. */
static __always_inline void begins_to_wait(struct ring *ring, u32 cpu)
{
	u64 bit = bit_of(cpu);

	if (!tells_idle || *(volatile u64 *)&idle_cpus & bit)
		return;
	if (!(*(volatile u64 *)&waiting_cpus & bit)) {
		__sync_fetch_and_or(&waiting_cpus, bit);
		order_change(&waiting_cpus);
	}
	if (*(volatile u64 *)&idle_cpus != *(volatile u64 *)&told_cpus)
		write_idle(ring);
}

/* No task of the scope waits for this CPU any more, unless another CPU has just said so. */
static __always_inline void ends_to_wait(struct ring *ring)
{
	u64 bit = bit_of(bpf_get_smp_processor_id());

	if (!tells_idle || !(*(volatile u64 *)&waiting_cpus & bit))
		return;
	__sync_fetch_and_and(&waiting_cpus, ~bit);
	order_change(&waiting_cpus);
	if (*(volatile u32 *)&ring->waiting)
		__sync_fetch_and_or(&waiting_cpus, bit);
}

/* The recorder runs it on each CPU once the others are attached: one that stays idle has no switch. */
SEC("raw_tp/sched_switch")
int look_for_idle(void *context)
{
	u64 bit = bit_of(bpf_get_smp_processor_id());

	if (!bpf_get_current_task_btf()->pid)
		__sync_fetch_and_or(&idle_cpus, bit);
	return 0;
}

static __always_inline u8 mm_flag(struct task_struct *next, u64 mm_before)
{
	u64 mm = (u64)next->mm;

	/* A kernel thread borrows the address space it finds. */
	return mm && mm != mm_before ? EVENT_ADDRESS_SPACE : 0;
}

/* Whether the quota of the task's cgroup, or of one above it, is used up. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	if (!bpf_core_field_exists(((struct sched_entity *)0)->cfs_rq) ||
	    !bpf_core_field_exists(((struct cfs_rq *)0)->throttle_count))
		return false;
	return task->prio >= MAX_RT_PRIO && task->se.cfs_rq->throttle_count > 0;
}

/* Of a switch: whether it was asked for, whether the task ends, and what stopped it. */
static __always_inline u8 entered_flags(struct task_struct *task, bool preempt, u32 state)
{
	u8 flags = (preempt ? EVENT_PREEMPT : 0) | (state & TASK_DEAD ? EVENT_DEAD : 0);

	return (preempt || !state) && is_throttled(task) ? flags | EVENT_THROTTLED : flags;
}

/*
 * Looks how the task that leaves waited, where it did not work. Only a task that could go on is looked at. Kept in memory, and done first: what the
 * kernel's check knows of a register would keep apart many ways through what follows, each checked to the end.
 */
static __always_inline void look_at_spinning(struct ring *ring, struct task_struct *task, u32 state)
{
	u16 kind = 0;

	if (!state && (!scoped || is_followed(task->pid)))
		kind = spin_kind(task);
	*(volatile u64 *)&ring->entered_spinning = kind;
	barrier();
}

/* Notes it in the switch that is entered. */
static __always_inline void note_spinning(struct ring *ring)
{
	u16 kind = *(volatile u64 *)&ring->entered_spinning;

	if (!kind)
		return;
	ring->entered_state = kind;
	ring->entered_flags |= EVENT_SPINNING;
}

static __always_inline void unfollow_dead(u32 tid, u8 flags)
{
	/* Its number may be given to another task. */
	if (scoped && flags & EVENT_DEAD)
		set_followed(tid, false);
}

/* Writes the switch that was entered on this CPU; `next` came. */
static __always_inline void write_switch(struct ring *ring, struct task_struct *next, u32 cost_ns, u8 flags)
{
	u32 tid = ring->entered_tid, other = next->pid;
	struct event *event;
	u64 place;

	if (scoped) {
		bool leaves = is_followed(tid), comes = is_followed(other);

		note_idle(ring, tid, other);
		if (!leaves && !comes && !ring->waiting) {
			ring->gap = 1;
			return;
		}
		/*
		 * While followed tasks wait here, the tasks before them in the queue are recorded too, until all have come or the idle task
		 * comes.
		 */
		if (leaves && (!ring->entered_state || ring->entered_flags & (EVENT_PREEMPT | EVENT_SPINNING))) {
			__sync_fetch_and_add(&ring->waiting, 1);
			begins_to_wait(ring, bpf_get_smp_processor_id());
		}
		if (!other)
			ring->waiting = 0;
		else if (comes && ring->waiting)
			__sync_fetch_and_add(&ring->waiting, -1);
		if (!ring->waiting)
			ends_to_wait(ring);
	}
	report_interrupts(ring, tid, ring->entered_ns, INTERRUPTS_AT_SWITCH_NS);
	event = next_event(ring, &place);
	if (!event) {
		ring->gap = 1;
		__sync_fetch_and_add(&ring->lost_switches, 1);
		return;
	}
	if (ring->gap)
		flags |= EVENT_GAP;
	ring->gap = 0;
	event->at_ns = ring->entered_ns;
	event->tid = tid;
	event->other = other;
	event->cost_ns = cost_ns;
	event->state = ring->entered_state;
	event->kind = EVENT_SWITCH;
	event->flags = ring->entered_flags | flags | mm_flag(next, ring->entered_mm);
	event->voluntary = ring->entered_voluntary;
	event->involuntary = ring->entered_involuntary;
	complete(event, place);
}

/* The switch has its event, or needs none: the recorder need not wait for it any more. */
static __always_inline void forget_entry(struct ring *ring)
{
	unfollow_dead(ring->entered_tid, ring->entered_flags);
	order_stores(&ring->entered_ns);
	*(volatile u64 *)&ring->entered_ns = 0;
}

/*
 * A new task does not come out of the scheduler where others do: its first switch ends in schedule_tail, which has no tracepoint. The task's
 * first interrupt writes that switch, or the task's next entry into the scheduler. `task` is the task that came. The switch's cost is not known.
 *
 * An interrupt finds a switch that was entered by another task than the current one only after the switch: before, interrupts are off.
 */
static __always_inline void write_first_switch(struct ring *ring, struct task_struct *task)
{
	if (*(volatile u64 *)&ring->entered_ns <= ENTERING || ring->entered_tid == task->pid)
		return;
	if (*(volatile u8 *)&ring->writing)
		return;
	*(volatile u8 *)&ring->writing = 1;
	barrier();
	write_switch(ring, task, 0, 0);
	forget_entry(ring);
	barrier();
	*(volatile u8 *)&ring->writing = 0;
}

/* `comm` is the name that a task takes; without it, it keeps the one it has. */
static __always_inline void tell(struct task_struct *task, struct task_struct *parent, u32 kind, const char *comm)
{
	u32 cpu = bpf_get_smp_processor_id(), index;
	struct ring *ring = this_ring();
	struct info *info;
	u64 place;

	if (!ring)
		return;
	if (*(volatile u64 *)&ring->info_head - *(volatile u64 *)&ring->info_tail > (1 << INFO_SHIFT) - 1 - SLACK) {
		__sync_fetch_and_add(&ring->infos_lost, 1);
		return;
	}
	place = __sync_fetch_and_add(&ring->info_head, 1);
	index = (cpu << INFO_SHIFT) + ((u32)place & ((1 << INFO_SHIFT) - 1));
	info = bpf_map_lookup_elem(&infos, &index);
	if (!info)
		return;
	info->at_ns = bpf_ktime_get_ns();
	info->kind = kind;
	info->tid = task->pid;
	info->pid = task->tgid;
	info->parent_pid = parent->tgid;
	info->group = group_of(task);
	info->cpus = task->cpus_ptr->bits[0];
	info->kernel_thread = task->flags & PF_KTHREAD ? 1 : 0;
	info->policy = task->policy;
	info->nice = task->static_prio - DEFAULT_PRIO;
	info->realtime_priority = task->rt_priority;
	info->cpus_allowed = task->nr_cpus_allowed;
	if (comm)
		bpf_probe_read_kernel_str(info->comm, sizeof(info->comm), comm);
	else
		__builtin_memcpy(info->comm, task->comm, sizeof(info->comm));
	order_stores(&info->at_ns);
	*(volatile u32 *)&info->lap = (place >> INFO_SHIFT) + 1;
}

/* Tasks outside the scope that have an info, with a number made of their names. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);
} told SEC(".maps");

/* Writes the info of a task outside the scope that had this CPU while one of the scope waited for it. */
static __always_inline void tell_in_front(struct ring *ring, struct task_struct *task)
{
	u32 tid = task->pid;
	u64 name[2], *known;

	if (!scoped || !ring->waiting || !tid || is_followed(tid))
		return;
	__builtin_memcpy(name, task->comm, sizeof(name));
	name[0] ^= name[1];
	known = bpf_map_lookup_elem(&told, &tid);
	if (known && *known == name[0])
		return;
	bpf_map_update_elem(&told, &tid, &name[0], 0);
	tell(task, task->real_parent, INFO_SEEN, NULL);
}

/* Before `entered` in this file, and so attached before it: a switch that is entered is always left. */
SEC("tp_btf/sched_exit_tp")
int BPF_PROG(left, bool is_switch)
{
	u64 now_ns = bpf_ktime_get_ns(), cost_ns;
	struct ring *ring = this_ring();
	u8 flags = EVENT_COST;

	if (!ring)
		return 0;
	*(volatile u8 *)&ring->writing = 1;
	barrier();
	if (!is_switch) {
		*(volatile u64 *)&ring->entered_ns = 0;
	} else if (ring->entered_ns) {
		cost_ns = now_ns - ring->entered_ns;
		if (cost_ns > 0xffffffff)
			cost_ns = 0xffffffff;
		if (ring->interrupts != ring->entered_interrupts)
			flags |= EVENT_INTERRUPT;
		write_switch(ring, bpf_get_current_task_btf(), cost_ns, flags);
		forget_entry(ring);
	}
	barrier();
	*(volatile u8 *)&ring->writing = 0;
	return 0;
}

SEC("tp_btf/sched_entry_tp")
int BPF_PROG(entered, bool preempt)
{
	struct ring *ring = this_ring();
	struct task_struct *task = bpf_get_current_task_btf();
	u32 state;

	if (!ring)
		return 0;
	look_at_spinning(ring, task, task->__state);
	write_first_switch(ring, task);
	tell_in_front(ring, task);
	*(volatile u64 *)&ring->entered_ns = ENTERING;
	barrier();
	state = task->__state;
	ring->entered_tid = task->pid;
	ring->entered_state = state;
	ring->entered_flags = entered_flags(task, preempt, state);
	ring->entered_voluntary = task->nvcsw;
	ring->entered_involuntary = task->nivcsw;
	ring->entered_mm = (u64)task->active_mm;
	ring->entered_interrupts = ring->interrupts;
	note_spinning(ring);
	*(volatile u64 *)&ring->entered_ns = bpf_ktime_get_ns();
	return 0;
}

/* Instead of the two above, for kernels without them. */
SEC("tp_btf/sched_switch")
int BPF_PROG(switched, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	struct ring *ring = this_ring();
	bool voluntary = !preempt && prev_state;

	if (!ring)
		return 0;
	look_at_spinning(ring, prev, prev_state);
	tell_in_front(ring, prev);
	*(volatile u64 *)&ring->entered_ns = ENTERING;
	barrier();
	ring->entered_tid = prev->pid;
	ring->entered_state = prev_state;
	ring->entered_flags = entered_flags(prev, preempt, prev_state);
	/* Here the kernel has counted this switch already; the event holds the counts from before it. */
	ring->entered_voluntary = prev->nvcsw - voluntary;
	ring->entered_involuntary = prev->nivcsw - !voluntary;
	ring->entered_mm = (u64)prev->active_mm;
	note_spinning(ring);
	*(volatile u64 *)&ring->entered_ns = bpf_ktime_get_ns();
	write_switch(ring, next, 0, 0);
	forget_entry(ring);
	return 0;
}

static __always_inline void write_wake(struct task_struct *task, u8 flags)
{
	u32 waker = bpf_get_current_task_btf()->pid;
	struct ring *ring;
	struct event *event;
	u64 place;

	if (scoped && !is_followed(task->pid) && !is_followed(waker))
		return;
	ring = this_ring();
	if (!ring)
		return;
	event = next_event(ring, &place);
	if (!event) {
		__sync_fetch_and_add(&ring->lost_wakes, 1);
		return;
	}
	event->at_ns = bpf_ktime_get_ns();
	event->tid = task->pid;
	event->other = waker;
	event->cost_ns = 0;
	event->state = 0;
	event->kind = EVENT_WAKE;
	event->flags = flags | (ring->hard_began_ns | ring->soft_began_ns | ring->timer_began_ns ? EVENT_INTERRUPT : 0);
	event->voluntary = 0;
	event->involuntary = 0;
	complete(event, place);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(waking, struct task_struct *task)
{
	write_wake(task, 0);
	return 0;
}

/* In the run queue of the CPU that was chosen for it, a followed task waits. */
static __always_inline void waits(struct task_struct *task)
{
	u32 cpu = task->wake_cpu;
	struct ring *ring, *own;

	if (!is_followed(task->pid))
		return;
	ring = bpf_map_lookup_elem(&rings, &cpu);
	own = this_ring();
	if (!ring || !own)
		return;
	__sync_fetch_and_add(&ring->waiting, 1);
	begins_to_wait(own, cpu);
}

/* Only when some tasks are recorded. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(woken, struct task_struct *task)
{
	waits(task);
	return 0;
}

SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(woken_new, struct task_struct *task)
{
	write_wake(task, EVENT_NEW);
	if (scoped)
		waits(task);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(forked, struct task_struct *parent, struct task_struct *child)
{
	if (scoped) {
		if (!is_followed(parent->pid))
			return 0;
		set_followed(child->pid, true);
	}
	tell(child, parent, INFO_FORK, NULL);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(execed, struct task_struct *task, int old_pid, struct linux_binprm *binprm)
{
	if (!scoped || is_followed(task->pid))
		tell(task, task->real_parent, INFO_EXEC, NULL);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(exited, struct task_struct *task)
{
	if (!scoped || is_followed(task->pid))
		tell(task, task->real_parent, INFO_EXIT, NULL);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(renamed, struct task_struct *task, const char *comm)
{
	if (!scoped || is_followed(task->pid))
		tell(task, task->real_parent, INFO_NAME, comm);
	return 0;
}

static __always_inline void count_interrupt(u32 line, u64 ns)
{
	u32 index = bpf_get_smp_processor_id() * LINES + line;
	struct interrupt *interrupt = bpf_map_lookup_elem(&interrupts, &index);

	if (interrupt) {
		interrupt->count++;
		interrupt->ns += ns;
	}
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(hard_began, int line, struct irqaction *action)
{
	struct ring *ring = this_ring();

	if (!ring)
		return 0;
	write_first_switch(ring, bpf_get_current_task_btf());
	ring->interrupts++;
	ring->hard_began_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(hard_ended, int line, struct irqaction *action, int result)
{
	struct ring *ring = this_ring();
	u64 ns;

	if (!ring || !ring->hard_began_ns || line < 0 || line >= HARD_LINES)
		return 0;
	ns = bpf_ktime_get_ns() - ring->hard_began_ns;
	ring->hard_began_ns = 0;
	ring->hard_total_ns += ns;
	count_interrupt(line, ns);
	add_interrupt(ring, ns);
	return 0;
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(soft_began, unsigned int kind)
{
	struct ring *ring = this_ring();

	if (!ring)
		return 0;
	write_first_switch(ring, bpf_get_current_task_btf());
	ring->interrupts++;
	ring->soft_hard_ns = ring->hard_total_ns;
	ring->soft_began_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(soft_ended, unsigned int kind)
{
	struct ring *ring = this_ring();
	u64 ns;

	if (!ring || !ring->soft_began_ns || kind >= SOFT_KINDS)
		return 0;
	/* Hard interrupts came meanwhile; their time is theirs. */
	ns = bpf_ktime_get_ns() - ring->soft_began_ns - (ring->hard_total_ns - ring->soft_hard_ns);
	ring->soft_began_ns = 0;
	count_interrupt(HARD_LINES + kind, ns);
	add_interrupt(ring, ns);
	return 0;
}

/* The timer of each CPU (line LOC) interrupts past the handlers above. */
SEC("tp_btf/local_timer_entry")
int BPF_PROG(timer_began, int vector)
{
	struct ring *ring = this_ring();

	if (!ring)
		return 0;
	write_first_switch(ring, bpf_get_current_task_btf());
	ring->interrupts++;
	ring->timer_began_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/local_timer_exit")
int BPF_PROG(timer_ended, int vector)
{
	struct ring *ring = this_ring();
	u64 ns;

	if (!ring || !ring->timer_began_ns)
		return 0;
	ns = bpf_ktime_get_ns() - ring->timer_began_ns;
	ring->timer_began_ns = 0;
	ring->hard_total_ns += ns;
	count_interrupt(TIMER_LINE, ns);
	add_interrupt(ring, ns);
	return 0;
}
