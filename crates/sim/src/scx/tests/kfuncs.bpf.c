/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Calls the kernel's functions and gives up where an answer is not what it should be. The machine: CPUs 0 and 2 share a fast core and
 * node 0, CPUs 1 and 3 a slow core and node 1. */
#include <scx/common.bpf.h>
#include <scx/percpu.bpf.h>

char _license[] SEC("license") = "Dual BSD/GPL";

extern unsigned CONFIG_HZ __kconfig;

#define CHECK(condition)                                                        \
	do {                                                                    \
		if (!(condition))                                               \
			scx_bpf_error("line %d: %s", __LINE__, #condition);     \
	} while (0)

struct value {
	u64 a;
	struct bpf_timer timer;
	u32 b;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, struct value);
} values SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} by_cpu SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__uint(key_size, sizeof(u64));
	__uint(value_size, sizeof(u32));
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 8);
	__type(value, s32);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u64);
} by_task SEC(".maps");

private(MASK) struct bpf_cpumask __kptr *kept;

static u32 rung, moved;
static u64 rung_at;

static long add_up(void *map, u64 *key, u32 *value, u64 *sum)
{
	*sum += *key * *value;
	return 0;
}

static int ring(void *map, u32 *key, struct value *value)
{
	CHECK(map == (void *)&values && *key == 2 && value->a == 77);
	CHECK(bpf_ktime_get_ns() == rung_at);
	if (++rung < 3) {
		rung_at += 1000000;
		bpf_timer_start(&value->timer, 1000000, 0);
	}
	return 0;
}

static void check_maps(void)
{
	u32 key = 2, none = 4, number = 5;
	u64 long_key = 9, sum = 0;
	s32 pid = 3;
	struct value *value = bpf_map_lookup_elem(&values, &key);
	u64 *mine;

	CHECK(value && value->a == 0 && !bpf_map_lookup_elem(&values, &none));
	value->a = 77;
	CHECK(((struct value *)bpf_map_lookup_elem(&values, &key))->a == 77);
	key = 0;
	mine = bpf_map_lookup_elem(&by_cpu, &key);
	CHECK(mine && mine == bpf_map_lookup_percpu_elem(&by_cpu, &key, bpf_get_smp_processor_id()));
	CHECK(mine != bpf_map_lookup_percpu_elem(&by_cpu, &key, 3) && !bpf_map_lookup_percpu_elem(&by_cpu, &key, 4));

	CHECK(!bpf_map_lookup_elem(&hash, &long_key));
	CHECK(bpf_map_update_elem(&hash, &long_key, &number, BPF_NOEXIST) == 0);
	CHECK(bpf_map_update_elem(&hash, &long_key, &number, BPF_NOEXIST) == -EEXIST);
	CHECK(*(u32 *)bpf_map_lookup_elem(&hash, &long_key) == 5);
	long_key = 1;
	bpf_map_update_elem(&hash, &long_key, &number, BPF_ANY);
	long_key = 2;
	CHECK(bpf_map_update_elem(&hash, &long_key, &number, BPF_ANY) == -E2BIG);
	CHECK(bpf_map_delete_elem(&hash, &long_key) == -ENOENT);
	CHECK(bpf_for_each_map_elem(&hash, add_up, &sum, 0) == 2 && sum == 50);
	CHECK(bpf_map_push_elem(&queue, &pid, 0) == 0);
	pid = 0;
	CHECK(bpf_map_peek_elem(&queue, &pid) == 0 && pid == 3);
	CHECK(bpf_map_pop_elem(&queue, &pid) == 0 && bpf_map_pop_elem(&queue, &pid) == -ENOENT);
}

