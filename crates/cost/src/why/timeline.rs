//! What each thread did when, from the switches of a Trace.

use std::collections::{HashMap, HashSet};
use swtch_trace::spans::SpanOwner;
use swtch_trace::tables::{PrevState, SwitchRow, TaskRow};
use swtch_trace::timeline::CpuTimeline;
use swtch_trace::{Trace, TraceError};

/// What a thread did in a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doing {
    /// It ran.
    Running {
        /// Where.
        cpu: u32,
    },
    /// It waited for a CPU, which something else had.
    Waiting {
        /// The CPU.
        cpu: u32,
        /// What had it.
        front: InFront,
        /// The number of the wait: its parts have one.
        wait: u32,
        /// Whether it began because a quota stopped the thread; absent where the Trace does not say.
        throttled: Option<bool>,
    },
    /// It waited for something else, until a task woke it.
    Blocked {
        /// It could not be interrupted: most often by a device.
        uninterruptible: bool,
        /// The task that woke it.
        waker: Option<u32>,
    },
    /// The Trace does not say.
    Unknown,
}

/// What had a CPU for which a thread waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum InFront {
    /// A task.
    Task(u32),
    /// Nothing: it came out of idle, or a quota kept the thread from it.
    Idle,
    /// Its switches of that time are not in the Trace.
    Unseen,
}

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
    pub(super) doing: Doing,
}

/// What a thread does now, since the end of its last stretch.
#[derive(Clone, Copy, Debug)]
enum Now {
    Unseen,
    Running { cpu: u32, since_ns: u64 },
    Ready { cpu: u32, throttled: Option<bool> },
    Off { uninterruptible: bool },
}

/// A thread's time without gaps, from its beginning to the Trace's end.
#[derive(Debug)]
struct ThreadTimeline {
    pieces: Vec<Piece>,
    now: Now,
    reached_ns: u64,
}

impl ThreadTimeline {
    fn new(first_ns: u64) -> Self {
        Self { pieces: Vec::new(), now: Now::Unseen, reached_ns: first_ns }
    }

    /// What came until `to_ns`; time that is covered already stays as it is.
    fn push(&mut self, to_ns: u64, doing: Doing) {
        if to_ns > self.reached_ns {
            self.pieces.push(Piece { from_ns: self.reached_ns, to_ns, doing });
            self.reached_ns = to_ns;
        }
    }

    /// The thread leaves a CPU.
    fn leaves(&mut self, row: &SwitchRow) {
        let unknown_until_ns = match self.now {
            Now::Running { cpu, since_ns } if cpu == row.cpu => since_ns,
            // It had been there from the beginning, or its coming is not in the Trace.
            Now::Unseen if row.ran_ns.is_none() => 0,
            _ => row.at_ns.saturating_sub(row.ran_ns.unwrap_or(0)),
        };
        self.push(unknown_until_ns, Doing::Unknown);
        self.push(row.at_ns, Doing::Running { cpu: row.cpu });
        self.now = match row.prev_state {
            PrevState::Runnable => Now::Ready { cpu: row.cpu, throttled: row.throttled },
            state => Now::Off { uninterruptible: state == PrevState::Uninterruptible },
        };
    }

    /// The thread comes to a CPU. It was blocked until it became ready, and then waited for the CPU that `row` or its last one names.
    fn comes(&mut self, row: &SwitchRow, cpus: &[Cpu], wait: u32) {
        let ready_ns = row.waited_ns.map(|waited_ns| row.at_ns.saturating_sub(waited_ns));
        let (mut waited_for, mut stopped) = (row.cpu, None);
        match self.now {
            Now::Off { uninterruptible } => {
                let blocked = Doing::Blocked { uninterruptible, waker: row.waker_tid };
                self.push(ready_ns.unwrap_or(row.at_ns), blocked);
            }
            Now::Ready { cpu, throttled } => (waited_for, stopped) = (cpu, throttled),
            Now::Unseen if ready_ns.is_some() => {
                let blocked = Doing::Blocked { uninterruptible: false, waker: row.waker_tid };
                self.push(ready_ns.unwrap_or(row.at_ns), blocked);
            }
            _ => self.push(ready_ns.unwrap_or(row.at_ns), Doing::Unknown),
        }
        self.waits(row.at_ns, waited_for, stopped, cpus, wait);
        self.now = Now::Running { cpu: row.cpu, since_ns: row.at_ns };
    }

