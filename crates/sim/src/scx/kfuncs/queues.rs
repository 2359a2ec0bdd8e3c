//! Dispatch queues.

use super::tasks::number;
use crate::scx::abi::{
    DSQ_BUILTIN, DSQ_LOCAL, DSQ_LOCAL_ON, DsqIter, ENOENT, ENQ_DSQ_PRIQ, ITER_HAS_SLICE, ITER_HAS_VTIME,
    ITER_REV, TaskPtr,
};
use crate::scx::core::{Context, current};
use crate::scx::dsq::DsqPosition;

pub(super) extern "C" fn dsq_peek(id: u64) -> TaskPtr {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    let Some(dsq) = core.user_dsq(id) else {
        core.fail(format!("peek on non-existent DSQ {id:#x}"));
        return std::ptr::null_mut();
    };
    let first = core.dsqs[dsq as usize].first();
    first.map_or(std::ptr::null_mut(), |(_, task)| core.tasks[task as usize].shown)
}

pub(super) unsafe extern "C" fn dsq_insert(task: TaskPtr, id: u64, slice: u64, flags: u64) -> bool {
    // SAFETY: called by the scheduler's code, with a task that it got from the core.
    let (core, task) = unsafe { (current(), number(task)) };
    task.is_some_and(|task| core.insert(task, id, slice, flags & !ENQ_DSQ_PRIQ, 0))
}

pub(super) unsafe extern "C" fn dsq_insert_vtime(
    task: TaskPtr,
    id: u64,
    slice: u64,
    vtime: u64,
    flags: u64,
) -> bool {
    // SAFETY: called by the scheduler's code, with a task that it got from the core.
    let (core, task) = unsafe { (current(), number(task)) };
    task.is_some_and(|task| core.insert(task, id, slice, flags | ENQ_DSQ_PRIQ, vtime))
}

pub(super) extern "C" fn dispatch_cancel() {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    if core.dispatched.pop().is_none() {
        core.fail("dispatch buffer underflow".to_owned());
    }
}

pub(super) unsafe extern "C" fn dsq_iter_new(iter: *mut DsqIter, id: u64, flags: u64) -> i32 {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    let local = if id == DSQ_LOCAL {
        Some(core.this_cpu)
    } else if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON {
        Some(id as u32).filter(|cpu| core.is_cpu(*cpu))
    } else {
        None
    };
    let found = if id & DSQ_BUILTIN == 0 { core.user_dsq(id) } else { local };
    let end_seq = found.map_or(0, |dsq| core.dsqs[dsq as usize].end_seq());
    let queue = found.map_or(u64::MAX, u64::from);
    let blank = DsqIter {
        queue,
        flags: flags & ITER_REV,
        last_vtime: 0,
        last_seq: i64::MIN,
        end_seq,
        slice: 0,
        vtime: 0,
    };
    // SAFETY: the scheduler passes room for an iterator.
    unsafe { iter.write(blank) };
    if found.is_some() { 0 } else { -ENOENT }
}

pub(super) unsafe extern "C" fn dsq_iter_next(iter: *mut DsqIter) -> TaskPtr {
    // SAFETY: called by the scheduler's code, with an iterator that `dsq_iter_new` has filled in.
    let (core, iter) = unsafe { (current(), &mut *iter) };
    let Some(dsq) = u32::try_from(iter.queue).ok() else { return std::ptr::null_mut() };
    let last = DsqPosition { vtime: iter.last_vtime, seq: iter.last_seq };
    let last = (iter.last_seq != i64::MIN).then_some(last);
    match core.after(dsq, last, iter.end_seq, iter.flags & ITER_REV != 0) {
        Some((place, task)) => {
            (iter.last_vtime, iter.last_seq) = (place.vtime, place.seq);
            core.tasks[task as usize].shown
        }
        None => std::ptr::null_mut(),
    }
}

pub(super) unsafe extern "C" fn dsq_iter_move(
    iter: *mut DsqIter,
    task: TaskPtr,
    to: u64,
    flags: u64,
    by_vtime: bool,
) -> bool {
    // SAFETY: called by the scheduler's code, with an iterator and a task that it got from the core.
    let (core, iter, task) = unsafe { (current(), &mut *iter, number(task)) };
    let (Some(task), Ok(from)) = (task, u32::try_from(iter.queue)) else { return false };
    let shown = core.shown_mut(task);
    let vtime =
        by_vtime.then_some(if iter.flags & ITER_HAS_VTIME != 0 { iter.vtime } else { shown.scx.dsq_vtime });
    let old_slice = shown.scx.slice;
    if iter.flags & ITER_HAS_SLICE != 0 {
        shown.scx.slice = iter.slice;
    }
    iter.flags &= !(ITER_HAS_SLICE | ITER_HAS_VTIME);
    if let Context::Dispatch(cpu) = core.context {
        core.flush_dispatched(cpu);
    }
    let moved = core.move_between(task, from, iter.end_seq, to, flags, vtime);
    if !moved {
        core.shown_mut(task).scx.slice = old_slice;
    }
    core.dispatches += usize::from(moved);
    moved
}
