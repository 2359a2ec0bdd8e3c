/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the simulated kernel shows of itself: the types that schedulers read, with the field names of Linux 7.3. They have only the
 * fields that the simulator keeps up to date. The file abi.rs has the same layouts, and swtch_description below is checked when an
 * object is loaded.
 */
#ifndef SWTCH_TYPES_H
#define SWTCH_TYPES_H

/* Schedulers ask by this whether the kernel's types are there. */
#define __VMLINUX_H__

#include <stdbool.h>
#include <stddef.h>

typedef signed char s8;
typedef unsigned char u8;
typedef short s16;
typedef unsigned short u16;
typedef int s32;
typedef unsigned int u32;
typedef long long s64;
typedef unsigned long long u64;
typedef s8 __s8;
typedef u8 __u8;
typedef s16 __s16;
typedef u16 __u16;
typedef s32 __s32;
typedef u32 __u32;
typedef s64 __s64;
typedef u64 __u64;
typedef int pid_t;
typedef long ssize_t;
typedef long long loff_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned long uintptr_t;
typedef struct {
	int counter;
} atomic_t;
typedef struct {
	void *lock;
} class_rcu_t;

/* The simulator takes machines of up to this many CPUs. */
#define SWTCH_MAX_CPUS 8192

struct cpumask {
	unsigned long bits[SWTCH_MAX_CPUS / 64];
};
typedef struct cpumask cpumask_t;

struct bpf_cpumask {
	struct cpumask cpumask;
	u32 usage;
};

struct scx_dispatch_q {
	u32 nr;
	u64 id;
};

struct kernfs_node {
	u64 id;
	const char *name;
};

struct cgroup;
struct percpu_ref {
	unsigned long percpu_count_ptr;
};
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct percpu_ref refcnt;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct kernfs_node *kn;
	int level;
	struct cgroup_subsys_state self;
	struct cgroup *ancestors[1];
};

/* What the controller of CPU time has of a group. */
struct task_group {
	struct cgroup_subsys_state css;
};

/* The groups of a task. */
struct css_set {
	struct cgroup *dfl_cgrp;
};

struct cpufreq_policy {
	unsigned int max;
	struct {
		unsigned int max_freq;
	} cpuinfo;
};

/* What begins the arguments of tracepoints. */
struct trace_entry {
	unsigned short type;
	unsigned char flags;
	unsigned char preempt_count;
	int pid;
};
struct __kernel_timespec {
	long long tv_sec;
	long long tv_nsec;
};

struct mm_struct {
	u32 number;
};

struct sched_ext_entity {
	struct scx_dispatch_q *dsq;
	u64 slice;
	u64 dsq_vtime;
	u32 flags;
	u32 weight;
	s32 sticky_cpu;
	s32 holding_cpu;
	s32 selected_cpu;
	bool disallow;
};

struct sched_entity {
	u64 exec_start;
	u64 sum_exec_runtime;
	u64 vruntime;
	u32 on_rq;
};

/* How often a task ran, and how long it waited for that (kernel/sched/stats.h). */
struct sched_info {
	unsigned long pcount;
	u64 run_delay;
	u64 last_arrival;
	/* When it began to wait; 0 while it runs or sleeps. */
	u64 last_queued;
};

struct thread_info {
	u32 cpu;
};

enum { MPOL_DEFAULT, MPOL_PREFERRED, MPOL_BIND, MPOL_INTERLEAVE, MPOL_LOCAL, MPOL_PREFERRED_MANY };
struct mempolicy {
	unsigned short mode;
	int home_node;
	struct {
		unsigned long bits[1];
	} nodes;
};

struct task_struct {
	struct thread_info thread_info;
	/* Its place in the simulator's table. */
	u32 swtch_task;
	struct sched_ext_entity scx;
	struct sched_entity se;
	const struct cpumask *cpus_ptr;
	int nr_cpus_allowed;
	unsigned int flags;
	unsigned int __state;
	int on_rq;
	int on_cpu;
	int prio;
	int static_prio;
	int normal_prio;
	unsigned int rt_priority;
	unsigned int policy;
	int recent_used_cpu;
	int wake_cpu;
	unsigned short migration_disabled;
	pid_t pid;
	pid_t tgid;
	u64 utime;
	u64 stime;
	u64 gtime;
	u64 start_time;
	u64 start_boottime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct task_struct *parent;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct css_set *cgroups;
	struct task_group *sched_task_group;
	/* None: memory has no place in the simulator. */
	struct mempolicy *mempolicy;
	char comm[16];
	struct cpumask cpus_mask;
};

/* A CPU's timer for ticks. Schedulers read it through bpf_per_cpu_ptr(), which has no such variable here. */
struct clock_event_device {
	s64 next_event;
};
struct tick_device {
	struct clock_event_device *evtdev;
};

