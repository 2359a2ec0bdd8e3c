//! What had a CPU and when, and what each wait was behind.

use crate::tables::{InFront, WaitStart};
use std::collections::HashMap;
use swtch_units::CpuList;

/// Sets of CPUs that are watched for idle ones. Tasks with other sets are rare.
const CPU_SETS: usize = 16;

/// What has a CPU: nothing that is known, the idle task, interrupts, or a program by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Front(u32);

impl Front {
    pub(super) const UNSEEN: Self = Self(0);
    pub(super) const IDLE: Self = Self(1);
    pub(super) const INTERRUPT: Self = Self(2);
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
