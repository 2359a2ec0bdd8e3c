//! The table of functions (`struct swtch_kernel`, include/swtch/kernel.h), in the same order.

use super::{cpus, maps, plain, queues, tasks};
use crate::scx::abi::{BpfCpuMask, BpfTimer, DsqIter, MaskPtr, Rq, TaskPtr, TaskStruct};
use std::ffi::{c_char, c_long, c_void};

/// The table's type, and the table: a name in C, the function here with its type, and the instructions that the kernel's own takes. Where
/// that depends on what it finds, the rest is counted where it is found.
macro_rules! kfuncs {
    ($($name:ident = $module:ident::$function:ident($($argument:ident: $ty:ty),*) $(-> $result:ty)?, $count:expr;)+) => {
        /// The functions that a compiled scheduler calls.
        #[repr(C)]
        #[derive(Clone, Copy)]
        pub(in crate::scx) struct KfuncTable {
            $($name: unsafe extern "C" fn($($argument: $ty),*) $(-> $result)?,)+
        }

        impl KfuncTable {
            /// The table of this simulator.
            pub(in crate::scx) const FUNCTIONS: Self = Self { $($name: counted::$name,)+ };
        }

        /// The functions, each of which is counted.
        mod counted {
            use super::*;

            $(pub(super) unsafe extern "C" fn $name($($argument: $ty),*) $(-> $result)? {
                if $count > 0 {
                    // SAFETY: called by the scheduler's code.
                    unsafe { crate::scx::core::current() }.instructions += $count;
                }
                // SAFETY: as the scheduler's code called this one.
                #[allow(unused_unsafe, reason = "some of them are safe")]
                unsafe { $module::$function($($argument),*) }
            })+
        }
    };
}

