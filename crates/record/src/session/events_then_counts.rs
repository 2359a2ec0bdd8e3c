//! A recording that lasts longer than single events are worth keeping: a source of events, and then one of counts.
//!
//! The Trace is the tables of both, merged. The second source begins before the first one ends. Its counts until then are its base, and its
//! part is the difference between a snapshot and that base.

use super::bpf_counts::BpfCounts;
use super::bpf_events::BpfEvents;
use super::source::{Progress, Source, Status};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::Options;
use crate::rights;
use crate::system::Cgroup;
use std::collections::{BTreeMap, HashSet};
use std::time::Duration;
use swtch_trace::accumulate::History;
use swtch_trace::growth::Growth;
use swtch_trace::model::{Field, Header, Totals};
use swtch_trace::tables::{SwitchRow, Tables, TaskRow};
use swtch_trace::{SourceKind, fields};

/// What only the first part has.
const EVENTS_ONLY: [Field; 6] = [
    fields::SWITCHES,
    fields::WAKES,
    fields::PREEMPTIONS,
    fields::WAITS,
    fields::INTERVALS_WAKEUPS,
    fields::INTERVALS_MIGRATIONS,
];
const HISTOGRAMS_OF_ALL: Field = Field::new("histograms of all tasks");

pub(super) struct EventsThenCounts {
    options: Options,
    group: Option<Cgroup>,
    /// As it was at the beginning: the counting part begins from it.
    header: Header,
    events_for: Duration,
    part: Part,
}

enum Part {
    Events(Box<BpfEvents>),
    Counts(Box<CountsPart>),
}

/// The second part, and what the first one left.
struct CountsPart {
    source: BpfCounts,
    /// The counts from the time when events were still kept.
    base: (Tables, Totals),
    /// The part of events.
    events: Tables,
    header: Header,
    handover_ns: u64,
    progress: Progress,
}

impl EventsThenCounts {
    pub(super) fn begin(
        options: &Options,
        events_for: Duration,
        group: Option<&Cgroup>,
        header: &Header,
    ) -> Result<Self, RecordError> {
        let events = BpfEvents::begin(options, History::Whole, group, header)?;
        Ok(Self {
            options: options.clone(),
            group: group.cloned(),
            header: header.clone(),
            events_for,
            part: Part::Events(Box::new(events)),
        })
    }

    /// The counting programs are there before those of events go: no switch is missed, and few are seen by both. Returns the last switches.
    fn hand_over(&mut self) -> Vec<SwitchRow> {
        let Part::Events(events) = &mut self.part else { return Vec::new() };
        let (group, members) = (self.group.as_ref(), events.members());
        let Ok(mut source) = BpfCounts::begin(&self.options, History::Whole, group, &members, &self.header)
        else {
            // Then events are kept on: what is asked for is to be recorded.
            self.events_for = Duration::MAX;
            return Vec::new();
        };
        let mut base = self.header.clone();
        let (now_ns, counted) = source.take_over(&mut base);
        let switches = events.finish(now_ns);
        // Those among them that were born meanwhile.
        source.follow(&events.members());
        let mut header = self.header.clone();
        let mut tables = events.snapshot(now_ns, &mut header);
        // Times of interrupts are those of this part alone; the kernel's counts, which are added later, are of both.
        tables.interrupts.clear();
        let handover_ns = now_ns.saturating_sub(header.provenance.started_monotonic_ns);
        if let Some(last) = tables.intervals.last_mut() {
            // It was cut short there.
            last.length_ns = last.length_ns.min(handover_ns.saturating_sub(last.at_ns)).max(1);
        }
        if self.options.drop_capabilities {
            // Nothing is loaded any more.
            rights::keep_only(
                rights::of_recording(&self.options, SourceKind::BpfCounts, &header),
                &mut header,
            );
        }
        self.part = Part::Counts(Box::new(CountsPart {
            base: (counted, base.totals),
            events: tables,
            header,
            handover_ns,
            // What events saw beyond what was counted of the same time.
            progress: both(events.status().progress, source.status().progress, u64::saturating_sub),
            source,
        }));
        switches
    }

    fn source(&mut self) -> &mut dyn Source {
        match &mut self.part {
            Part::Events(events) => events.as_mut(),
            Part::Counts(counts) => &mut counts.source,
        }
    }
}

/// Of two sources, what each counts of switches and time on CPUs.
fn both(one: Progress, other: Progress, of: fn(u64, u64) -> u64) -> Progress {
    let both = |one: Option<u64>, other: Option<u64>| Some(of(one?, other?));
    Progress { switches: both(one.switches, other.switches), run_ns: both(one.run_ns, other.run_ns), ..one }
}

