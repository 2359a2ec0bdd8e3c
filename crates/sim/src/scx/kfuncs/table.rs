//! The table of functions (`struct swtch_kernel`, include/swtch/kernel.h), in the same order.

use super::{cpus, maps, plain, queues, tasks};
use crate::scx::abi::{BpfCpuMask, BpfTimer, DsqIter, MaskPtr, Rq, TaskPtr, TaskStruct};
use std::ffi::{c_char, c_long, c_void};

/// The table's type, and the table: a name in C, the function here, and its type.
macro_rules! kfuncs {
    ($($name:ident = $function:path: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// The functions that a compiled scheduler calls.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(in crate::scx) struct KfuncTable {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl KfuncTable {
            /// The table of this simulator.
            pub(in crate::scx) const FUNCTIONS: Self = Self { $($name: $function,)+ };
        }
    };
}

kfuncs! {
    now = plain::now: fn() -> u64;
    this_cpu = plain::this_cpu: fn() -> u32;
    random = plain::random: fn() -> u32;
    nr_cpu_ids = plain::nr_cpu_ids: fn() -> u32;
    nr_node_ids = plain::nr_node_ids: fn() -> u32;
    cpu_node = plain::cpu_node: fn(i32) -> i32;
    cpu_llc = plain::cpu_llc: fn(i32) -> i32;
    cpu_capacity = plain::cpu_capacity: fn(i32) -> u32;
    current = plain::current_task: fn() -> TaskPtr;
    cpu_curr = tasks::cpu_curr: fn(i32) -> TaskPtr;
    cpu_rq = cpus::cpu_rq: fn(i32) -> *mut Rq;
    task_from_pid = tasks::task_from_pid: fn(i32) -> TaskPtr;
    task_running = tasks::task_running: fn(*const TaskStruct) -> bool;
    task_cpu = tasks::task_cpu: fn(*const TaskStruct) -> i32;
    task_cgroup = plain::task_cgroup: fn(*const TaskStruct) -> *mut c_void;
    task_set_slice = tasks::task_set_slice: fn(TaskPtr, u64) -> bool;
    create_dsq = plain::create_dsq: fn(u64, i32) -> i32;
    destroy_dsq = plain::destroy_dsq: fn(u64);
    dsq_nr_queued = plain::dsq_nr_queued: fn(u64) -> i32;
    dsq_peek = queues::dsq_peek: fn(u64) -> TaskPtr;
    dsq_insert = queues::dsq_insert: fn(TaskPtr, u64, u64, u64) -> bool;
    dsq_insert_vtime = queues::dsq_insert_vtime: fn(TaskPtr, u64, u64, u64, u64) -> bool;
    dsq_move_to_local = plain::dsq_move_to_local: fn(u64, u64) -> bool;
    dispatch_nr_slots = plain::dispatch_nr_slots: fn() -> u32;
    dispatch_cancel = queues::dispatch_cancel: fn();
    dsq_iter_new = queues::dsq_iter_new: fn(*mut DsqIter, u64, u64) -> i32;
    dsq_iter_next = queues::dsq_iter_next: fn(*mut DsqIter) -> TaskPtr;
    dsq_iter_move = queues::dsq_iter_move: fn(*mut DsqIter, TaskPtr, u64, u64, bool) -> bool;
    select_cpu_dfl = cpus::select_cpu_dfl: fn(TaskPtr, i32, u64, *mut bool) -> i32;
    select_cpu_and = cpus::select_cpu_and: fn(TaskPtr, i32, u64, MaskPtr, u64) -> i32;
    pick_idle_cpu = cpus::pick_idle_cpu: fn(MaskPtr, i32, u64) -> i32;
    pick_any_cpu = cpus::pick_any_cpu: fn(MaskPtr, i32, u64) -> i32;
    test_and_clear_cpu_idle = cpus::test_and_clear_cpu_idle: fn(i32) -> bool;
    online_mask = plain::online_mask: fn() -> MaskPtr;
    idle_mask = plain::idle_mask: fn(i32, bool) -> MaskPtr;
    kick_cpu = cpus::kick_cpu: fn(i32, u64);
    mask_new = plain::mask_new: fn() -> *mut BpfCpuMask;
    mask_free = plain::mask_free: fn(*mut BpfCpuMask);
    any_distribute = cpus::any_distribute: fn(MaskPtr, MaskPtr) -> u32;
    error = tasks::error: fn(*const c_char);
    exit = tasks::exit: fn(i64, *const c_char);
    map_lookup = maps::lookup: fn(*mut c_void, *const u8) -> *mut u8;
    map_lookup_percpu = maps::lookup_percpu: fn(*mut c_void, *const u8, u32) -> *mut u8;
    map_update = maps::update: fn(*mut c_void, *const u8, *const u8, u64) -> c_long;
    map_delete = maps::delete: fn(*mut c_void, *const u8) -> c_long;
    map_push = maps::push: fn(*mut c_void, *const u8, u64) -> c_long;
    map_pop = maps::pop: fn(*mut c_void, *mut u8, bool) -> c_long;
    map_for_each = maps::for_each: fn(*mut c_void, *mut c_void, *mut c_void, u64) -> c_long;
    storage_get = maps::storage_get: fn(*mut c_void, TaskPtr, *const u8, u64) -> *mut u8;
    storage_delete = maps::storage_delete: fn(*mut c_void, TaskPtr) -> c_long;
    cgroup_storage_get = maps::cgroup_storage_get: fn(*mut c_void, *const c_void, *const u8, u64) -> *mut u8;
    timer_init = maps::timer_init: fn(*mut BpfTimer, *mut c_void, u64) -> c_long;
    timer_set_callback = maps::timer_set_callback: fn(*mut BpfTimer, *mut c_void) -> c_long;
    timer_start = maps::timer_start: fn(*mut BpfTimer, u64, u64) -> c_long;
    timer_cancel = maps::timer_cancel: fn(*mut BpfTimer) -> c_long;
    arena_pages = plain::arena_pages: fn(u32) -> *mut u8;
}
