//! Maps and timers.

use super::tasks::number;
use crate::scx::abi::{BpfTimer, EINVAL, TaskStruct};
use crate::scx::core::current;
use crate::scx::instructions::{ARRAY_LOOKUP, HASH_LOOKUP};
use crate::scx::maps::Map;
use crate::scx::timers::{Callback, Timers};
use std::ffi::{c_long, c_void};

/// The map that belongs to the scheduler's variable: the loader has written its address there.
///
/// # Safety
/// `variable` is a map's variable of an object that has been loaded, or null. Nothing else uses the map before the function returns.
unsafe fn map<'a>(variable: *mut c_void) -> Option<&'a mut Map> {
    if variable.is_null() {
        return None;
    }
    // SAFETY: see above; the map lives as long as the core.
    unsafe { variable.cast::<*mut Map>().read_unaligned().as_mut() }
}

/// # Safety
/// `at` points at that many bytes.
unsafe fn bytes<'a>(at: *const u8, count: usize) -> &'a [u8] {
    // SAFETY: see above.
    if at.is_null() || count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(at, count) } }
}

fn status(result: Result<(), i32>) -> c_long {
    result.map_or_else(|error| -c_long::from(error), |()| 0)
}

fn this_cpu() -> usize {
    // SAFETY: called by the scheduler's code.
    unsafe { current() }.this_cpu as usize
}

pub(super) unsafe extern "C" fn lookup(variable: *mut c_void, key: *const u8) -> *mut u8 {
    // SAFETY: called by the scheduler's code, with a map and a key of its size.
    let Some(map) = (unsafe { map(variable) }) else { return std::ptr::null_mut() };
    // SAFETY: as above.
    let core = unsafe { current() };
    core.instructions += if map.is_array() { ARRAY_LOOKUP } else { HASH_LOOKUP };
    let cpu = if map.has_cpus() { core.this_cpu as usize } else { 0 };
    // SAFETY: as above.
    map.lookup(unsafe { bytes(key, map.key_bytes()) }, cpu)
}

pub(super) unsafe extern "C" fn lookup_percpu(variable: *mut c_void, key: *const u8, cpu: u32) -> *mut u8 {
    // SAFETY: called by the scheduler's code, with a map and a key of its size.
    let (core, map) = unsafe { (current(), map(variable)) };
    match map {
        // SAFETY: as above.
        Some(map) if core.is_cpu(cpu) => map.lookup(unsafe { bytes(key, map.key_bytes()) }, cpu as usize),
        _ => std::ptr::null_mut(),
    }
}

pub(super) unsafe extern "C" fn update(
    variable: *mut c_void,
    key: *const u8,
    value: *const u8,
    flags: u64,
) -> c_long {
    // SAFETY: called by the scheduler's code, with a map, a key and a value of its sizes.
    unsafe {
        let Some(map) = map(variable) else { return status(Err(EINVAL)) };
        let (key, value) = (bytes(key, map.key_bytes()), bytes(value, map.value_bytes()));
        status(map.update(key, value, this_cpu(), flags))
    }
}

pub(super) unsafe extern "C" fn delete(variable: *mut c_void, key: *const u8) -> c_long {
    // SAFETY: called by the scheduler's code, with a map and a key of its size.
    unsafe { status(map(variable).map_or(Err(EINVAL), |map| map.delete(bytes(key, map.key_bytes())))) }
}

pub(super) unsafe extern "C" fn push(variable: *mut c_void, value: *const u8, flags: u64) -> c_long {
    // SAFETY: called by the scheduler's code, with a map and a value of its size.
    unsafe {
        status(map(variable).map_or(Err(EINVAL), |map| map.push(bytes(value, map.value_bytes()), flags == 2)))
    }
}

pub(super) unsafe extern "C" fn pop(variable: *mut c_void, value: *mut u8, keep: bool) -> c_long {
    // SAFETY: called by the scheduler's code, with a map and room for a value of its size.
    unsafe {
        match map(variable).map_or(Err(EINVAL), |map| map.pop(keep)) {
            Ok(taken) => {
                std::ptr::copy_nonoverlapping(taken.as_ptr(), value, taken.len());
                0
            }
            Err(error) => -c_long::from(error),
        }
    }
}

