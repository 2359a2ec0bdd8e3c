/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kernel's functions under the names that schedulers call. Declaring them again, as some sources do, does no harm. */
#ifndef SWTCH_KFUNCS_H
#define SWTCH_KFUNCS_H

#include "kernel.h"

#define SWTCH_KFUNC __attribute__((visibility("hidden"), unused))
#define SWTCH_K swtch_kernel

SWTCH_KFUNC s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) { return SWTCH_K.create_dsq(dsq_id, node); }
SWTCH_KFUNC void scx_bpf_destroy_dsq(u64 dsq_id) { SWTCH_K.destroy_dsq(dsq_id); }
SWTCH_KFUNC s32 scx_bpf_dsq_nr_queued(u64 dsq_id) { return SWTCH_K.dsq_nr_queued(dsq_id); }
SWTCH_KFUNC struct task_struct *scx_bpf_dsq_peek(u64 dsq_id) { return SWTCH_K.dsq_peek(dsq_id); }
SWTCH_KFUNC bool scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	return SWTCH_K.dsq_insert(p, dsq_id, slice, enq_flags);
}
SWTCH_KFUNC bool scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags)
{
	return SWTCH_K.dsq_insert_vtime(p, dsq_id, slice, vtime, enq_flags);
}
SWTCH_KFUNC u32 scx_bpf_dispatch_nr_slots(void) { return SWTCH_K.dispatch_nr_slots(); }
SWTCH_KFUNC void scx_bpf_dispatch_cancel(void) { SWTCH_K.dispatch_cancel(); }

/* Linux 7.1 added flags to the first; both numbers of arguments are in use. The second pair has the names used up to 6.12. */
static inline bool swtch_move_to_local(u64 dsq_id, u64 enq_flags) { return SWTCH_K.dsq_move_to_local(dsq_id, enq_flags); }
#define swtch_second(one, two, ...) two
#define scx_bpf_dsq_move_to_local(dsq_id, ...) swtch_move_to_local(dsq_id, swtch_second(0, ##__VA_ARGS__, 0))
#define scx_bpf_consume(dsq_id) swtch_move_to_local(dsq_id, 0)
#define scx_bpf_dispatch(p, dsq_id, slice, enq_flags) ((void)scx_bpf_dsq_insert(p, dsq_id, slice, enq_flags))
#define scx_bpf_dispatch_vtime(p, dsq_id, slice, vtime, enq_flags) \
	((void)scx_bpf_dsq_insert_vtime(p, dsq_id, slice, vtime, enq_flags))

SWTCH_KFUNC int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags)
{
	return SWTCH_K.dsq_iter_new(it, dsq_id, flags);
}
SWTCH_KFUNC struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) { return SWTCH_K.dsq_iter_next(it); }
SWTCH_KFUNC void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) { (void)it; }
SWTCH_KFUNC void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice)
{
	it->slice = slice;
	it->flags |= 1ULL << 62;
}
SWTCH_KFUNC void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime)
{
	it->vtime = vtime;
	it->flags |= 1ULL << 63;
}
SWTCH_KFUNC bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	return SWTCH_K.dsq_iter_move(it, p, dsq_id, enq_flags, false);
}
SWTCH_KFUNC bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	return SWTCH_K.dsq_iter_move(it, p, dsq_id, enq_flags, true);
}

