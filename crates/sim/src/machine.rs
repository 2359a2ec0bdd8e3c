//! The machine that is simulated: CPUs, their kinds, and what they share.
//!
//! CPUs are held in an order. Those that share a core, a level 2 cache, a level 3 cache and a NUMA node lie side by side. So
//! every such domain is a range. [`MachineCpu::id`] is the number a kernel would give it; everywhere else a CPU is its place in
//! [`Machine::cpus`].

pub(crate) mod facts;
mod host;
mod presets;

pub use presets::{MACHINES, MOST_CPUS, MachineRow, named};

use crate::assumption::Assumption;
use std::ops::Range;
use swtch_units::CpuId;

/// The speed of the core that work is measured by: a task with `n` ns of work runs `n` ns there. A core of speed 512 takes twice as long.
pub const REFERENCE_SPEED: u32 = 1024;

/// A kind of core.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreType {
    /// Its name in tables, such as `fast`.
    pub name: String,
    /// Work per ns of a task that says nothing about its own speed, 1024 for the reference core.
    pub speed: u32,
}

/// One CPU (hardware thread).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCpu {
    /// The kernel's number.
    pub id: CpuId,
    /// Its kind: a place in [`Machine::types`].
    pub core_type: u32,
    /// Its core, counted over the machine.
    pub core: u32,
    /// Its level 2 cache, counted over the machine.
    pub l2: u32,
    /// Its level 3 cache, counted over the machine.
    pub l3: u32,
    /// Its NUMA node.
    pub node: u32,
}

/// How far two CPUs lie apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same CPU.
    Same,
    /// Threads of a core.
    Core,
    /// They share a level 2 cache.
    L2,
    /// They share a level 3 cache.
    L3,
    /// They share a NUMA node.
    Node,
    /// They share nothing.
    Far,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name in tables, such as `2f4s`.
    pub name: String,
    /// The kinds of cores.
    pub types: Vec<CoreType>,
    /// The CPUs, neighbours side by side.
    pub cpus: Vec<MachineCpu>,
    /// Speed of each hardware thread by how many of its core's threads are busy, 1024 for a core of its own. The first figure is for
    /// one busy thread. Cores with more busy threads than figures use the last.
    pub smt_speed: Vec<u32>,
    /// All its CPUs take turns on one CPU, as those that QEMU emulates under `-icount` do. `smt_speed` goes by how many CPUs of the
    /// whole machine are busy. The kernel on it does not know.
    pub takes_turns: bool,
    /// What had to be assumed about it.
    pub assumed: Vec<Assumption>,
    cores: Vec<Range<usize>>,
    l2s: Vec<Range<usize>>,
    l3s: Vec<Range<usize>>,
    nodes: Vec<Range<usize>>,
}

impl Machine {
    /// A machine of these CPUs, which are put in order and whose domains are counted again. `smt_speed` as in [`Machine::smt_speed`]; empty
    /// means that threads do not slow each other down. `None` without a CPU, with a kind that does not exist, or with a speed of zero.
    pub fn new(
        name: &str,
        types: Vec<CoreType>,
        mut cpus: Vec<MachineCpu>,
        mut smt_speed: Vec<u32>,
    ) -> Option<Self> {
        if smt_speed.is_empty() {
            smt_speed.push(REFERENCE_SPEED);
        }
        let known = |cpu: &MachineCpu| (cpu.core_type as usize) < types.len();
        let speeds_ok = types.iter().all(|kind| kind.speed > 0) && smt_speed.iter().all(|speed| *speed > 0);
        if cpus.is_empty() || !cpus.iter().all(known) || !speeds_ok {
            return None;
        }
        cpus.sort_by_key(|cpu| (cpu.node, cpu.l3, cpu.l2, cpu.core, cpu.id));
        let nodes = renumber(&mut cpus, |cpu| vec![cpu.node], |cpu| &mut cpu.node);
        let l3s = renumber(&mut cpus, |cpu| vec![cpu.node, cpu.l3], |cpu| &mut cpu.l3);
        let l2s = renumber(&mut cpus, |cpu| vec![cpu.l3, cpu.l2], |cpu| &mut cpu.l2);
        let cores = renumber(&mut cpus, |cpu| vec![cpu.l2, cpu.core], |cpu| &mut cpu.core);
        Some(Self {
            name: name.to_owned(),
            types,
            cpus,
            smt_speed,
            takes_turns: false,
            assumed: Vec::new(),
            cores,
            l2s,
            l3s,
            nodes,
        })
    }

