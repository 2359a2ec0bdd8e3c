//! The time of a span by cause.

use super::SpanCause;
use super::timeline::{Doing, InFront, Piece, Timelines};
use crate::spinning::{SpinningProcess, spinning_processes};
use std::collections::HashMap;
use swtch_trace::spans::{Span, SpanOwner};
use swtch_trace::tables::{IntervalRow, TaskRow, TraceView};

/// A CPU that is not known.
pub(super) const NO_CPU: u32 = u32::MAX;
/// A CPU that comes out of idle, or gets a wake-up from another one, takes less. While a quota stops a task, its CPU is idle for longer.
const LEAST_THROTTLED_NS: u64 = 500_000;

/// What was in front of a span, or ended its blocking.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Whom {
    pub(super) name: String,
    pub(super) own_process: bool,
    /// It is a thread of a process that has more threads that wait on CPUs than CPUs.
    pub(super) waits_itself: bool,
}

impl Whom {
    /// What is not a task.
    fn other(name: &str) -> Self {
        Self { name: name.to_owned(), own_process: false, waits_itself: false }
    }
}

/// The time of one span.
#[derive(Clone, Debug, Default)]
pub(super) struct Divided {
    /// By cause; they add up to the span.
    pub(super) parts: [u64; SpanCause::ALL.len()],
    /// By cause and whom, for each CPU.
    pub(super) behind: HashMap<(SpanCause, Whom), HashMap<u32, u64>>,
}

/// A part of a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) cause: SpanCause,
    pub(super) whom: Option<Whom>,
    /// The CPU that was waited for, or [`NO_CPU`].
    pub(super) cpu: u32,
}

/// A part of the time of an interval that no switch shows: that of interrupts or of the hypervisor, spread evenly.
#[derive(Clone, Copy)]
struct Rate {
    from_ns: u64,
    to_ns: u64,
    share: f64,
}

/// Rates one after another.
struct Rates(Vec<Rate>);

impl Rates {
    fn of(mut rates: Vec<Rate>) -> Self {
        rates.sort_by_key(|rate| rate.from_ns);
        Self(rates)
    }

    /// How much of the time between two moments it was, ns.
    fn ns(&self, from_ns: u64, to_ns: u64) -> u64 {
        let first = self.0.partition_point(|rate| rate.to_ns <= from_ns);
        let rates = self.0[first..].iter().take_while(|rate| rate.from_ns < to_ns);
        let ns =
            |rate: &Rate| (rate.to_ns.min(to_ns) - rate.from_ns.max(from_ns)) as f64 * rate.share.min(1.0);
        rates.map(ns).sum::<f64>() as u64
    }
}

/// Time in interrupts.
enum InterruptTime {
    /// As the recorder saw it, by CPU.
    Seen(HashMap<u32, Rates>),
    /// Shares of the whole machine's busy time.
    Estimated(Rates),
}

/// Divides spans.
pub(super) struct Divider<'a> {
    timelines: &'a Timelines,
    tasks: HashMap<u32, &'a TaskRow>,
    interrupts: InterruptTime,
    steal: Rates,
    /// The cgroups that a quota stopped.
    limited: Vec<&'a str>,
    /// Processes with more threads that wait on CPUs than CPUs, with what to say of each.
    spinning: Vec<(SpinningProcess, String)>,
}

impl<'a> Divider<'a> {
    pub(super) fn of(trace: TraceView<'a>, timelines: &'a Timelines) -> Self {
        let tables = trace.tables;
        let of_busy = |part: fn(&IntervalRow) -> u64| {
            let whole = tables.intervals.iter().filter(|row| row.cpu.is_none());
            Rates::of(whole.map(|row| of_busy_time(row, part(row))).collect())
        };
        let interrupts = if tables.interruptions.is_empty() {
            InterruptTime::Estimated(of_busy(|row| row.irq_ns.unwrap_or(0) + row.softirq_ns.unwrap_or(0)))
        } else {
            let mut by_cpu: HashMap<u32, Vec<Rate>> = HashMap::new();
            for row in &tables.interruptions {
                by_cpu.entry(row.cpu).or_default().push(Rate {
                    from_ns: row.at_ns,
                    to_ns: row.at_ns.saturating_add(row.length_ns),
                    share: row.ns as f64 / row.length_ns.max(1) as f64,
                });
            }
            InterruptTime::Seen(by_cpu.into_iter().map(|(cpu, rates)| (cpu, Rates::of(rates))).collect())
        };
        let tasks = tables.tasks.iter().map(|task| (task.tid, task)).collect();
        let spinning = spinning_processes(trace, trace.header.duration_ns).into_iter().map(|one| {
            let words = format!("{}. Try: {}.", one.evidence(trace), one.remedy(trace));
            (one, words)
        });
        let stopped = tables.cgroups.iter().filter(|row| row.throttled_ns > Some(0));
        Self {
            timelines,
            tasks,
            interrupts,
            steal: of_busy(|row| row.steal_ns.unwrap_or(0)),
            limited: stopped.map(|row| row.path.as_str()).collect(),
            spinning: spinning.collect(),
        }
    }

