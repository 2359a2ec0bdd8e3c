//! Which metric a figure is that a Trace's header calls unavailable.

use super::family::{
    CGROUP_CPU, CGROUP_PRESSURE, CGROUP_SWITCHES, CGROUP_THROTTLED, COST, CPU_SWITCHES, CPU_TIME, ESTIMATE,
    Family, INTERRUPT_TIME, INTERRUPTS, MIGRATIONS, PRESSURE, RUN, SOFTIRQS, WAIT, WAITS,
};
use swtch_topology::Field;
use swtch_trace::fields;

/// A figure's name and its metric.
static METRICS: [(Field, &Family); 19] = [
    (fields::CGROUPS_CONTEXT_SWITCHES, &CGROUP_SWITCHES),
    (fields::CGROUPS_PRESSURE, &CGROUP_PRESSURE),
    (fields::CGROUP_CPU_PRESSURE, &CGROUP_PRESSURE),
    (fields::CGROUPS_THROTTLING, &CGROUP_THROTTLED),
    (fields::CGROUP_THROTTLING, &CGROUP_THROTTLED),
    (fields::CGROUPS_USAGE_NS, &CGROUP_CPU),
    (fields::CGROUP_USAGE_NS, &CGROUP_CPU),
    (fields::CPU, &CPU_TIME),
    (fields::CPUS, &CPU_SWITCHES),
    (fields::HISTOGRAMS, &WAITS),
    (fields::INTERRUPTS, &INTERRUPTS),
    (fields::INTERRUPTS_NS, &INTERRUPT_TIME),
    (fields::PRESSURE, &PRESSURE),
    (fields::SOFTIRQS, &SOFTIRQS),
    (fields::SWITCH_COST_ESTIMATE, &ESTIMATE),
    (fields::TASKS_RUN_NS, &RUN),
    (fields::TASKS_MIGRATIONS, &MIGRATIONS),
    (fields::TASKS_SWITCH_COST_NS, &COST),
    (fields::TASKS_WAIT_NS, &WAIT),
];

/// The name of the metric that a figure is; its own where it is none, or a part of one.
pub(super) fn metric_of(field: &str) -> String {
    let found = METRICS.iter().find(|(known, _)| known.as_str() == field);
    found.map_or_else(|| field.to_owned(), |(_, family)| family.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_called_as_its_metric_or_as_itself() {
        assert_eq!(metric_of("cgroups.pressure"), "swtch_cgroup_cpu_pressure_seconds_total");
        assert_eq!(metric_of("totals.wakeups"), "totals.wakeups");
    }
}
