//! Choosing a CPU: what the classes have in common.

use crate::kernel::Kernel;

/// CPUs looked at for a shortest queue before the search gives up on large machines.
const SEARCHED: usize = 256;

/// The CPU with the fewest runnable tasks among those a task may use, an idle core before an idle thread. The one nearest to `near`
/// wins a tie (`sched_balance_find_dst_cpu`, Linux 6.18, kernel/sched/fair.c).
pub(crate) fn least_loaded(kernel: &Kernel, task: usize, near: usize) -> usize {
    let cpus = kernel.cpu_count();
    if let Some(cpu) = idle_cpu(kernel, task, near) {
        return cpu;
    }
    let start = kernel.machine.l3(near).start;
    let candidates = (0..cpus).map(|step| (start + step) % cpus).filter(|cpu| kernel.may_use(task, *cpu));
    candidates.take(SEARCHED).min_by_key(|cpu| kernel.runnable(*cpu)).unwrap_or(near)
}

/// An idle CPU that a task may use: a whole idle core if there is one, from the nearest domain.
pub(crate) fn idle_cpu(kernel: &Kernel, task: usize, near: usize) -> Option<usize> {
    if kernel.idle().is_empty() {
        return None;
    }
    let machine = &kernel.machine;
    let whole = machine.has_smt();
    for domain in [machine.l3(near), machine.node(near), 0..kernel.cpu_count()] {
        let may_use = |cpu: usize| kernel.may_use(task, cpu);
        let found = whole
            .then(|| {
                kernel.idle().first_from(domain.clone(), near, |cpu| may_use(cpu) && kernel.core_is_idle(cpu))
            })
            .flatten();
        if let Some(cpu) = found.or_else(|| kernel.idle().first_from(domain, near, may_use)) {
            return Some(cpu);
        }
    }
    None
}

/// A CPU that the task may use: `cpu` if it may, else the first.
pub(crate) fn permitted(kernel: &Kernel, task: usize, cpu: usize) -> usize {
    if kernel.may_use(task, cpu) {
        return cpu;
    }
    (0..kernel.cpu_count()).find(|cpu| kernel.may_use(task, *cpu)).unwrap_or(cpu)
}