static void check_masks(void)
{
	struct bpf_cpumask *mask = bpf_cpumask_create(), *other = bpf_cpumask_create(), *old;

	CHECK(mask && bpf_cpumask_empty(cast_mask(mask)) && bpf_cpumask_first(cast_mask(mask)) == 4);
	bpf_cpumask_set_cpu(3, mask);
	bpf_cpumask_set_cpu(9, mask);
	CHECK(bpf_cpumask_weight(cast_mask(mask)) == 1 && bpf_cpumask_first(cast_mask(mask)) == 3);
	CHECK(bpf_cpumask_test_cpu(3, cast_mask(mask)) && !bpf_cpumask_test_cpu(2, cast_mask(mask)));
	CHECK(bpf_cpumask_test_and_set_cpu(3, mask) && !bpf_cpumask_test_and_clear_cpu(1, mask));
	bpf_cpumask_setall(other);
	CHECK(bpf_cpumask_full(cast_mask(other)) && bpf_cpumask_weight(cast_mask(other)) == 4);
	CHECK(bpf_cpumask_subset(cast_mask(mask), cast_mask(other)) && bpf_cpumask_intersects(cast_mask(mask), cast_mask(other)));
	bpf_cpumask_xor(other, cast_mask(other), cast_mask(mask));
	CHECK(bpf_cpumask_weight(cast_mask(other)) == 3 && bpf_cpumask_first_zero(cast_mask(other)) == 3);
	CHECK(!bpf_cpumask_and(other, cast_mask(other), cast_mask(mask)));
	bpf_cpumask_or(other, cast_mask(other), cast_mask(mask));
	CHECK(bpf_cpumask_equal(cast_mask(other), cast_mask(mask)));
	CHECK(bpf_cpumask_any_distribute(cast_mask(mask)) == 3);
	bpf_cpumask_setall(other);
	CHECK(bpf_cpumask_any_distribute(cast_mask(other)) != bpf_cpumask_any_distribute(cast_mask(other)));
	old = bpf_kptr_xchg(&kept, mask);
	CHECK(!old && kept == mask);
	bpf_cpumask_release(other);
}

static void check_cpus(void)
{
	s32 cpu, sum = 0;

	CHECK(scx_bpf_nr_cpu_ids() == 4 && scx_bpf_nr_node_ids() == 2 && CONFIG_HZ == 250);
	CHECK(scx_bpf_cpu_node(2) == 0 && scx_bpf_cpu_node(1) == 1 && cpu_llc_id(3) == 1);
	CHECK(scx_bpf_cpuperf_cap(0) == 1024 && scx_bpf_cpuperf_cap(3) == 512);
	CHECK(bpf_cpumask_weight(scx_bpf_get_idle_cpumask()) == 4 && bpf_cpumask_weight(scx_bpf_get_idle_smtmask()) == 4);
	CHECK(bpf_cpumask_weight(scx_bpf_get_idle_cpumask_node(1)) == 2);
	CHECK(scx_bpf_test_and_clear_cpu_idle(2) && !scx_bpf_test_and_clear_cpu_idle(2));
	CHECK(bpf_cpumask_weight(scx_bpf_get_idle_cpumask()) == 3 && bpf_cpumask_weight(scx_bpf_get_idle_smtmask()) == 2);
	cpu = scx_bpf_pick_idle_cpu(scx_bpf_get_online_cpumask(), SCX_PICK_IDLE_CORE);
	CHECK(cpu == 1 || cpu == 3);
	CHECK(scx_bpf_pick_idle_cpu(scx_bpf_get_online_cpumask(), SCX_PICK_IDLE_CORE) == -EBUSY);
	CHECK(scx_bpf_pick_idle_cpu_node(scx_bpf_get_online_cpumask(), 0, SCX_PICK_IDLE_IN_NODE) == 0);
	CHECK(scx_bpf_pick_idle_cpu_node(scx_bpf_get_online_cpumask(), 0, SCX_PICK_IDLE_IN_NODE) == -EBUSY);
	CHECK(scx_bpf_pick_idle_cpu(scx_bpf_get_online_cpumask(), 0) == 4 - cpu);
	CHECK(scx_bpf_pick_any_cpu(scx_bpf_get_online_cpumask(), 0) >= 0);
	CHECK(scx_bpf_cpu_curr(1)->flags & PF_IDLE && scx_bpf_cpu_rq(1)->cpu == 1);
	bpf_for(cpu, 0, 5)
		sum += cpu;
	CHECK(sum == 10);
	bpf_repeat(3)
		sum++;
	CHECK(sum == 13 && __sqrt_u64(1000000) == 1000 && log2_u64(1ULL << 40) == 41);
}

s32 BPF_STRUCT_OPS(kfuncs_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);

	CHECK(wake_flags == SCX_WAKE_FORK && bpf_cpumask_test_cpu(cpu, p->cpus_ptr));
	return cpu;
}

/* All go to the queue 10, and those of even number through a map and dispatch. */
void BPF_STRUCT_OPS(kfuncs_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 pid = p->pid;

	CHECK(*(u64 *)bpf_task_storage_get(&by_task, p, 0, 0) == 40 + pid);
	CHECK(scx_bpf_task_cpu(p) >= 0 && p->scx.flags & SCX_TASK_QUEUED);
	if (pid % 2)
		CHECK(scx_bpf_dsq_insert(p, 10, 1000000, enq_flags));
	else
		CHECK(bpf_map_push_elem(&queue, &pid, 0) == 0);
}

