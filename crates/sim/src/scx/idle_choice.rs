//! The default choice of an idle CPU (Linux 7.3, kernel/sched/ext_idle.c).

use super::abi::{CpuMask, EBUSY, PF_EXITING, PICK_IDLE_CORE, PICK_IDLE_IN_NODE, WAKE_SYNC};
use super::core::{Core, NONE};

/// The first CPU after `from` that is in all sets, going round.
fn next_in(sets: &[&CpuMask], words: usize, from: u32) -> Option<u32> {
    let start = from as usize + 1;
    let word_at = |word: usize| sets.iter().fold(u64::MAX, |bits, set| bits & set.bits[word]);
    let first = start / 64;
    for step in 0..=words {
        let word = (first + step) % words;
        let bits = match step {
            0 if first < words => word_at(word) & u64::MAX << (start % 64),
            _ => word_at(word),
        };
        if bits != 0 {
            return Some((word * 64) as u32 + bits.trailing_zeros());
        }
    }
    None
}

impl Core {
    /// Any CPU of both sets, a different one each time (`cpumask_any_and_distribute`); the number of CPUs if there is none.
    pub(super) fn any_distribute(&mut self, one: &CpuMask, other: &CpuMask) -> u32 {
        let words = self.cpus.len().div_ceil(64).max(1);
        let rotor = &mut self.cpus[self.this_cpu as usize].rotor;
        match next_in(&[one, other], words, *rotor) {
            Some(cpu) => {
                *rotor = cpu;
                cpu
            }
            None => self.cpus.len() as u32,
        }
    }

    /// Claims an idle CPU of a set, preferably of an idle core (`scx_pick_idle_cpu`).
    pub(super) fn pick_idle(
        &mut self,
        allowed: &CpuMask,
        within: Option<&CpuMask>,
        flags: u64,
    ) -> Option<u32> {
        let words = self.cpus.len().div_ceil(64).max(1);
        let from = self.cpus[self.this_cpu as usize].rotor;
        let within = within.unwrap_or(allowed);
        let found = loop {
            let mut found = None;
            if self.idle.has_smt {
                found = next_in(&[self.idle.cores.as_ref(), allowed, within], words, from);
            }
            if found.is_none() && (flags & PICK_IDLE_CORE == 0 || !self.idle.has_smt) {
                found = next_in(&[self.idle.cpus.as_ref(), allowed, within], words, from);
            }
            let cpu = found?;
            if self.idle.claim(cpu) {
                break cpu;
            }
        };
        self.cpus[self.this_cpu as usize].rotor = found;
        Some(found)
    }

    /// An idle CPU of a node, or of any (`scx_bpf_pick_idle_cpu_node`).
    pub(super) fn pick_idle_in(&mut self, allowed: &CpuMask, node: i32, flags: u64) -> Option<u32> {
        if !self.idle.is_kept {
            self.fail("built-in idle tracking is disabled".to_owned());
            return None;
        }
        let nodes = self.idle.nodes.clone();
        if let Some(node) = usize::try_from(node).ok().and_then(|node| nodes.get(node)) {
            let found = self.pick_idle(allowed, Some(node), flags);
            if found.is_some() || flags & PICK_IDLE_IN_NODE != 0 {
                return found;
            }
        }
        self.pick_idle(allowed, None, flags)
    }