pub(super) unsafe extern "C" fn for_each(
    variable: *mut c_void,
    callback: *mut c_void,
    context: *mut c_void,
    _flags: u64,
) -> c_long {
    type Each = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void, *mut c_void) -> c_long;
    // SAFETY: called by the scheduler's code, with a map; the keys are the simulator's own.
    let Some(keys) = unsafe { map(variable) }.map(|map| map.keys()) else { return -c_long::from(EINVAL) };
    let mut count = 0;
    for mut key in keys {
        let cpu = this_cpu();
        // SAFETY: as above; the map is not held while the callback runs, which may use it.
        let value = unsafe { map(variable) }.map_or(std::ptr::null_mut(), |map| map.lookup(&key, cpu));
        if value.is_null() {
            continue;
        }
        count += 1;
        let key = key.as_mut_ptr().cast();
        // SAFETY: the scheduler passes a function of this type. It is guarded here, too, as the keys must be freed. When it was ended,
        // the callback that called this function is ended as soon as it goes on.
        let stop = unsafe {
            let callback = std::mem::transmute::<*mut c_void, Each>(callback);
            let call = || callback(variable, key, value.cast(), context);
            match current().guard {
                Some(guard) => guard.call(call),
                None => Some(call()),
            }
        };
        if stop != Some(0) {
            break;
        }
    }
    count
}

pub(super) unsafe extern "C" fn storage_get(
    variable: *mut c_void,
    task: *mut TaskStruct,
    first: *const u8,
    flags: u64,
) -> *mut u8 {
    // SAFETY: called by the scheduler's code, with a map and a task that it got from the core.
    let (map, task) = unsafe { (map(variable), number(task)) };
    let (Some(map), Some(task)) = (map, task) else { return std::ptr::null_mut() };
    // SAFETY: a value of the map's size, or null.
    let first = (!first.is_null()).then(|| unsafe { bytes(first, map.value_bytes()) });
    map.of_task(task as usize, flags & 1 != 0, first)
}

/// There is one cgroup.
pub(super) unsafe extern "C" fn cgroup_storage_get(
    variable: *mut c_void,
    cgroup: *const c_void,
    first: *const u8,
    flags: u64,
) -> *mut u8 {
    // SAFETY: called by the scheduler's code, with a map.
    let Some(map) = (unsafe { map(variable) }).filter(|_| !cgroup.is_null()) else {
        return std::ptr::null_mut();
    };
    // SAFETY: a value of the map's size, or null.
    let first = (!first.is_null()).then(|| unsafe { bytes(first, map.value_bytes()) });
    map.of_task(0, flags & 1 != 0, first)
}

pub(super) unsafe extern "C" fn storage_delete(variable: *mut c_void, task: *mut TaskStruct) -> c_long {
    // SAFETY: called by the scheduler's code, with a map and a task that it got from the core.
    let (map, task) = unsafe { (map(variable), number(task)) };
    let (Some(map), Some(task)) = (map, task) else { return -c_long::from(EINVAL) };
    if map.forget_task(task as usize) { 0 } else { -2 }
}

pub(super) unsafe extern "C" fn timer_init(
    timer: *mut BpfTimer,
    variable: *mut c_void,
    _clock: u64,
) -> c_long {
    // SAFETY: called by the scheduler's code, with a timer in a value of the map.
    let (core, map, made) = unsafe { (current(), map(variable), &mut *timer) };
    let add = || {
        Timers::unmade(made.number)?;
        made.number = core.timers.add(map.ok_or(EINVAL)?, variable, timer.addr())?;
        Ok(())
    };
    status(add())
}

pub(super) unsafe extern "C" fn timer_set_callback(timer: *mut BpfTimer, callback: *mut c_void) -> c_long {
    // SAFETY: called by the scheduler's code, with a timer and a function of this type or null, as `Option` has it.
    let (core, number, callback) = unsafe {
        (current(), (*timer).number, std::mem::transmute::<*mut c_void, Option<Callback>>(callback))
    };
    status(core.timers.get(number).map(|timer| timer.callback = callback))
}

pub(super) unsafe extern "C" fn timer_start(timer: *mut BpfTimer, ns: u64, flags: u64) -> c_long {
    // SAFETY: called by the scheduler's code, with a timer.
    let (core, number) = unsafe { (current(), (*timer).number) };
    // BPF_F_TIMER_ABS: a time of the clock and not from now.
    let at_ns = if flags & 1 == 0 { core.now_ns.saturating_add(ns) } else { ns };
    status(core.timers.start(number, at_ns.max(core.now_ns), core.this_cpu))
}

pub(super) unsafe extern "C" fn timer_cancel(timer: *mut BpfTimer) -> c_long {
    // SAFETY: called by the scheduler's code, with a timer.
    let (core, number) = unsafe { (current(), (*timer).number) };
    match core.timers.cancel(number) {
        Ok(was_set) => c_long::from(was_set),
        Err(error) => -c_long::from(error),
    }
}
