//! The kernel's own threads beside a workload.

use super::{NEW_PROCESS, TaskSpec, Workload};
use crate::costs::Costs;
use crate::machine::Machine;
use crate::program::Op;

/// What they are called in tables.
pub(crate) const KERNEL_THREADS: &str = "kernel threads";

impl Workload {
    /// Adds one for each CPU, which runs there as often as `costs` say of all of them, and stays on the CPU the time that they say; the run does not
    /// wait for it. It comes to each CPU at another time.
    pub(crate) fn add_kernel_threads(&mut self, machine: &Machine, costs: &Costs) {
        let every_ns = costs.kernel_threads_every_ns;
        if every_ns == 0 {
            return;
        }
        let sleep_ns = every_ns.saturating_sub(costs.kernel_thread_run_ns).max(1);
        let ops = vec![
            Op::Sleep { ns: sleep_ns },
            Op::Compute { work_ns: costs.kernel_thread_run_ns },
            Op::Loop { to: 0, times: 0, counter: 0 },
        ];
        let program = self.add_program(ops);
        let processes = self.tasks.iter().chain(&self.templates).map(|task| task.process);
        let last = processes.filter(|process| *process != NEW_PROCESS).max();
        let process = last.map_or(0, |last| last + 1);
        let cpus = machine.cpus.len().max(1) as u64;
        for (place, cpu) in (0..).zip(&machine.cpus) {
            self.tasks.push(TaskSpec {
                name: format!("{KERNEL_THREADS}/{}", cpu.id.get()),
                process,
                program,
                allowed: vec![cpu.id],
                start_ns: every_ns * place / cpus,
                background: true,
                kernel_thread: true,
                ..TaskSpec::default()
            });
        }
    }
}
