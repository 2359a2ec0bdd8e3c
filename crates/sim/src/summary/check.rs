//! Figures of a simulation that cannot be true.

use super::{Fairness, SimulationDocument, Summary};
use crate::run::{PolicyRun, Setting};
use crate::stats::Durations;
use swtch_units::input_error::{Checks, Refused};

impl Summary {
    /// Checks a run's figures against each other and against what was counted, before anybody prints them. `setting` is what was run.
    ///
    /// # Errors
    /// When one cannot be true: a defect of the simulator.
    pub fn check<S>(&self, run: &PolicyRun<S>, setting: &Setting) -> Result<(), Refused> {
        let mut checks = Checks::default();
        self.check_times(run, setting, &mut checks);
        self.check_counts(run, &mut checks);
        durations("wait_ns", self.wait_ns, self.makespan_ns, &mut checks);
        if let Some(request_ns) = self.request_ns {
            durations("request_ns", request_ns, self.makespan_ns, &mut checks);
        }
        for hook in &self.hooks {
            checks.at_most("hooks.spin_ns", hook.spin_ns, hook.total_ns, "the time in the hook in ns");
            if let Some(mean_ns) = hook.mean_ns {
                checks.finite("hooks.mean_ns", mean_ns);
            }
        }
        checks.finite("spin_share", self.spin_share);
        if let Some(fairness) = &self.fairness {
            fairness.check(&mut checks);
        }
        checks.finish()
    }

    fn check_times<S>(&self, run: &PolicyRun<S>, setting: &Setting, checks: &mut Checks) {
        let all_ns = self.makespan_ns.saturating_mul(setting.machine.cpus.len() as u64);
        checks.equal("cpu_ns", self.cpu_ns.sum_ns(), all_ns, "the makespan times the CPUs in ns");
        let ran_ns: u64 = run.run_ns.iter().sum();
        checks.at_most("tasks.run_ns", ran_ns, all_ns, "the makespan times the CPUs in ns");
        let in_rows = self.tasks.iter().map(|row| row.run_ns).sum();
        checks.equal("tasks.run_ns", in_rows, ran_ns, "the time of all tasks in ns");
        let longest_ns = run.run_ns.iter().copied().max().unwrap_or(0);
        checks.at_most("tasks.run_ns", longest_ns, self.makespan_ns, "the makespan in ns, for one task");
        // In units of 1/1024 ns. Work is done in run time only, at most at the fastest core's speed.
        let work = run.stats.tasks.iter().map(|task| u128::from(task.work)).sum::<u128>();
        let could = u128::from(self.cpu_ns.run_ns) * u128::from(setting.fastest());
        checks.require(work <= could, "tasks.work", || {
            format!("{work} is more than the run time at the fastest core's speed, {could}")
        });
        let waited_ns: u128 = run.wait_ns.iter().map(|ns| u128::from(*ns)).sum();
        let in_histogram = run.stats.waits.sum();
        checks.require(waited_ns == in_histogram, "tasks.wait_ns", || {
            format!("{waited_ns} is not the sum of the single waits in ns, {in_histogram}")
        });
        for task in &run.stats.tasks {
            let Some(ended_ns) = task.ended_ns else { continue };
            checks.at_most("tasks.ended_ns", ended_ns, self.makespan_ns, "the makespan in ns");
            checks.at_most("tasks.started_ns", task.started_ns, ended_ns, "the task's end in ns");
        }
    }

