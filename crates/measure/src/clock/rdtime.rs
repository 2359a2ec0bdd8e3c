//! The timer of riscv64 (RISC-V unprivileged specification, Zicntr: RDTIME). Fences keep a reading from being taken early.

use std::arch::asm;

pub(super) const NAME: &str = "rdtime";

/// Linux lets user mode read the time on every riscv64 machine (`riscv_timer` is its clock; drivers/clocksource/timer-riscv.c, Linux 7.2).
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
        asm!("fence", "rdtime {}", "fence", out(reg) ticks, options(nostack, preserves_flags));
    }
    ticks
}
