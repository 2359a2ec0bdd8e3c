//! Names of figures that a Trace may lack. The code that asks whether a figure is there takes the name from here, and so does the code that says
//! that it is not.

use swtch_topology::Field;

macro_rules! fields {
    ($($name:ident = $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: Field = Field::new($text);)*

        #[cfg(test)]
        const ALL: &[Field] = &[$($name),*];
    };
}

fields! {
    CGROUPS = "cgroups";
    CGROUPS_CONTEXT_SWITCHES = "cgroups.context_switches";
    CGROUPS_OTHERS = "cgroups.others";
    CGROUPS_PRESSURE = "cgroups.pressure";
    CGROUPS_THROTTLING = "cgroups.throttling";
    CGROUPS_USAGE_NS = "cgroups.usage_ns";
    CGROUP_CPU_PRESSURE = "cgroup.cpu_pressure";
    CGROUP_THROTTLING = "cgroup.throttling";
    CGROUP_USAGE_NS = "cgroup.usage_ns";
    CPU = "cpu";
    CPUS = "cpus";
    CPUS_IDLE_SWITCHES = "cpus.idle_switches";
    CPU_IRQ_NS = "cpu.irq_ns";
    HISTOGRAMS = "histograms";
    HOST = "host";
    INTERRUPTS = "interrupts";
    INTERRUPTS_NS = "interrupts.ns";
    INTERVALS = "intervals";
    INTERVALS_IDLE_SWITCHES = "intervals.idle_switches";
    INTERVALS_MIGRATIONS = "intervals.migrations";
    INTERVALS_WAKEUPS = "intervals.wakeups";
    LOST = "lost";
    MACHINE = "machine";
    MACHINE_CONTEXT_SWITCHES = "machine.context_switches";
    MACHINE_CPU_NS = "machine.cpu_ns";
    MACHINE_FORKS = "machine.forks";
    MACHINE_INTERRUPTS = "machine.interrupts";
    MACHINE_PROCS_BLOCKED = "machine.procs_blocked";
    MACHINE_PROCS_RUNNING = "machine.procs_running";
    MACHINE_TASKS = "machine.tasks";
    PREEMPTIONS = "preemptions";
    PRESSURE = "pressure";
    PROVENANCE_STARTED_UNIX_NS = "provenance.started_unix_ns";
    SOFTIRQS = "softirqs";
    STACKS = "stacks";
    STACKS_CALLERS = "stacks.callers";
    STACKS_FRAMES = "stacks.frames";
    SWITCHES = "switches";
    SWITCHES_COST_NS = "switches.cost_ns";
    SWITCHES_NEXT_TID = "switches.next_tid";
    SWITCHES_RAN_NS = "switches.ran_ns";
    SWITCH_COST_ESTIMATE = "switch_cost_estimate";
    TASKS = "tasks";
    TASKS_CACHE_MISSES = "tasks.cache_misses";
    TASKS_COLD_SWITCH_INS = "tasks.cold_switch_ins";
    TASKS_IDLE_ELSEWHERE_NS = "tasks.idle_elsewhere_ns";
    TASKS_INSTRUCTIONS = "tasks.instructions";
    TASKS_INVOLUNTARY = "tasks.involuntary";
    TASKS_KERNEL_THREAD = "tasks.kernel_thread";
    TASKS_MIGRATIONS = "tasks.migrations";
    TASKS_NICE = "tasks.nice";
    TASKS_PID = "tasks.pid";
    TASKS_PROCESS_SWITCHES = "tasks.process_switches";
    TASKS_QUOTA_NS = "tasks.quota_ns";
    TASKS_RUN_NS = "tasks.run_ns";
    TASKS_SHORT_LIVED = "tasks.short_lived";
    TASKS_SPINNING = "tasks.spinning";
    TASKS_SWITCH_COST_NS = "tasks.switch_cost_ns";
    TASKS_TIMESLICES = "tasks.timeslices";
    TASKS_VOLUNTARY = "tasks.voluntary";
    TASKS_WAIT_MAX_NS = "tasks.wait_max_ns";
    TASKS_WAIT_NS = "tasks.wait_ns";
    TASKS_WAIT_P50_NS = "tasks.wait_p50_ns";
    TASKS_WAIT_P90_NS = "tasks.wait_p90_ns";
    TASKS_WAIT_P99_NS = "tasks.wait_p99_ns";
    TASKS_WAKEUPS = "tasks.wakeups";
    TASKS_WORKING_SET_BYTES = "tasks.working_set_bytes";
    TASKS_YIELDS = "tasks.yields";
    TOTALS_CONTEXT_SWITCHES = "totals.context_switches";
    TOTALS_CONTEXT_SWITCHES_IDLE = "totals.context_switches.idle";
    TOTALS_CPU_NS = "totals.cpu_ns";
    TOTALS_MIGRATIONS = "totals.migrations";
    TOTALS_PROCESSES = "totals.processes";
    TOTALS_PROCESSES_EXECS = "totals.processes.execs";
    TOTALS_PROCESSES_EXITED = "totals.processes.exited";
    TOTALS_PROCESSES_FORKED = "totals.processes.forked";
    TOTALS_PROCESSES_PEAK = "totals.processes.peak";
    TOTALS_THREADS_CREATED = "totals.threads_created";
    TOTALS_WAKEUPS = "totals.wakeups";
    WAITS = "waits";
    WAKES = "wakes";
    WAKES_INTERRUPTS = "wakes.interrupts";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::{Columns, IntervalRow, SwitchRow, TaskRow};

    fn columns<R: Columns>() -> Vec<String> {
        R::columns().iter().map(|column| format!("{}.{}", R::TABLE, column.about().name)).collect()
    }

    /// Figures of tasks that no column has: parts of a column, or what it would take to fill one.
    const NO_COLUMNS: [Field; 4] = [TASKS_MIGRATIONS, TASKS_QUOTA_NS, TASKS_SHORT_LIVED, TASKS_TIMESLICES];

    #[test]
    fn a_figure_of_a_table_is_a_column_of_it() {
        let columns = [columns::<TaskRow>(), columns::<IntervalRow>(), columns::<SwitchRow>()].concat();
        for field in ALL.iter().filter(|field| !NO_COLUMNS.contains(field)) {
            let of_table =
                ["tasks.", "intervals.", "switches."].iter().any(|table| field.as_str().starts_with(table));
            assert!(!of_table || columns.iter().any(|column| column == field.as_str()), "{field}");
        }
    }
}