SWTCH_KFUNC s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle)
{
	return SWTCH_K.select_cpu_dfl(p, prev_cpu, wake_flags, is_idle);
}
SWTCH_KFUNC s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev_cpu, u64 wake_flags, const struct cpumask *allowed, u64 flags)
{
	return SWTCH_K.select_cpu_and(p, prev_cpu, wake_flags, allowed, flags);
}
SWTCH_KFUNC s32 scx_bpf_pick_idle_cpu(const cpumask_t *allowed, u64 flags) { return SWTCH_K.pick_idle_cpu(allowed, -1, flags); }
SWTCH_KFUNC s32 scx_bpf_pick_any_cpu(const cpumask_t *allowed, u64 flags) { return SWTCH_K.pick_any_cpu(allowed, -1, flags); }
SWTCH_KFUNC s32 scx_bpf_pick_idle_cpu_node(const cpumask_t *allowed, int node, u64 flags)
{
	return SWTCH_K.pick_idle_cpu(allowed, node, flags);
}
SWTCH_KFUNC s32 scx_bpf_pick_any_cpu_node(const cpumask_t *allowed, int node, u64 flags)
{
	return SWTCH_K.pick_any_cpu(allowed, node, flags);
}
SWTCH_KFUNC bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) { return SWTCH_K.test_and_clear_cpu_idle(cpu); }
SWTCH_KFUNC const struct cpumask *scx_bpf_get_possible_cpumask(void) { return SWTCH_K.online_mask(); }
SWTCH_KFUNC const struct cpumask *scx_bpf_get_online_cpumask(void) { return SWTCH_K.online_mask(); }
SWTCH_KFUNC const struct cpumask *scx_bpf_get_idle_cpumask(void) { return SWTCH_K.idle_mask(-1, false); }
SWTCH_KFUNC const struct cpumask *scx_bpf_get_idle_smtmask(void) { return SWTCH_K.idle_mask(-1, true); }
SWTCH_KFUNC const struct cpumask *scx_bpf_get_idle_cpumask_node(int node) { return SWTCH_K.idle_mask(node, false); }
SWTCH_KFUNC const struct cpumask *scx_bpf_get_idle_smtmask_node(int node) { return SWTCH_K.idle_mask(node, true); }
SWTCH_KFUNC void scx_bpf_put_cpumask(const struct cpumask *mask) { (void)mask; }
SWTCH_KFUNC void scx_bpf_put_idle_cpumask(const struct cpumask *mask) { (void)mask; }
SWTCH_KFUNC void scx_bpf_kick_cpu(s32 cpu, u64 flags) { SWTCH_K.kick_cpu(cpu, flags); }

SWTCH_KFUNC u32 scx_bpf_nr_cpu_ids(void) { return SWTCH_K.nr_cpu_ids(); }
SWTCH_KFUNC u32 scx_bpf_nr_node_ids(void) { return SWTCH_K.nr_node_ids(); }
SWTCH_KFUNC int scx_bpf_cpu_node(s32 cpu) { return SWTCH_K.cpu_node(cpu); }
SWTCH_KFUNC u32 scx_bpf_cpuperf_cap(s32 cpu) { return SWTCH_K.cpu_capacity(cpu); }
SWTCH_KFUNC u32 scx_bpf_cpuperf_cur(s32 cpu) { return SWTCH_K.cpu_capacity(cpu); }
/* Frequencies do not change in the simulator. */
SWTCH_KFUNC void scx_bpf_cpuperf_set(s32 cpu, u32 perf) { (void)cpu, (void)perf; }
SWTCH_KFUNC bool scx_bpf_task_running(const struct task_struct *p) { return SWTCH_K.task_running(p); }
SWTCH_KFUNC s32 scx_bpf_task_cpu(const struct task_struct *p) { return SWTCH_K.task_cpu(p); }
SWTCH_KFUNC struct rq *scx_bpf_cpu_rq(s32 cpu) { return SWTCH_K.cpu_rq(cpu); }
SWTCH_KFUNC struct rq *scx_bpf_locked_rq(void) { return SWTCH_K.cpu_rq(SWTCH_K.this_cpu()); }
SWTCH_KFUNC struct task_struct *scx_bpf_cpu_curr(s32 cpu) { return SWTCH_K.cpu_curr(cpu); }
SWTCH_KFUNC struct cgroup *scx_bpf_task_cgroup(struct task_struct *p) { return SWTCH_K.task_cgroup(p); }
/* A CPU's clock by which load averages decay: on a slow core it is behind. In the kernel it catches up when the CPU is idle. */
SWTCH_KFUNC u64 scx_clock_pelt(s32 cpu) { return SWTCH_K.now() * SWTCH_K.cpu_capacity(cpu) / SCX_CPUPERF_ONE; }
/* Per-CPU variables of the kernel, of what the simulator does not have: frequencies, and devices. */
#define bpf_per_cpu_ptr(variable, cpu) ((void)(cpu), (void *)NULL)
SWTCH_KFUNC u64 scx_bpf_now(void) { return SWTCH_K.now(); }
SWTCH_KFUNC bool scx_bpf_task_set_slice(struct task_struct *p, u64 slice) { return SWTCH_K.task_set_slice(p, slice); }
SWTCH_KFUNC bool scx_bpf_task_set_dsq_vtime(struct task_struct *p, u64 vtime)
{
	p->scx.dsq_vtime = vtime;
	return true;
}

