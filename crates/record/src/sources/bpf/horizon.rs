//! Up to when all events are known. Pure: what the recorder read goes in, a moment comes out.
//!
//! An event reaches the recorder later than the time that it reports, and nothing bounds the delay. A hypervisor may take the CPU away for
//! seconds in between. So the recorder does not wait for a time, it looks at what each CPU has announced. In every round it reads in this
//! order. First the clock. Then of each CPU `entered_ns`, then the heads of its rings, whose complete places it takes.
//!
//! - *Switches.* The time of a switch is read after `ENTERING` was stored, and `entered_ns` is 0 again only after the event is complete. So a CPU
//!   that shows 0 has given all its switches of before this round's clock to the rings, which are read afterwards. One that shows a time will
//!   give a switch of that time. One that shows `ENTERING` has read its time after the last round in which it did not.
//! - *Wake-ups, forks, execs and exits.* Their time is read after their place was taken. A place that is taken and not complete was not
//!   taken yet in the last round whose head was not beyond it. So its time is not before that round's clock. The same holds for all places
//!   after it.
//!
//! A store becomes visible to other CPUs a little later than it is made. That time is the hardware's: a CPU that is stolen or interrupted does not
//! keep its stores back. [`SLACK_NS`] is thousands of times longer than it, and than the difference between the clocks of two CPUs.
//!
//! Only one wait has no end. It is for a task that has just been made and is never interrupted, on a kernel that does not report its first
//! switch. After [`PATIENCE_NS`] the order goes on without such a CPU; what it gives then is counted as late.

use super::shared::ENTERING;

/// Longer than any store takes to be seen by another CPU, ns.
pub(super) const SLACK_NS: u64 = 1_000_000;
/// Longest time that one CPU can hold the order up, ns.
pub(super) const PATIENCE_NS: u64 = 10_000_000_000;

/// A ring of places as one round found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RingState {
    /// Places that were taken.
    pub(super) head: u64,
    /// Places that were complete and are read.
    pub(super) tail: u64,
}

/// A CPU as one round found it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CpuRound {
    /// `entered_ns`, read before the rings.
    pub(super) entered_ns: u64,
    /// Switches and wake-ups; forks, execs and exits.
    pub(super) rings: [RingState; 2],
}

/// What is known of a CPU from the rounds before.
#[derive(Clone, Copy, Debug)]
struct CpuHorizon {
    state: CpuRound,
    /// No event that is still to come is earlier, of switches and of each ring.
    entered_from_ns: u64,
    rings_from_ns: [u64; 2],
}

/// Up to when all events are known.
#[derive(Clone, Debug)]
pub(super) struct Horizon {
    cpus: Vec<CpuHorizon>,
    /// The clock of the round before.
    round_ns: u64,
    reached_ns: u64,
}

impl Horizon {
    /// Before the first event, which is not before `begin_ns`.
    pub(super) fn new(cpus: usize, begin_ns: u64) -> Self {
        let known = CpuHorizon {
            state: CpuRound::default(),
            entered_from_ns: begin_ns,
            rings_from_ns: [begin_ns; 2],
        };
        Self { cpus: vec![known; cpus], round_ns: begin_ns, reached_ns: 0 }
    }

    /// Takes a round: its clock, read first, and the CPUs. Every event before the moment that comes back has been read.
    pub(super) fn round(&mut self, round_ns: u64, cpus: impl IntoIterator<Item = CpuRound>) -> u64 {
        let before_ns = self.round_ns;
        let mut from_ns = round_ns;
        for (known, state) in self.cpus.iter_mut().zip(cpus) {
            known.entered_from_ns = match state.entered_ns {
                0 => round_ns,
                // Perhaps the same one as in the round before.
                ENTERING if known.state.entered_ns == ENTERING => known.entered_from_ns,
                ENTERING => before_ns,
                entered_ns => entered_ns,
            };
            from_ns = from_ns.min(known.entered_from_ns);
            let rings = state.rings.iter().zip(&known.state.rings).zip(&mut known.rings_from_ns);
            for ((now, before), ring_from_ns) in rings {
                if now.tail == now.head {
                    *ring_from_ns = round_ns;
                } else if now.tail >= before.head {
                    *ring_from_ns = before_ns;
                }
                from_ns = from_ns.min(*ring_from_ns);
            }
            known.state = state;
        }
        self.round_ns = round_ns;
        let from_ns = from_ns.max(round_ns.saturating_sub(PATIENCE_NS));
        self.reached_ns = self.reached_ns.max(from_ns.saturating_sub(SLACK_NS));
        self.reached_ns
    }
}

#[cfg(test)]
mod tests;