impl Source for EventsThenCounts {
    fn launch(&mut self, start: &mut dyn FnMut() -> Result<u32, RecordError>) -> Result<(), RecordError> {
        self.source().launch(start)
    }

    fn poll(&mut self) -> Vec<SwitchRow> {
        let mut switches = self.source().poll();
        let since_ns = monotonic_ns().saturating_sub(self.header.provenance.started_monotonic_ns);
        if Duration::from_nanos(since_ns) >= self.events_for {
            switches.extend(self.hand_over());
        }
        switches
    }

    fn status(&self) -> Status {
        match &self.part {
            Part::Events(events) => events.status(),
            Part::Counts(counts) => {
                let (status, before) = (counts.source.status(), counts.progress);
                let lost = status.progress.lost + before.lost;
                let progress = Progress { lost, ..both(status.progress, before, u64::saturating_add) };
                Status { progress, ..status }
            }
        }
    }

    fn finish(&mut self, end_ns: u64) -> Vec<SwitchRow> {
        self.source().finish(end_ns)
    }

    fn ends_ns(&self, asked_ns: u64) -> u64 {
        match &self.part {
            Part::Events(events) => events.ends_ns(asked_ns),
            Part::Counts(counts) => counts.source.ends_ns(asked_ns),
        }
    }

    fn snapshot(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        match &mut self.part {
            Part::Events(events) => events.snapshot(now_ns, header),
            Part::Counts(counts) => counts.snapshot(now_ns, header),
        }
    }
}

impl CountsPart {
    fn snapshot(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        let counted = self.source.snapshot(now_ns, header);
        let growth = Growth::default();
        let counted_ns = header.totals.switch_cost_ns.unwrap_or(0);
        header.totals = self.header.totals.merge(&header.totals.delta(&self.base.1, &growth));
        // The interval is of the second part; the first saw every switch.
        let seen_ns = header.totals.switch_cost_ns.unwrap_or(0) as f64 - counted_ns as f64;
        for (figure, sampled) in &mut header.sampled {
            if figure == "totals.switch_cost_ns" {
                sampled.ci_low = sampled.ci_low.map(|ns| ns + seen_ns);
                sampled.ci_high = sampled.ci_high.map(|ns| ns + seen_ns);
            }
        }
        header.lost.extend(self.header.lost.iter().cloned());
        header.recorder.memory_bytes = header.recorder.memory_bytes.max(self.header.recorder.memory_bytes);
        self.explain(header);
        if header.sampled.contains_key("tasks.switch_cost_ns") {
            // The first part saw every switch.
            for row in &mut self.events.tasks {
                row.switch_cost_ci_low_ns = row.switch_cost_ns;
                row.switch_cost_ci_high_ns = row.switch_cost_ns;
            }
        }
        let (events, counts) = aligned(&self.events, counted.delta(&self.base.0, &growth), self.handover_ns);
        events.merge(&counts)
    }

    /// Says what is known of which part.
    fn explain(&self, header: &mut Header) {
        let seconds = self.handover_ns as f64 / 1e9;
        SourceKind::BpfEventsThenCounts.name().clone_into(&mut header.provenance.recorder);
        header.provenance.why =
            format!("{}; events were kept for {seconds:.1} s, then counted", self.header.provenance.why);
        let why = format!("single events were kept for the first {seconds:.1} s; --events keeps all");
        for row in &mut header.unavailable {
            if EVENTS_ONLY.contains(&row.field) {
                row.field = format!("{} after {seconds:.1} s", row.field).into();
                row.reason.clone_from(&why);
            }
        }
        if !header.lacks(&HISTOGRAMS_OF_ALL) {
            let why = format!(
                "events were kept for {seconds:.1} s; then waits and slices are counted by task only"
            );
            header.miss(HISTOGRAMS_OF_ALL, why);
        }
        for (column, source) in &self.header.sources {
            let both = header.sources.get(column).map(|counts| format!("{source}; then {counts}"));
            header.sources.insert(column.clone(), both.unwrap_or_else(|| source.clone()));
        }
    }
}

