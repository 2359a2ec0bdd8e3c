//! Evening out the queues, as far as a policy wants it (`sched_balance_newidle`, `sched_balance_rq`, Linux kernel/sched/fair.c).

use super::Engine;
use super::events::NEVER;
use crate::hook::Hook;
use crate::kernel::{NONE, RunState};
use crate::policy::{Arrival, Departure, Policy};
use crate::sink::Sink;
use std::ops::Range;

/// Ticks between a busy CPU's looks at others: the kernel's interval is the domain's CPUs in ms, times 16 while busy.
const BUSY_FACTOR: u64 = 16;

impl<P: Policy, S: Sink> Engine<P, S> {
    /// The handling CPU has nothing to run: takes a task from the fullest queue, the nearest domain first.
    pub(super) fn new_idle_balance(&mut self, cpu: usize) -> bool {
        let balancing = self.policy.balancing();
        if !balancing.when_idle || self.kernel.overloaded.is_empty() {
            return false;
        }
        let found = self.kernel.cpus[cpu].average_idle_ns >= balancing.least_idle_ns && {
            self.charge(cpu, cpu, Hook::Balance);
            self.pull(cpu, cpu, 2)
        };
        if !found {
            self.want_idle_balance();
        }
        found
    }

    /// A tick brings work to the idle CPUs (`nohz_idle_balance`).
    pub(super) fn idle_balance(&mut self) {
        self.idle_balance_ns = NEVER;
        let cpus = self.kernel.cpu_count();
        let mut from = 0;
        while let Some(cpu) = self.kernel.idle.first_in(from..cpus, |_| true) {
            from = cpu + 1;
            if self.kernel.overloaded.is_empty() {
                return;
            }
            self.begin(cpu);
            self.charge(cpu, cpu, Hook::Balance);
            if self.pull(cpu, cpu, 2) {
                self.schedule(cpu, None);
            }
            self.update_curr(cpu);
        }
        self.want_idle_balance();
    }

    /// At a tick, a busy CPU takes a task from one that has at least two more.
    pub(super) fn busy_balance(&mut self, cpu: usize) {
        if self.kernel.cpus[cpu].balance_at_ns > self.kernel.now_ns {
            return;
        }
        let runnable = self.kernel.cpus[cpu].runnable;
        self.charge(cpu, cpu, Hook::Balance);
        self.pull(cpu, cpu, runnable + 2);
        self.set_busy_balance(cpu);
    }

    /// Sets when a busy CPU looks next.
    pub(super) fn set_busy_balance(&mut self, cpu: usize) {
        let at_ns = if self.policy.balancing().periodic && self.kernel.cpu_count() > 1 {
            let span = self.kernel.machine.l3(cpu).len().clamp(2, 64) as u64;
            self.kernel.now_ns + span * BUSY_FACTOR * 1_000_000
        } else {
            NEVER
        };
        self.kernel.cpus[cpu].balance_at_ns = at_ns;
    }

    /// Moves a task to `cpu` from the fullest queue with at least `least` tasks, of the nearest domain that has one to give.
    fn pull(&mut self, handler: usize, cpu: usize, least: u32) -> bool {
        let machine = &self.kernel.machine;
        let domains =
            [machine.core(cpu), machine.l2(cpu), machine.l3(cpu), machine.node(cpu), 0..machine.cpus.len()];
        let mut searched = cpu..cpu + 1;
        for domain in domains {
            if domain == searched {
                continue;
            }
            if let Some((from, task)) = self.fullest(domain.clone(), cpu, least) {
                self.migrate(handler, task, from, cpu);
                return true;
            }
            searched = domain;
        }
        false
    }

    fn fullest(&self, domain: Range<usize>, to: usize, least: u32) -> Option<(usize, usize)> {
        let mut best = None;
        let mut most = least.max(2) - 1;
        self.kernel.overloaded.first_in(domain, |from| {
            if from != to
                && self.kernel.cpus[from].runnable > most
                && let Some(task) = self.policy.movable(&self.kernel, from, to)
                && !self.is_held_on(to, task)
            {
                most = self.kernel.cpus[from].runnable;
                best = Some((from, task));
            }
            false
        });
        best
    }

    /// Moves a queued task to another queue.
    fn migrate(&mut self, handler: usize, task: usize, from: usize, to: usize) {
        debug_assert_eq!(self.kernel.tasks[task].state, RunState::Queued);
        self.charge(handler, from, Hook::Dequeue);
        self.policy.dequeue(&mut self.kernel, from, task, Departure::Migration);
        self.charge_callbacks(Hook::Dequeue);
        self.count_runnable(from, -1);
        self.kernel.tasks[task].cpu = to as u32;
        self.count_runnable(to, 1);
        self.charge(handler, to, Hook::Enqueue);
        self.policy.enqueue(&mut self.kernel, to, task, Arrival::Migration);
        self.charge_callbacks(Hook::Enqueue);
        // The other CPU may have fewer reasons for a tick now.
        if self.kernel.cpus[from].current != NONE {
            self.arm(from);
        }
    }
}
