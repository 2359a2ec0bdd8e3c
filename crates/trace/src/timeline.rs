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
                let length_ns = u128::from(end_ns - segment.from_ns);
                let part = u128::from(segment.interrupt_ns) * u128::from(stop_ns - begin_ns) / length_ns;
                let front = Some(segment.front);
                show(Held { from_ns: begin_ns, to_ns: stop_ns, front, interrupt_ns: part as u64 });
            }
            end_ns = segment.from_ns;
        }
        let to_ns = end_ns.min(until_ns);
        if from_ns < to_ns {
            show(Held { from_ns, to_ns, front: None, interrupt_ns: 0 });
        }
    }
}
