//! The clocks, as integers.

use rustix::time::{ClockId, Timespec, clock_gettime};

pub(crate) const NS_PER_SECOND: u64 = 1_000_000_000;

/// Time since an arbitrary start that never goes back, ns. Not affected by steps of the wall clock.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

/// Time since the machine started, its sleep included, ns: the clock of `starttime` in `/proc/PID/stat`.
pub(crate) fn boot_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Boottime))
}

/// Time that the calling thread ran on a CPU, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time that this process ran on CPUs, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// Time that all threads of another process ran on CPUs, ns, to this moment; absent when it is gone.
pub(crate) fn cpu_ns_of(pid: u32) -> Option<u64> {
    // Larger numbers do not exist, and would lose bits (include/linux/threads.h, v6.18: PID_MAX_LIMIT).
    let pid = i32::try_from(pid).ok().filter(|pid| (1..=1 << 22).contains(pid))?;
    // The clock of a process (include/linux/posix-timers_types.h, v6.18): its number inverted; 2 is the scheduler's own sum.
    let clock = !pid << 3 | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place of the right size to write to.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) } != 0;
    (!failed).then(|| time.tv_sec as u64 * NS_PER_SECOND + time.tv_nsec as u64)
}

/// The length of the tick in which `/proc/stat` and `/proc/PID/stat` give times (`USER_HZ`), ns: 10 ms on every common kernel.
pub(crate) fn tick_ns() -> u64 {
    NS_PER_SECOND / rustix::param::clock_ticks_per_second().max(1)
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_SECOND + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_is_its_own() {
        let before_ns = process_cpu_ns();
        let found_ns = cpu_ns_of(std::process::id()).unwrap();
        assert!((before_ns..=process_cpu_ns()).contains(&found_ns));
        assert_eq!(cpu_ns_of(u32::MAX), None);
        assert_eq!(cpu_ns_of(0), None);
    }
}
