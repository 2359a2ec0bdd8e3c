//! From lines to events, and from those to a Trace.

use super::body::{Named, ParsedRecord};
use super::error::ImportError;
use super::figures::Gathered;
use super::line::ScriptLine;
use super::order::Order;
use super::tasks::Tasks;
use super::{Counts, Format};
use std::collections::HashMap;
use std::path::Path;
use swtch_trace::accumulate::{Accumulator, CacheGroups, History, TaskInfo};
use swtch_trace::check::check;
use swtch_trace::event::{Event, LifeKind, PrevState, Switch, Wake};
use swtch_trace::model::Header;
use swtch_trace::tables::SwitchRow;
use swtch_trace::{TraceError, Writer};

/// Longest time that a text may cover. A later event has a damaged number, and sums of such times would not fit.
const LONGEST_NS: u64 = 366 * 86_400 * 1_000_000_000;
/// That many switches go to the writer at once.
const BATCH: usize = 4096;

/// An event in its line's company.
#[derive(Debug)]
struct Step {
    event: Event,
    /// What its line, and those before it that had no event, newly say about tasks.
    news: Vec<TaskInfo>,
}

/// Takes lines, gives a Trace.
#[derive(Debug)]
pub(super) struct Converter {
    writer: Writer,
    order: Order<Step>,
    tasks: Tasks,
    /// What was newly said about tasks since the last event.
    news: HashMap<u32, TaskInfo>,
    format: Option<Format>,
    first_ns: Option<u64>,
    /// From the first event that is in order.
    accumulator: Option<Accumulator>,
    rows: Vec<SwitchRow>,
    figures: Gathered,
}

impl Converter {
    pub(super) fn new(writer: Writer) -> Self {
        Self {
            writer,
            order: Order::default(),
            tasks: Tasks::default(),
            news: HashMap::new(),
            format: None,
            first_ns: None,
            accumulator: None,
            rows: Vec::new(),
            figures: Gathered::default(),
        }
    }

    pub(super) fn remark(&mut self) {
        self.figures.counts.lines += 1;
    }

    pub(super) fn malformed(&mut self) {
        self.figures.counts.lines += 1;
        self.figures.counts.malformed += 1;
    }

    pub(super) fn lost(&mut self, cpu: u32, events: Option<u64>) {
        self.figures.counts.lines += 1;
        self.figures.loses(cpu, events);
    }

    /// Takes an event's line.
    pub(super) fn take(&mut self, line: &ScriptLine<'_>) -> Result<(), TraceError> {
        let first_ns = self.first_ns.unwrap_or(line.at_ns);
        let Some(record) =
            ParsedRecord::of(line.event, line.body).filter(|_| line.at_ns.abs_diff(first_ns) < LONGEST_NS)
        else {
            self.malformed();
            return Ok(());
        };
        self.figures.counts.lines += 1;
        self.format.get_or_insert(line.format);
        let known = self.tasks.runs(line.tid, line.comm, line.pid);
        self.learn(known);
        let Some(event) = self.event(line, record) else { return Ok(()) };
        self.first_ns = Some(first_ns);
        let news = self.news.drain().map(|(_, known)| known).collect();
        if !self.order.push(line.at_ns, Step { event, news }) {
            self.figures.counts.misplaced += 1;
        }
        self.drain(false)
    }

    /// A task is named, and that is new.
    fn name(&mut self, named: Named<'_>) {
        let known = self.tasks.name(named);
        self.learn(known);
    }

    fn learn(&mut self, known: Option<TaskInfo>) {
        self.news.extend(known.map(|known| (known.tid, known)));
    }