/* Counters of sched_ext's own core, which the simulator does not keep. */
struct scx_event_stats {
	s64 SCX_EV_SELECT_CPU_FALLBACK;
	s64 SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE;
	s64 SCX_EV_DISPATCH_KEEP_LAST;
	s64 SCX_EV_ENQ_SKIP_EXITING;
	s64 SCX_EV_ENQ_SKIP_MIGRATION_DISABLED;
	s64 SCX_EV_REFILL_SLICE_DFL;
	s64 SCX_EV_BYPASS_DURATION;
	s64 SCX_EV_BYPASS_DISPATCH;
	s64 SCX_EV_BYPASS_ACTIVATE;
	s64 SCX_EV_INSERT_NOT_OWNED;
};

struct scx_rq {
	u32 nr_running;
	u32 flags;
};

struct rq {
	unsigned int nr_running;
	int cpu;
	struct task_struct *curr;
	struct task_struct *idle;
	u64 clock;
	u64 clock_task;
	struct scx_rq scx;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_cpu_acquire_args {
};

struct scx_cpu_release_args {
	int reason;
	struct task_struct *task;
};

struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct scx_dump_ctx {
	int kind;
};

struct scx_exit_info {
	int kind;
	s32 exit_cpu;
	s64 exit_code;
	const char *reason;
	unsigned long *bt;
	u32 bt_len;
	char *msg;
	char *dump;
};

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *, s32, u64);
	void (*enqueue)(struct task_struct *, u64);
	void (*dequeue)(struct task_struct *, u64);
	void (*dispatch)(s32, struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*runnable)(struct task_struct *, u64);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*quiescent)(struct task_struct *, u64);
	bool (*yield)(struct task_struct *, struct task_struct *);
	bool (*core_sched_before)(struct task_struct *, struct task_struct *);
	void (*set_weight)(struct task_struct *, u32);
	void (*set_cpumask)(struct task_struct *, const struct cpumask *);
	void (*update_idle)(s32, bool);
	void (*cpu_acquire)(s32, struct scx_cpu_acquire_args *);
	void (*cpu_release)(s32, struct scx_cpu_release_args *);
	s32 (*init_task)(struct task_struct *, struct scx_init_task_args *);
	void (*exit_task)(struct task_struct *, struct scx_exit_task_args *);
	void (*enable)(struct task_struct *);
	void (*disable)(struct task_struct *);
	void (*dump)(struct scx_dump_ctx *);
	void (*dump_cpu)(struct scx_dump_ctx *, s32, bool);
	void (*dump_task)(struct scx_dump_ctx *, struct task_struct *);
	s32 (*cgroup_init)(struct cgroup *, struct scx_cgroup_init_args *);
	void (*cgroup_exit)(struct cgroup *);
	s32 (*cgroup_prep_move)(struct task_struct *, struct cgroup *, struct cgroup *);
	void (*cgroup_move)(struct task_struct *, struct cgroup *, struct cgroup *);
	void (*cgroup_cancel_move)(struct task_struct *, struct cgroup *, struct cgroup *);
	void (*cgroup_set_weight)(struct cgroup *, u32);
	void (*cgroup_set_bandwidth)(struct cgroup *, u64, u64, u64);
	void (*cgroup_set_idle)(struct cgroup *, bool);
	void (*cpu_online)(s32);
	void (*cpu_offline)(s32);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	u32 exit_dump_len;
	u64 hotplug_seq;
	char name[128];
	void *priv;
};

/* An iterator over a dispatch queue; what is in it is the simulator's. */
struct bpf_iter_scx_dsq {
	u64 queue;
	u64 flags;
	s64 last_vtime;
	s64 last_seq;
	s64 end_seq;
	u64 slice;
	u64 vtime;
};

struct bpf_timer {
	u64 number;
	u64 reserved;
};

struct bpf_spin_lock {
	u32 held;
};

struct bpf_res_spin_lock {
	u32 held;
};

struct bpf_iter_num {
	s32 next;
	s32 end;
	s32 value;
};

/* What the end of a generated file says of a map. */
struct swtch_map {
	void *map;
	u32 type;
	u32 key_bytes;
	u32 value_bytes;
	u32 max_entries;
	const char *name;
};

/* What it says of a pointer to an object of the kernel in a map's values. */
struct swtch_kptr {
	void *map;
	u32 offset;
};

/* What it says of a member of a variable that user space sets. */
struct swtch_member {
	void *at;
	u64 bytes;
	const char *name;
};

enum {
	SCX_OPS_NAME_LEN = 128,
	SCX_SLICE_DFL = 20 * 1000 * 1000,
	SCX_CPUPERF_ONE = 1024,
	SCX_EXIT_MSG_LEN = 1024,
	SCX_DSP_DFL_MAX_BATCH = 32,
};
#define SCX_SLICE_INF 0xffffffffffffffffULL