void BPF_STRUCT_OPS(kfuncs_dispatch, s32 cpu, struct task_struct *prev)
{
	struct task_struct *p, *first = scx_bpf_dsq_peek(10);
	s32 pid, count = 0;

	CHECK(cpu == bpf_get_smp_processor_id());
	while (scx_bpf_dispatch_nr_slots() && bpf_map_pop_elem(&queue, &pid) == 0) {
		p = bpf_task_from_pid(pid);
		if (p) {
			scx_bpf_dsq_insert(p, 11, 1000000, 0);
			bpf_task_release(p);
		}
	}
	bpf_for_each(scx_dsq, p, 10, 0) {
		CHECK(count || p == first);
		count++;
		/* To the other queue by virtual time, and back from there. */
		if (scx_bpf_dsq_nr_queued(12) == 0) {
			scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, 5);
			moved += scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, 12, 0);
			CHECK(p->scx.dsq_vtime == 5);
		}
	}
	CHECK(scx_bpf_dsq_nr_queued(13) == -ENOENT);
	if (scx_bpf_dsq_move_to_local(12, 0) || scx_bpf_dsq_move_to_local(10, 0) || scx_bpf_dsq_move_to_local(11, 0))
		CHECK(scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL) == 1 && scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) == 1);
}

void BPF_STRUCT_OPS(kfuncs_running, struct task_struct *p)
{
	CHECK(scx_bpf_task_running(p) && bpf_get_current_task_btf() == p && scx_bpf_task_cpu(p) == bpf_get_smp_processor_id());
	CHECK(bpf_cpumask_test_cpu(bpf_get_smp_processor_id(), p->cpus_ptr));
}

s32 BPF_STRUCT_OPS(kfuncs_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	u64 first = 40 + p->pid;

	CHECK(!args->fork && p->comm[0] == 't' && p->comm[1] == '0' + p->pid - 1 && p->tgid == p->pid);
	CHECK(p->scx.weight == (p->pid == 3 ? 305 : 100) && p->nr_cpus_allowed == (p->pid == 2 ? 2 : 4));
	CHECK(!bpf_task_storage_get(&by_task, p, 0, 0));
	return bpf_task_storage_get(&by_task, p, &first, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

void BPF_STRUCT_OPS(kfuncs_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	CHECK(p->flags & PF_EXITING && p->se.sum_exec_runtime >= 3000000);
	/* Each time that it ran ended with a switch, and it ran, waited or slept all the time. */
	CHECK(p->nvcsw >= 1 && p->sched_info.pcount == p->nvcsw + p->nivcsw && !p->sched_info.last_queued);
	CHECK(p->sched_info.run_delay + p->se.sum_exec_runtime <= bpf_ktime_get_ns() - p->start_time);
	/* The last ones: the timer has rung, and tasks have been moved. */
	if (p->pid == 7)
		CHECK(rung == 3 && moved > 0);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(kfuncs_init)
{
	u32 key = 2;
	struct value *value;

	check_maps();
	check_masks();
	check_cpus();
	CHECK(scx_bpf_create_dsq(10, -1) == 0 && scx_bpf_create_dsq(10, -1) == -EEXIST && scx_bpf_create_dsq(11, -1) == 0);
	CHECK(scx_bpf_create_dsq(12, -1) == 0 && scx_bpf_create_dsq(1ULL << 50, -1) == 0 && scx_bpf_dsq_nr_queued(1ULL << 50) == 0);
	CHECK(scx_bpf_create_dsq(SCX_DSQ_GLOBAL, -1) == -EINVAL);
	scx_bpf_destroy_dsq(1ULL << 50);
	CHECK(scx_bpf_dsq_nr_queued(1ULL << 50) == -ENOENT && !scx_bpf_dsq_peek(12));
	value = bpf_map_lookup_elem(&values, &key);
	CHECK(bpf_timer_init(&value->timer, &values, CLOCK_MONOTONIC) == 0 && bpf_timer_init(&value->timer, &values, 0) == -EBUSY);
	CHECK(bpf_timer_start(&value->timer, 1, 0) == -EINVAL);
	CHECK(bpf_timer_set_callback(&value->timer, ring) == 0);
	rung_at = bpf_ktime_get_ns() + 1000000;
	CHECK(bpf_timer_start(&value->timer, 1000000, 0) == 0);
	return 0;
}

SCX_OPS_DEFINE(kfuncs_ops,
	       .select_cpu = (void *)kfuncs_select_cpu,
	       .enqueue = (void *)kfuncs_enqueue,
	       .dispatch = (void *)kfuncs_dispatch,
	       .running = (void *)kfuncs_running,
	       .init_task = (void *)kfuncs_init_task,
	       .exit_task = (void *)kfuncs_exit_task,
	       .init = (void *)kfuncs_init,
	       .flags = SCX_OPS_ENQ_EXITING,
	       .name = "kfuncs");
