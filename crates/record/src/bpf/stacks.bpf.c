// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sums switches and wake-ups by stack, in the kernel. Only the first time that a stack is seen, its frames go to the recorder.
 *
 * A program's stack is walked by rules that the recorder takes from the program's .eh_frame, one for each return address. Where there is no
 * such rule, it is walked by frame pointers. A missing rule is asked for by a copy of the stack. Most programs and libraries have no frame
 * pointers, and the caller of a system call's wrapper is lost even where they have.
 */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "stacks.h"
#include "followed.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* include/uapi/linux/bpf.h, v6.18 */
#define MAP_HASH 1
#define MAP_PERCPU_ARRAY 6
#define MAP_RINGBUF 27
#define NOEXIST 1

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct away);
} tasks SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1);
	__type(key, struct stack_key);
	__type(value, struct stack_counts);
} counts SEC(".maps");

struct {
	__uint(type, MAP_HASH);
	__uint(max_entries, 1);
	__type(key, struct rule_key);
	__type(value, struct rule);
} rules SEC(".maps");

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_record);
} scratch SEC(".maps");

struct {
	__uint(type, MAP_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct stack_losses);
} losses SEC(".maps");

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 1);
} fresh SEC(".maps");

/* Bits of a stack's hash that count: all but in a test. */
const volatile u64 hash_mask = ~0ULL;

struct walk {
	struct stack_record *record;
	u64 ip, sp, bp;
	u32 count;
	u32 missing;
};

/* Where the caller's frame pointer is, with the return address above it, and the caller's stack: both from a frame pointer. */
#if defined(__TARGET_ARCH_riscv)
#define PAIR_BELOW 16
#define STACK_ABOVE 0
#else
#define PAIR_BELOW 0
#define STACK_ABOVE 16
#endif

/* One frame of a program's stack; 1 ends the walk. */
static int step(u32 index, struct walk *walk)
{
	struct rule_key key = { .pid = walk->record->key.pid };
	u64 cfa, pair[2];
	struct rule *rule;

	if (index >= USER_FRAMES)
		return 1;
	walk->record->frames[index & (USER_FRAMES - 1)] = walk->ip;
	walk->count = index + 1;
	/* The call itself, not what follows it: that may be another function. */
	key.ip = index ? walk->ip - 1 : walk->ip;
	rule = bpf_map_lookup_elem(&rules, &key);
	if (!rule)
		walk->missing = 1;
	if (!rule || rule->base == RULE_FRAME_POINTER) {
		cfa = walk->bp + STACK_ABOVE;
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)(walk->bp - PAIR_BELOW)))
			return 1;
	} else if (rule->base == RULE_END) {
		return 1;
	} else {
		cfa = (rule->base == RULE_STACK_POINTER ? walk->sp : walk->bp) + rule->cfa;
		if (bpf_probe_read_user(&pair[1], 8, (void *)(cfa - 8)))
			return 1;
		pair[0] = walk->bp;
		if (rule->saved && bpf_probe_read_user(&pair[0], 8, (void *)(cfa + rule->saved)))
			return 1;
	}
	/* Stacks grow down: a caller's frame lies above. */
	if (!pair[1] || cfa <= walk->sp)
		return 1;
	walk->bp = pair[0];
	walk->ip = pair[1];
	walk->sp = cfa;
	return 0;
}

/* Copies as much of a program's stack as can be read; it ends sooner than a whole copy. */
static __always_inline u32 copy_stack(struct stack_record *record)
{
	const void *from = (const void *)record->sp;

	if (!bpf_probe_read_user(record->copy, COPIED_BYTES, from))
		return COPIED_BYTES;
	if (!bpf_probe_read_user(record->copy, COPIED_BYTES / 4, from))
		return COPIED_BYTES / 4;
	if (!bpf_probe_read_user(record->copy, COPIED_BYTES / 16, from))
		return COPIED_BYTES / 16;
	return bpf_probe_read_user(record->copy, COPIED_BYTES / 64, from) ? 0 : COPIED_BYTES / 64;
}

static __always_inline struct stack_losses *this_losses(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&losses, &zero);
}

/* Each of these may be a stack of its own, with a copy: they are limited. */
static __always_inline bool may_tell_apart(struct stack_losses *state)
{
	u64 now_ns = bpf_ktime_get_ns();

	if (now_ns - state->since_ns > STRETCH_NS) {
		state->since_ns = now_ns;
		state->unsettled = 0;
	}
	return state->unsettled++ < UNSETTLED;
}

