//! A fixed piece of work, by which a slow CPU is recognised.

use crate::clock::Clock;

/// Turns of the fixed spin: about 10 µs on a 3 GHz CPU.
const SPIN_TURNS: u32 = 8_000;

/// A fixed piece of work of known length that touches no memory. When it takes longer, the CPU was slower (frequency,
/// a busy sibling, a hypervisor), and so were the measurements next to it. Returns ticks.
#[inline(never)]
pub(crate) fn spin(clock: Clock) -> u64 {
    let start = clock.start();
    let mut value = 1u64;
    for _ in 0..SPIN_TURNS {
        // Each turn needs the one before; black_box keeps the chain from being computed at compile time.
        value = std::hint::black_box(value).wrapping_mul(3);
    }
    std::hint::black_box(value);
    clock.stop() - start
}
