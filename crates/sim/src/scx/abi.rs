//! The layouts that a compiled scheduler and the simulator share; include/swtch/types.h has the same.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};
use std::mem::{offset_of, size_of};

/// `SWTCH_ABI` in include/swtch/kernel.h.
pub(super) const ABI: u64 = 4;
/// The largest machine, in CPUs.
pub(super) const MAX_CPUS: usize = 8192;

pub(super) const SLICE_DFL_NS: u64 = 20_000_000;
pub(super) const SLICE_INF: u64 = u64::MAX;

pub(super) const DSQ_BUILTIN: u64 = 1 << 63;
pub(super) const DSQ_INVALID: u64 = DSQ_BUILTIN;
pub(super) const DSQ_GLOBAL: u64 = DSQ_BUILTIN | 1;
pub(super) const DSQ_LOCAL: u64 = DSQ_BUILTIN | 2;
pub(super) const DSQ_LOCAL_ON: u64 = DSQ_BUILTIN | 1 << 62;

pub(super) const ENQ_WAKEUP: u64 = 1;
pub(super) const ENQ_HEAD: u64 = 1 << 16;
pub(super) const ENQ_CPU_SELECTED: u64 = 1 << 20;
pub(super) const ENQ_PREEMPT: u64 = 1 << 32;
pub(super) const ENQ_LAST: u64 = 1 << 41;
pub(super) const ENQ_DSQ_PRIQ: u64 = 1 << 57;
pub(super) const DEQ_SLEEP: u64 = 1;

pub(super) const WAKE_FORK: u64 = 4;
pub(super) const WAKE_TTWU: u64 = 8;
pub(super) const WAKE_SYNC: u64 = 16;

pub(super) const KICK_IDLE: u64 = 1;
pub(super) const KICK_PREEMPT: u64 = 2;

pub(super) const PICK_IDLE_CORE: u64 = 1;
pub(super) const PICK_IDLE_IN_NODE: u64 = 2;

pub(super) const TASK_QUEUED: u32 = 1;
pub(super) const TASK_DEQD_FOR_SLEEP: u32 = 8;

pub(super) const OPS_KEEP_BUILTIN_IDLE: u64 = 1;
pub(super) const OPS_ENQ_LAST: u64 = 2;
pub(super) const OPS_ENQ_EXITING: u64 = 4;

pub(super) const ITER_REV: u64 = 1 << 16;
pub(super) const ITER_HAS_SLICE: u64 = 1 << 62;
pub(super) const ITER_HAS_VTIME: u64 = 1 << 63;

pub(super) const PF_IDLE: u32 = 2;
pub(super) const PF_EXITING: u32 = 4;
pub(super) const PF_KTHREAD: u32 = 0x0020_0000;

pub(super) const EXIT_UNREG: c_int = 64;
pub(super) const EXIT_UNREG_BPF: c_int = 65;
pub(super) const EXIT_ERROR_BPF: c_int = 1025;

pub(super) const ENOENT: i32 = 2;
pub(super) const E2BIG: i32 = 7;
pub(super) const EBUSY: i32 = 16;
pub(super) const EEXIST: i32 = 17;
pub(super) const EINVAL: i32 = 22;

#[repr(C)]
#[derive(Clone)]
pub(super) struct CpuMask {
    pub(super) bits: [u64; MAX_CPUS / 64],
}

impl CpuMask {
    pub(super) const EMPTY: Self = Self { bits: [0; MAX_CPUS / 64] };

    pub(super) fn contains(&self, cpu: usize) -> bool {
        cpu < MAX_CPUS && self.bits[cpu / 64] >> (cpu % 64) & 1 != 0
    }

    /// A CPU beyond the largest machine is in no set.
    pub(super) fn insert(&mut self, cpu: usize) {
        if let Some(word) = self.bits.get_mut(cpu / 64) {
            *word |= 1 << (cpu % 64);
        }
    }

    pub(super) fn set(&mut self, cpu: usize, is_in: bool) {
        if is_in {
            self.insert(cpu);
        } else {
            self.remove(cpu);
        }
    }

    pub(super) fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.bits.get_mut(cpu / 64) {
            *word &= !(1 << (cpu % 64));
        }
    }
}

#[repr(C)]
pub(super) struct BpfCpuMask {
    pub(super) mask: CpuMask,
    pub(super) usage: u32,
}

#[repr(C)]
pub(super) struct SchedExtEntity {
    pub(super) dsq: *mut c_void,
    pub(super) slice: u64,
    pub(super) dsq_vtime: u64,
    pub(super) flags: u32,
    pub(super) weight: u32,
    pub(super) sticky_cpu: i32,
    pub(super) holding_cpu: i32,
    pub(super) selected_cpu: i32,
    pub(super) disallow: bool,
}

#[repr(C)]
pub(super) struct SchedEntity {
    pub(super) exec_start: u64,
    pub(super) sum_exec_runtime: u64,
    pub(super) vruntime: u64,
    pub(super) on_rq: u32,
}

