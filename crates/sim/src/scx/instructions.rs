//! What the kernel's core of sched_ext takes, counted in instructions.
//!
//! The counts are those of Linux 7.3.4 (Debian's, x86-64) in a virtual machine that counts instructions, under `perf bench sched pipe` on
//! one CPU (`experiments/sched_ext/instructions.py`). A scheduler that calls a function 16 times more in `enqueue`, or has one callback
//! more, takes that many more instructions for a switch. The counts of functions are in [`kfuncs`](super::kfuncs). Functions of the kernel
//! that compiled schedulers have inline (sets of CPUs, RCU's sections) count as their own code.

/// Into a callback and out of it, by the core and the trampoline: of `running` 124, of `runnable` 129, of `quiescent` 127; of `stopping` 173.
pub(super) const CALLBACK: u64 = 125;

/// An instruction of a scheduler's own code, as it is compiled here, in eighths of one that the kernel makes of its BPF code: 1.9. It is what is
/// left of a round of cosmos, flash, lavd and tickless in such a guest when all else is counted: 1.93, 2.06, 1.87 and 1.91. (rusty 1.58, p2dq 0.7.)
pub(super) const OWN_EIGHTHS: u64 = 15;

/// A task comes into a scheduler's queue and is taken from there, more than into and from a CPU's own, without finding the queue.
pub(super) const THROUGH_A_QUEUE: u64 = 475;

/// The same through a global queue.
pub(super) const THROUGH_A_GLOBAL_QUEUE: u64 = 315;

/// A place by virtual time in a queue and not at its end, among few.
pub(super) const BY_VTIME: u64 = 80;

/// The interrupt by which a CPU kicks others, itself among them, once for all that a callback has kicked (`kick_cpus_irq_workfn`).
pub(super) const KICKS: u64 = 611;

/// A look into a map of type array; the program does it itself.
pub(super) const ARRAY_LOOKUP: u64 = 18;

/// A look into a map of type hash.
pub(super) const HASH_LOOKUP: u64 = 148;
