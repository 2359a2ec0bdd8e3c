//! What the CPUs did: a bar for all, and one for each.

use swtch_trace::fields;
use swtch_trace::model::{CpuTime, Field};
use swtch_trace::tables::CpuRow;

use super::{PricedTrace, Traces};
use crate::html::prelude::*;

/// CPUs of a Trace that get a bar; the table has all.
const MOST_BARS: usize = 32;

/// What the section shows.
const CPU_TIME: [Field; 3] = [fields::CPU, fields::CPUS, fields::TOTALS_CPU_NS];

/// A use of a CPU's time.
struct Use {
    name: &'static str,
    meaning: &'static str,
    class: &'static str,
    in_all: fn(&CpuTime) -> Option<u64>,
    of_one: fn(&CpuRow) -> Option<u64>,
}

macro_rules! uses {
    ($($name:literal $meaning:literal $class:literal $in_all:expr, $of_one:expr;)*) => {
        [$(Use { name: $name, meaning: $meaning, class: $class, in_all: $in_all, of_one: $of_one }),*]
    };
}

const USES: [Use; 7] = uses! {
    "user" "in programs" "fill c0" |time| time.user, |row| row.user_ns;
    "system" "in the kernel, for programs" "fill c1" |time| time.system, |row| row.system_ns;
    "irq" "in hardware interrupts" "fill c2" |time| time.irq, |row| row.irq_ns;
    "softirq" "in soft interrupts" "fill c3" |time| time.softirq, |row| row.softirq_ns;
    "steal" "given by the hypervisor to others" "fill c5" |time| time.steal, |row| row.steal_ns;
    "iowait" "idle, a task waiting for a device" "fill c4" |time| time.iowait, |row| row.iowait_ns;
    "idle" "nothing to do" "idle" |time| time.idle, |row| Some(row.idle_ns);
};

/// A CPU, or all of them.
struct Times {
    label: String,
    ns: [Option<u64>; USES.len()],
    /// Switches between tasks, and from idle.
    switches: Option<(u64, u64)>,
    lost: Option<u64>,
}

impl Times {
    fn total_ns(&self) -> f64 {
        self.ns.iter().flatten().map(|ns| *ns as f64).sum()
    }
}

/// The section.
pub(super) fn section(subjects: Traces<'_>) -> Section {
    let all: Vec<(One<'_, PricedTrace>, Times)> =
        subjects.iter().flat_map(|one| times_of(one.of).into_iter().map(move |times| (one, times))).collect();
    let has = |priced: &PricedTrace| !times_of(priced).is_empty();
    Section::bare("cpus", "What the CPUs did")
        .put((!all.is_empty()).then(|| figure(subjects, &all)))
        .put(subjects.lacking("time of CPUs by use", &CPU_TIME, has))
}

fn times_of(priced: &PricedTrace) -> Vec<Times> {
    let totals = &priced.trace.header.totals;
    let all = Times {
        label: "All CPUs".to_owned(),
        ns: USES.each_ref().map(|part| (part.in_all)(&totals.cpu_ns)),
        switches: None,
        lost: None,
    };
    let each = priced.trace.cpus.iter().map(|row| Times {
        label: format!("CPU {}", row.cpu),
        // Without the others, idle time alone would fill the bar.
        ns: USES.each_ref().map(|part| (part.of_one)(row).filter(|_| row.user_ns.is_some())),
        switches: Some((row.switches, row.idle_switches)),
        lost: Some(row.lost),
    });
    let all = [all].into_iter().chain(each);
    all.filter(|times| times.total_ns() > 0.0 || times.switches.is_some()).collect()
}

fn figure(subjects: Traces<'_>, all: &[(One<'_, PricedTrace>, Times)]) -> Figure {
    let mut shown = vec![0_usize; subjects.0.len()];
    let mut left_out = 0;
    let mut stacks = Vec::new();
    for (one, times) in all.iter().filter(|(_, times)| times.total_ns() > 0.0) {
        // The bar of all comes first.
        if shown[one.index] > MOST_BARS {
            left_out += 1;
            continue;
        }
        shown[one.index] += 1;
        stacks.push(bar(&one.prefixed(&times.label), times));
    }
    let label = "What each CPU did, as shares of its time";
    let caption = "Shares of the time of each CPU. With several workloads on a machine these include them all: the kernel \
                   does not divide them.";
    let shown =
        USES.iter().enumerate().filter(|(place, _)| all.iter().any(|(_, times)| times.ns[*place].is_some()));
    let legend = shown.map(|(_, part)| block_item(part.class, format!("{}: {}", part.name, part.meaning)));
    let unknown = reasons(subjects.iter(), |field| field.is_of(&CPU_TIME[..2]));
    Figure::new("figure-processors", caption, label, table(all), &stacks)
        .legend(legend.collect())
        .notes((left_out > 0).then(|| format!("{left_out} more CPUs are in the table only.")))
        .notes(unknown.iter().map(|reason| format!("Not known: {reason}.")))
}

fn bar(label: &str, times: &Times) -> Stack {
    let total_ns = times.total_ns();
    let parts = USES.iter().zip(times.ns).filter_map(|(part, ns)| {
        let ns = ns? as f64;
        let share = ns / total_ns;
        let tip = vec![
            format!("{label}: {}", part.name),
            text::percent(share),
            text::ns(ns),
            part.meaning.to_owned(),
        ];
        Some(StackPart { class: part.class.to_owned(), share, tip })
    });
    Stack { label: label.to_owned(), parts: parts.collect() }
}

fn table(all: &[(One<'_, PricedTrace>, Times)]) -> Table {
    let rows = all.iter().map(|(one, times)| {
        let total_ns = times.total_ns();
        let share = |ns: u64| format!("{} ({})", text::ns(ns as f64), text::percent(ns as f64 / total_ns));
        let uses = USES.iter().zip(times.ns).map(|(part, ns)| Cell::or_dash(part.name, ns.map(share)));
        let count = |title: &'static str, count: Option<u64>| Cell::or_dash(title, count.map(text::count));
        let switches = [
            count("Switches", times.switches.map(|of| of.0)),
            count("From idle", times.switches.map(|of| of.1)),
            count("Events lost", times.lost),
        ];
        one.row(&times.label, uses.chain(switches).collect())
    });
    Table::new("Time of the CPUs", "CPU", rows)
}