#[repr(C)]
#[derive(Default)]
pub(super) struct SchedInfo {
    pub(super) pcount: c_ulong,
    pub(super) run_delay: u64,
    pub(super) last_arrival: u64,
    pub(super) last_queued: u64,
}

#[repr(C)]
pub(super) struct TaskStruct {
    pub(super) cpu: u32,
    pub(super) swtch_task: u32,
    pub(super) scx: SchedExtEntity,
    pub(super) se: SchedEntity,
    pub(super) cpus_ptr: *const CpuMask,
    pub(super) nr_cpus_allowed: c_int,
    pub(super) flags: u32,
    pub(super) state: u32,
    pub(super) on_rq: c_int,
    pub(super) on_cpu: c_int,
    pub(super) prio: c_int,
    pub(super) static_prio: c_int,
    pub(super) normal_prio: c_int,
    pub(super) rt_priority: u32,
    pub(super) policy: u32,
    pub(super) recent_used_cpu: c_int,
    pub(super) wake_cpu: c_int,
    pub(super) migration_disabled: u16,
    pub(super) pid: c_int,
    pub(super) tgid: c_int,
    pub(super) utime: u64,
    pub(super) stime: u64,
    pub(super) gtime: u64,
    pub(super) start_time: u64,
    pub(super) start_boottime: u64,
    pub(super) nvcsw: c_ulong,
    pub(super) nivcsw: c_ulong,
    pub(super) sched_info: SchedInfo,
    pub(super) mm: *mut c_void,
    pub(super) parent: *mut TaskStruct,
    pub(super) real_parent: *mut TaskStruct,
    pub(super) group_leader: *mut TaskStruct,
    pub(super) cgroups: *mut c_void,
    pub(super) sched_task_group: *mut c_void,
    pub(super) mempolicy: *mut c_void,
    pub(super) comm: [u8; 16],
    pub(super) cpus_mask: CpuMask,
}

#[repr(C)]
pub(super) struct Rq {
    pub(super) nr_running: u32,
    pub(super) cpu: c_int,
    pub(super) curr: *mut TaskStruct,
    pub(super) idle: *mut TaskStruct,
    pub(super) clock: u64,
    pub(super) clock_task: u64,
    pub(super) scx_nr_running: u32,
    pub(super) scx_flags: u32,
}

#[repr(C)]
pub(super) struct InitTaskArgs {
    pub(super) fork: bool,
    pub(super) cgroup: *mut c_void,
}

#[repr(C)]
pub(super) struct ExitTaskArgs {
    pub(super) cancelled: bool,
}

#[repr(C)]
pub(super) struct CgroupInitArgs {
    pub(super) weight: u32,
    pub(super) bw_period_us: u64,
    pub(super) bw_quota_us: u64,
    pub(super) bw_burst_us: u64,
}

#[repr(C)]
pub(super) struct ExitInfo {
    pub(super) kind: c_int,
    pub(super) exit_cpu: i32,
    pub(super) exit_code: i64,
    pub(super) reason: *const c_char,
    pub(super) bt: *mut c_ulong,
    pub(super) bt_len: u32,
    pub(super) msg: *mut c_char,
    pub(super) dump: *mut c_char,
}

#[repr(C)]
pub(super) struct DsqIter {
    /// The place in the table of queues.
    pub(super) queue: u64,
    pub(super) flags: u64,
    /// Where the last task stood.
    pub(super) last_vtime: i64,
    pub(super) last_seq: i64,
    /// Tasks that came later are left out.
    pub(super) end_seq: i64,
    pub(super) slice: u64,
    pub(super) vtime: u64,
}

#[repr(C)]
pub(super) struct BpfTimer {
    /// One more than the place in the table of timers; 0 without a timer.
    pub(super) number: u64,
    pub(super) reserved: u64,
}

/// A map, as the end of a generated file describes it.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct MapDescription {
    pub(super) map: *mut c_void,
    pub(super) kind: u32,
    pub(super) key_bytes: u32,
    pub(super) value_bytes: u32,
    pub(super) max_entries: u32,
    pub(super) name: *const c_char,
}

/// A pointer to an object of the kernel in a map's values, likewise.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct KptrDescription {
    pub(super) map: *mut c_void,
    pub(super) offset: u32,
}

/// A member of a variable that user space sets, likewise.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct MemberDescription {
    pub(super) at: *mut u8,
    pub(super) bytes: u64,
    pub(super) name: *const c_char,
}

/// A task as the C side sees it.
pub(super) type TaskPtr = *mut TaskStruct;
/// A set of CPUs as the C side sees it.
pub(super) type MaskPtr = *const CpuMask;
/// A callback that the simulator never calls.
type Unused = Option<unsafe extern "C" fn()>;

