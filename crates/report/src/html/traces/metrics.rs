//! The quantities that are shown over time.

use swtch_trace::tables::IntervalRow;

use super::super::text;

/// A quantity over time.
pub(super) struct Metric {
    pub(super) kind: MetricKind,
    /// Above its plot.
    pub(super) title: &'static str,
    /// After its figure.
    pub(super) unit: &'static str,
    of: fn(&IntervalRow) -> Option<u64>,
}

/// How a quantity is shown.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum MetricKind {
    /// A count, by the second.
    Rate,
    /// What is the case at the end.
    Level,
    /// A time, as the processors it keeps busy.
    Cpus,
    /// A time, as a share of the clock's.
    Share,
}

const fn metric(
    kind: MetricKind,
    title: &'static str,
    unit: &'static str,
    of: fn(&IntervalRow) -> Option<u64>,
) -> Metric {
    Metric { kind, title, unit, of }
}

/// What happens how often.
pub(super) const RATES: [Metric; 5] = [
    metric(MetricKind::Rate, "Voluntary switches a second", "voluntary", |row| row.voluntary),
    metric(MetricKind::Rate, "Involuntary switches a second", "involuntary", |row| row.involuntary),
    metric(MetricKind::Rate, "Switches from idle a second", "from idle", |row| row.idle_switches),
    metric(MetricKind::Rate, "Wake-ups a second", "wake-ups", |row| row.wakeups),
    metric(MetricKind::Rate, "Migrations a second", "migrations", |row| row.migrations),
];

/// Where the time goes.
pub(super) const TIMES: [Metric; 9] = [
    metric(MetricKind::Cpus, "CPUs in use", "CPUs in use", |row| row.run_ns),
    metric(MetricKind::Cpus, "CPUs in programs (user)", "user", |row| row.user_ns),
    metric(MetricKind::Cpus, "CPUs in the kernel (system)", "system", |row| row.system_ns),
    metric(MetricKind::Cpus, "CPUs in hardware interrupts", "irq", |row| row.irq_ns),
    metric(MetricKind::Cpus, "CPUs in soft interrupts", "softirq", |row| row.softirq_ns),
    metric(MetricKind::Cpus, "CPUs taken by the hypervisor (steal)", "steal", |row| row.steal_ns),
    metric(MetricKind::Cpus, "CPUs idle", "idle", |row| row.idle_ns),
    metric(MetricKind::Cpus, "CPUs stopped by the quota", "throttled", |row| row.throttled_ns),
    metric(MetricKind::Share, "Time in which a task waited for a CPU (pressure)", "CPU pressure", |row| {
        row.pressure_cpu_ns
    }),
];

/// How many there are.
pub(super) const TASKS: [Metric; 4] = [
    metric(MetricKind::Level, "Threads", "threads", |row| row.tasks),
    metric(MetricKind::Level, "Threads that run or wait to run", "runnable", |row| row.runnable),
    metric(MetricKind::Level, "Processes", "processes", |row| row.processes),
    metric(MetricKind::Rate, "Processes created a second", "forks", |row| row.forks),
];

impl Metric {
    /// Its value in an interval, where it is known.
    pub(super) fn value(&self, row: &IntervalRow) -> Option<f64> {
        let length_ns = row.length_ns.max(1) as f64;
        (self.of)(row).map(|count| match self.kind {
            MetricKind::Rate => count as f64 / (length_ns / 1e9),
            MetricKind::Level => count as f64,
            MetricKind::Cpus | MetricKind::Share => count as f64 / length_ns,
        })
    }

    /// A value in words.
    pub(super) fn figure(&self, value: f64) -> String {
        match self.kind {
            MetricKind::Rate | MetricKind::Level => text::amount(value),
            MetricKind::Cpus => format!("{value:.2}"),
            MetricKind::Share => text::percent(value),
        }
    }

    /// `1,200 voluntary a second`.
    pub(super) fn phrase(&self, value: f64) -> String {
        let every = if self.kind == MetricKind::Rate { " a second" } else { "" };
        format!("{} {}{every}", self.figure(value), self.unit)
    }

    /// At the head of its column.
    pub(super) fn column(&self) -> String {
        let every = if self.kind == MetricKind::Rate { "/s" } else { "" };
        format!("{}{every}", text::capitalised(self.unit))
    }
}