    /// Divides the time of a span.
    pub(super) fn divide(&self, span: &Span) -> Divided {
        let mut divided = Divided::default();
        let mut rest_ns = span.length_ns();
        for part in self.parts(span) {
            let ns = part.to_ns - part.from_ns;
            rest_ns -= ns;
            match part.whom {
                Some(whom) if part.cause == SpanCause::RunQueue => {
                    let interrupt_ns = self.interrupt_ns(part.cpu, part.from_ns, part.to_ns).min(ns);
                    divided.add(part.cause, whom, part.cpu, ns - interrupt_ns);
                    if interrupt_ns > 0 {
                        divided.add(part.cause, Whom::other("interrupts"), part.cpu, interrupt_ns);
                    }
                }
                Some(whom) => divided.add(part.cause, whom, part.cpu, ns),
                None if part.cause == SpanCause::OnCpu => self.ran(&part, &mut divided),
                None => divided.parts[part.cause as usize] += ns,
            }
        }
        divided.parts[SpanCause::Unknown as usize] += rest_ns;
        divided
    }

    /// The parts of a span in the order of time. Time on a CPU includes that of interrupts and the hypervisor.
    pub(super) fn parts(&self, span: &Span) -> Vec<Part> {
        let pieces = self.timelines.between(&span.owner, span.begin_ns, span.end_ns);
        let clip = |piece: &Piece| {
            let (from_ns, to_ns) = (piece.from_ns.max(span.begin_ns), piece.to_ns.min(span.end_ns));
            Piece { from_ns, to_ns, doing: piece.doing }
        };
        let pieces: Vec<Piece> = pieces.iter().map(clip).collect();
        let mut parts = Vec::with_capacity(pieces.len());
        let mut index = 0;
        while let Some(piece) = pieces.get(index) {
            let Piece { from_ns, to_ns, doing } = *piece;
            let part = |cause, whom| Part { from_ns, to_ns, cause, whom, cpu: NO_CPU };
            index += 1;
            match doing {
                Doing::Running { cpu } => parts.push(Part { cpu, ..part(SpanCause::OnCpu, None) }),
                Doing::Unknown => parts.push(part(SpanCause::Unknown, None)),
                Doing::Blocked { uninterruptible, waker } => {
                    parts.push(part(SpanCause::Blocked, Some(self.waker(uninterruptible, waker, span))));
                }
                Doing::Waiting { wait, .. } => {
                    let same =
                        |piece: &&Piece| matches!(piece.doing, Doing::Waiting { wait: of, .. } if of == wait);
                    let rest = pieces[index..].iter().take_while(same).count();
                    self.waited(&pieces[index - 1..index + rest], span, &mut parts);
                    index += rest;
                }
            }
        }
        parts
    }

    /// Time of interrupts on a CPU that a task had, or for which one waited. Estimates are of running time only.
    fn interrupt_ns(&self, cpu: u32, from_ns: u64, to_ns: u64) -> u64 {
        match &self.interrupts {
            InterruptTime::Seen(by_cpu) => by_cpu.get(&cpu).map_or(0, |rates| rates.ns(from_ns, to_ns)),
            InterruptTime::Estimated(_) => 0,
        }
    }

    /// Time on a CPU, less what interrupts and the hypervisor took of it.
    fn ran(&self, Part { from_ns, to_ns, cpu, .. }: &Part, divided: &mut Divided) {
        let ns = to_ns - from_ns;
        let interrupt_ns = match &self.interrupts {
            InterruptTime::Seen(_) => self.interrupt_ns(*cpu, *from_ns, *to_ns),
            InterruptTime::Estimated(rates) => rates.ns(*from_ns, *to_ns),
        };
        let interrupt_ns = interrupt_ns.min(ns);
        let steal_ns = self.steal.ns(*from_ns, *to_ns).min(ns - interrupt_ns);
        divided.parts[SpanCause::Interrupt as usize] += interrupt_ns;
        divided.parts[SpanCause::Steal as usize] += steal_ns;
        divided.parts[SpanCause::OnCpu as usize] += ns - interrupt_ns - steal_ns;
    }