SWTCH_KFUNC struct task_struct *bpf_task_from_pid(s32 pid) { return SWTCH_K.task_from_pid(pid); }
SWTCH_KFUNC struct task_struct *bpf_task_acquire(struct task_struct *p) { return p; }
SWTCH_KFUNC void bpf_task_release(struct task_struct *p) { (void)p; }
/* Nothing runs at the same time as a scheduler's function in the simulator. */
SWTCH_KFUNC void bpf_rcu_read_lock(void) {}
SWTCH_KFUNC void bpf_rcu_read_unlock(void) {}
SWTCH_KFUNC void bpf_preempt_disable(void) {}
SWTCH_KFUNC void bpf_preempt_enable(void) {}
SWTCH_KFUNC long bpf_spin_lock(struct bpf_spin_lock *lock) { return lock->held = 0; }
SWTCH_KFUNC long bpf_spin_unlock(struct bpf_spin_lock *lock) { return lock->held = 0; }
SWTCH_KFUNC int bpf_res_spin_lock(struct bpf_res_spin_lock *lock) { return lock->held = 0; }
SWTCH_KFUNC void bpf_res_spin_unlock(struct bpf_res_spin_lock *lock) { lock->held = 0; }

#define bpf_ktime_get_ns() (SWTCH_K.now())
#define bpf_ktime_get_boot_ns() (SWTCH_K.now())
#define bpf_ktime_get_coarse_ns() (SWTCH_K.now())
#define bpf_get_smp_processor_id() (SWTCH_K.this_cpu())
#define bpf_get_numa_node_id() (SWTCH_K.cpu_node(SWTCH_K.this_cpu()))
#define bpf_get_prandom_u32() (SWTCH_K.random())
#define bpf_get_current_task_btf() (SWTCH_K.current())
#define bpf_get_current_task() ((unsigned long)SWTCH_K.current())
#define bpf_get_current_pid_tgid() (((u64)SWTCH_K.current()->tgid << 32) | (u32)SWTCH_K.current()->pid)
#define bpf_jiffies64() (SWTCH_K.now() / 4000000)

#define bpf_map_lookup_elem(map, key) (SWTCH_K.map_lookup(map, key))
#define bpf_map_lookup_percpu_elem(map, key, cpu) (SWTCH_K.map_lookup_percpu(map, key, cpu))
#define bpf_map_update_elem(map, key, value, flags) (SWTCH_K.map_update(map, key, value, flags))
#define bpf_map_delete_elem(map, key) (SWTCH_K.map_delete(map, key))
#define bpf_map_push_elem(map, value, flags) (SWTCH_K.map_push(map, value, flags))
#define bpf_map_pop_elem(map, value) (SWTCH_K.map_pop(map, value, false))
#define bpf_map_peek_elem(map, value) (SWTCH_K.map_pop(map, value, true))
#define bpf_for_each_map_elem(map, callback, context, flags) (SWTCH_K.map_for_each(map, (void *)(callback), context, flags))
#define bpf_task_storage_get(map, p, value, flags) (SWTCH_K.storage_get(map, p, (const void *)(long)(value), flags))
#define bpf_task_storage_delete(map, p) (SWTCH_K.storage_delete(map, p))
#define bpf_cgrp_storage_get(map, cgrp, value, flags) (SWTCH_K.cgroup_storage_get(map, cgrp, (const void *)(long)(value), flags))

/* An arena is memory as any other: nothing else shares it. Its pages are zeroed, and are kept until the simulation ends. */
SWTCH_KFUNC void *bpf_arena_alloc_pages(void *map, void *addr, u32 pages, int node, u64 flags)
{
	(void)map, (void)addr, (void)node, (void)flags;
	return SWTCH_K.arena_pages(pages);
}
SWTCH_KFUNC void bpf_arena_free_pages(void *map, void *at, u32 pages) { (void)map, (void)at, (void)pages; }
SWTCH_KFUNC int bpf_arena_reserve_pages(void *map, void *at, u32 pages)
{
	(void)map, (void)at, (void)pages;
	return 0;
}
SWTCH_KFUNC void bpf_local_irq_save(unsigned long *flags) { *flags = 0; }
SWTCH_KFUNC void bpf_local_irq_restore(unsigned long *flags) { (void)flags; }

/* Nothing in user space reads ring buffers: they are as if they were full. */
#define bpf_ringbuf_reserve(map, bytes, flags) ((void *)NULL)
#define bpf_ringbuf_submit(record, flags) ((void)(record))
#define bpf_ringbuf_discard(record, flags) ((void)(record))
#define bpf_ringbuf_output(map, record, bytes, flags) ((long)-ENOSPC)

#define bpf_timer_init(timer, map, flags) (SWTCH_K.timer_init(timer, map, flags))
#define bpf_timer_set_callback(timer, callback) (SWTCH_K.timer_set_callback(timer, (void *)(callback)))
#define bpf_timer_start(timer, ns, flags) (SWTCH_K.timer_start(timer, ns, flags))
#define bpf_timer_cancel(timer) (SWTCH_K.timer_cancel(timer))

#endif
