//! What had a CPU and when, and what each wait was behind.

use crate::tables::{InFront, WaitStart};
use std::collections::{HashMap, VecDeque};
use swtch_units::CpuList;

/// So much of the past of each CPU is kept. What a longer wait was behind before that is not known.
const KEPT: usize = 1 << 12;
/// Sets of CPUs that are watched for idle ones. Tasks with other sets are rare.
const CPU_SETS: usize = 16;

/// What has a CPU: nothing that is known, the idle task, interrupts, or a program by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Front(u32);

impl Front {
    pub(super) const UNSEEN: Self = Self(0);
    pub(super) const IDLE: Self = Self(1);
    const INTERRUPT: Self = Self(2);
    const PROGRAMS: u32 = 3;
}

/// The programs' names, each once.
#[derive(Debug, Default)]
pub(super) struct Programs {
    names: Vec<String>,
    numbers: HashMap<String, Front>,
}

impl Programs {
    pub(super) fn number(&mut self, name: &str) -> Front {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = Front(Front::PROGRAMS + self.names.len() as u32);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }

    /// What it is in a table, and the program's name.
    pub(super) fn words(&self, front: Front) -> (InFront, &str) {
        match front {
            Front::UNSEEN => (InFront::Unseen, ""),
            Front::IDLE => (InFront::Idle, ""),
            Front::INTERRUPT => (InFront::Interrupt, ""),
            Front(number) => (InFront::Task, &self.names[(number - Front::PROGRAMS) as usize]),
        }
    }
}

/// A time in which one program had a CPU. It ends where the next one begins.
#[derive(Clone, Copy, Debug)]
struct Segment {
    from_ns: u64,
    front: Front,
    /// Of it, time in interrupts.
    interrupt_ns: u64,
}

/// What had a CPU, in the order of time.
#[derive(Clone, Debug, Default)]
pub(super) struct Timeline {
    segments: VecDeque<Segment>,
    /// Until when it is known; what has the CPU since then is only known when it leaves.
    known_ns: u64,
}

impl Timeline {
    pub(super) fn begin(start_ns: u64) -> Self {
        Self { segments: VecDeque::new(), known_ns: start_ns }
    }

    /// `front` had the CPU until `at_ns`, `interrupt_ns` of this in interrupts.
    pub(super) fn extend(&mut self, at_ns: u64, front: Front, interrupt_ns: u64) {
        let from_ns = self.known_ns;
        if at_ns <= from_ns {
            return;
        }
        self.known_ns = at_ns;
        let interrupt_ns = interrupt_ns.min(at_ns - from_ns);
        let goes_on = |last: &Segment| last.front == front && last.interrupt_ns == 0 && interrupt_ns == 0;
        if self.segments.back().is_some_and(goes_on) {
            return;
        }
        if self.segments.len() >= KEPT {
            self.segments.pop_front();
        }
        self.segments.push_back(Segment { from_ns, front, interrupt_ns });
    }

    /// Divides the time from `from_ns` to `until_ns` among what had the CPU; `now` has it since the end of what is known.
    pub(super) fn divide(&self, from_ns: u64, until_ns: u64, now: Front, mut add: impl FnMut(Front, u64)) {
        let mut end_ns = self.known_ns;
        if until_ns > end_ns {
            add(now, until_ns - end_ns.max(from_ns));
        }
        for segment in self.segments.iter().rev() {
            if end_ns <= from_ns {
                return;
            }
            let (begin_ns, stop_ns) = (segment.from_ns.max(from_ns), end_ns.min(until_ns));
            if begin_ns < stop_ns {
                let ns = stop_ns - begin_ns;
                let length_ns = u128::from(end_ns - segment.from_ns);
                let interrupt_ns = (u128::from(segment.interrupt_ns) * u128::from(ns) / length_ns) as u64;
                if interrupt_ns > 0 {
                    add(Front::INTERRUPT, interrupt_ns);
                }
                add(segment.front, ns - interrupt_ns);
            }
            end_ns = segment.from_ns;
        }
        let stop_ns = end_ns.min(until_ns);
        if from_ns < stop_ns {
            add(Front::UNSEEN, stop_ns - from_ns);
        }
    }
}

/// A task's waits behind one thing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    pub(super) began: WaitStart,
    pub(super) front: Front,
    pub(super) waits: u64,
    pub(super) ns: u64,
    /// When the last wait ended that has a part here, ns: several parts of one wait count once.
    until_ns: u64,
}

/// What a task's waits were behind.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges(Vec<Charge>);

impl Charges {
    /// Adds a part of the wait that ends at `until_ns`.
    pub(super) fn add(&mut self, began: WaitStart, front: Front, until_ns: u64, ns: u64) {
        match self.0.iter_mut().find(|charge| charge.front == front && charge.began == began) {
            Some(charge) => {
                charge.waits += u64::from(charge.until_ns != until_ns);
                charge.until_ns = until_ns;
                charge.ns += ns;
            }
            None => self.0.push(Charge { began, front, waits: 1, ns, until_ns }),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Charge> {
        self.0.iter()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Time in which at least one CPU of a set was idle.
#[derive(Clone, Debug)]
struct IdleTime {
    /// All CPUs when there is none.
    cpus: Option<Vec<u32>>,
    idle: u32,
    since_ns: u64,
    ns: u64,
}

impl IdleTime {
    fn has(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.contains(&cpu))
    }
}

/// Which CPUs are idle, and for how long one of a set was.
#[derive(Debug, Default)]
pub(super) struct IdleCpus {
    /// By CPU.
    idle: Vec<bool>,
    sets: Vec<IdleTime>,
}

impl IdleCpus {
    /// The number of a set of CPUs; absent when too many sets are watched already.
    pub(super) fn set(&mut self, cpus: Option<&CpuList>) -> Option<usize> {
        let cpus = cpus.map(CpuList::numbers);
        let found = self.sets.iter().position(|set| set.cpus == cpus);
        if found.is_some() || self.sets.len() >= CPU_SETS {
            return found;
        }
        let mut set = IdleTime { cpus, idle: 0, since_ns: 0, ns: 0 };
        set.idle = self.idle.iter().zip(0..).filter(|(idle, cpu)| **idle && set.has(*cpu)).count() as u32;
        self.sets.push(set);
        Some(self.sets.len() - 1)
    }

    /// A CPU becomes idle, or no longer is.
    pub(super) fn note(&mut self, cpu: u32, is_idle: bool, at_ns: u64) {
        let index = cpu as usize;
        if index >= self.idle.len() {
            self.idle.resize(index + 1, false);
        }
        if std::mem::replace(&mut self.idle[index], is_idle) == is_idle {
            return;
        }
        for set in self.sets.iter_mut().filter(|set| set.has(cpu)) {
            if set.idle > 0 {
                set.ns += at_ns.saturating_sub(set.since_ns);
            }
            set.since_ns = set.since_ns.max(at_ns);
            set.idle = if is_idle { set.idle + 1 } else { set.idle.saturating_sub(1) };
        }
    }

    /// How long one of the set's CPUs was idle, until `at_ns`.
    pub(super) fn ns(&self, set: usize, at_ns: u64) -> u64 {
        let set = &self.sets[set];
        set.ns + if set.idle > 0 { at_ns.saturating_sub(set.since_ns) } else { 0 }
    }
}
