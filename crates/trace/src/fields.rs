//! Names of figures that a Trace may lack: whoever asks whether one is there, and whoever says that it is not, takes the name from here.

use swtch_topology::Field;

macro_rules! fields {
    ($($name:ident = $text:literal;)*) => {
        $(#[doc = concat!("`", $text, "`")] pub const $name: Field = Field::new($text);)*
    };
}

fields! {
    CGROUPS = "cgroups";
    CGROUPS_CONTEXT_SWITCHES = "cgroups.context_switches";
    CGROUPS_PRESSURE = "cgroups.pressure";
    CGROUP_CPU_PRESSURE = "cgroup.cpu_pressure";
    CPU = "cpu";
    CPUS = "cpus";
    HISTOGRAMS = "histograms";
    INTERRUPTS = "interrupts";
    INTERRUPTS_NS = "interrupts.ns";
    INTERVALS = "intervals";
    PREEMPTIONS = "preemptions";
    PRESSURE = "pressure";
    SWITCHES = "switches";
    SWITCHES_COST_NS = "switches.cost_ns";
    SWITCH_COST_ESTIMATE = "switch_cost_estimate";
    TASKS = "tasks";
    TASKS_MIGRATIONS = "tasks.migrations";
    TASKS_QUOTA_NS = "tasks.quota_ns";
    TASKS_SHORT_LIVED = "tasks.short_lived";
    TASKS_SWITCH_COST_NS = "tasks.switch_cost_ns";
    TASKS_WAIT_NS = "tasks.wait_ns";
    TASKS_WAIT_P50_NS = "tasks.wait_p50_ns";
    TASKS_WAKEUPS = "tasks.wakeups";
    TASKS_WORKING_SET_BYTES = "tasks.working_set_bytes";
    TOTALS_CPU_NS = "totals.cpu_ns";
    TOTALS_WAKEUPS = "totals.wakeups";
    WAKES = "wakes";
}
