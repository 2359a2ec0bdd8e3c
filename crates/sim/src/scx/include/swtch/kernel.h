/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The functions of the simulated kernel. The loader fills in the table; kfuncs/table.rs has the same one, in the same order.
 */
#ifndef SWTCH_KERNEL_H
#define SWTCH_KERNEL_H

#include "types.h"

/* Raised whenever a layout or the table changes. */
#define SWTCH_ABI 4

struct swtch_kernel {
	u64 (*now)(void);
	u32 (*this_cpu)(void);
	u32 (*random)(void);
	u32 (*nr_cpu_ids)(void);
	u32 (*nr_node_ids)(void);
	s32 (*cpu_node)(s32 cpu);
	s32 (*cpu_llc)(s32 cpu);
	u32 (*cpu_capacity)(s32 cpu);
	struct task_struct *(*current)(void);
	struct task_struct *(*cpu_curr)(s32 cpu);
	struct rq *(*cpu_rq)(s32 cpu);
	struct task_struct *(*task_from_pid)(s32 pid);
	bool (*task_running)(const struct task_struct *p);
	s32 (*task_cpu)(const struct task_struct *p);
	struct cgroup *(*task_cgroup)(const struct task_struct *p);
	bool (*task_set_slice)(struct task_struct *p, u64 slice);

	s32 (*create_dsq)(u64 dsq_id, s32 node);
	void (*destroy_dsq)(u64 dsq_id);
	s32 (*dsq_nr_queued)(u64 dsq_id);
	struct task_struct *(*dsq_peek)(u64 dsq_id);
	bool (*dsq_insert)(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags);
	bool (*dsq_insert_vtime)(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags);
	bool (*dsq_move_to_local)(u64 dsq_id, u64 enq_flags);
	u32 (*dispatch_nr_slots)(void);
	void (*dispatch_cancel)(void);
	s32 (*dsq_iter_new)(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags);
	struct task_struct *(*dsq_iter_next)(struct bpf_iter_scx_dsq *it);
	bool (*dsq_iter_move)(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags, bool by_vtime);

	s32 (*select_cpu_dfl)(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle);
	s32 (*select_cpu_and)(struct task_struct *p, s32 prev_cpu, u64 wake_flags, const struct cpumask *allowed, u64 flags);
	s32 (*pick_idle_cpu)(const struct cpumask *allowed, s32 node, u64 flags);
	s32 (*pick_any_cpu)(const struct cpumask *allowed, s32 node, u64 flags);
	bool (*test_and_clear_cpu_idle)(s32 cpu);
	const struct cpumask *(*online_mask)(void);
	const struct cpumask *(*idle_mask)(s32 node, bool whole_cores);
	void (*kick_cpu)(s32 cpu, u64 flags);

	struct bpf_cpumask *(*mask_new)(void);
	void (*mask_free)(struct bpf_cpumask *mask);
	u32 (*any_distribute)(const struct cpumask *one, const struct cpumask *other);

	void (*error)(const char *message);
	void (*exit)(s64 code, const char *message);

	void *(*map_lookup)(void *map, const void *key);
	void *(*map_lookup_percpu)(void *map, const void *key, u32 cpu);
	long (*map_update)(void *map, const void *key, const void *value, u64 flags);
	long (*map_delete)(void *map, const void *key);
	long (*map_push)(void *map, const void *value, u64 flags);
	long (*map_pop)(void *map, void *value, bool keep);
	long (*map_for_each)(void *map, void *callback, void *context, u64 flags);
	void *(*storage_get)(void *map, struct task_struct *p, const void *value, u64 flags);
	long (*storage_delete)(void *map, struct task_struct *p);
	void *(*cgroup_storage_get)(void *map, struct cgroup *cgrp, const void *value, u64 flags);

	long (*timer_init)(struct bpf_timer *timer, void *map, u64 flags);
	long (*timer_set_callback)(struct bpf_timer *timer, void *callback);
	long (*timer_start)(struct bpf_timer *timer, u64 ns, u64 flags);
	long (*timer_cancel)(struct bpf_timer *timer);

	void *(*arena_pages)(u32 pages);
};

/* Set by the loader: the table, and how many words of a mask the machine's CPUs take. */
struct swtch_kernel swtch_kernel;
unsigned int swtch_mask_words = SWTCH_MAX_CPUS / 64;

/* What the loader compares with its own layouts. */
const u64 swtch_description[] = {
	SWTCH_ABI,
	sizeof(struct swtch_kernel),
	sizeof(struct sched_ext_ops),
	offsetof(struct sched_ext_ops, dispatch_max_batch),
	offsetof(struct sched_ext_ops, name),
	sizeof(struct task_struct),
	offsetof(struct task_struct, scx),
	offsetof(struct task_struct, se),
	offsetof(struct task_struct, cpus_ptr),
	offsetof(struct task_struct, pid),
	offsetof(struct task_struct, utime),
	offsetof(struct task_struct, sched_info),
	offsetof(struct task_struct, comm),
	offsetof(struct task_struct, cpus_mask),
	offsetof(struct cgroup, self),
	sizeof(struct cgroup),
	sizeof(struct rq),
	sizeof(struct bpf_cpumask),
	sizeof(struct scx_exit_info),
	sizeof(struct bpf_iter_scx_dsq),
	sizeof(struct bpf_timer),
	sizeof(struct swtch_map),
	sizeof(struct swtch_kptr),
	sizeof(struct swtch_member),
};

#endif
