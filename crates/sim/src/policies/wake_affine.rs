//! Where the fair classes put a woken task (`select_task_rq_fair`, Linux 6.18, kernel/sched/fair.c).

use super::placement;
use crate::kernel::Kernel;
use crate::policy::Arrival;
use crate::prefetch::prefetch;

const NONE: u32 = u32::MAX;
/// Flips are halved every second.
const DECAY_NS: u64 = 1_000_000_000;
/// `imbalance_pct` of a domain that shares a cache: half of what goes beyond 100 is granted to the CPU where the task was.
const PREVIOUS_PERCENT: u64 = 108;

/// How often a task has changed whom it wakes (`record_wakee`).
#[derive(Clone, Copy, Debug)]
struct Wakees {
    last: u32,
    flips: u32,
    decayed_ns: u64,
}

/// Chooses CPUs for new and woken tasks.
#[derive(Clone, Debug, Default)]
pub(super) struct WakeAffine {
    wakees: Vec<Wakees>,
}

impl WakeAffine {
    pub(super) fn add_task(&mut self) {
        self.wakees.push(Wakees { last: NONE, flips: 0, decayed_ns: 0 });
    }

    #[inline]
    pub(super) fn prepare(&self, task: usize) {
        prefetch(&self.wakees, task);
    }

    pub(super) fn select(&mut self, kernel: &Kernel, task: usize, why: Arrival, waker_cpu: usize) -> usize {
        if why == Arrival::Fork {
            return placement::least_loaded(kernel, task, placement::permitted(kernel, task, waker_cpu));
        }
        let previous = placement::permitted(kernel, task, kernel.cpu_of(task));
        let mut target = previous;
        // A timer's interrupt comes where the task was, and interrupts whatever runs there.
        let waker = kernel.current(waker_cpu);
        if let Some(waker) = waker {
            self.record(kernel, waker, task);
            let wide = self.is_wide(kernel, waker, task, waker_cpu);
            if !wide && kernel.may_use(task, waker_cpu) {
                target = Self::affine(kernel, task, waker_cpu, previous);
            }
        }
        Self::idle_sibling(kernel, task, previous, target)
    }

    fn record(&mut self, kernel: &Kernel, waker: usize, wakee: usize) {
        let known = &mut self.wakees[waker];
        if kernel.now_ns > known.decayed_ns + DECAY_NS {
            known.flips >>= 1;
            known.decayed_ns = kernel.now_ns;
        }
        if known.last != wakee as u32 {
            known.last = wakee as u32;
            known.flips += 1;
        }
    }

    /// `wake_wide`: one that wakes many which wake few should not pull them all to its CPU.
    fn is_wide(&self, kernel: &Kernel, waker: usize, wakee: usize, cpu: usize) -> bool {
        let (a, b) = (self.wakees[waker].flips, self.wakees[wakee].flips);
        let (master, slave) = (a.max(b), a.min(b));
        let factor = kernel.machine.l3(cpu).len() as u32;
        slave >= factor && master >= slave.saturating_mul(factor)
    }

    /// `wake_affine`: the waker's CPU or the one where the task was.
    fn affine(kernel: &Kernel, task: usize, here: usize, previous: usize) -> usize {
        let idle = kernel.idle();
        let shares_cache = kernel.machine.cpus[here].l3 == kernel.machine.cpus[previous].l3;
        if idle.contains(here) && shares_cache {
            return if idle.contains(previous) { previous } else { here };
        }
        if kernel.wake_is_sync && kernel.runnable(here) == 1 {
            return here;
        }
        if idle.contains(previous) {
            return previous;
        }
        // wake_affine_weight, with the load of the moment for the average.
        let weight = u64::from(kernel.weight(task));
        let mut load_here = u64::from(kernel.runnable(here)) * 1024;
        if kernel.wake_is_sync {
            load_here = load_here.saturating_sub(1024);
        }
        let load_previous = u64::from(kernel.runnable(previous)) * 1024;
        if (load_here + weight) * 100 < load_previous * PREVIOUS_PERCENT { here } else { previous }
    }

    /// `select_idle_sibling`: an idle CPU that shares the target's cache, else the target.
    fn idle_sibling(kernel: &Kernel, task: usize, previous: usize, target: usize) -> usize {
        let idle = kernel.idle();
        if idle.is_empty() || idle.contains(target) {
            return target;
        }
        let domain = kernel.machine.l3(target);
        if idle.contains(previous) && domain.contains(&previous) {
            return previous;
        }
        let may_use = |cpu: usize| kernel.may_use(task, cpu);
        let whole = kernel
            .machine
            .has_smt()
            .then(|| idle.first_from(domain.clone(), target, |cpu| may_use(cpu) && kernel.core_is_idle(cpu)));
        whole.flatten().or_else(|| idle.first_from(domain, target, may_use)).unwrap_or(target)
    }
}
