//! The price list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_profile::model::{Direct, Noise, Profile};
use swtch_profile::vocabulary::{Class, HandOff, Method, Tasks};
use swtch_topology::{Host, Placement};

/// From the least to the most it can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
}

impl Range {
    /// A figure that is known.
    pub fn exactly(value: f64) -> Self {
        Self { low: value, high: value }
    }

    /// One figure to sort by.
    pub fn middle(self) -> f64 {
        f64::midpoint(self.low, self.high)
    }

    /// Both ends times a factor of at least zero.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self { low: self.low * factor, high: self.high * factor }
    }

    /// Both ends in words, `1 to 2`; one where they read alike.
    ///
    /// ```
    /// let range = swtch_cost::Range { low: 1.01, high: 1.04 };
    /// assert_eq!(range.words(|value| format!("{value:.1}")), "1.0");
    /// assert_eq!(range.words(|value| format!("{value:.2}")), "1.01 to 1.04");
    /// ```
    pub fn words(self, show: impl Fn(f64) -> String) -> String {
        let (low, high) = (show(self.low), show(self.high));
        if low == high { high } else { format!("{low} to {high}") }
    }

    /// The sum, end by end.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, high: self.high + other.high }
    }
}

/// What a switch costs on a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CostModel {
    /// A switch between threads of a process on one CPU, ns.
    pub thread_switch_ns: Option<Range>,
    /// A switch between processes on one CPU, ns.
    pub process_switch_ns: Option<Range>,
    /// The least that a voluntary switch takes with the wake-up after it, ns: the undisturbed figure of the cheapest method that sleeps.
    pub least_sleep_ns: Option<f64>,
    /// The least that a switch takes between tasks that yield and need no wake-up, ns.
    pub least_yield_ns: Option<f64>,
    /// The most that waking a task on another CPU takes beyond a switch on one, ns. It is the upper end of c1 where the Profile's CPUs are
    /// furthest apart. It is time on the clock, in which the other CPU may only have come out of its idleness. Absent with a single CPU.
    pub other_cpu_ns: Option<f64>,
    /// The curve c2 - c1, by the time that the work on an array takes; empty when it was not measured.
    pub refills: Vec<Refill>,
    /// The largest cache, bytes; absent when the machine does not say.
    pub cache_bytes: Option<u64>,
    /// Longest time to fetch a line that no cache holds, ns: the time to go through an array, shared among its lines, at its
    /// highest. Absent when no array was larger than the largest cache.
    pub miss_ns: Option<f64>,
    /// What handing something to a task that sleeps takes at most, system calls included; absent when no method that sleeps was measured on
    /// one CPU.
    pub hand_over: Option<HandOver>,
    /// Where and in what circumstances the prices were measured; absent in a price list without a Profile.
    pub measured_on: Option<MeasuredOn>,
}

/// What one hand-over takes at most, ns: the system calls of both sides, the wake-up and the switches, nothing subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandOver {
    /// On one CPU: half of the dearest round trip, at the upper end of its interval.
    pub same_cpu_ns: f64,
    /// To another CPU: the whole of the dearest round trip, since both CPUs may work all the time; absent with a single CPU.
    pub other_cpu_ns: Option<f64>,
}

/// Where a Profile was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MeasuredOn {
    /// The machine and its settings.
    pub host: Host,
    /// What disturbed the measurement.
    pub noise: Noise,
}

/// A point of the curve c2 - c1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Refill {
    /// Size of the array, bytes.
    pub array_bytes: u64,
    /// Time that the work on it takes when nothing else ran meanwhile, ns.
    pub work_ns: f64,
    /// The upper end of what refilling it took, ns.
    pub refill_ns: f64,
}

/// Lines of a cache; all of today's that matter here have this length.
const LINE_BYTES: f64 = 64.0;

