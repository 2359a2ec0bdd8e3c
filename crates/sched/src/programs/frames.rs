//! A program that draws frames, as a game or a desktop does: how many come too late while others use the CPUs.

use super::{at, compute, micros};
use std::thread;
use std::time::{Duration, Instant};

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// How many.
    pub count: u32,
    /// From one to the next, µs: 16,600 for 60 a second.
    pub period_us: u64,
    /// Work of each, µs where an instruction takes a nanosecond.
    pub work_us: u64,
}

impl Frames {
    /// Draws them, and says how many were not ready when the next one began, and how late they began.
    pub fn run(self) -> String {
        let began = Instant::now();
        let period = Duration::from_micros(self.period_us);
        let (mut missed, mut late_us) = (0, Vec::new());
        for frame in 1..=self.count {
            let due = began + period * frame;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            late_us.push(micros(Instant::now().saturating_duration_since(due)));
            compute(self.work_us);
            missed += u32::from(Instant::now() > due + period);
        }
        let percent = 100.0 * f64::from(missed) / f64::from(self.count.max(1));
        format!(
            "Missed: {percent:.1} % of {} frames\nMedian lateness: {:.0} us\nLongest lateness: {:.0} us\n",
            self.count,
            at(&late_us, 0.5),
            at(&late_us, 1.0)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_with_more_work_than_time_are_all_missed() {
        // A thousand times as much work as there is time: on the fastest machine some of it is too late.
        let text = Frames { count: 3, period_us: 10, work_us: 10_000 }.run();
        assert!(text.starts_with("Missed: 100.0 % of 3 frames\n"), "{text}");
    }
}