    /// The default choice of an idle CPU: the waker's, the one before, then by distance (`scx_select_cpu_dfl`). `Err` is busy.
    pub(super) fn select_cpu_dfl(
        &mut self,
        task: u32,
        prev_cpu: i32,
        wake_flags: u64,
        also: Option<&CpuMask>,
        flags: u64,
    ) -> Result<u32, i32> {
        if !self.idle.is_kept {
            self.fail("built-in idle tracking is disabled".to_owned());
            return Err(EBUSY);
        }
        let Some(prev) = u32::try_from(prev_cpu).ok().filter(|cpu| self.is_cpu(*cpu)) else {
            self.fail(format!("invalid CPU {prev_cpu}"));
            return Err(EBUSY);
        };
        if self.idle.cpus.bits.iter().take(self.cpus.len().div_ceil(64)).all(|word| *word == 0) {
            return Err(EBUSY);
        }
        let mut allowed = CpuMaskRef::of(self, task);
        let both;
        if let Some(also) = also {
            let mut mask = allowed.get().clone();
            mask.bits.iter_mut().zip(&also.bits).for_each(|(to, from)| *to &= from);
            both = mask;
            allowed = CpuMaskRef::lent(&both);
        }
        let allowed = allowed.get();
        let prev_ok = allowed.contains(prev as usize);
        let in_node = flags & PICK_IDLE_IN_NODE != 0;
        if wake_flags & WAKE_SYNC != 0
            && let Some(cpu) = self.wake_sync(prev, prev_ok, allowed, in_node)
        {
            return Ok(cpu);
        }
        let restricted = also.is_some() || (self.shown(task).nr_cpus_allowed as usize) < self.ids.len();
        self.search(prev, prev_ok, allowed, restricted, flags).ok_or(EBUSY)
    }

    /// A waker that is about to sleep keeps the task close.
    fn wake_sync(&mut self, prev: u32, prev_ok: bool, allowed: &CpuMask, in_node: bool) -> Option<u32> {
        let this = self.this_cpu;
        let (waker, before) = (&self.cpus[this as usize], &self.cpus[prev as usize]);
        if prev_ok && waker.l3 == before.l3 && self.idle.claim(prev) {
            return Some(prev);
        }
        let (waker, before) = (&self.cpus[this as usize], &self.cpus[prev as usize]);
        let exits = waker.curr != NONE && self.shown(waker.curr).flags & PF_EXITING != 0;
        let near = !in_node || waker.node == before.node;
        let room = !exits && self.dsqs[this as usize].len() == 0 && near && allowed.contains(this as usize);
        (room && self.idle.cpus.bits.iter().any(|word| *word != 0)).then_some(this)
    }

    fn search(
        &mut self,
        prev: u32,
        prev_ok: bool,
        allowed: &CpuMask,
        restricted: bool,
        flags: u64,
    ) -> Option<u32> {
        let state = &self.cpus[prev as usize];
        let (l3s, nodes) = (self.idle.l3s.clone(), self.idle.nodes.clone());
        let l3 = (!restricted && self.idle.by_l3).then(|| &l3s[state.l3 as usize]);
        let node = (!restricted && self.idle.by_node).then(|| &nodes[state.node as usize]);
        if self.idle.has_smt {
            if prev_ok && self.idle.cores.contains(prev as usize) && self.idle.claim(prev) {
                return Some(prev);
            }
            for within in [l3, node].into_iter().flatten() {
                if let Some(cpu) = self.pick_idle(allowed, Some(within), PICK_IDLE_CORE) {
                    return Some(cpu);
                }
            }
            if let Some(cpu) = self.pick_idle(allowed, None, PICK_IDLE_CORE) {
                return Some(cpu);
            }
            if flags & PICK_IDLE_CORE != 0 {
                return None;
            }
        }
        if prev_ok && self.idle.claim(prev) {
            return Some(prev);
        }
        for within in [l3, node].into_iter().flatten() {
            if let Some(cpu) = self.pick_idle(allowed, Some(within), 0) {
                return Some(cpu);
            }
        }
        self.pick_idle(allowed, None, 0)
    }
}

/// A set that does not keep the core borrowed: a task's own or all CPUs, neither of which a choice changes.
struct CpuMaskRef<'a> {
    mask: *const CpuMask,
    lent: std::marker::PhantomData<&'a CpuMask>,
}

impl<'a> CpuMaskRef<'a> {
    fn of(core: &Core, task: u32) -> Self {
        Self { mask: core.shown(task).cpus_ptr, lent: std::marker::PhantomData }
    }

    fn lent(mask: &'a CpuMask) -> Self {
        Self { mask, lent: std::marker::PhantomData }
    }

    fn get(&self) -> &'a CpuMask {
        // SAFETY: a task's set lives as long as the core, and only `add_task` writes it; a lent one lives for 'a.
        unsafe { &*self.mask }
    }
}
