//! What happens next: a tournament among the CPUs; timers are kept apart.
//!
//! A CPU has at most one event to come, which changes often. Replaying its matches up the tournament takes log2(CPUs) steps and leaves
//! nothing stale behind, as a heap would.

/// Never.
pub(crate) const NEVER: u64 = u64::MAX;

/// The CPUs' next events. At the same time ticks go first: what happens at a tick's moment finds the tick done, whether or not it was
/// worth simulating. After that the CPU that comes first in the machine goes first.
#[derive(Clone, Debug)]
pub(crate) struct Tournament {
    /// The CPU that wins each match; the final is at 1, the CPUs' own places begin at `leaves`.
    winners: Vec<u32>,
    /// Twice the time, plus one for an event that is not a tick: a tick comes before another event of the same time.
    keys: Vec<u64>,
    leaves: usize,
}

impl Tournament {
    pub(crate) fn new(cpus: usize) -> Self {
        let leaves = cpus.next_power_of_two().max(2);
        let mut winners = vec![0; 2 * leaves];
        for place in (1..2 * leaves).rev() {
            winners[place] = if place >= leaves { (place - leaves) as u32 } else { winners[2 * place] };
        }
        Self { winners, keys: vec![NEVER; leaves], leaves }
    }

    /// Sets when the CPU's next event is.
    #[inline]
    pub(crate) fn set(&mut self, cpu: usize, at_ns: u64, is_tick: bool) {
        let key = if at_ns >= NEVER / 2 { NEVER } else { 2 * at_ns + u64::from(!is_tick) };
        if self.keys[cpu] == key {
            return;
        }
        self.keys[cpu] = key;
        let mut place = usize::midpoint(self.leaves, cpu);
        while place > 0 {
            let (left, right) = (self.winners[2 * place], self.winners[2 * place + 1]);
            let right_wins = self.keys[right as usize] < self.keys[left as usize];
            self.winners[place] = if right_wins { right } else { left };
            place /= 2;
        }
    }

    /// The first event: when, of which CPU, and whether it is a tick.
    #[inline]
    pub(crate) fn first(&self) -> (u64, usize, bool) {
        let cpu = self.winners[1] as usize;
        match self.keys[cpu] {
            NEVER => (NEVER, cpu, false),
            key => (key / 2, cpu, key % 2 == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earliest_comes_first_and_ties_go_by_number() {
        let mut tournament = Tournament::new(5);
        assert_eq!(tournament.first().0, NEVER);
        for (cpu, at_ns) in [(3, 40), (1, 40), (4, 50)] {
            tournament.set(cpu, at_ns, false);
        }
        assert_eq!(tournament.first(), (40, 1, false));
        tournament.set(1, NEVER, false);
        assert_eq!(tournament.first(), (40, 3, false));
        tournament.set(0, 40, false);
        assert_eq!(tournament.first(), (40, 0, false));
        tournament.set(2, 40, true);
        assert_eq!(tournament.first(), (40, 2, true));
    }
}
