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

/// Time that the calling thread ran on a processor, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// Time that this process ran on processors, ns.
pub(crate) fn process_cpu_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

/// The length of the tick in which `/proc/stat` and `/proc/PID/stat` give times (`USER_HZ`), ns: 10 ms on every common kernel.
pub(crate) fn tick_ns() -> u64 {
    NS_PER_SECOND / rustix::param::clock_ticks_per_second().max(1)
}

fn nanoseconds(time: Timespec) -> u64 {
    time.tv_sec as u64 * NS_PER_SECOND + time.tv_nsec as u64
}
