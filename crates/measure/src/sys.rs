//! Thin wrappers of the system calls that set up a measurement. All are safe to call in a freshly forked child: none
//! allocates. The calls *inside* the measured loops are in `kernels/`.

use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::ffi::c_void;
use std::mem;
use std::ptr;

/// The error number of the last failed libc call.
pub(crate) fn errno() -> i32 {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

/// The kernel's text for an error number.
pub(crate) fn error_text(number: i32) -> String {
    std::io::Error::from_raw_os_error(number).to_string()
}

fn map(bytes: usize, flags: i32) -> Result<*mut c_void, i32> {
    // SAFETY: a fresh anonymous mapping at an address the kernel chooses; touches no existing memory.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED { Err(errno()) } else { Ok(start) }
}

/// Fresh zeroed memory of this process, in small pages.
pub(crate) fn map_private(bytes: usize) -> Result<*mut c_void, i32> {
    let start = map(bytes, libc::MAP_PRIVATE)?;
    // SAFETY: the range was just mapped. Advice may be refused (kernels without huge pages): then nothing is lost.
    unsafe { libc::madvise(start, bytes, libc::MADV_NOHUGEPAGE) };
    Ok(start)
}

/// Fresh zeroed memory that children made by fork share. It has no name, so nothing can leak when a process dies.
pub(crate) fn map_shared(bytes: usize) -> Result<*mut c_void, i32> {
    map(bytes, libc::MAP_SHARED)
}

/// Unmaps a mapping.
///
/// # Safety
/// `start` and `bytes` describe a mapping that this module made and that is no longer used.
pub(crate) unsafe fn unmap(start: *mut c_void, bytes: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::munmap(start, bytes) };
}

/// Words of an affinity mask: 8192 CPUs, the most that Linux is built for (NR_CPUS on x86-64, Linux 6.18).
const MASK_WORDS: usize = 8192 / 64;

/// An affinity mask, of any number of CPUs (`1 << cpu` on an int, a known trap, ends at 32; `cpu_set_t` at 1024).
#[derive(Clone, Debug)]
pub(crate) struct Mask([u64; MASK_WORDS]);

impl Mask {
    /// The mask of one CPU.
    pub(crate) fn one(cpu: u32) -> Self {
        let mut mask = Self([0; MASK_WORDS]);
        let bit = cpu as usize;
        if bit < MASK_WORDS * 64 {
            mask.0[bit / 64] |= 1 << (bit % 64);
        }
        mask
    }

    /// The CPUs of this thread.
    pub(crate) fn current() -> Result<Self, i32> {
        let mut mask = Self([0; MASK_WORDS]);
        // SAFETY: the kernel writes at most the given number of bytes.
        let written = unsafe {
            libc::syscall(libc::SYS_sched_getaffinity, 0, mem::size_of_val(&mask.0), mask.0.as_mut_ptr())
        };
        if written < 0 { Err(errno()) } else { Ok(mask) }
    }

    /// Confines this thread to the mask.
    pub(crate) fn apply(&self) -> Result<(), i32> {
        // SAFETY: the kernel reads the given number of bytes of the mask.
        let failed = unsafe {
            libc::syscall(libc::SYS_sched_setaffinity, 0, mem::size_of_val(&self.0), self.0.as_ptr())
        };
        if failed == 0 { Ok(()) } else { Err(errno()) }
    }

    /// The CPUs in the mask.
    pub(crate) fn cpus(&self) -> impl Iterator<Item = u32> + '_ {
        (0..(MASK_WORDS * 64) as u32).filter(|cpu| self.0[*cpu as usize / 64] & (1 << (cpu % 64)) != 0)
    }
}

/// Priority of real-time runs: above ordinary threads, below the kernel's own watchdogs and migration threads.
const FIFO_PRIORITY: i32 = 50;

/// Puts this thread into the real-time FIFO class.
pub(crate) fn become_fifo() -> Result<(), i32> {
    set_class(libc::SCHED_FIFO, FIFO_PRIORITY)
}

/// The same, but what this thread forks is in the normal class.
pub(crate) fn become_fifo_alone() -> Result<(), i32> {
    set_class(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, FIFO_PRIORITY)
}

/// Puts this thread back into the normal class, which needs no privilege.
pub(crate) fn become_normal() {
    let _ = set_class(libc::SCHED_OTHER, 0);
}

fn set_class(class: i32, priority: i32) -> Result<(), i32> {
    // The kernel's call itself: musl's function of this name always fails. The kernel's `sched_param` is this one number.
    // SAFETY: reads one number that outlives the call.
    let failed = unsafe { libc::syscall(libc::SYS_sched_setscheduler, 0, class, &raw const priority) };
    if failed == 0 { Ok(()) } else { Err(errno()) }
}

/// Switches of this thread so far, as the kernel counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SwitchCounts {
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
}

impl SwitchCounts {
    /// Reads them (`getrusage(RUSAGE_THREAD)`).
    pub(crate) fn of_this_thread() -> Self {
        // SAFETY: getrusage fills the structure; all-zero is a valid value of it.
        let usage = unsafe {
            let mut usage: libc::rusage = mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage);
            usage
        };
        Self { voluntary: usage.ru_nvcsw as u64, involuntary: usage.ru_nivcsw as u64 }
    }

    /// Those since `earlier`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            voluntary: self.voluntary - earlier.voluntary,
            involuntary: self.involuntary - earlier.involuntary,
        }
    }
}

/// Time this thread ran on a CPU, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The CPU this thread is on.
pub(crate) fn current_cpu() -> u32 {
    rustix::thread::sched_getcpu() as u32
}