    /// A wait for a CPU. Where it began because a quota stopped the thread, it is throttled until a task of the thread's cgroup has the
    /// CPU. Without that record, a group with a quota is throttled while the CPU is idle and none of its tasks has it.
    fn waited(&self, pieces: &[Piece], span: &Span, parts: &mut Vec<Part>) {
        let group = self.group(&span.owner);
        let said = matches!(pieces[0].doing, Doing::Waiting { throttled: Some(true), .. });
        let limit =
            self.limited.iter().copied().find(|limit| group.is_some_and(|group| is_within(group, limit)));
        let limit = limit.or(group.filter(|_| said));
        let stopped = |piece: &&Piece| {
            said && limit.is_none() || limit.is_some_and(|limit| !self.in_group(piece, limit))
        };
        let mut rest = pieces;
        while !rest.is_empty() {
            let run = rest.iter().take_while(stopped).count();
            let idle_ns: u64 =
                rest[..run].iter().filter(|piece| is_idle(piece)).map(|p| p.to_ns - p.from_ns).sum();
            let first = rest.len() == pieces.len();
            let throttled = if said { first } else { idle_ns >= LEAST_THROTTLED_NS };
            for piece in &rest[..run.max(1)] {
                let Doing::Waiting { cpu, front, .. } = piece.doing else { continue };
                let (cause, whom) = if throttled && run > 0 {
                    (SpanCause::Throttled, None)
                } else {
                    (SpanCause::RunQueue, Some(self.front(front, span)))
                };
                parts.push(Part { from_ns: piece.from_ns, to_ns: piece.to_ns, cause, whom, cpu });
            }
            rest = &rest[run.max(1)..];
        }
    }

    fn group(&self, owner: &SpanOwner) -> Option<&'a str> {
        let task = match owner {
            SpanOwner::Thread(tid) => self.tasks.get(tid).copied(),
            SpanOwner::Process(pid) => self.tasks.values().copied().find(|task| task.pid == *pid),
            SpanOwner::Program(name) => self.tasks.values().copied().find(|task| task.comm == *name),
            SpanOwner::Recorded => self.tasks.values().copied().find(|task| task.in_scope),
        };
        task?.cgroup.as_deref()
    }

    fn in_group(&self, piece: &Piece, limit: &str) -> bool {
        let Doing::Waiting { front: InFront::Task(tid), .. } = piece.doing else { return false };
        let group = self.tasks.get(&tid).and_then(|task| task.cgroup.as_deref());
        group.is_some_and(|group| is_within(group, limit))
    }

    fn name(&self, tid: u32, span: &Span) -> Whom {
        let task = self.tasks.get(&tid);
        let name = task.map_or_else(|| format!("tid {tid}"), |task| task.comm.clone());
        let own = match &span.owner {
            SpanOwner::Thread(of) => self.tasks.get(of).map(|task| task.pid),
            SpanOwner::Process(pid) => Some(*pid),
            _ => None,
        };
        let own_process = own.is_some() && own == task.map(|task| task.pid);
        let waits_itself =
            task.is_some_and(|task| self.spinning.iter().any(|(process, _)| process.pid == task.pid));
        Whom { name, own_process, waits_itself }
    }

    /// What to say of the process of a span, where its threads wait on CPUs that the span needs.
    pub(super) fn spinning_of(&self, owner: &SpanOwner) -> Option<&str> {
        let pid = match owner {
            SpanOwner::Thread(tid) => self.tasks.get(tid)?.pid,
            SpanOwner::Process(pid) => *pid,
            // Of all tasks of a name, or all that were recorded: the worst.
            SpanOwner::Program(_) | SpanOwner::Recorded => self.spinning.first()?.0.pid,
        };
        self.spinning.iter().find(|(process, _)| process.pid == pid).map(|(_, words)| words.as_str())
    }

    fn front(&self, front: InFront, span: &Span) -> Whom {
        match front {
            InFront::Task(tid) => self.name(tid, span),
            InFront::Idle => Whom::other("an idle CPU that was waking up"),
            InFront::Unseen => Whom::other("tasks that were not recorded"),
        }
    }

    fn waker(&self, uninterruptible: bool, waker: Option<u32>, span: &Span) -> Whom {
        match waker {
            Some(tid) => self.name(tid, span),
            None if uninterruptible => Whom::other("a device"),
            None => Whom::other("a timer or an interrupt"),
        }
    }
}

impl Divided {
    fn add(&mut self, cause: SpanCause, whom: Whom, cpu: u32, ns: u64) {
        self.parts[cause as usize] += ns;
        *self.behind.entry((cause, whom)).or_default().entry(cpu).or_default() += ns;
    }
}

fn is_idle(piece: &Piece) -> bool {
    matches!(piece.doing, Doing::Waiting { front: InFront::Idle, .. })
}

/// `ns` as a share of the time in which the CPUs were busy.
fn of_busy_time(row: &IntervalRow, ns: u64) -> Rate {
    let parts = [row.user_ns, row.system_ns, row.irq_ns, row.softirq_ns, row.steal_ns];
    let busy = parts.into_iter().flatten().sum::<u64>() as f64;
    Rate {
        from_ns: row.at_ns,
        to_ns: row.at_ns.saturating_add(row.length_ns),
        share: if busy > 0.0 { ns as f64 / busy } else { 0.0 },
    }
}

/// Whether a cgroup is `limit`, or below it.
fn is_within(group: &str, limit: &str) -> bool {
    let limit = limit.trim_end_matches('/');
    group.strip_prefix(limit).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
