/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The few kernel types the programs read, with only the fields they read. The loader finds each field's place in the running kernel's
 * own BTF (CO-RE), so neither order nor size matters here.
 */
#ifndef SWTCH_KERNEL_H
#define SWTCH_KERNEL_H

typedef unsigned char __u8;
typedef short int __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long int __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __s32 s32;
typedef __u64 u64;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_F_NO_PREALLOC = 1U << 0, BPF_F_MMAPABLE = 1U << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };
enum { BPF_RB_NO_WAKEUP = 1 };

/* include/linux/sched.h, v6.18 */
#define PF_KTHREAD 0x00200000
#define TASK_DEAD 0x00000080
/* include/linux/sched/prio.h: below are the real-time classes, which have no quota of a cgroup. */
#define MAX_RT_PRIO 100
/* The static priority of nice 0. */
#define DEFAULT_PRIO 120

/* include/uapi/linux/bpf.h, of those that some kernels lack. */
enum bpf_func_id { BPF_FUNC_task_pt_regs = 175 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct mm_struct;
struct task_struct;

/* kernel/sched/sched.h, v6.18 */
struct rq {
	u64 nr_switches;
	struct task_struct *idle;
	u64 clock;
	int cpu;
};

/* The run queue of a cgroup on a CPU (likewise; v6.6 and later have the time). */
struct cfs_rq {
	struct rq *rq;
	int throttle_count;
	u64 throttled_clock_self_time;
};

/* Below 0 there is no quota, here and above (kernel/sched/sched.h, v6.18). */
struct cfs_bandwidth {
	long long hierarchical_quota;
};

struct task_group {
	struct cfs_rq **cfs_rq;
	struct cfs_bandwidth cfs_bandwidth;
};

struct sched_entity {
	u64 sum_exec_runtime;
	u64 nr_migrations;
	struct cfs_rq *cfs_rq;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

struct kernfs_node {
	u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct css_set {
	struct cgroup_subsys_state *subsys[1]; /* as many as there are controllers */
	struct cgroup *dfl_cgrp;
};

struct cpumask {
	unsigned long bits[1]; /* as many as there may be CPUs */
};

struct task_struct {
	unsigned int __state;
	unsigned int flags;
	int pid;
	int tgid;
	/* int, and u8 from 7.3 on: loads of another size can only be relocated where both are unsigned. */
	unsigned int on_cpu;
	struct task_group *sched_task_group;
	int prio;
	int static_prio;
	unsigned int policy;
	unsigned int rt_priority;
	int nr_cpus_allowed;
	int wake_cpu;
	const struct cpumask *cpus_ptr;
	u64 start_time;
	unsigned long nvcsw;
	unsigned long nivcsw;
	char comm[16];
	struct mm_struct *mm;
	struct mm_struct *active_mm;
	struct sched_entity se;
	struct sched_info sched_info;
	struct task_struct *real_parent;
	struct css_set *cgroups;
};

/* include/linux/cgroup_subsys.h: the numbers depend on how the kernel was built. */
enum cgroup_subsys_id {
	cpu_cgrp_id = 1,
};

struct bpf_map;
struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	u64 session_id;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct linux_binprm;
struct irqaction;

/* Where a program was when it entered the kernel (arch/ARCH/include/asm/ptrace.h). */
#if defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	u64 regs[31];
	u64 sp;
	u64 pc;
};
struct pt_regs {
	struct user_pt_regs user_regs;
	s32 syscallno;
};
#elif defined(__TARGET_ARCH_riscv)
struct pt_regs {
	unsigned long epc;
	unsigned long sp;
	unsigned long s0;
	unsigned long a7;
	unsigned long cause;
};
#else
struct pt_regs {
	unsigned long bp;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};
#endif

#pragma clang attribute pop

#endif