/// A pipe: the end to read from and the end to write to.
#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) read: OwnedFd,
    pub(crate) write: OwnedFd,
}

impl Pipe {
    pub(crate) fn new() -> Result<Self, i32> {
        let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
            .map_err(rustix::io::Errno::raw_os_error)?;
        Ok(Self { read, write })
    }
}

/// Whether `fd` became readable or closed within `timeout_ms`.
pub(crate) fn wait_readable(fd: BorrowedFd<'_>, timeout_ms: i32) -> bool {
    let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which outlives the call.
    unsafe { libc::poll(&raw mut poll, 1, timeout_ms) > 0 }
}

/// What a fork returned.
pub(crate) enum Forked {
    Child,
    Parent(i32),
}

/// Forks. The child may call only what is safe after a fork: no allocation, no locks.
pub(crate) fn fork() -> Result<Forked, i32> {
    // SAFETY: the callers in `launch` and `kernels` keep to the rule above in the child and end it with `exit_now`.
    match unsafe { libc::fork() } {
        0 => Ok(Forked::Child),
        pid if pid > 0 => Ok(Forked::Parent(pid)),
        _ => Err(errno()),
    }
}

/// Forks without the C library's part, which touches memory that the child of [`small`](crate::small) need not have. The child may only
/// call [`exit_now`].
#[inline]
pub(crate) fn bare_fork() -> Result<Forked, i32> {
    // SAFETY: as `fork`; the child runs on a copy of this stack, and touches nothing else before it ends.
    match unsafe { libc::syscall(libc::SYS_clone, libc::SIGCHLD, 0, 0, 0, 0) } {
        0 => Ok(Forked::Child),
        pid if pid > 0 => Ok(Forked::Parent(pid as i32)),
        _ => Err(errno()),
    }
}

/// Exit status of a worker whose system calls failed in the middle.
pub(crate) const EXIT_BROKEN: i32 = 81;

/// Ends this process at once: no destructors, no buffers flushed twice.
pub(crate) fn exit_now(status: i32) -> ! {
    // SAFETY: ends the process; nothing runs after it.
    unsafe { libc::_exit(status) }
}

/// Has the kernel kill this process when the thread that forked it dies, so that no child outlives its parent.
pub(crate) fn die_with_parent(parent: i32) {
    // SAFETY: prctl with integers only.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    if rustix::process::getppid().is_none_or(|now| now.as_raw_nonzero().get() != parent) {
        exit_now(1); // The parent died between fork and prctl.
    }
}

/// Puts this process into a process group of its own. A Ctrl-C at the terminal then reaches only the measuring parent,
/// which keeps what is complete. The whole group can be ended at once.
pub(crate) fn own_process_group() {
    // SAFETY: integers only.
    unsafe { libc::setpgid(0, 0) };
}

/// Has the kernel end this process after `seconds`, whatever it is doing. It guards a real-time run that would starve
/// the parent that should stop it.
pub(crate) fn end_after(seconds: u32) {
    // SAFETY: sets the action of a signal to the default and a timer.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(seconds);
    }
}

/// Bounds the time a real-time thread of this process may run without blocking (`RLIMIT_RTTIME`), seconds.
pub(crate) fn bound_realtime(seconds: u64) {
    let limit = libc::rlimit { rlim_cur: seconds * 1_000_000, rlim_max: seconds * 1_000_000 };
    // SAFETY: reads one structure. A refusal leaves the alarm as the guard.
    unsafe { libc::setrlimit(libc::RLIMIT_RTTIME, &raw const limit) };
}

/// Raises the soft limit of open files to the hard one: a ring of 96 tasks holds 384 ends of pipes.
pub(crate) fn raise_open_files() {
    // SAFETY: one structure, read and written within the calls.
    unsafe {
        let mut limit: libc::rlimit = mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Ends a process group and collects its leader; returns the leader's raw wait status.
pub(crate) fn kill_group_and_wait(pid: i32, kill: bool) -> i32 {
    let mut status = 0;
    // SAFETY: `pid` is a child of this process that has not been waited for, so it cannot have been recycled.
    unsafe {
        if kill {
            libc::kill(-pid, libc::SIGKILL);
            libc::kill(pid, libc::SIGKILL);
        }
        while libc::waitpid(pid, &raw mut status, 0) < 0 && errno() == libc::EINTR {}
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trap `1 << cpu`: from CPU 32 on, an int wraps.
    #[test]
    fn a_mask_holds_processors_beyond_an_int_and_beyond_cpu_set_t() {
        for cpu in [0, 31, 32, 33, 63, 64, 1023, 1024, 5000] {
            assert_eq!(Mask::one(cpu).cpus().collect::<Vec<_>>(), [cpu]);
        }
    }

    #[test]
    fn the_kernel_reads_the_mask_as_it_is_meant() {
        std::thread::spawn(|| {
            let last = Mask::current().unwrap().cpus().last().unwrap();
            Mask::one(last).apply().unwrap();
            assert_eq!(Mask::current().unwrap().cpus().collect::<Vec<_>>(), [last]);
            assert_eq!(current_cpu(), last);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_forked_child_gets_memory_that_its_parent_sees() {
        let shared: *mut u64 = map_shared(4096).unwrap().cast();
        match fork().unwrap() {
            Forked::Child => {
                // SAFETY: the mapping outlives the child.
                unsafe { shared.write_volatile(42) };
                exit_now(0)
            }
            Forked::Parent(pid) => {
                assert_eq!(kill_group_and_wait(pid, false), 0);
                // SAFETY: mapped above.
                assert_eq!(unsafe { shared.read_volatile() }, 42);
            }
        }
    }
}
