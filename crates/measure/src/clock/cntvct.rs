//! The virtual counter of aarch64 (Arm ARM, D12: CNTVCT_EL0). `isb` keeps a reading from being taken early.

use std::arch::asm;

pub(super) const NAME: &str = "cntvct";

/// Linux lets user mode read the virtual counter on every aarch64 machine.
pub(super) fn usable() -> Result<(), String> {
    Ok(())
}

#[inline(always)]
pub(super) fn start() -> u64 {
    read()
}

#[inline(always)]
pub(super) fn stop() -> u64 {
    read()
}

#[inline(always)]
fn read() -> u64 {
    let ticks: u64;
    // SAFETY: reads a counter that the kernel exposes to user mode; changes no memory.
    unsafe {
        asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}
