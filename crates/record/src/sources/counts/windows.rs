//! When the programs at switches see, and what they saw in each window.

use std::time::Duration;
use swtch_stats::{ClusterRatio, Rng};

/// How long a window is, ns. Attaching and detaching the programs takes about a millisecond, so a shorter one costs more than it tells.
const WINDOW_NS: u64 = 20_000_000;
/// Kinds of figures that windows tell: cost of all switches, cost of the switches to counted tasks, and their moves by cache.
const FIGURES: usize = 5;

/// What the programs had counted at one moment: of each figure, the sum and what it is a part of.
pub(super) type Seen = [(u64, u64); FIGURES];

/// Windows at random places, one in each period, so that nothing periodic is always met at the same phase.
#[derive(Debug)]
pub(super) struct Windows {
    share: f64,
    rng: Rng,
    begun_ns: u64,
    /// When the period that is underway ends, ns.
    period_end_ns: u64,
    /// When the next window is due, ns.
    next_ns: u64,
    /// Since when a window is open, ns, and what had been counted then.
    open: Option<(u64, Seen)>,
    /// The time of the windows that are closed, ns.
    seen_ns: u64,
    figures: [ClusterRatio; FIGURES],
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Open,
    Close,
    Nothing,
}

impl Windows {
    pub(super) fn new(share: f64, seed: u64, now_ns: u64) -> Self {
        let mut windows = Self {
            share,
            rng: Rng::new(seed),
            begun_ns: now_ns,
            period_end_ns: now_ns,
            next_ns: now_ns,
            open: None,
            seen_ns: 0,
            figures: Default::default(),
        };
        windows.plan(now_ns, WINDOW_NS);
        windows
    }

    /// Every switch is seen: the window opens once and stays open.
    pub(super) fn is_all(&self) -> bool {
        self.share >= 1.0
    }

    /// There are windows.
    pub(super) fn sees_some(&self) -> bool {
        self.share > 0.0
    }

    /// Chooses the place of the next window. One that was closed late, because the recorder had no CPU, makes the pause longer: the share stays.
    fn plan(&mut self, now_ns: u64, last_ns: u64) {
        let period_ns = (WINDOW_NS.max(last_ns) as f64 / self.share).min(1e18) as u64;
        let begin_ns = self.period_end_ns.max(now_ns);
        self.next_ns = begin_ns + self.rng.below(period_ns - WINDOW_NS.min(period_ns) + 1);
        self.period_end_ns = begin_ns + period_ns;
    }

    pub(super) fn action(&self, now_ns: u64) -> Action {
        match self.open {
            Some(_) if self.is_all() => Action::Nothing,
            Some((since_ns, _)) if now_ns >= since_ns + WINDOW_NS => Action::Close,
            None if self.is_all() || (self.share > 0.0 && now_ns >= self.next_ns) => Action::Open,
            _ => Action::Nothing,
        }
    }

    /// How long until there is something to do.
    pub(super) fn wait(&self, now_ns: u64) -> Duration {
        let at_ns = match self.open {
            _ if self.is_all() || self.share <= 0.0 => u64::MAX,
            Some((since_ns, _)) => since_ns + WINDOW_NS,
            None => self.next_ns,
        };
        Duration::from_nanos(at_ns.saturating_sub(now_ns))
    }

    pub(super) fn opened(&mut self, now_ns: u64, counted: Seen) {
        self.open = Some((now_ns, counted));
    }

    /// Ends the window that is open, if one is.
    pub(super) fn closed(&mut self, now_ns: u64, counted: Seen) {
        let Some((since_ns, before)) = self.open.take() else { return };
        self.seen_ns += now_ns.saturating_sub(since_ns);
        for ((figure, (above, below)), (above_before, below_before)) in
            self.figures.iter_mut().zip(counted).zip(before)
        {
            let (above, below) = (above.saturating_sub(above_before), below.saturating_sub(below_before));
            figure.add(above as f64, below as f64);
        }
        self.plan(now_ns, now_ns.saturating_sub(since_ns));
    }

    /// The share of the time that the windows took, and how many there were.
    pub(super) fn share(&self, now_ns: u64) -> (f64, u64) {
        let all_ns = now_ns.saturating_sub(self.begun_ns).max(1);
        (self.seen_ns as f64 / all_ns as f64, self.figures[0].windows())
    }

    /// A figure, as a share of what it is a part of.
    pub(super) fn figure(&self, index: usize) -> &ClusterRatio {
        &self.figures[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Polls when it is due, a little late, for `seconds`; returns when windows opened and closed.
    fn polled(windows: &mut Windows, seconds: u64) -> Vec<(u64, u64)> {
        let (mut now_ns, mut found, mut opened_ns) = (0, Vec::new(), 0);
        while now_ns < seconds * 1_000_000_000 {
            match windows.action(now_ns) {
                Action::Open => {
                    opened_ns = now_ns;
                    windows.opened(now_ns, Seen::default());
                }
                Action::Close => {
                    found.push((opened_ns, now_ns));
                    windows.closed(now_ns, Seen::default());
                }
                Action::Nothing => {}
            }
            now_ns += (windows.wait(now_ns).as_nanos() as u64).clamp(1_000, 50_000_000) + 70_000;
        }
        found
    }

    #[test]
    fn windows_take_their_share_at_random_places_one_a_period() {
        let mut windows = Windows::new(0.05, 1, 0);
        let found = polled(&mut windows, 600);
        let (share, count) = windows.share(600_000_000_000);
        assert!((share - 0.05).abs() < 0.001 && count.abs_diff(1500) < 8, "{share} {count}");
        // Places within the period of 400 ms: each third of it has about as many.
        let mut thirds = [0; 3];
        for (from_ns, _) in &found {
            thirds[(from_ns % 400_000_000 / 133_333_334) as usize] += 1;
        }
        assert!(thirds.iter().all(|third| (375..630).contains(third)), "{thirds:?}");
        assert!(found.windows(2).all(|pair| pair[0].1 <= pair[1].0));
    }

    #[test]
    fn windows_that_are_closed_late_keep_their_share() {
        let mut windows = Windows::new(0.05, 1, 0);
        let mut now_ns = 0;
        while now_ns < 3_600_000_000_000 {
            now_ns += windows.wait(now_ns).as_nanos() as u64;
            windows.opened(now_ns, Seen::default());
            now_ns += 6 * WINDOW_NS;
            windows.closed(now_ns, Seen::default());
        }
        let (share, _) = windows.share(now_ns);
        assert!((0.04..0.06).contains(&share), "{share}");
    }

    #[test]
    fn all_of_the_time_is_one_window_and_none_of_it_is_none() {
        let mut all = Windows::new(1.0, 1, 0);
        assert_eq!((all.action(0), polled(&mut all, 5).len(), all.open.is_some()), (Action::Open, 0, true));
        let mut none = Windows::new(0.0, 1, 0);
        assert_eq!((none.action(u64::MAX - 1), polled(&mut none, 5).len()), (Action::Nothing, 0));
        assert_eq!(none.figure(0).value(), None);
    }
}