/// Both parts, with one name for each task that was there at the handover: the second part saw it first at some other time. A task that events
/// only named counts from then on.
fn aligned(events: &Tables, mut counts: Tables, handover_ns: u64) -> (Tables, Tables) {
    let mut events = events.clone();
    // The last that had the number: the one that may have gone on.
    let last: BTreeMap<u32, usize> =
        events.tasks.iter().enumerate().map(|(index, row)| (row.tid, index)).collect();
    let mut only_named = HashSet::new();
    for after in &mut counts.tasks {
        let Some(index) = last.get(&after.tid) else { continue };
        let before: &TaskRow = &events.tasks[*index];
        if after.first_ns > handover_ns || before.pid != after.pid {
            continue;
        }
        if !before.in_scope {
            only_named.insert(*index);
            continue;
        }
        after.first_ns = before.first_ns;
    }
    let mut index = 0..;
    events.tasks.retain(|_| index.next().is_some_and(|index: usize| !only_named.contains(&index)));
    (events, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(tid: u32, first_ns: u64, voluntary: u64) -> TaskRow {
        TaskRow { tid, pid: tid, in_scope: true, first_ns, voluntary, ..TaskRow::default() }
    }

    fn merged(events: Vec<TaskRow>, counts: Vec<TaskRow>) -> Vec<TaskRow> {
        let part = |tasks| Tables { tasks, ..Tables::default() };
        let (events, counts) = aligned(&part(events), part(counts), 100);
        events.merge(&counts).tasks
    }

    #[test]
    fn a_task_that_went_on_is_one_row_and_one_that_took_its_number_is_another() {
        let rows = merged(
            vec![task(1, 0, 5), task(2, 0, 7)],
            vec![task(1, 100, 3), task(2, 140, 1), task(3, 150, 2)],
        );
        let found: Vec<(u32, u64, u64)> =
            rows.iter().map(|row| (row.tid, row.first_ns, row.voluntary)).collect();
        assert_eq!(found, [(1, 0, 8), (2, 0, 7), (2, 140, 1), (3, 150, 2)]);
    }

    #[test]
    fn a_task_that_was_only_named_before_counts_from_then_on() {
        let named = TaskRow { in_scope: false, ..task(1, 0, 0) };
        let rows = merged(vec![named], vec![task(1, 90, 3)]);
        assert_eq!(rows.iter().map(|row| (row.in_scope, row.voluntary)).collect::<Vec<_>>(), [(true, 3)]);
    }

    #[test]
    fn a_cost_that_one_part_does_not_know_is_unknown() {
        let priced = |row, ns| TaskRow { switch_cost_ns: Some(ns), ..row };
        let rows = merged(
            vec![priced(task(1, 0, 5), 30), priced(task(2, 0, 1), 30)],
            vec![priced(task(1, 90, 0), 0), task(2, 90, 3)],
        );
        assert_eq!(rows.iter().map(|row| row.switch_cost_ns).collect::<Vec<_>>(), [Some(30), None]);
    }

    /// Of 50 waits of 9 ns and 40 that only the second part counted, no percentile is known; nor of all tasks together.
    #[test]
    fn quantiles_of_one_part_are_not_those_of_the_whole() {
        let class = |of: &str, from_ns, to_ns, count| swtch_trace::tables::HistogramRow {
            metric: "wait".into(),
            of: of.into(),
            from_ns,
            to_ns,
            count,
        };
        let with_waits = |row: TaskRow, waits| TaskRow { waits, wait_p50_ns: Some(9), ..row };
        let events = Tables {
            tasks: vec![with_waits(task(1, 0, 5), 50)],
            histograms: vec![class("all", 8, 10, 50), class("task 1", 8, 10, 50)],
            ..Tables::default()
        };
        let counts = |waits, histograms| {
            let tasks = vec![with_waits(task(1, 90, 3), waits)];
            let (events, counts) = aligned(&events, Tables { tasks, histograms, ..Tables::default() }, 100);
            events.merge(&counts)
        };
        let found = counts(40, vec![]);
        assert_eq!((found.tasks[0].waits, found.tasks[0].wait_p50_ns), (90, None));
        assert_eq!(found.histograms.iter().map(|row| row.of.as_str()).collect::<Vec<_>>(), ["task 1"]);
        // A second part without a wait changes nothing.
        let quiet = counts(0, vec![]);
        assert_eq!((quiet.tasks[0].wait_p50_ns, quiet.histograms.len()), (Some(9), 2));
        let both = counts(49, vec![class("task 1", 8, 12, 40), class("task 1", 1000, 1500, 9)]);
        assert_eq!(both.histograms.iter().map(|row| row.count).collect::<Vec<_>>(), [90, 9]);
        assert_eq!((both.tasks[0].wait_p50_ns, both.tasks[0].wait_p99_ns), (Some(10), Some(1250)));
    }
}
