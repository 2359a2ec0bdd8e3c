//! What had a CPU and when: the one reckoning of what tasks waited behind.

use std::collections::VecDeque;

/// So much of the past of each CPU is kept. What a longer wait was behind before that is not known.
const KEPT: usize = 1 << 12;

/// A time in which one `F`, such as a task or a program, had a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held<F> {
    /// When it began, ns.
    pub from_ns: u64,
    /// When it ended, ns.
    pub to_ns: u64,
    /// What had the CPU; absent where that is not known.
    pub front: Option<F>,
    /// Of this time, that in interrupts, ns.
    pub interrupt_ns: u64,
}

/// It ends where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Segment<F> {
    from_ns: u64,
    front: F,
    interrupt_ns: u64,
}

/// What had a CPU, in the order of time.
#[derive(Clone, Debug)]
pub struct CpuTimeline<F> {
    segments: VecDeque<Segment<F>>,
    /// Until when it is known; what has the CPU since then is only known when it leaves.
    known_ns: u64,
}

impl<F: Copy + PartialEq> CpuTimeline<F> {
    /// That of a CPU of which nothing is known before `start_ns`.
    pub fn begin(start_ns: u64) -> Self {
        Self { segments: VecDeque::new(), known_ns: start_ns }
    }

    /// `front` had the CPU until `at_ns`, `interrupt_ns` of this in interrupts.
    pub fn extend(&mut self, at_ns: u64, front: F, interrupt_ns: u64) {
        let from_ns = self.known_ns;
        if at_ns <= from_ns {
            return;
        }
        self.known_ns = at_ns;
        let interrupt_ns = interrupt_ns.min(at_ns - from_ns);
        let goes_on = |last: &Segment<F>| last.front == front && last.interrupt_ns == 0 && interrupt_ns == 0;
        if self.segments.back().is_some_and(goes_on) {
            return;
        }
        if self.segments.len() >= KEPT {
            self.segments.pop_front();
        }
        self.segments.push_back(Segment { from_ns, front, interrupt_ns });
    }

    /// Shows what had the CPU from `from_ns` to `until_ns`, the latest first; `now` has it since the end of what is known.
    pub fn divide(&self, from_ns: u64, until_ns: u64, now: Option<F>, mut show: impl FnMut(Held<F>)) {
        let mut end_ns = self.known_ns;
        if until_ns > end_ns {
            let from_ns = end_ns.max(from_ns);
            show(Held { from_ns, to_ns: until_ns, front: now, interrupt_ns: 0 });
        }
        for segment in self.segments.iter().rev() {
            if end_ns <= from_ns {
                return;
            }
            let (begin_ns, stop_ns) = (segment.from_ns.max(from_ns), end_ns.min(until_ns));
            if begin_ns < stop_ns {
                // Most have none, and a long division takes as long as all the rest.
                let part = |ns: u64| {
                    let length_ns = u128::from(end_ns - segment.from_ns);
                    (u128::from(ns) * u128::from(stop_ns - begin_ns) / length_ns) as u64
                };
                let interrupt_ns = if segment.interrupt_ns == 0 { 0 } else { part(segment.interrupt_ns) };
                show(Held { from_ns: begin_ns, to_ns: stop_ns, front: Some(segment.front), interrupt_ns });
            }
            end_ns = segment.from_ns;
        }
        let to_ns = end_ns.min(until_ns);
        if from_ns < to_ns {
            show(Held { from_ns, to_ns, front: None, interrupt_ns: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// In the order of time.
    fn divided<F: Copy + PartialEq>(
        past: &CpuTimeline<F>,
        from_ns: u64,
        until_ns: u64,
        now: F,
    ) -> Vec<Held<F>> {
        let mut parts = Vec::new();
        past.divide(from_ns, until_ns, Some(now), |part| parts.push(part));
        parts.reverse();
        parts
    }

    #[test]
    fn interrupts_are_a_part_of_the_time_in_which_they_were() {
        let mut past = CpuTimeline::begin(100);
        past.extend(200, 'a', 50);
        past.extend(300, 'a', 0);
        let held = |from_ns, to_ns, front, interrupt_ns| Held { from_ns, to_ns, front, interrupt_ns };
        let expected = [
            held(50, 100, None, 0),
            held(100, 200, Some('a'), 50),
            held(200, 300, Some('a'), 0),
            held(300, 400, Some('b'), 0),
        ];
        assert_eq!(divided(&past, 50, 400, 'b'), expected);
        assert_eq!(divided(&past, 150, 170, 'b'), [held(150, 170, Some('a'), 10)]);
        assert_eq!(divided(&past, 170, 170, 'b'), []);
    }

    proptest! {
        /// Whatever had the CPU: the parts follow each other without a gap, and each is what had it.
        #[test]
        fn the_parts_are_the_whole(
            steps in prop::collection::vec((0_u64..9, 0_u8..4, 0_u64..9), 0..40),
            times in prop::collection::vec(0_u64..120, 2),
        ) {
            let mut past = CpuTimeline::begin(7);
            let (mut at_ns, mut truth) = (7, vec![None; 7]);
            for (ns, had, interrupt_ns) in steps {
                at_ns += ns;
                past.extend(at_ns, had, interrupt_ns);
                truth.resize(at_ns as usize, Some(had));
            }
            truth.resize(at_ns.max(120) as usize, Some(9));
            let (from_ns, until_ns) = (times[0].min(times[1]), times[0].max(times[1]));
            let mut reached_ns = from_ns;
            for part in divided(&past, from_ns, until_ns, 9) {
                prop_assert_eq!(part.from_ns, reached_ns);
                prop_assert!(part.interrupt_ns <= part.to_ns - part.from_ns);
                for ns in part.from_ns..part.to_ns {
                    prop_assert_eq!(part.front, truth[ns as usize]);
                }
                reached_ns = part.to_ns;
            }
            prop_assert_eq!(reached_ns, until_ns);
        }
    }
}
