//! A recording that lasts longer than single events are worth keeping: events at first, from then on counts.

use super::bpf_counts::BpfCounts;
use super::bpf_events::BpfEvents;
use super::joined;
use super::source::{History, Progress, Source, Status};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::Options;
use crate::system::Cgroup;
use std::time::Duration;
use swtch_trace::SourceKind;
use swtch_trace::accumulate::Tables;
use swtch_trace::model::{Header, Unavailable};
use swtch_trace::tables::SwitchRow;

pub(super) struct EventsThenCounts {
    options: Options,
    group: Option<Cgroup>,
    /// As it was at the beginning: the counting part begins from it.
    header: Header,
    events_for: Duration,
    /// The command, once it runs.
    pid: Option<u32>,
    now: Part,
}

enum Part {
    Events(Box<BpfEvents>),
    Counts(Box<Counting>),
}

struct Counting {
    run: BpfCounts,
    /// What the events said, up to the handover.
    tables: Tables,
    header: Header,
    handover_ns: u64,
    before: Progress,
}

impl EventsThenCounts {
    pub(super) fn begin(
        options: &Options,
        events_for: Duration,
        group: Option<&Cgroup>,
        header: &mut Header,
    ) -> Result<Self, RecordError> {
        let run = BpfEvents::begin(options, History::Whole, group, header)?;
        Ok(Self {
            options: options.clone(),
            group: group.cloned(),
            header: header.clone(),
            events_for,
            pid: None,
            now: Part::Events(Box::new(run)),
        })
    }

    /// The counting programs are there before those of events go: no switch is missed, and few are seen by both. Returns the last switches.
    fn hand_over(&mut self) -> Vec<SwitchRow> {
        let Part::Events(events) = &mut self.now else { return Vec::new() };
        let (group, members) = (self.group.as_ref(), events.members());
        let Ok(mut counts) = BpfCounts::begin(&self.options, History::Whole, group, &members, &self.header)
        else {
            // Then events are kept on: what is asked for is to be recorded.
            self.events_for = Duration::MAX;
            return Vec::new();
        };
        let now_ns = counts.take_over(self.pid);
        let switches = events.finish(now_ns);
        // Those among them that were born meanwhile.
        counts.follow(&events.members());
        let before = events.status().progress;
        let mut header = self.header.clone();
        let tables = events.snapshot(now_ns, &mut header);
        let handover_ns = now_ns.saturating_sub(header.provenance.started_monotonic_ns);
        self.now = Part::Counts(Box::new(Counting { run: counts, tables, header, handover_ns, before }));
        switches
    }

    fn source(&mut self) -> &mut dyn Source {
        match &mut self.now {
            Part::Events(events) => events.as_mut(),
            Part::Counts(counting) => &mut counting.run,
        }
    }
}

impl Source for EventsThenCounts {
    fn launch(&mut self, start: &mut dyn FnMut() -> Result<u32, RecordError>) -> Result<(), RecordError> {
        let mut started = None;
        self.source().launch(&mut || Ok(*started.insert(start()?)))?;
        self.pid = started;
        Ok(())
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
        match &self.now {
            Part::Events(events) => events.status(),
            Part::Counts(counting) => {
                let (status, before) = (counting.run.status(), counting.before);
                let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
                let progress = Progress {
                    switches: sum(status.progress.switches, before.switches),
                    run_ns: sum(status.progress.run_ns, before.run_ns),
                    lost: status.progress.lost + before.lost,
                    ..status.progress
                };
                Status { progress, ..status }
            }
        }
    }

    fn finish(&mut self, end_ns: u64) -> Vec<SwitchRow> {
        self.source().finish(end_ns)
    }

    fn snapshot(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        match &mut self.now {
            Part::Events(events) => events.snapshot(now_ns, header),
            Part::Counts(counting) => counting.fill(now_ns, header),
        }
    }
}

impl Counting {
    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        let second = self.run.snapshot(now_ns, header);
        joined::add_totals(&self.header.totals, &mut header.totals);
        header.lost.extend(self.header.lost.iter().cloned());
        header.recorder.memory_bytes = header.recorder.memory_bytes.max(self.header.recorder.memory_bytes);
        let seconds = self.handover_ns as f64 / 1e9;
        SourceKind::BpfEventsThenCounts.info().name.clone_into(&mut header.provenance.recorder);
        let why = format!("single events were kept for the first {seconds:.1} s; --events keeps all");
        header.provenance.why =
            format!("{}; events were kept for {seconds:.1} s, then counted", self.header.provenance.why);
        for row in &mut header.unavailable {
            if ["switches", "wakes", "preemptions", "intervals.wakeups", "intervals.migrations"]
                .contains(&row.field.as_str())
            {
                row.field = format!("{} after {seconds:.1} s", row.field).into();
                row.reason.clone_from(&why);
            }
        }
        let what = "histograms of all tasks";
        if !header.unavailable.iter().any(|one| one.field.as_str() == what) {
            let why = format!(
                "events were kept for {seconds:.1} s; then waits and slices are counted by task only"
            );
            header.unavailable.push(Unavailable::new(what, why));
        }
        for (column, source) in &self.header.sources {
            let both = header.sources.get(column).map(|counts| format!("{source}; then {counts}"));
            header.sources.insert(column.clone(), both.unwrap_or_else(|| source.clone()));
        }
        joined::tables(&self.tables, second, self.handover_ns)
    }
}