    fn check_counts<S>(&self, run: &PolicyRun<S>, checks: &mut Checks) {
        let both = self.voluntary + self.involuntary;
        checks.equal("context_switches", self.context_switches, both, "voluntary and involuntary switches");
        let sum = |of: fn(&super::TaskFacts) -> u64| self.tasks.iter().map(of).sum::<u64>();
        checks.equal("tasks.voluntary", sum(|row| row.voluntary), self.voluntary, "all voluntary switches");
        checks.equal(
            "tasks.involuntary",
            sum(|row| row.involuntary),
            self.involuntary,
            "all involuntary switches",
        );
        checks.equal("tasks.wakeups", sum(|row| row.wakeups), self.wakeups, "all wake-ups");
        checks.equal("tasks.migrations", sum(|row| row.migrations), self.migrations, "all migrations");
        checks.equal(
            "tasks.tasks",
            sum(|row| row.tasks),
            run.tasks.len() as u64,
            "the tasks that there were",
        );
        let came = self.context_switches + self.from_idle;
        checks.at_most("wait_ns.count", self.wait_ns.count, came, "the switches");
        for row in &self.tasks {
            checks.at_most("tasks.ended", row.ended, row.tasks, "the tasks of that name");
            // Every task that went to sleep was woken, except perhaps the last time.
            let slept = row.voluntary.saturating_sub(row.ended);
            checks.at_most(
                "tasks.wakeups",
                row.wakeups,
                slept,
                "the voluntary switches that did not end a task",
            );
            let woken = row.wakeups + (row.tasks - row.ended.min(row.tasks));
            checks.at_most(
                "tasks.voluntary",
                slept,
                woken,
                "the wake-ups and the tasks that sleep at the end",
            );
        }
        let left = run.tasks.iter().zip(&run.stats.tasks);
        let left = left.filter(|(spec, stats)| !spec.background && stats.ended_ns.is_none()).count();
        checks.require(!self.complete || left == 0, "complete", || format!("{left} tasks have not ended"));
        let longest_ns = self.tasks.iter().map(|row| row.longest_wait_ns).max().unwrap_or(0);
        checks.equal(
            "wait_ns.max",
            self.wait_ns.max.unwrap_or(0),
            longest_ns,
            "the longest wait of any task in ns",
        );
    }
}

/// Percentiles are there if anything was counted, in their order, and within the run.
fn durations(name: &str, times: Durations, makespan_ns: u64, checks: &mut Checks) {
    let all = [times.p50, times.p90, times.p99, times.max];
    let there = all.iter().flatten().count();
    checks.require(there == if times.count > 0 { 4 } else { 0 }, name, || {
        format!("{there} of 4 percentiles for {} durations", times.count)
    });
    let known: Vec<u64> = all.iter().flatten().copied().collect();
    checks.require(known.is_sorted(), name, || format!("the percentiles {known:?} are not in order"));
    checks.at_most(name, known.last().copied().unwrap_or(0), makespan_ns, "the makespan in ns");
}

impl Fairness {
    fn check(&self, checks: &mut Checks) {
        checks.finite("fairness.throughput", self.throughput);
        checks.finite("fairness.min_fairness", self.min_fairness);
        checks.require(
            self.uniformity <= 1.0 + 1e-9 && self.uniformity.is_finite(),
            "fairness.uniformity",
            || format!("{} is not a number up to 1", self.uniformity),
        );
        for application in &self.applications {
            checks.finite("fairness.applications.speed", application.speed);
            checks.finite("fairness.applications.performance", application.performance);
        }
    }
}