    /// The event of a line, if it adds one; counts it.
    fn event(&mut self, line: &ScriptLine<'_>, record: ParsedRecord<'_>) -> Option<Event> {
        match record {
            ParsedRecord::Switch { prev, state, preempted, next } => {
                self.figures.counts.switches += 1;
                self.name(prev);
                self.name(next);
                if state == PrevState::Dead {
                    self.tasks.gone(prev.tid);
                }
                let switch = Switch::bare(line.at_ns, line.cpu, prev.tid, next.tid, state);
                Some(Event::Switch(Switch { preempted, ..switch }))
            }
            ParsedRecord::Waking(task) | ParsedRecord::Wakeup(task) | ParsedRecord::WakeupNew(task) => {
                self.name(task);
                match record {
                    ParsedRecord::Waking(_) => self.tasks.waking(task.tid),
                    // The other half of a wake-up that was seen already.
                    ParsedRecord::Wakeup(_) if self.tasks.woken(task.tid) => return None,
                    _ => {}
                }
                self.figures.counts.wakeups += 1;
                Some(Event::Wake(Wake {
                    at_ns: line.at_ns,
                    cpu: line.cpu,
                    wakee_tid: task.tid,
                    // A task that an interrupt interrupted has woken no other, and the idle task never does.
                    waker_tid: (!line.in_interrupt && line.tid != 0).then_some(line.tid),
                    new: matches!(record, ParsedRecord::WakeupNew(_)),
                }))
            }
            ParsedRecord::Fork { parent, child } => {
                self.figures.counts.forks += 1;
                self.name(parent);
                Some(self.tasks.made(parent, child).life(line.at_ns, LifeKind::Fork))
            }
            ParsedRecord::Exec { tid } => {
                self.figures.counts.execs += 1;
                Some(self.tasks.known(tid).life(line.at_ns, LifeKind::Exec))
            }
            ParsedRecord::Exit { task, last } => {
                self.figures.counts.exits += 1;
                self.figures.exits(last);
                self.name(task);
                Some(self.tasks.known(task.tid).life(line.at_ns, LifeKind::Exit))
            }
            ParsedRecord::Other => {
                self.figures.counts.other_events += 1;
                None
            }
        }
    }

    /// Hands on what is in order.
    fn drain(&mut self, all: bool) -> Result<(), TraceError> {
        while let Some(step) = self.order.pop(all) {
            self.step(&step);
            if self.rows.len() >= BATCH {
                self.writer.append_switches(&self.rows)?;
                self.rows.clear();
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) {
        let at_ns = step.event.at_ns();
        let accumulator =
            self.accumulator.get_or_insert_with(|| Accumulator::new(at_ns, CacheGroups::default(), false));
        self.figures.sees(&step.event);
        // The running task existed before this event. A task that comes up in the event is seen from this event on, and named after it.
        let runs = match &step.event {
            Event::Switch(switch) => Some(switch.prev_tid),
            Event::Wake(wake) => wake.waker_tid,
            Event::Life(_) | Event::Interrupts(_) | Event::Idle(_) => None,
        };
        for known in step.news.iter().filter(|known| Some(known.tid) == runs) {
            accumulator.name(known);
        }
        accumulator.take(&step.event, &mut self.rows);
        for known in step.news.iter().filter(|known| Some(known.tid) != runs) {
            accumulator.name(known);
        }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self, path: &Path) -> Result<(Header, Format, Counts), ImportError> {
        self.drain(true)?;
        let counts = self.figures.counts;
        let (Some(mut accumulator), Some(format)) =
            (self.accumulator.filter(|_| counts.switches > 0), self.format)
        else {
            return Err(ImportError::NoSwitch {
                path: path.to_owned(),
                lines: counts.lines,
                malformed: counts.malformed,
            });
        };
        let mut writer = self.writer;
        accumulator.end(&mut self.rows);
        writer.append_switches(&self.rows)?;
        let sums = accumulator.sums();
        let mut tables = accumulator.snapshot(self.figures.last_ns(), History::Whole, &|_| None);
        let mut header = self.figures.header(format, path);
        self.figures.fill_totals(sums, &mut header);
        self.figures.fill_lost(format, &mut header);
        self.figures.fill_unavailable(format, self.tasks.names_processes, &mut header);
        self.figures.clean(&mut tables);
        check(tables.view(&header))
            .map_err(|source| ImportError::Impossible { path: path.to_owned(), source })?;
        tables.put_all(&mut writer)?;
        writer.finish(&header)?;
        Ok((header, format, counts))
    }
}
