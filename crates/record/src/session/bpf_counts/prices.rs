//! What the switches to a task cost, where only windows were seen.

use super::CONFIDENCE;
use crate::sources::counts::{CpuCounts, TaskCounts};
use swtch_stats::ClusterRatio;

/// A task that no two windows saw. Its cost of a switch leans on that of all tasks, as if this number of theirs had been among its own.
const LEANING: f64 = 8.0;

/// The cost of a switch to any counted task, ns, and in how many windows it was seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prices {
    each_ns: f64,
    windows: u64,
}

impl Prices {
    /// By what was seen so far; nothing where no switch was.
    pub(super) fn of(cpus: &CpuCounts, windows: u64) -> Option<Self> {
        let (cost_ns, seen) = (cpus.sum(|cpu| cpu.arrivals_cost_ns), cpus.sum(|cpu| cpu.arrivals));
        (seen > 0).then(|| Self { each_ns: cost_ns as f64 / seen as f64, windows })
    }

    /// The cost of switches to a task that no window saw, ns.
    pub(super) fn of_unseen(self, switches: u64) -> u64 {
        (self.each_ns * switches as f64).round() as u64
    }

    /// The cost of the switches to a task, ns: as a watch priced it, or by what is known now.
    pub(super) fn of_task(self, task: &TaskCounts) -> u64 {
        let (ns, priced) = task.priced.unwrap_or_default();
        let own = self.ratio(task);
        let each_ns = own.interval(CONFIDENCE).and(own.value()).unwrap_or_else(|| {
            (task.seen.cost_ns as f64 + LEANING * self.each_ns) / (task.seen.arrivals as f64 + LEANING)
        });
        let new = task.arrivals.saturating_sub(priced) as f64;
        (ns + (each_ns * new).round() as u64).min(lifetime_ns(task))
    }

    /// The interval of that, ns; absent where no two windows saw the task.
    pub(super) fn interval(self, task: &TaskCounts) -> Option<[u64; 2]> {
        let interval = self.ratio(task).interval(CONFIDENCE)?;
        let of_all = |ns: f64| (ns * task.arrivals as f64).round() as u64;
        Some([interval.low, interval.high].map(|ns| of_all(ns).min(lifetime_ns(task))))
    }

    fn ratio(self, task: &TaskCounts) -> ClusterRatio {
        let seen = &task.seen;
        let [arrivals_squared, product, cost_squared] = seen.by_window;
        let sums = [seen.cost_ns as f64, seen.arrivals as f64];
        ClusterRatio::of_sums(self.windows, sums, [cost_squared, product, arrivals_squared])
    }

    /// Prices the new switches in a watch. The older ones keep their price when more is known later, for sums never fall.
    pub(super) fn price(self, task: &mut TaskCounts) {
        task.priced = Some((self.of_task(task), task.arrivals));
    }
}

/// The most that all of its switches can cost. A switch whose CPU was taken away, which a window happened to see, is a rare
/// one.
fn lifetime_ns(task: &TaskCounts) -> u64 {
    task.last_ns.saturating_sub(task.first_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::counts::SeenOfTask;

    /// A task that ten windows saw: three switches in each, of about `each_ns`.
    fn task(arrivals: u64, windows: u64, each_ns: u64) -> TaskCounts {
        let mut ratio = [0.0; 3];
        let mut cost_ns = 0;
        for window in 0..windows {
            let cost = 3 * each_ns + window % 2;
            cost_ns += cost;
            ratio = [ratio[0] + 9.0, ratio[1] + 3.0 * cost as f64, ratio[2] + (cost * cost) as f64];
        }
        let seen = SeenOfTask { arrivals: 3 * windows, cost_ns, by_window: ratio, ..SeenOfTask::default() };
        TaskCounts { arrivals, last_ns: 10_000_000_000, seen: seen.into(), ..TaskCounts::default() }
    }

    #[test]
    fn a_task_that_was_hardly_seen_costs_what_all_do_and_one_that_was_seen_its_own() {
        let prices = Prices { each_ns: 1000.0, windows: 10 };
        assert_eq!((prices.of_task(&task(50, 0, 0)), prices.of_unseen(50)), (50_000, 50_000));
        assert_eq!(
            (prices.of_task(&task(110, 1, 12_000)), prices.interval(&task(110, 1, 12_000))),
            (440_000, None)
        );
        let often = task(1_000_000, 10, 3000);
        let ([low, high], ns) = (prices.interval(&often).unwrap(), prices.of_task(&often));
        assert_eq!(ns, 3_000_166_667);
        assert!(ns - 400_000 < low && low < ns && ns < high && high < ns + 400_000, "{low} {high}");
        // It was there for ten seconds.
        assert_eq!(prices.of_task(&task(1_000_000, 10, 11_000)), 10_000_000_000);
    }

    #[test]
    fn what_has_a_price_keeps_it() {
        let mut task = TaskCounts { arrivals: 10, last_ns: 1_000_000, ..TaskCounts::default() };
        let prices = |each_ns| Prices { each_ns, windows: 2 };
        prices(1000.0).price(&mut task);
        assert_eq!(task.priced, Some((10_000, 10)));
        task.arrivals = 14;
        prices(100.0).price(&mut task);
        assert_eq!((task.priced, prices(7.0).of_task(&task)), (Some((10_400, 14)), 10_400));
    }
}