    /// `count` alike CPUs that share a level 3 cache, each with a core of its own.
    ///
    /// ```
    /// let machine = swtch_sim::machine::Machine::uniform(8);
    /// assert_eq!((machine.cpus.len(), machine.l3(3)), (8, 0..8));
    /// ```
    pub fn uniform(count: u32) -> Self {
        let types = vec![CoreType { name: "core".to_owned(), speed: REFERENCE_SPEED }];
        let cpu = |id| MachineCpu { id: CpuId::new(id), core_type: 0, core: id, l2: id, l3: 0, node: 0 };
        let cpus = (0..count.max(1)).map(cpu).collect();
        Self::new("uniform", types, cpus, Vec::new()).expect("at least one CPU of the one kind")
    }

    /// The CPUs of this CPU's core.
    pub fn core(&self, cpu: usize) -> Range<usize> {
        self.cores[self.cpus[cpu].core as usize].clone()
    }

    /// The CPUs that share its level 2 cache.
    pub fn l2(&self, cpu: usize) -> Range<usize> {
        self.l2s[self.cpus[cpu].l2 as usize].clone()
    }

    /// The CPUs that share its level 3 cache.
    pub fn l3(&self, cpu: usize) -> Range<usize> {
        self.l3s[self.cpus[cpu].l3 as usize].clone()
    }

    /// The CPUs of its NUMA node.
    pub fn node(&self, cpu: usize) -> Range<usize> {
        self.nodes[self.cpus[cpu].node as usize].clone()
    }

    /// The CPUs that slow each other down when they are busy: its core's, or all where they take turns.
    pub fn sharing(&self, cpu: usize) -> Range<usize> {
        if self.takes_turns { 0..self.cpus.len() } else { self.core(cpu) }
    }

    /// How far two CPUs lie apart.
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        let (one, other) = (&self.cpus[a], &self.cpus[b]);
        if a == b {
            Distance::Same
        } else if one.core == other.core {
            Distance::Core
        } else if one.l2 == other.l2 {
            Distance::L2
        } else if one.l3 == other.l3 {
            Distance::L3
        } else if one.node == other.node {
            Distance::Node
        } else {
            Distance::Far
        }
    }

    /// Whether two threads share a core anywhere.
    pub(crate) fn has_smt(&self) -> bool {
        self.cores.len() < self.cpus.len()
    }

    /// The place of the CPU with the kernel's number `id`.
    pub(crate) fn place_of(&self, id: CpuId) -> Option<usize> {
        self.cpus.iter().position(|cpu| cpu.id == id)
    }
}

/// Counts a domain from 0 in the order of the CPUs, and gives its ranges.
fn renumber(
    cpus: &mut [MachineCpu],
    key: impl Fn(&MachineCpu) -> Vec<u32>,
    field: impl Fn(&mut MachineCpu) -> &mut u32,
) -> Vec<Range<usize>> {
    let keys: Vec<_> = cpus.iter().map(&key).collect();
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for place in 0..cpus.len() {
        if place > 0 && keys[place] == keys[place - 1] {
            ranges.last_mut().expect("the CPU before began one").end = place + 1;
        } else {
            ranges.push(place..place + 1);
        }
        *field(&mut cpus[place]) = ranges.len() as u32 - 1;
    }
    ranges
}
