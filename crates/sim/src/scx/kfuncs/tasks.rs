//! Time, tasks, and the end of a scheduler.

use crate::scx::abi::{EXIT_UNREG_BPF, TaskPtr, TaskStruct};
use crate::scx::core::{NONE, current};
use std::ffi::{CStr, c_char};

/// The place of a task in the table, from what the scheduler has of it; `None` for an idle task.
///
/// # Safety
/// The pointer must be one that the scheduler got from the core.
pub(super) unsafe fn number(task: *const TaskStruct) -> Option<u32> {
    if task.is_null() {
        return None;
    }
    // SAFETY: tasks live as long as the core.
    let number = unsafe { (*task).swtch_task };
    (number != NONE).then_some(number)
}

pub(super) extern "C" fn cpu_curr(cpu: i32) -> TaskPtr {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    if !core.is_cpu(cpu as u32) {
        core.fail(format!("invalid CPU {cpu}"));
        return std::ptr::null_mut();
    }
    core.rqs[cpu as usize].curr
}

pub(super) extern "C" fn task_from_pid(pid: i32) -> TaskPtr {
    // SAFETY: called by the scheduler's code.
    let core = unsafe { current() };
    let task =
        usize::try_from(pid).ok().and_then(|pid| pid.checked_sub(1)).and_then(|task| core.tasks.get(task));
    task.map_or(std::ptr::null_mut(), |task| task.shown)
}

pub(super) unsafe extern "C" fn task_running(task: *const TaskStruct) -> bool {
    // SAFETY: the scheduler passes a task that it got from the core.
    unsafe { (*task).on_cpu != 0 }
}

pub(super) unsafe extern "C" fn task_cpu(task: *const TaskStruct) -> i32 {
    // SAFETY: the scheduler passes a task that it got from the core.
    unsafe { (*task).cpu as i32 }
}

pub(super) unsafe extern "C" fn task_set_slice(task: TaskPtr, slice: u64) -> bool {
    // SAFETY: called by the scheduler's code, with a task that it got from the core.
    let (core, task) = unsafe { (current(), number(task)) };
    let Some(task) = task else { return false };
    let shown = core.shown_mut(task);
    shown.scx.slice = slice;
    if shown.on_cpu != 0 {
        // The slice's end is at another tick now.
        let cpu = shown.cpu;
        core.rearm.push(cpu);
    }
    true
}

/// # Safety
/// `message` ends with a zero.
unsafe fn text(message: *const c_char) -> String {
    // SAFETY: the macros of include/swtch/helpers.h write it with `snprintf`.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().trim_end().to_owned()
}

pub(super) unsafe extern "C" fn error(message: *const c_char) {
    // SAFETY: called by the scheduler's code, with a text.
    unsafe { current().fail(text(message)) };
}

pub(super) unsafe extern "C" fn exit(code: i64, message: *const c_char) {
    // SAFETY: called by the scheduler's code, with a text.
    let (core, text) = unsafe { (current(), text(message)) };
    if core.error.is_none() {
        core.fail(format!("the scheduler ended by itself (code {code}): {text}"));
        core.exit_kind = EXIT_UNREG_BPF;
        core.exit_code = code;
    }
}
