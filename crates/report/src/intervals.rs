//! The quantities that the page and Perfetto's viewer show over time.

use swtch_trace::tables::IntervalRow;

use crate::wording::text;

/// A quantity over time.
pub(crate) struct Metric {
    pub(crate) kind: MetricKind,
    /// The name of its track in Perfetto's viewer.
    pub(crate) track: &'static str,
    /// Above its plot.
    pub(crate) title: &'static str,
    /// After its figure.
    pub(crate) unit: &'static str,
    of: fn(&IntervalRow) -> Option<u64>,
}

/// How a quantity is shown.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum MetricKind {
    /// A count, by the second.
    Rate,
    /// What is the case at the end.
    Level,
    /// A time, as the CPUs it keeps busy.
    Cpus,
    /// A time, as a share of the clock's.
    Share,
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $list:ident = [$($kind:ident $track:literal $title:literal $unit:literal $of:expr;)*];)*) => {
        $($(#[$doc])* pub(crate) const $list: &[Metric] = &[
            $(Metric { kind: MetricKind::$kind, track: $track, title: $title, unit: $unit, of: $of },)*
        ];)*
    };
}

metrics! {
    /// What happens how often.
    RATES = [
        Rate "switches: voluntary" "Voluntary switches a second" "voluntary" |row| row.voluntary;
        Rate "switches: involuntary" "Involuntary switches a second" "involuntary" |row| row.involuntary;
        Rate "switches: from idle" "Switches from idle a second" "from idle" |row| row.idle_switches;
        Rate "wake-ups" "Wake-ups a second" "wake-ups" |row| row.wakeups;
        Rate "migrations" "Migrations a second" "migrations" |row| row.migrations;
    ];
    /// Where the time goes.
    TIMES = [
        Cpus "tasks running" "CPUs in use" "CPUs in use" |row| row.run_ns;
        Cpus "time: user" "CPUs in programs (user)" "user" |row| row.user_ns;
        Cpus "time: system" "CPUs in the kernel (system)" "system" |row| row.system_ns;
        Cpus "time: hardware interrupts" "CPUs in hardware interrupts" "irq" |row| row.irq_ns;
        Cpus "time: soft interrupts" "CPUs in soft interrupts" "softirq" |row| row.softirq_ns;
        Cpus "time: steal" "CPUs taken by the hypervisor (steal)" "steal" |row| row.steal_ns;
        Cpus "time: idle" "CPUs idle" "idle" |row| row.idle_ns;
        Cpus "stopped by quota" "CPUs stopped by the quota" "throttled" |row| row.throttled_ns;
        Share "waiting for a CPU (PSI some)" "Time a task waited for a CPU (pressure)" "CPU pressure" |row| row.pressure_cpu_ns;
    ];
    /// How many there are.
    TASKS = [
        Level "threads" "Threads" "threads" |row| row.tasks;
        Level "threads that run or wait" "Threads that run or wait to run" "runnable" |row| row.runnable;
        Level "processes" "Processes" "processes" |row| row.processes;
        Rate "forks" "Processes created a second" "forks" |row| row.forks;
    ];
    /// Sums that are drawn as tracks only.
    SUMS = [
        Rate "switches: all" "Switches a second" "switches"
            |row| Some(row.voluntary? + row.involuntary? + row.idle_switches.unwrap_or(0));
    ];
}

impl Metric {
    /// Its value in an interval, where it is known.
    pub(crate) fn value(&self, row: &IntervalRow) -> Option<f64> {
        let length_ns = row.length_ns.max(1) as f64;
        (self.of)(row).map(|count| match self.kind {
            MetricKind::Rate => count as f64 * 1e9 / length_ns,
            MetricKind::Level => count as f64,
            MetricKind::Cpus | MetricKind::Share => count as f64 / length_ns,
        })
    }

    /// A value in words.
    pub(crate) fn figure(&self, value: f64) -> String {
        match self.kind {
            MetricKind::Rate | MetricKind::Level => text::amount(value),
            MetricKind::Cpus => format!("{value:.2}"),
            MetricKind::Share => text::percent(value),
        }
    }

    /// `1,200 voluntary a second`.
    pub(crate) fn phrase(&self, value: f64) -> String {
        let every = if self.kind == MetricKind::Rate { " a second" } else { "" };
        format!("{} {}{every}", self.figure(value), self.unit)
    }

    /// At the head of its column.
    pub(crate) fn column(&self) -> String {
        let every = if self.kind == MetricKind::Rate { "/s" } else { "" };
        format!("{}{every}", text::capitalised(self.unit))
    }
}
