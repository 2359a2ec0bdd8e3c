//! A recording that lasts longer than single events are worth keeping: events at first, from then on counts.

use super::bpf_run::BpfRun;
use super::counts_run::CountsRun;
use super::{Progress, Run, joined};
use crate::clock::monotonic_ns;
use crate::error::RecordError;
use crate::options::Options;
use crate::system::Cgroup;
use std::time::Duration;
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
    Events(Box<BpfRun>),
    Counts(Box<Counting>),
}

struct Counting {
    run: CountsRun,
    /// What the events said, up to the handover.
    tables: Tables,
    header: Header,
    handover_ns: u64,
    before: Progress,
    /// The last of the switches that are kept.
    ready: Vec<SwitchRow>,
}

impl EventsThenCounts {
    pub(super) fn begin(
        options: &Options,
        events_for: Duration,
        group: Option<&Cgroup>,
        header: &mut Header,
    ) -> Result<Self, RecordError> {
        let run = BpfRun::begin(options, group, header)?;
        Ok(Self {
            options: options.clone(),
            group: group.cloned(),
            header: header.clone(),
            events_for,
            pid: None,
            now: Part::Events(Box::new(run)),
        })
    }

    /// The counting programs are there before those of events go: no switch is missed, and few are seen by both.
    fn hand_over(&mut self) {
        let Part::Events(events) = &mut self.now else { return };
        let (group, members) = (self.group.as_ref(), events.members());
        let Ok(mut run) = CountsRun::begin(&self.options, group, &members, &self.header) else {
            // Then events are kept on: what is asked for is to be recorded.
            self.events_for = Duration::MAX;
            return;
        };
        let now_ns = run.take_over(self.pid);
        events.finish(now_ns);
        // Those among them that were born meanwhile.
        run.follow(&events.members());
        let ready = events.switches();
        let before = events.progress();
        let mut header = self.header.clone();
        let tables = events.fill(now_ns, &mut header);
        let handover_ns = now_ns.saturating_sub(header.provenance.started_monotonic_ns);
        self.now = Part::Counts(Box::new(Counting { run, tables, header, handover_ns, before, ready }));
    }
}

impl Run for EventsThenCounts {
    fn before_start(&mut self) {
        if let Part::Events(run) = &mut self.now {
            run.before_start();
        }
    }

    fn started(&mut self, pid: u32) -> Result<(), RecordError> {
        self.pid = Some(pid);
        match &mut self.now {
            Part::Events(run) => run.started(pid),
            Part::Counts(_) => Ok(()),
        }
    }

    fn look(&mut self) {
        let since_ns = monotonic_ns().saturating_sub(self.header.provenance.started_monotonic_ns);
        match &mut self.now {
            Part::Events(run) => {
                run.look();
                if Duration::from_nanos(since_ns) >= self.events_for {
                    self.hand_over();
                }
            }
            Part::Counts(counting) => counting.run.look(),
        }
    }

    fn period(&self) -> Duration {
        match &self.now {
            Part::Events(run) => run.period(),
            Part::Counts(counting) => counting.run.period(),
        }
    }

    fn alive(&self) -> bool {
        match &self.now {
            Part::Events(run) => run.alive(),
            Part::Counts(counting) => counting.run.alive(),
        }
    }

    fn switches(&mut self) -> Vec<SwitchRow> {
        match &mut self.now {
            Part::Events(run) => run.switches(),
            Part::Counts(counting) => std::mem::take(&mut counting.ready),
        }
    }

    fn finish(&mut self, end_ns: u64) {
        match &mut self.now {
            Part::Events(run) => run.finish(end_ns),
            Part::Counts(counting) => counting.run.finish(end_ns),
        }
    }

    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        match &mut self.now {
            Part::Events(run) => run.fill(now_ns, header),
            Part::Counts(counting) => counting.fill(now_ns, header),
        }
    }

    fn recent(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        match &mut self.now {
            Part::Events(run) => run.recent(now_ns, header),
            Part::Counts(counting) => {
                let tables = counting.run.recent(now_ns, header);
                joined::add_totals(&counting.header.totals, &mut header.totals);
                tables
            }
        }
    }

    fn progress(&self) -> Progress {
        match &self.now {
            Part::Events(run) => run.progress(),
            Part::Counts(counting) => {
                let progress = counting.run.progress();
                let before = counting.before;
                let sum = |one: Option<u64>, other: Option<u64>| Some(one? + other?);
                Progress {
                    switches: sum(progress.switches, before.switches),
                    run_ns: sum(progress.run_ns, before.run_ns),
                    lost: progress.lost + before.lost,
                    ..progress
                }
            }
        }
    }
}

impl Counting {
    fn fill(&mut self, now_ns: u64, header: &mut Header) -> Tables {
        let second = self.run.fill(now_ns, header);
        joined::add_totals(&self.header.totals, &mut header.totals);
        header.lost.extend(self.header.lost.iter().cloned());
        header.recorder.memory_bytes = header.recorder.memory_bytes.max(self.header.recorder.memory_bytes);
        let seconds = self.handover_ns as f64 / 1e9;
        "bpf-events-then-counts".clone_into(&mut header.provenance.recorder);
        let why = format!("single events were kept for the first {seconds:.1} s; --events keeps all");
        header.provenance.why =
            format!("{}; events were kept for {seconds:.1} s, then counted", self.header.provenance.why);
        for row in &mut header.unavailable {
            if ["switches", "wakes", "preemptions", "intervals.wakeups", "intervals.migrations"]
                .contains(&row.what.as_str())
            {
                row.what = format!("{} after {seconds:.1} s", row.what);
                row.why.clone_from(&why);
            }
        }
        let what = "histograms of all tasks";
        if !header.unavailable.iter().any(|one| one.what == what) {
            let why = format!(
                "events were kept for {seconds:.1} s; then waits and slices are counted by task only"
            );
            header.unavailable.push(Unavailable { what: what.to_owned(), why });
        }
        for (column, source) in &self.header.sources {
            let both = header.sources.get(column).map(|counts| format!("{source}; then {counts}"));
            header.sources.insert(column.clone(), both.unwrap_or_else(|| source.clone()));
        }
        joined::tables(&self.tables, second, self.handover_ns)
    }
}