impl SimulationDocument {
    /// Checks what runs are compared by, after [`compare`](Self::compare).
    ///
    /// # Errors
    /// When a figure cannot be true.
    pub fn check(&self) -> Result<(), Refused> {
        let mut checks = Checks::default();
        for fairness in self.runs.iter().filter_map(|run| run.fairness.as_ref()) {
            fairness.check(&mut checks);
        }
        checks.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Jitter;
    use crate::plan::{Overrides, Plan, Work};
    use crate::run::run;
    use crate::sink::Nothing;

    fn plan(text: &str, machine: &str, jitter: Jitter, duration_ns: Option<u64>) -> Plan {
        let machine = Some(machine.to_owned());
        let overrides = Overrides { machine, jitter: Some(jitter), duration_ns, ..Overrides::default() };
        Plan::of(Work::Named(text), "", &overrides, None).unwrap()
    }

    fn checked(plan: &Plan, policy: &str) -> (Summary, PolicyRun<Nothing>, Result<(), Refused>) {
        let run = run(&plan.setting, policy, Nothing).unwrap();
        let summary = Summary::of(plan, policy, &run);
        let result = summary.check(&run, &plan.setting);
        (summary, run, result)
    }

    /// Runs a workload with and without jitter, to its end and for a time.
    fn honest(workload: &str, machine: &str, policy: &str) {
        for jitter in [Jitter::NONE, Jitter::TYPICAL] {
            for duration_ns in [Some(7_000_001), Some(60_000_000)] {
                let plan = plan(workload, machine, jitter, duration_ns);
                let (_, _, result) = checked(&plan, policy);
                assert_eq!(
                    result,
                    Ok(()),
                    "{workload} on {machine} under {policy}, {jitter:?}, {duration_ns:?}"
                );
            }
        }
    }

    #[test]
    fn every_honest_run_passes() {
        for workload in [
            "hackbench:groups=1,loops=5",
            "hackbench:groups=1,loops=5,channel=pipe,tasks=threads,from_start=true",
            "schbench:workers=4,requests=20",
            "ping-pong:loops=200",
            "npb:program=cg,threads=6,scale=0.002,waiting=spin-yield",
            "spin:tasks=9,work_ns=20000000,working_set_bytes=65536",
        ] {
            for machine in ["1", "2f4s", "emulated:3", "xeon-phi-31s1p"] {
                for policy in ["eevdf", "eevdf-7.2", "eevdf-7.3", "cfs", "cfs-2.6", "fifo", "rr", "flsched"] {
                    honest(workload, machine, policy);
                }
            }
        }
        let mix = "mix:applications=[{name=\"a\",speedup=3.0,work_ns=5000000},{name=\"b\",speedup=1.5}]";
        for policy in ["eevdf", "max-fair", "min-fair", "guaranteed"] {
            honest(mix, "2f4s", policy);
        }
    }

    /// Every figure that is wrong by one is found.
    #[test]
    fn what_cannot_be_is_refused_by_its_name() {
        type Change = fn(&mut Summary, &mut PolicyRun<Nothing>);
        let plan = plan("schbench:workers=4,requests=20", "2f4s", Jitter::TYPICAL, None);
        let cases: [(&str, Change); 19] = [
            ("cpu_ns", |summary, _| summary.cpu_ns.idle_ns += 1),
            ("tasks.run_ns", |_, run| run.run_ns[0] = u64::MAX >> 8),
            ("tasks.run_ns", |summary, _| summary.tasks[0].run_ns += 1),
            ("tasks.work", |_, run| run.stats.tasks[0].work = u64::MAX >> 1),
            ("tasks.wait_ns", |_, run| run.wait_ns[0] += 1),
            ("tasks.ended_ns", |summary, run| run.stats.tasks[0].ended_ns = Some(summary.makespan_ns + 1)),
            ("tasks.started_ns", |summary, run| run.stats.tasks[0].started_ns = summary.makespan_ns + 1),
            ("context_switches", |summary, _| summary.context_switches += 1),
            ("tasks.voluntary", |summary, _| summary.tasks[0].voluntary += 1),
            ("tasks.involuntary", |summary, _| summary.tasks[0].involuntary += 1),
            ("tasks.wakeups", |summary, _| summary.tasks[0].wakeups += 1),
            ("tasks.migrations", |summary, _| summary.migrations += 1),
            ("tasks.ended", |summary, _| summary.tasks[0].ended += 1),
            ("complete", |_, run| run.stats.tasks[0].ended_ns = None),
            ("wait_ns.count", |summary, _| summary.wait_ns.count = u64::MAX),
            ("wait_ns.max", |summary, _| summary.tasks[0].longest_wait_ns = summary.makespan_ns),
            ("request_ns", |summary, _| summary.request_ns.as_mut().unwrap().p50 = Some(u64::MAX)),
            ("hooks.spin_ns", |summary, _| summary.hooks[0].spin_ns = u64::MAX),
            ("spin_share", |summary, _| summary.spin_share = f64::NAN),
        ];
        for (figure, change) in cases {
            let (mut summary, mut run, honest) = checked(&plan, "eevdf");
            assert_eq!(honest, Ok(()));
            change(&mut summary, &mut run);
            let refused = summary.check(&run, &plan.setting).unwrap_err();
            assert!(refused.figures.iter().any(|one| one.figure == figure), "{figure}: {refused}");
        }
    }

    #[test]
    fn comparisons_are_checked_too() {
        let mut document = SimulationDocument::new(&plan("spin", "2", Jitter::NONE, None));
        assert_eq!(document.check(), Ok(()));
        let fairness = Fairness {
            relative_to: "rr".to_owned(),
            throughput: f64::INFINITY,
            min_fairness: 1.0,
            uniformity: 1.0,
            applications: Vec::new(),
        };
        document.runs.push(Summary { fairness: Some(fairness), ..Summary::default() });
        assert_eq!(document.check().unwrap_err().figures[0].figure, "fairness.throughput");
    }
}
