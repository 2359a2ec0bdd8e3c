//! CPUs, sets of them, and interrupts.

use super::tasks::number;
use crate::scx::abi::{EBUSY, KICK_PREEMPT, MaskPtr, Rq, TaskPtr};
use crate::scx::core::current;

pub(super) extern "C" fn cpu_rq(cpu: i32) -> *mut Rq {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    if !core.is_cpu(cpu as u32) {
        core.fail(format!("invalid CPU {cpu}"));
        return std::ptr::null_mut();
    }
    let now_ns = core.now_ns;
    let rq = &mut core.rqs[cpu as usize];
    (rq.clock, rq.clock_task) = (now_ns, now_ns);
    std::ptr::from_mut(rq)
}

pub(super) unsafe extern "C" fn select_cpu_dfl(
    task: TaskPtr,
    prev: i32,
    wake_flags: u64,
    is_idle: *mut bool,
) -> i32 {
    // SAFETY: called by the scheduler's code, with a task that it got from the core.
    let (core, task) = unsafe { (current(), number(task)) };
    let found = task.map_or(Err(EBUSY), |task| core.select_cpu_dfl(task, prev, wake_flags, None, 0));
    if !is_idle.is_null() {
        // SAFETY: not null, and the scheduler passes room for the answer.
        unsafe { is_idle.write(found.is_ok()) };
    }
    found.map_or(prev, |cpu| cpu as i32)
}

pub(super) unsafe extern "C" fn select_cpu_and(
    task: TaskPtr,
    prev: i32,
    wake_flags: u64,
    allowed: MaskPtr,
    flags: u64,
) -> i32 {
    // SAFETY: called by the scheduler's code, with a task and a set that it got from the core.
    let (core, task, own, allowed) = unsafe { (current(), number(task), (*task).cpus_ptr, &*allowed) };
    // The task's own CPUs do not restrict the choice further.
    let also = (!std::ptr::eq(own, allowed)).then(|| allowed.clone());
    let found =
        task.map_or(Err(EBUSY), |task| core.select_cpu_dfl(task, prev, wake_flags, also.as_ref(), flags));
    found.map_or_else(|error| -error, |cpu| cpu as i32)
}

pub(super) unsafe extern "C" fn pick_idle_cpu(allowed: MaskPtr, node: i32, flags: u64) -> i32 {
    // SAFETY: called by the scheduler's code, with a set that it got from the core; it may be one that the core changes.
    let (core, allowed) = unsafe { (current(), (*allowed).clone()) };
    core.pick_idle_in(&allowed, node, flags).map_or(-EBUSY, |cpu| cpu as i32)
}

pub(super) unsafe extern "C" fn pick_any_cpu(allowed: MaskPtr, node: i32, flags: u64) -> i32 {
    // SAFETY: as in `pick_idle_cpu`.
    let (core, allowed) = unsafe { (current(), (*allowed).clone()) };
    if core.idle.is_kept
        && let Some(cpu) = core.pick_idle_in(&allowed, node, flags)
    {
        return cpu as i32;
    }
    let cpu = core.any_distribute(&allowed, &allowed);
    if core.is_cpu(cpu) { cpu as i32 } else { -EBUSY }
}

pub(super) extern "C" fn test_and_clear_cpu_idle(cpu: i32) -> bool {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    if !core.is_cpu(cpu as u32) {
        core.fail(format!("invalid CPU {cpu}"));
        return false;
    }
    core.idle.claim(cpu as u32)
}

pub(super) extern "C" fn kick_cpu(cpu: i32, flags: u64) {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    if core.is_cpu(cpu as u32) {
        core.kicks.push((cpu as u32, flags));
        core.has_kicked = true;
    } else {
        let how = if flags & KICK_PREEMPT == 0 { "" } else { " by preemption" };
        core.fail(format!("invalid CPU {cpu} to be kicked{how}"));
    }
}

pub(super) unsafe extern "C" fn any_distribute(one: MaskPtr, other: MaskPtr) -> u32 {
    // SAFETY: called by the scheduler's code, with sets that it got from the core; they may be ones that the core changes.
    let (core, one, other) = unsafe { (current(), (*one).clone(), (*other).clone()) };
    core.any_distribute(&one, &other)
}