/* Enumerations as in the kernel, since sources ask for `bpf_core_enum_value(enum scx_enq_flags, ...)`. Values of Linux 7.3. */
enum scx_dsq_id_flags {
	SCX_DSQ_FLAG_BUILTIN = 1ULL << 63,
	SCX_DSQ_FLAG_LOCAL_ON = 1ULL << 62,
	SCX_DSQ_INVALID = SCX_DSQ_FLAG_BUILTIN,
	SCX_DSQ_GLOBAL = SCX_DSQ_FLAG_BUILTIN | 1,
	SCX_DSQ_LOCAL = SCX_DSQ_FLAG_BUILTIN | 2,
	SCX_DSQ_LOCAL_ON = SCX_DSQ_FLAG_BUILTIN | SCX_DSQ_FLAG_LOCAL_ON,
	SCX_DSQ_LOCAL_CPU_MASK = 0xffffffffULL,
};
enum scx_dsq_iter_flags { SCX_DSQ_ITER_REV = 1 << 16 };
enum scx_enq_flags {
	SCX_ENQ_WAKEUP = 1ULL,
	SCX_ENQ_HEAD = 1ULL << 16,
	SCX_ENQ_CPU_SELECTED = 1ULL << 20,
	SCX_ENQ_PREEMPT = 1ULL << 32,
	SCX_ENQ_REENQ = 1ULL << 40,
	SCX_ENQ_LAST = 1ULL << 41,
	/* As on kernels that do not have it: a task stays in the local queue in which it was put. */
	SCX_ENQ_IMMED = 0ULL,
};
enum scx_deq_flags { SCX_DEQ_SLEEP = 1ULL, SCX_DEQ_CORE_SCHED_EXEC = 1ULL << 32 };
#define HAVE_SCX_ENQ_CPU_SELECTED 1

enum scx_wake_flags { SCX_WAKE_FORK = 4, SCX_WAKE_TTWU = 8, SCX_WAKE_SYNC = 16 };
enum scx_kick_flags { SCX_KICK_IDLE = 1, SCX_KICK_PREEMPT = 2, SCX_KICK_WAIT = 4 };
enum scx_pick_idle_cpu_flags { SCX_PICK_IDLE_CORE = 1, SCX_PICK_IDLE_IN_NODE = 2 };
/* SCX_TASK_IMMED likewise. */
enum scx_ent_flags { SCX_TASK_QUEUED = 1, SCX_TASK_DEQD_FOR_SLEEP = 8, SCX_TASK_IMMED = 0 };
enum scx_ops_flags {
	SCX_OPS_KEEP_BUILTIN_IDLE = 1,
	SCX_OPS_ENQ_LAST = 2,
	SCX_OPS_ENQ_EXITING = 4,
	SCX_OPS_SWITCH_PARTIAL = 8,
	SCX_OPS_ENQ_MIGRATION_DISABLED = 16,
	SCX_OPS_ALLOW_QUEUED_WAKEUP = 32,
	SCX_OPS_BUILTIN_IDLE_PER_NODE = 64,
};
enum scx_exit_kind {
	SCX_EXIT_NONE = 0,
	SCX_EXIT_DONE = 1,
	SCX_EXIT_UNREG = 64,
	SCX_EXIT_UNREG_BPF = 65,
	SCX_EXIT_UNREG_KERN = 66,
	SCX_EXIT_SYSRQ = 67,
	SCX_EXIT_ERROR = 1024,
	SCX_EXIT_ERROR_BPF = 1025,
	SCX_EXIT_ERROR_STALL = 1026,
};

#define SCX_ECODE_RSN_HOTPLUG (1LL << 32)
#define SCX_ECODE_ACT_RESTART (1LL << 48)

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_LRU_PERCPU_HASH = 10,
	BPF_MAP_TYPE_QUEUE = 22,
	BPF_MAP_TYPE_STACK = 23,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_MAP_TYPE_USER_RINGBUF = 31,
	BPF_MAP_TYPE_CGRP_STORAGE = 32,
	BPF_MAP_TYPE_ARENA = 33,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_NO_PREALLOC = 1, BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_DEAD 0x80
#define PF_IDLE 0x00000002
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_WQ_WORKER 0x00000020
#define PF_KCOMPACTD 0x00010000
#define PF_KSWAPD 0x00020000
#define PF_KTHREAD 0x00200000
#define SCHED_NORMAL 0
#define SCHED_FIFO 1
#define SCHED_RR 2
#define SCHED_BATCH 3
#define SCHED_IDLE 5
#define SCHED_EXT 7
#define MAX_RT_PRIO 100
#define DEFAULT_PRIO 120
#define NR_CPUS SWTCH_MAX_CPUS
#define NUMA_NO_NODE (-1)
#define __PAGE_SIZE 4096
enum { TASK_COMM_LEN = 16, BPF_F_MMAPABLE = 1 << 10 };
#define CLOCK_REALTIME 0
#define CLOCK_MONOTONIC 1
/* Sources that use it bring CLOCK_BOOTTIME themselves: the types of a kernel do not have it. */

/* Errors, with the numbers that Linux gives them on most architectures. */
#define EPERM 1
#define ENOENT 2
#define ESRCH 3
#define E2BIG 7
#define EAGAIN 11
#define ENOMEM 12
#define EFAULT 14
#define EBUSY 16
#define EEXIST 17
#define ENODEV 19
#define EINVAL 22
#define ENOSPC 28
#define EOPNOTSUPP 95
#define ETIMEDOUT 110
#define EALREADY 114
#define ECANCELED 125

#endif
