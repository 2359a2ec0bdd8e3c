//! The time-stamp counter of x86-64, fenced as in Intel's "How to benchmark code execution times" (2010). The first
//! reading waits for the code before it, the second for the work. Neither lets later work start early.

use std::arch::x86_64::{__cpuid, __rdtscp, _mm_lfence, _rdtsc};

pub(super) const NAME: &str = "tsc";

/// Whether the counter runs at one rate in every power state, and `rdtscp` exists.
pub(super) fn usable() -> Result<(), String> {
    let highest = __cpuid(0x8000_0000).eax;
    if highest < 0x8000_0001 || __cpuid(0x8000_0001).edx & (1 << 27) == 0 {
        return Err("the CPU has no rdtscp".to_owned());
    }
    if highest < 0x8000_0007 || __cpuid(0x8000_0007).edx & (1 << 8) == 0 {
        return Err("the time-stamp counter is not invariant: its rate changes with the frequency".to_owned());
    }
    Ok(())
}

#[inline(always)]
pub(super) fn start() -> u64 {
    // SAFETY: lfence is part of SSE2 and rdtsc of x86-64; Linux allows rdtsc in user mode unless a process forbids it.
    unsafe {
        _mm_lfence();
        let ticks = _rdtsc();
        _mm_lfence();
        ticks
    }
}

#[inline(always)]
pub(super) fn stop() -> u64 {
    let mut processor = 0;
    // SAFETY: `usable` found rdtscp before any clock with this source was made; `processor` outlives the call.
    unsafe {
        let ticks = __rdtscp(&raw mut processor);
        _mm_lfence();
        ticks
    }
}
