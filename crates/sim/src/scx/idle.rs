//! Which CPUs are idle (Linux 7.3, kernel/sched/ext_idle.c).

use super::abi::CpuMask;
use crate::machine::Machine;
use std::sync::Arc;

/// The kernel's own record of idle CPUs.
pub(super) struct Idle {
    /// It is kept: the scheduler has no `update_idle`, or wants both.
    pub(super) is_kept: bool,
    /// Idle and not claimed.
    pub(super) cpus: Box<CpuMask>,
    /// Those whose core is idle as a whole.
    pub(super) cores: Box<CpuMask>,
    pub(super) has_smt: bool,
    /// The CPUs of every CPU's core.
    siblings: Vec<Vec<u32>>,
    pub(super) l3s: Arc<[CpuMask]>,
    pub(super) nodes: Arc<[CpuMask]>,
    /// Level 3 caches are looked at first: there are several.
    pub(super) by_l3: bool,
    /// NUMA nodes are: there are several, and they are not the same as the caches.
    pub(super) by_node: bool,
    scratch: Box<CpuMask>,
}

impl Idle {
    pub(super) fn new(machine: &Machine, is_kept: bool) -> Self {
        let count = machine.cpus.iter().map(|cpu| cpu.id.get() as usize + 1).max().unwrap_or(0);
        let mut siblings = vec![Vec::new(); count];
        let mut all = Box::new(CpuMask::EMPTY);
        let domains = |key: fn(&crate::machine::MachineCpu) -> u32| {
            let count = machine.cpus.iter().map(|cpu| key(cpu) as usize + 1).max().unwrap_or(0);
            let mut masks = vec![CpuMask::EMPTY; count];
            for cpu in &machine.cpus {
                masks[key(cpu) as usize].insert(cpu.id.get() as usize);
            }
            Arc::<[CpuMask]>::from(masks)
        };
        for (place, cpu) in machine.cpus.iter().enumerate() {
            siblings[cpu.id.get() as usize] =
                machine.core(place).map(|other| machine.cpus[other].id.get()).collect();
            all.insert(cpu.id.get() as usize);
        }
        let (l3s, nodes) = (domains(|cpu| cpu.l3), domains(|cpu| cpu.node));
        let (by_l3, by_node) = (l3s.len() > 1, nodes.len() > 1 && nodes.len() != l3s.len());
        let (cpus, cores, scratch) = (all.clone(), all, Box::new(CpuMask::EMPTY));
        Self {
            is_kept,
            cpus,
            cores,
            has_smt: machine.has_smt(),
            siblings,
            l3s,
            nodes,
            by_l3,
            by_node,
            scratch,
        }
    }

    /// A CPU becomes idle or busy (`update_builtin_idle`).
    #[inline]
    pub(super) fn update(&mut self, cpu: u32, idle: bool) {
        self.cpus.set(cpu as usize, idle);
        if !self.has_smt {
            self.cores.set(cpu as usize, idle);
            return;
        }
        let siblings = &self.siblings[cpu as usize];
        let whole = idle && siblings.iter().all(|other| self.cpus.contains(*other as usize));
        for other in siblings {
            self.cores.set(*other as usize, whole);
        }
    }

    /// Claims a CPU if it is idle (`scx_idle_test_and_clear_cpu`).
    pub(super) fn claim(&mut self, cpu: u32) -> bool {
        if self.has_smt {
            for other in &self.siblings[cpu as usize] {
                self.cores.remove(*other as usize);
            }
        } else {
            self.cores.remove(cpu as usize);
        }
        let was = self.cpus.contains(cpu as usize);
        self.cpus.remove(cpu as usize);
        was
    }

    /// The idle CPUs of a node, or of all; only those of idle cores if `cores`.
    pub(super) fn mask(&mut self, node: i32, cores: bool) -> *const CpuMask {
        let mask = if cores { &self.cores } else { &self.cpus };
        let Some(node) = usize::try_from(node).ok().and_then(|node| self.nodes.get(node)) else {
            return std::ptr::from_ref(mask.as_ref());
        };
        for (to, (one, other)) in self.scratch.bits.iter_mut().zip(mask.bits.iter().zip(&node.bits)) {
            *to = one & other;
        }
        std::ptr::from_ref(self.scratch.as_ref())
    }
}
