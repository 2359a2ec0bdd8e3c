//! Counters that user mode may always read, between two fences that keep a reading from being taken early: the virtual counter of aarch64 (Arm ARM,
//! D12: CNTVCT_EL0) and the timer of riscv64 (RISC-V unprivileged specification, Zicntr: RDTIME).

use std::arch::asm;

#[cfg(target_arch = "aarch64")]
pub(super) const NAME: &str = "cntvct";
#[cfg(target_arch = "riscv64")]
pub(super) const NAME: &str = "rdtime";

/// Linux lets user mode read them on every machine of theirs (on riscv64 its own clock: drivers/clocksource/timer-riscv.c, Linux 7.2).
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
        #[cfg(target_arch = "aarch64")]
        asm!("isb", "mrs {}, cntvct_el0", "isb", out(reg) ticks, options(nostack, preserves_flags));
        #[cfg(target_arch = "riscv64")]
        asm!("fence", "rdtime {}", "fence", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}
