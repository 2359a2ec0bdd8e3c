//! What each wait was behind, and whether another CPU was idle meanwhile.

use crate::tables::{InFront, WaitStart};
use rustc_hash::FxHashMap;
use swtch_units::CpuList;

/// Sets of CPUs that are watched for idle ones. Tasks with other sets are rare.
const CPU_SETS: usize = 16;

/// What keeps a CPU from a task: nothing that is known, the idle task, interrupts, the task's quota, or a program by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Front(u32);

impl Front {
    pub(super) const UNSEEN: Self = Self(0);
    pub(super) const IDLE: Self = Self(1);
    pub(super) const INTERRUPT: Self = Self(2);
    pub(super) const QUOTA: Self = Self(3);
    const PROGRAMS: u32 = 4;
}

/// The programs' names, each once.
#[derive(Debug, Default)]
pub(super) struct Programs {
    names: Vec<String>,
    numbers: FxHashMap<String, Front>,
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
            Front::QUOTA => (InFront::Quota, ""),
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

/// What a task's waits were behind: a hash table, since a task may wait behind many programs, a few at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges {
    /// A power of two, at least half of them free.
    slots: Vec<Option<Charge>>,
    used: usize,
}

impl Charges {
    /// Adds a part of the wait that ends at `until_ns`.
    pub(super) fn add(&mut self, began: WaitStart, front: Front, until_ns: u64, ns: u64) {
        if 2 * (self.used + 1) > self.slots.len() {
            self.grow();
        }
        let slot = self.slot(began, front);
        if let Some(charge) = &mut self.slots[slot] {
            charge.waits += u64::from(charge.until_ns != until_ns);
            charge.until_ns = until_ns;
            charge.ns += ns;
        } else {
            self.used += 1;
            self.slots[slot] = Some(Charge { began, front, waits: 1, ns, until_ns });
        }
    }

    /// Its slot, or the free one that it gets.
    fn slot(&self, began: WaitStart, front: Front) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (2 * front.0 as usize + usize::from(began == WaitStart::Woken)) & mask;
        while self.slots[slot].is_some_and(|charge| charge.front != front || charge.began != began) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        let slots = vec![None; (2 * self.slots.len()).max(4)];
        for charge in std::mem::replace(&mut self.slots, slots).into_iter().flatten() {
            let slot = self.slot(charge.began, charge.front);
            self.slots[slot] = Some(charge);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Charge> {
        self.slots.iter().flatten()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

/// The CPUs that a task may use, as far as idle ones among them are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum CpuSet {
    /// It has not waited yet.
    #[default]
    Unknown,
    /// One: no other can be idle.
    One,
    /// The set of this number.
    Watched(usize),
    /// Too many other sets are watched.
    Unwatched,
}

impl CpuSet {
    /// Whether it is known for how long another CPU was idle.
    pub(super) fn is_watched(self) -> bool {
        matches!(self, Self::One | Self::Watched(_))
    }
}

/// Time in which at least one CPU of a set was idle.
#[derive(Clone, Debug)]
struct IdleTime {
    /// By CPU; all of them when there is none.
    cpus: Option<Vec<bool>>,
    idle: u32,
    since_ns: u64,
    ns: u64,
}

impl IdleTime {
    fn has(&self, cpu: u32) -> bool {
        self.cpus.as_ref().is_none_or(|cpus| cpus.get(cpu as usize) == Some(&true))
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
    /// A set of CPUs, watched from now on; all CPUs where they are not known.
    pub(super) fn set(&mut self, cpus: Option<&CpuList>) -> CpuSet {
        let numbers = cpus.map(CpuList::numbers);
        if numbers.as_ref().is_some_and(|numbers| numbers.len() == 1) {
            return CpuSet::One;
        }
        let cpus = numbers.map(|numbers| {
            let most = numbers.last().map_or(0, |last| *last as usize + 1);
            let mut cpus = vec![false; most];
            for cpu in numbers {
                cpus[cpu as usize] = true;
            }
            cpus
        });
        if let Some(found) = self.sets.iter().position(|set| set.cpus == cpus) {
            return CpuSet::Watched(found);
        }
        if self.sets.len() >= CPU_SETS {
            return CpuSet::Unwatched;
        }
        let mut set = IdleTime { cpus, idle: 0, since_ns: 0, ns: 0 };
        set.idle = self.idle.iter().zip(0..).filter(|(idle, cpu)| **idle && set.has(*cpu)).count() as u32;
        self.sets.push(set);
        CpuSet::Watched(self.sets.len() - 1)
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

    /// These of the first 64 CPUs are idle, and no other of them.
    pub(super) fn note_all(&mut self, cpus: u64, at_ns: u64) {
        let before =
            self.idle.iter().take(64).zip(0..).fold(0, |cpus, (idle, cpu)| cpus | u64::from(*idle) << cpu);
        let mut changed = before ^ cpus;
        while changed != 0 {
            let cpu = changed.trailing_zeros();
            self.note(cpu, cpus >> cpu & 1 == 1, at_ns);
            changed &= changed - 1;
        }
    }

    /// How long one of the set's CPUs was idle, until `at_ns`. For a set of one it is nothing, since it is the one that the task
    /// waits for.
    pub(super) fn ns(&self, set: CpuSet, at_ns: u64) -> Option<u64> {
        match set {
            CpuSet::Watched(set) => {
                let set = &self.sets[set];
                Some(set.ns + if set.idle > 0 { at_ns.saturating_sub(set.since_ns) } else { 0 })
            }
            _ => None,
        }
    }
}
