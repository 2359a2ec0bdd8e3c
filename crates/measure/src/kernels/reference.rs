//! Operations measured for scale: a system call, a process, a thread.

use crate::sys::{self, Forked};
use std::ffi::c_void;
use std::ptr;

/// A system call that does next to nothing and that no library caches.
#[inline(always)]
pub(crate) fn syscall() {
    std::hint::black_box(rustix::process::getppid());
}

/// fork, `_exit` in the child, wait for it; of a small process ([`small`](crate::small)).
#[inline(always)]
pub(crate) fn fork_exit_wait() {
    match sys::bare_fork() {
        Ok(Forked::Child) => sys::exit_now(0),
        Ok(Forked::Parent(pid)) => {
            if sys::kill_group_and_wait(pid, false) != 0 {
                super::broken();
            }
        }
        Err(_) => super::broken(),
    }
}

extern "C" fn nothing(_: *mut c_void) -> *mut c_void {
    ptr::null_mut()
}

/// Creates a thread that returns at once, and joins it.
#[inline(always)]
pub(crate) fn create_join() {
    // SAFETY: default attributes; the thread touches nothing and is joined before the identifier goes out of scope.
    unsafe {
        let mut thread: libc::pthread_t = std::mem::zeroed();
        if libc::pthread_create(&raw mut thread, ptr::null(), nothing, ptr::null_mut()) != 0
            || libc::pthread_join(thread, ptr::null_mut()) != 0
        {
            super::broken();
        }
    }
}
