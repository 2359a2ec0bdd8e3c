//! What the processors did: a bar for all, and one for each.

use swtch_trace::fields;
use swtch_trace::model::{CpuTime, Field};
use swtch_trace::tables::CpuRow;

use super::super::charts::markers::block_item;
use super::super::charts::stack::{self, Stack, StackPart};
use super::super::page::{Cell, Figure, Section, Table};
use super::super::text;
use super::{NamedTrace, Traces};

/// Processors of a Trace that get a bar; the table has all.
const MOST_BARS: usize = 32;

/// What the section shows.
const CPU_TIME: [Field; 3] = [fields::CPU, fields::CPUS, fields::TOTALS_CPU_NS];

/// A use of a processor's time.
struct Use {
    name: &'static str,
    meaning: &'static str,
    class: &'static str,
    in_all: fn(&CpuTime) -> Option<u64>,
    of_one: fn(&CpuRow) -> Option<u64>,
}

const fn used(
    name: &'static str,
    meaning: &'static str,
    class: &'static str,
    in_all: fn(&CpuTime) -> Option<u64>,
    of_one: fn(&CpuRow) -> Option<u64>,
) -> Use {
    Use { name, meaning, class, in_all, of_one }
}

const USES: [Use; 7] = [
    used("user", "in programs", "fill c0", |time| time.user, |row| row.user_ns),
    used("system", "in the kernel, for programs", "fill c1", |time| time.system, |row| row.system_ns),
    used("irq", "in hardware interrupts", "fill c2", |time| time.irq, |row| row.irq_ns),
    used("softirq", "in soft interrupts", "fill c3", |time| time.softirq, |row| row.softirq_ns),
    used("steal", "given by the hypervisor to others", "fill c5", |time| time.steal, |row| row.steal_ns),
    used("iowait", "idle, a task waiting for a device", "fill c4", |time| time.iowait, |row| row.iowait_ns),
    used("idle", "nothing to do", "idle", |time| time.idle, |row| Some(row.idle_ns)),
];

/// A processor, or all of them.
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
    let all: Vec<(usize, Times)> = subjects
        .iter()
        .flat_map(|(i, named)| times_of(named).into_iter().map(move |times| (i, times)))
        .collect();
    let mut section = Section::bare("processors", "What the CPUs did");
    section.put((!all.is_empty()).then(|| figure(subjects, &all)));
    let has = |named: &NamedTrace| !times_of(named).is_empty();
    section.put(subjects.lacking("time of processors by use", |field| field.is_of(&CPU_TIME), has));
    section
}

fn times_of(named: &NamedTrace) -> Vec<Times> {
    let totals = &named.trace.header.totals;
    let all = Times {
        label: "All CPUs".to_owned(),
        ns: USES.each_ref().map(|part| (part.in_all)(&totals.cpu_ns)),
        switches: None,
        lost: None,
    };
    let each = named.trace.cpus.iter().map(|row| Times {
        label: format!("CPU {}", row.cpu),
        // Without the others, idle time alone would fill the bar.
        ns: USES.each_ref().map(|part| (part.of_one)(row).filter(|_| row.user_ns.is_some())),
        switches: Some((row.switches, row.idle_switches)),
        lost: Some(row.lost),
    });
    std::iter::once(all)
        .chain(each)
        .filter(|times| times.total_ns() > 0.0 || times.switches.is_some())
        .collect()
}

fn figure(subjects: Traces<'_>, all: &[(usize, Times)]) -> Figure {
    let mut shown = vec![0_usize; subjects.0.len()];
    let mut left_out = 0;
    let mut stacks = Vec::new();
    for (i, times) in all.iter().filter(|(_, times)| times.total_ns() > 0.0) {
        // The bar of all comes first.
        if shown[*i] > MOST_BARS {
            left_out += 1;
            continue;
        }
        shown[*i] += 1;
        stacks.push(bar(&subjects.prefixed(*i, &times.label), times));
    }
    let label = "What each CPU did, as shares of its time";
    let caption = "Shares of the time of each CPU. With several workloads on a machine these are everybody’s: the kernel does \
                   not divide them.";
    let shown =
        USES.iter().enumerate().filter(|(place, _)| all.iter().any(|(_, times)| times.ns[*place].is_some()));
    let legend = shown.map(|(_, part)| block_item(part.class, format!("{}: {}", part.name, part.meaning)));
    let mut figure = Figure::new("figure-processors", caption, table(subjects, all), |size| {
        stack::draw(&stacks, label, size)
    })
    .legend(legend.collect());
    if left_out > 0 {
        figure = figure.note(format!("{left_out} more CPUs are in the table only."));
    }
    for reason in subjects.reasons(subjects.iter().map(|(i, _)| i), |field| field.is_of(&CPU_TIME[..2])) {
        figure = figure.note(format!("Not known: {reason}."));
    }
    figure
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

fn table(subjects: Traces<'_>, all: &[(usize, Times)]) -> Table {
    let rows = all.iter().map(|(i, times)| {
        let total_ns = times.total_ns();
        let share = |ns: u64| format!("{} ({})", text::ns(ns as f64), text::percent(ns as f64 / total_ns));
        let uses = USES.iter().zip(times.ns).map(|(part, ns)| Cell::or_dash(part.name, ns.map(share)));
        let count = |title: &'static str, count: Option<u64>| Cell::or_dash(title, count.map(text::count));
        let switches = [
            count("Switches", times.switches.map(|of| of.0)),
            count("From idle", times.switches.map(|of| of.1)),
            count("Events lost", times.lost),
        ];
        (*i, times.label.clone(), uses.chain(switches).collect())
    });
    subjects.table("Time of the CPUs", "CPU", rows)
}