/* Counts one more of the current task's stack, and says in `key` which it is. */
static __always_inline bool count_stack(void *ctx, u32 reason, struct stack_key *key)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_counts *found, one = { .switches = 1 };
	struct stack_losses *lost = this_losses();
	struct stack_record *record;
	struct walk walk = {};
	u64 hash = 14695981039346656037ULL;
	u32 zero = 0, total, bytes;
	struct pt_regs *regs;
	long got;

	record = bpf_map_lookup_elem(&scratch, &zero);
	if (!record || !lost)
		return false;
	record->key.pid = task->tgid;
	record->key.reason = reason;
	__builtin_memcpy(record->key.comm, task->comm, sizeof(record->key.comm));
	record->kernel_thread = task->flags & PF_KTHREAD ? 1 : 0;
	record->ip = record->sp = record->bp = 0;
	if (!record->kernel_thread) {
		regs = (struct pt_regs *)bpf_task_pt_regs(task);
#if defined(__TARGET_ARCH_arm64)
		record->ip = BPF_CORE_READ(regs, user_regs.pc);
		record->sp = BPF_CORE_READ(regs, user_regs.sp);
		record->bp = BPF_CORE_READ(regs, user_regs.regs[29]);
#elif defined(__TARGET_ARCH_riscv)
		record->ip = BPF_CORE_READ(regs, epc);
		record->sp = BPF_CORE_READ(regs, sp);
		record->bp = BPF_CORE_READ(regs, s0);
#else
		record->ip = BPF_CORE_READ(regs, ip);
		record->sp = BPF_CORE_READ(regs, sp);
		record->bp = BPF_CORE_READ(regs, bp);
#endif
	}
	walk.record = record;
	walk.ip = record->ip;
	walk.sp = record->sp;
	walk.bp = record->bp;
	if (walk.ip)
		bpf_loop(USER_FRAMES, step, &walk, 0);
	total = walk.count;
	if (total > USER_FRAMES)
		total = USER_FRAMES;
	record->user = total;
	got = bpf_get_stack(ctx, &record->frames[total], KERNEL_FRAMES * 8, 0);
	record->kernel = got > 0 && got <= KERNEL_FRAMES * 8 ? got / 8 : 0;
	total += record->kernel;
	for (u32 index = 0; index < USER_FRAMES + KERNEL_FRAMES; index++) {
		if (index >= total)
			break;
		hash = (hash ^ record->frames[index]) * 1099511628211ULL;
		hash ^= hash >> 29;
		one.check = one.check * 31 + record->frames[index];
	}
	/* Until the rules are known, callers may be missing: what lies on the stack tells those apart that look the same. */
	if (walk.missing && may_tell_apart(lost) && !bpf_probe_read_user(record->copy, TOLD_APART_BYTES, (void *)record->sp)) {
		for (u32 index = 0; index < TOLD_APART_BYTES / 8; index++) {
			hash = (hash ^ ((u64 *)record->copy)[index]) * 1099511628211ULL;
			hash ^= hash >> 29;
		}
	}
	record->key.hash = hash & hash_mask;
	*key = record->key;
	found = bpf_map_lookup_elem(&counts, key);
	if (found) {
		__sync_fetch_and_add(&found->switches, 1);
		if (found->check != one.check)
			lost->collided++;
		return true;
	}
	record->at_ns = bpf_ktime_get_ns();
	record->copied = walk.missing ? copy_stack(record) : 0;
	/* The copy goes where it is: what lies between is sent along, so that all lengths are constants but the last. */
	bytes = __builtin_offsetof(struct stack_record, copy) + (record->copied & (2 * COPIED_BYTES - 1));
	if (bytes > sizeof(*record))
		return false;
	if (bpf_map_update_elem(&counts, key, &one, NOEXIST)) {
		lost->full++;
		return false;
	}
	if (bpf_ringbuf_output(&fresh, record, bytes, 0)) {
		/* The next switch with this stack tries again. */
		bpf_map_delete_elem(&counts, key);
		lost->ring++;
		return false;
	}
	return true;
}

static __always_inline void add_times(struct stack_key *key, u64 off_cpu_ns, u64 wait_ns)
{
	struct stack_counts *found = bpf_map_lookup_elem(&counts, key);

	if (found) {
		__sync_fetch_and_add(&found->off_cpu_ns, off_cpu_ns);
		__sync_fetch_and_add(&found->wait_ns, wait_ns);
	}
}

/* The task has a CPU again. */
static __always_inline void came(struct task_struct *task, u64 now_ns)
{
	struct away *away = bpf_task_storage_get(&tasks, task, 0, 0);
	u64 ready_ns;

	if (!away || !away->out_ns)
		return;
	ready_ns = away->key.reason == STACK_INVOLUNTARY ? away->out_ns : away->woken_ns > away->out_ns ? away->woken_ns : now_ns;
	add_times(&away->key, now_ns - away->out_ns, now_ns - ready_ns);
	if (away->waker.reason)
		add_times(&away->waker, now_ns - away->out_ns, now_ns - ready_ns);
	away->out_ns = 0;
	away->waker.reason = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(stack_switched, bool preempt, struct task_struct *prev, struct task_struct *next, unsigned int prev_state)
{
	u64 now_ns = bpf_ktime_get_ns();
	struct stack_losses *lost;
	struct stack_key key;
	struct away *away;

	if (next->pid)
		came(next, now_ns);
	if (!prev->pid || (scoped && !is_followed(prev->pid)))
		return 0;
	if (!count_stack(ctx, preempt || !prev_state ? STACK_INVOLUNTARY : STACK_VOLUNTARY, &key))
		return 0;
	away = bpf_task_storage_get(&tasks, prev, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!away) {
		lost = this_losses();
		if (lost)
			lost->storage++;
		return 0;
	}
	away->key = key;
	away->waker.reason = 0;
	away->out_ns = now_ns;
	if (scoped && prev_state & TASK_DEAD)
		set_followed(prev->pid, false);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(stack_waking, struct task_struct *task)
{
	struct stack_key key;
	struct away *away;

	/* One that only thinks of sleeping has not left its CPU. */
	away = bpf_task_storage_get(&tasks, task, 0, 0);
	if (!away || !away->out_ns || away->key.reason != STACK_VOLUNTARY || away->waker.reason)
		return 0;
	away->woken_ns = bpf_ktime_get_ns();
	if (count_stack(ctx, STACK_WAKE, &key))
		away->waker = key;
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(stack_forked, struct task_struct *parent, struct task_struct *child)
{
	if (scoped && is_followed(parent->pid))
		set_followed(child->pid, true);
	return 0;
}
