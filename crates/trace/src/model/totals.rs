//! Totals of two parts of a run as one, and the difference between two snapshots of it.

use super::{Pressure, Throttled, Totals};
use crate::growth::Growth;

impl Totals {
    /// These totals and those of a later part of the same run. A sum that one part lacks is unknown of both.
    ///
    /// ```
    /// use swtch_trace::model::Totals;
    /// let part = |threads_created| Totals { threads_created, wakeups: Some(1), ..Totals::default() };
    /// assert_eq!(part(Some(2)).merge(&part(Some(3))).threads_created, Some(5));
    /// assert_eq!(part(Some(2)).merge(&part(None)).threads_created, None);
    /// ```
    #[must_use]
    pub fn merge(&self, later: &Self) -> Self {
        self.both(later, u64::saturating_add)
    }

    /// What came between `earlier` and this snapshot. Counters that fell are counted in `growth`. The peak is that of the whole run.
    ///
    /// ```
    /// use swtch_trace::growth::Growth;
    /// use swtch_trace::model::Totals;
    /// let at = |count| Totals { wakeups: Some(count), ..Totals::default() };
    /// assert_eq!(at(12).delta(&at(10), &Growth::default()).wakeups, Some(2));
    /// ```
    #[must_use]
    pub fn delta(&self, earlier: &Self, growth: &Growth) -> Self {
        self.both(earlier, |later, earlier| growth.of(earlier, later))
    }

    fn both(&self, other: &Self, of: impl Fn(u64, u64) -> u64) -> Self {
        let either = |one: Option<u64>, other: Option<u64>| Some(of(one?, other?));
        let mut totals = self.clone();
        let mut others = other.clone();
        for (sum, other) in totals.sums().into_iter().zip(others.sums()) {
            *sum = either(*sum, *other);
        }
        totals.processes.peak = self.processes.peak.max(other.processes.peak);
        totals.throttled =
            self.throttled.as_ref().zip(other.throttled.as_ref()).map(|(one, other)| Throttled {
                periods: of(one.periods, other.periods),
                throttled_periods: of(one.throttled_periods, other.throttled_periods),
                throttled_ns: of(one.throttled_ns, other.throttled_ns),
            });
        let pressure = |one: &Pressure| {
            let other = other.pressure.iter().find(|other| other.resource == one.resource)?;
            Some(Pressure {
                resource: one.resource.clone(),
                some_ns: either(one.some_ns, other.some_ns),
                full_ns: either(one.full_ns, other.full_ns),
            })
        };
        totals.pressure = self.pressure.iter().filter_map(pressure).collect();
        totals
    }

    /// Everything that adds up.
    fn sums(&mut self) -> [&mut Option<u64>; 19] {
        let (switches, moves) = (&mut self.context_switches, &mut self.migrations);
        let (cpu, processes) = (&mut self.cpu_ns, &mut self.processes);
        [
            &mut switches.voluntary,
            &mut switches.involuntary,
            &mut switches.idle,
            &mut moves.same_l2,
            &mut moves.same_l3,
            &mut moves.across,
            &mut self.wakeups,
            &mut cpu.user,
            &mut cpu.system,
            &mut cpu.irq,
            &mut cpu.softirq,
            &mut cpu.idle,
            &mut cpu.steal,
            &mut cpu.iowait,
            &mut processes.forked,
            &mut processes.execs,
            &mut processes.exited,
            &mut self.threads_created,
            &mut self.switch_cost_ns,
        ]
    }
}