#[repr(C)]
pub(super) struct SchedExtOps {
    pub(super) select_cpu: Option<unsafe extern "C" fn(TaskPtr, i32, u64) -> i32>,
    pub(super) enqueue: Option<unsafe extern "C" fn(TaskPtr, u64)>,
    pub(super) dequeue: Option<unsafe extern "C" fn(TaskPtr, u64)>,
    pub(super) dispatch: Option<unsafe extern "C" fn(i32, TaskPtr)>,
    pub(super) tick: Option<unsafe extern "C" fn(TaskPtr)>,
    pub(super) runnable: Option<unsafe extern "C" fn(TaskPtr, u64)>,
    pub(super) running: Option<unsafe extern "C" fn(TaskPtr)>,
    pub(super) stopping: Option<unsafe extern "C" fn(TaskPtr, bool)>,
    pub(super) quiescent: Option<unsafe extern "C" fn(TaskPtr, u64)>,
    pub(super) yield_: Option<unsafe extern "C" fn(TaskPtr, TaskPtr) -> bool>,
    pub(super) core_sched_before: Unused,
    pub(super) set_weight: Option<unsafe extern "C" fn(TaskPtr, u32)>,
    pub(super) set_cpumask: Option<unsafe extern "C" fn(TaskPtr, MaskPtr)>,
    pub(super) update_idle: Option<unsafe extern "C" fn(i32, bool)>,
    pub(super) cpu_acquire: Unused,
    pub(super) cpu_release: Unused,
    pub(super) init_task: Option<unsafe extern "C" fn(TaskPtr, *mut InitTaskArgs) -> i32>,
    pub(super) exit_task: Option<unsafe extern "C" fn(TaskPtr, *mut ExitTaskArgs)>,
    pub(super) enable: Option<unsafe extern "C" fn(TaskPtr)>,
    pub(super) disable: Option<unsafe extern "C" fn(TaskPtr)>,
    pub(super) dump: [Unused; 3],
    pub(super) cgroup_init: Option<unsafe extern "C" fn(*mut c_void, *mut CgroupInitArgs) -> i32>,
    pub(super) cgroup: [Unused; 7],
    pub(super) cpu_online: Unused,
    pub(super) cpu_offline: Unused,
    pub(super) init: Option<unsafe extern "C" fn() -> i32>,
    pub(super) exit: Option<unsafe extern "C" fn(*mut ExitInfo)>,
    pub(super) dispatch_max_batch: u32,
    pub(super) flags: u64,
    pub(super) timeout_ms: u32,
    pub(super) exit_dump_len: u32,
    pub(super) hotplug_seq: u64,
    pub(super) name: [u8; 128],
    pub(super) private: *mut c_void,
}

/// `struct kernfs_node`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct KernfsNode {
    pub(super) id: u64,
    pub(super) name: *const c_char,
}

/// `struct cgroup`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Cgroup {
    pub(super) node: *const KernfsNode,
    pub(super) level: i32,
    pub(super) own: CgroupState,
    pub(super) ancestors: [*const Cgroup; 1],
}

/// `struct cgroup_subsys_state`; `struct task_group` begins with one.
#[repr(C)]
#[derive(Debug)]
pub(super) struct CgroupState {
    pub(super) cgroup: *const Cgroup,
    pub(super) references: u64,
    pub(super) parent: *const CgroupState,
}

/// `struct css_set`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct CssSet {
    pub(super) default: *const Cgroup,
}

/// The numbers in `swtch_description`.
pub(super) const DESCRIBED: usize = 24;

/// What `swtch_description` must be.
pub(super) fn description(table_bytes: usize) -> [u64; DESCRIBED] {
    [
        ABI,
        table_bytes as u64,
        size_of::<SchedExtOps>() as u64,
        offset_of!(SchedExtOps, dispatch_max_batch) as u64,
        offset_of!(SchedExtOps, name) as u64,
        size_of::<TaskStruct>() as u64,
        offset_of!(TaskStruct, scx) as u64,
        offset_of!(TaskStruct, se) as u64,
        offset_of!(TaskStruct, cpus_ptr) as u64,
        offset_of!(TaskStruct, pid) as u64,
        offset_of!(TaskStruct, utime) as u64,
        offset_of!(TaskStruct, sched_info) as u64,
        offset_of!(TaskStruct, comm) as u64,
        offset_of!(TaskStruct, cpus_mask) as u64,
        offset_of!(Cgroup, own) as u64,
        size_of::<Cgroup>() as u64,
        size_of::<Rq>() as u64,
        size_of::<BpfCpuMask>() as u64,
        size_of::<ExitInfo>() as u64,
        size_of::<DsqIter>() as u64,
        size_of::<BpfTimer>() as u64,
        size_of::<MapDescription>() as u64,
        size_of::<KptrDescription>() as u64,
        size_of::<MemberDescription>() as u64,
    ]
}

const _: () = assert!(size_of::<c_long>() == 8, "masks are words of 64 CPUs");