    fn waits(&mut self, until_ns: u64, cpu: u32, throttled: Option<bool>, cpus: &[Cpu], wait: u32) {
        let from_ns = self.reached_ns;
        let Some(Cpu { past, now }) = cpus.get(cpu as usize).filter(|_| until_ns > from_ns) else { return };
        let mut parts = Vec::new();
        past.divide(from_ns, until_ns, *now, |held| parts.push((held.to_ns, held.front)));
        for (to_ns, front) in parts.into_iter().rev() {
            let front = front.unwrap_or(InFront::Unseen);
            self.push(to_ns, Doing::Waiting { cpu, front, wait, throttled });
        }
    }

    fn ends(&mut self, end_ns: u64, cpus: &[Cpu], wait: u32) {
        match self.now {
            Now::Unseen => self.push(end_ns, Doing::Unknown),
            Now::Running { cpu, .. } => self.push(end_ns, Doing::Running { cpu }),
            Now::Ready { cpu, throttled } => self.waits(end_ns, cpu, throttled, cpus, wait),
            Now::Off { uninterruptible } => {
                self.push(end_ns, Doing::Blocked { uninterruptible, waker: None });
            }
        }
    }
}

/// What had a CPU, and what has it.
#[derive(Debug)]
struct Cpu {
    past: CpuTimeline<InFront>,
    now: Option<InFront>,
}

/// What the owners of spans did.
#[derive(Debug)]
pub(super) struct Timelines {
    owners: HashMap<SpanOwner, Vec<Piece>>,
}

impl Timelines {
    /// Of these owners, from the switches of `trace`.
    pub(super) fn read(trace: &Trace, owners: &HashSet<&SpanOwner>) -> Result<Self, TraceError> {
        let mut builder = Builder::of(&trace.tasks, owners);
        for row in trace.switches() {
            builder.take(&row?);
        }
        Ok(builder.finish(trace.header.duration_ns, &trace.tasks, owners))
    }

    /// The stretches of an owner that lie, at least partly, between two moments.
    pub(super) fn between(&self, owner: &SpanOwner, from_ns: u64, to_ns: u64) -> &[Piece] {
        let pieces = self.owners.get(owner).map_or(&[][..], Vec::as_slice);
        let first = pieces.partition_point(|piece| piece.to_ns <= from_ns);
        let last = pieces.partition_point(|piece| piece.from_ns < to_ns);
        &pieces[first..last.max(first)]
    }
}

/// Whether a task may have worked on the spans of an owner.
fn belongs(task: &TaskRow, owner: &SpanOwner) -> bool {
    match owner {
        SpanOwner::Thread(tid) => task.tid == *tid,
        SpanOwner::Process(pid) => task.pid == *pid && task.in_scope,
        SpanOwner::Program(name) => task.comm == *name && task.in_scope,
        SpanOwner::Recorded => task.in_scope,
    }
}

struct Builder {
    threads: HashMap<u32, ThreadTimeline>,
    cpus: Vec<Cpu>,
    waits: u32,
}

impl Builder {
    fn of(tasks: &[TaskRow], owners: &HashSet<&SpanOwner>) -> Self {
        let mut threads: HashMap<u32, ThreadTimeline> = HashMap::new();
        for task in tasks.iter().filter(|task| owners.iter().any(|owner| belongs(task, owner))) {
            let thread = threads.entry(task.tid).or_insert_with(|| ThreadTimeline::new(task.first_ns));
            thread.reached_ns = thread.reached_ns.min(task.first_ns);
        }
        Self { threads, cpus: Vec::new(), waits: 0 }
    }

