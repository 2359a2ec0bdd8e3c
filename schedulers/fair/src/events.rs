//! Counters of instructions, one a CPU (perf_event_open(2)).

use std::fs::File;
use std::os::fd::FromRawFd;

/// Words of `struct perf_event_attr` in its first version (Linux include/uapi/linux/perf_event.h, PERF_ATTR_SIZE_VER0: 64 bytes).
const ATTRIBUTE_WORDS: usize = 8;
const PERF_TYPE_HARDWARE: u64 = 0;
const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 8;

/// Opens the counter of a CPU; it counts from now on, any task that runs there.
///
/// # Errors
/// When the machine has none, as most virtual machines.
pub(crate) fn count_instructions(cpu: u32) -> std::io::Result<File> {
    let mut attribute = [0_u64; ATTRIBUTE_WORDS];
    // The first word is the type and, in its upper half, the size; as two halves, so that it holds in either byte order.
    let size = size_of_val(&attribute) as u32;
    let first = [(PERF_TYPE_HARDWARE as u32).to_ne_bytes(), size.to_ne_bytes()].concat();
    attribute[0] = u64::from_ne_bytes(first.try_into().unwrap_or_default());
    attribute[1] = PERF_COUNT_HW_INSTRUCTIONS;
    let (every_task, no_group) = (-1, -1);
    // SAFETY: the attribute is as long as its size says and lives until the call returns.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            attribute.as_ptr(),
            every_task,
            cpu as libc::c_int,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: the call returned a descriptor that nothing else holds.
    Ok(unsafe { File::from_raw_fd(fd as libc::c_int) })
}
