//! Functions that only look at the core, or hand on to it.

use crate::scx::abi::{BpfCpuMask, MaskPtr, TaskPtr, TaskStruct};
use crate::scx::core::current;
use std::ffi::c_void;

/// Functions that the scheduler's code calls, each with what it does to the core.
macro_rules! of_the_core {
    ($($name:ident($($argument:ident: $Type:ty),*) $(-> $Result:ty)? = |$core:ident| $body:expr;)+) => {
        $(pub(super) extern "C" fn $name($($argument: $Type),*) $(-> $Result)? {
            // SAFETY: called by the scheduler's code.
            let $core = unsafe { current() };
            $body
        })+
    };
}

of_the_core! {
    now() -> u64 = |core| core.now_ns;
    this_cpu() -> u32 = |core| core.this_cpu;
    random() -> u32 = |core| core.rng.next_u64() as u32;
    nr_cpu_ids() -> u32 = |core| core.cpus.len() as u32;
    nr_node_ids() -> u32 = |core| core.nodes;
    cpu_node(cpu: i32) -> i32 = |core| core.cpus.get(cpu as usize).map_or(-1, |cpu| cpu.node as i32);
    cpu_llc(cpu: i32) -> i32 = |core| core.cpus.get(cpu as usize).map_or(-1, |cpu| cpu.l3 as i32);
    cpu_capacity(cpu: i32) -> u32 = |core| core.cpus.get(cpu as usize).map_or(1024, |cpu| cpu.capacity);
    current_task() -> TaskPtr = |core| core.rqs[core.this_cpu as usize].curr;
    task_cgroup(_task: *const TaskStruct) -> *mut c_void = |core| core.root_cgroup();
    online_mask() -> MaskPtr = |core| std::ptr::from_ref(core.online.as_ref());
    idle_mask(node: i32, cores: bool) -> MaskPtr = |core| core.idle.mask(node, cores);
    mask_new() -> *mut BpfCpuMask = |core| core.new_mask();
    mask_free(mask: *mut BpfCpuMask) = |core| core.masks.free.push(mask);
    create_dsq(id: u64, _node: i32) -> i32 = |core| core.create_dsq(id);
    destroy_dsq(id: u64) = |core| core.destroy_dsq(id);
    dsq_nr_queued(id: u64) -> i32 = |core| core.dsq_nr_queued(id);
    dsq_move_to_local(id: u64, flags: u64) -> bool = |core| core.move_to_local(id, flags);
    arena_pages(pages: u32) -> *mut u8 = |core| core.arena.pages(pages as usize);
    dispatch_nr_slots() -> u32 = |core| core.most_dispatched().saturating_sub(core.dispatched.len()) as u32;
}