    fn take(&mut self, row: &SwitchRow) {
        let index = row.cpu as usize;
        if index >= self.cpus.len() {
            self.cpus.resize_with(index + 1, || Cpu { past: CpuTimeline::begin(0), now: None });
        }
        let front = |tid: u32| if tid == 0 { InFront::Idle } else { InFront::Task(tid) };
        let cpu = &mut self.cpus[index];
        cpu.past.extend(row.at_ns, front(row.prev_tid), 0);
        cpu.now = Some(front(row.next_tid));
        if let Some(thread) = self.threads.get_mut(&row.prev_tid) {
            thread.leaves(row);
        }
        if let Some(thread) = self.threads.get_mut(&row.next_tid) {
            self.waits = self.waits.wrapping_add(1);
            thread.comes(row, &self.cpus, self.waits);
        }
    }

    fn finish(mut self, end_ns: u64, tasks: &[TaskRow], owners: &HashSet<&SpanOwner>) -> Timelines {
        for task in tasks {
            let Some(thread) = self.threads.get_mut(&task.tid) else { continue };
            self.waits = self.waits.wrapping_add(1);
            // A task without a switch ran all the time, if it ran.
            if matches!(thread.now, Now::Unseen) && task.run_ns > 0 {
                thread.now = Now::Running { cpu: 0, since_ns: task.first_ns };
            }
            thread.ends(end_ns, &self.cpus, self.waits);
        }
        let of = |owner: &&SpanOwner| {
            let tids: HashSet<u32> =
                tasks.iter().filter(|task| belongs(task, owner)).map(|task| task.tid).collect();
            let threads: Vec<&[Piece]> = tids
                .iter()
                .filter_map(|tid| self.threads.get(tid))
                .map(|thread| thread.pieces.as_slice())
                .collect();
            ((*owner).clone(), together(&threads))
        };
        Timelines { owners: owners.iter().map(of).collect() }
    }
}

/// Which of several threads counts at a moment: the lowest.
fn rank(doing: Doing) -> u8 {
    match doing {
        Doing::Running { .. } => 0,
        Doing::Waiting { .. } => 1,
        Doing::Blocked { .. } => 2,
        Doing::Unknown => 3,
    }
}

/// Several threads as one: at each moment that of the lowest rank; of blocked ones that which is woken first.
fn together(threads: &[&[Piece]]) -> Vec<Piece> {
    if let [only] = threads {
        return only.to_vec();
    }
    let mut edges: Vec<u64> = threads
        .iter()
        .flat_map(|pieces| pieces.iter().flat_map(|piece| [piece.from_ns, piece.to_ns]))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    let mut next = vec![0_usize; threads.len()];
    let mut merged: Vec<Piece> = Vec::new();
    for edge in edges.windows(2) {
        let (from_ns, to_ns) = (edge[0], edge[1]);
        let mut best: Option<&Piece> = None;
        for (pieces, next) in threads.iter().zip(&mut next) {
            while pieces.get(*next).is_some_and(|piece| piece.to_ns <= from_ns) {
                *next += 1;
            }
            let here = pieces.get(*next).filter(|piece| piece.from_ns <= from_ns);
            let better = |piece: &&Piece| {
                best.is_none_or(|best| (rank(piece.doing), piece.to_ns) < (rank(best.doing), best.to_ns))
            };
            best = here.filter(better).or(best);
        }
        let Some(doing) = best.map(|piece| piece.doing) else { continue };
        match merged.last_mut().filter(|last| last.doing == doing && last.to_ns == from_ns) {
            Some(last) => last.to_ns = to_ns,
            None => merged.push(Piece { from_ns, to_ns, doing }),
        }
    }
    merged
}