kfuncs! {
    now = plain::now() -> u64, 14;
    this_cpu = plain::this_cpu() -> u32, 0;
    random = plain::random() -> u32, 53;
    nr_cpu_ids = plain::nr_cpu_ids() -> u32, 0;
    nr_node_ids = plain::nr_node_ids() -> u32, 0;
    cpu_node = plain::cpu_node(cpu: i32) -> i32, 0;
    cpu_llc = plain::cpu_llc(cpu: i32) -> i32, 0;
    cpu_capacity = plain::cpu_capacity(cpu: i32) -> u32, 78;
    current = plain::current_task() -> TaskPtr, 0;
    cpu_curr = tasks::cpu_curr(cpu: i32) -> TaskPtr, 77;
    cpu_rq = cpus::cpu_rq(cpu: i32) -> *mut Rq, 40;
    task_from_pid = tasks::task_from_pid(pid: i32) -> TaskPtr, 170;
    task_running = tasks::task_running(p: *const TaskStruct) -> bool, 21;
    task_cpu = tasks::task_cpu(p: *const TaskStruct) -> i32, 9;
    task_cgroup = plain::task_cgroup(p: *const TaskStruct) -> *mut c_void, 73;
    task_set_slice = tasks::task_set_slice(p: TaskPtr, slice: u64) -> bool, 80;
    create_dsq = plain::create_dsq(dsq_id: u64, node: i32) -> i32, 0;
    destroy_dsq = plain::destroy_dsq(dsq_id: u64), 0;
    dsq_nr_queued = plain::dsq_nr_queued(dsq_id: u64) -> i32, 148;
    dsq_peek = queues::dsq_peek(dsq_id: u64) -> TaskPtr, 141;
    dsq_insert = queues::dsq_insert(p: TaskPtr, dsq_id: u64, slice: u64, enq_flags: u64) -> bool, 197;
    dsq_insert_vtime = queues::dsq_insert_vtime(p: TaskPtr, dsq_id: u64, slice: u64, vtime: u64, enq_flags: u64) -> bool, 197;
    dsq_move_to_local = plain::dsq_move_to_local(dsq_id: u64, enq_flags: u64) -> bool, 239;
    dispatch_nr_slots = plain::dispatch_nr_slots() -> u32, 0;
    dispatch_cancel = queues::dispatch_cancel(), 0;
    dsq_iter_new = queues::dsq_iter_new(it: *mut DsqIter, dsq_id: u64, flags: u64) -> i32, 250;
    dsq_iter_next = queues::dsq_iter_next(it: *mut DsqIter) -> TaskPtr, 150;
    dsq_iter_move = queues::dsq_iter_move(it: *mut DsqIter, p: TaskPtr, dsq_id: u64, enq_flags: u64, by_vtime: bool) -> bool, 140;
    select_cpu_dfl = cpus::select_cpu_dfl(p: TaskPtr, prev_cpu: i32, wake_flags: u64, is_idle: *mut bool) -> i32, 208;
    select_cpu_and = cpus::select_cpu_and(p: TaskPtr, prev_cpu: i32, wake_flags: u64, allowed: MaskPtr, flags: u64) -> i32, 208;
    pick_idle_cpu = cpus::pick_idle_cpu(allowed: MaskPtr, node: i32, flags: u64) -> i32, 161;
    pick_any_cpu = cpus::pick_any_cpu(allowed: MaskPtr, node: i32, flags: u64) -> i32, 213;
    test_and_clear_cpu_idle = cpus::test_and_clear_cpu_idle(cpu: i32) -> bool, 102;
    online_mask = plain::online_mask() -> MaskPtr, 0;
    idle_mask = plain::idle_mask(node: i32, whole_cores: bool) -> MaskPtr, 63;
    kick_cpu = cpus::kick_cpu(cpu: i32, flags: u64), 145;
    mask_new = plain::mask_new() -> *mut BpfCpuMask, 336;
    mask_free = plain::mask_free(mask: *mut BpfCpuMask), 0;
    any_distribute = cpus::any_distribute(one: MaskPtr, other: MaskPtr) -> u32, 67;
    error = tasks::error(message: *const c_char), 0;
    exit = tasks::exit(code: i64, message: *const c_char), 0;
    map_lookup = maps::lookup(map: *mut c_void, key: *const u8) -> *mut u8, 0;
    map_lookup_percpu = maps::lookup_percpu(map: *mut c_void, key: *const u8, cpu: u32) -> *mut u8, 31;
    map_update = maps::update(map: *mut c_void, key: *const u8, value: *const u8, flags: u64) -> c_long, 401;
    map_delete = maps::delete(map: *mut c_void, key: *const u8) -> c_long, 401;
    map_push = maps::push(map: *mut c_void, value: *const u8, flags: u64) -> c_long, 401;
    map_pop = maps::pop(map: *mut c_void, value: *mut u8, keep: bool) -> c_long, 401;
    map_for_each = maps::for_each(map: *mut c_void, callback: *mut c_void, context: *mut c_void, flags: u64) -> c_long, 0;
    storage_get = maps::storage_get(map: *mut c_void, p: TaskPtr, value: *const u8, flags: u64) -> *mut u8, 49;
    storage_delete = maps::storage_delete(map: *mut c_void, p: TaskPtr) -> c_long, 0;
    cgroup_storage_get = maps::cgroup_storage_get(map: *mut c_void, cgrp: *const c_void, value: *const u8, flags: u64) -> *mut u8, 49;
    timer_init = maps::timer_init(timer: *mut BpfTimer, map: *mut c_void, flags: u64) -> c_long, 0;
    timer_set_callback = maps::timer_set_callback(timer: *mut BpfTimer, callback: *mut c_void) -> c_long, 0;
    timer_start = maps::timer_start(timer: *mut BpfTimer, ns: u64, flags: u64) -> c_long, 661;
    timer_cancel = maps::timer_cancel(timer: *mut BpfTimer) -> c_long, 661;
    arena_pages = plain::arena_pages(pages: u32) -> *mut u8, 0;
}