impl CostModel {
    /// The price list of a machine. It has c1 of the method `pipe` on one CPU, in the normal class, between its undisturbed figure and the
    /// upper end of its interval. It has the curve c2 - c1 at the upper end of its intervals, of all strides and accesses.
    pub fn of(profile: &Profile) -> Self {
        let on_one_cpu = |row: &Direct| row.placement == Placement::SameCpu && row.class == Class::Normal;
        let direct = |tasks: Tasks| {
            let fits = |row: &&Direct| row.tasks == tasks && on_one_cpu(row);
            let rows = || profile.direct.iter().filter(fits);
            let row = rows().find(|row| row.method == Method::Pipe).or_else(|| rows().next())?;
            let cost = &row.switch_cost_ns;
            let low = cost.undisturbed.min(cost.ci_low).max(0.0);
            Some(Range { low, high: cost.ci_high.max(low) })
        };
        let across = |row: &&Direct| {
            let apart = ![Placement::SameCpu, Placement::Unpinned].contains(&row.placement);
            apart && row.method == Method::Pipe && row.class == Class::Normal
        };
        let furthest = profile.direct.iter().filter(across).map(|row| row.switch_cost_ns.ci_high);
        let near =
            [direct(Tasks::Thread), direct(Tasks::Process)].into_iter().flatten().map(|range| range.high);
        let other_cpu_ns = furthest
            .reduce(f64::max)
            .zip(near.reduce(f64::max))
            .map(|(furthest, near)| (furthest - near).max(0.0));
        let dearest = |apart: bool| {
            let fits = |row: &&Direct| {
                row.method.facts().hand_off == HandOff::Pair
                    && row.class == Class::Normal
                    && row.placement != Placement::Unpinned
                    && (row.placement != Placement::SameCpu) == apart
            };
            let rows = profile.direct.iter().filter(fits);
            rows.map(|row| row.round_trip_ns.ci_high).reduce(f64::max)
        };
        let hand_over =
            dearest(false).map(|ns| HandOver { same_cpu_ns: ns / 2.0, other_cpu_ns: dearest(true) });
        let least = |hand_off: HandOff| {
            let rows = profile.direct.iter();
            let rows = rows.filter(|row| row.method.facts().hand_off == hand_off && on_one_cpu(row));
            let low = |row: &Direct| row.switch_cost_ns.undisturbed.min(row.switch_cost_ns.ci_low).max(0.0);
            rows.map(low).reduce(f64::min)
        };
        let points = profile.total.iter().filter(|row| row.baseline_ns > 0.0);
        let mut refills: Vec<Refill> = points
            .map(|row| Refill {
                array_bytes: row.array_bytes,
                work_ns: row.baseline_ns,
                refill_ns: row.indirect_cost_ns.ci_high.max(0.0),
            })
            .collect();
        refills.sort_by(|a, b| a.work_ns.total_cmp(&b.work_ns));
        let cache_bytes = profile.host.last_level_cache_bytes();
        Self {
            thread_switch_ns: direct(Tasks::Thread),
            process_switch_ns: direct(Tasks::Process),
            least_sleep_ns: least(HandOff::Pair),
            least_yield_ns: least(HandOff::Yield),
            other_cpu_ns,
            miss_ns: cache_bytes.and_then(|bytes| miss_ns(&refills, bytes)),
            refills,
            cache_bytes,
            hand_over,
            measured_on: Some(MeasuredOn { host: profile.host.clone(), noise: profile.noise.clone() }),
        }
    }

    /// One switch of unknown kind, ns.
    pub fn any_switch_ns(&self) -> Option<Range> {
        match (self.thread_switch_ns, self.process_switch_ns) {
            (Some(thread), Some(process)) => {
                Some(Range { low: thread.low.min(process.low), high: thread.high.max(process.high) })
            }
            (one, other) => one.or(other),
        }
    }
}

/// The dearest line of all arrays, once one does not fit into the largest cache: the work on the array and its refilling, by lines.
pub(crate) fn miss_ns(refills: &[Refill], cache_bytes: u64) -> Option<f64> {
    refills.iter().find(|point| point.array_bytes > cache_bytes)?;
    // In a small one the system calls around the work are most of the time.
    let large = refills.iter().filter(|point| point.array_bytes >= 1 << 15);
    large.map(|point| (point.work_ns + point.refill_ns) / lines(point.array_bytes)).reduce(f64::max)
}

/// How many cache lines that many bytes take.
pub(crate) fn lines(bytes: u64) -> f64 {
    (bytes as f64 / LINE_BYTES).ceil().max(1.0)
}
