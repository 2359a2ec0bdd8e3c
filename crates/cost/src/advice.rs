//! What stands out in a Trace, and what to try.

mod interrupts;

use crate::bill::{Bill, Inputs};
use crate::model::Range;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use swtch_trace::tables::{TaskRow, WakeRow};

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Advice {
    /// What it is, in a few words.
    pub what: String,
    /// What in this Trace shows it.
    pub evidence: String,
    /// What to try.
    pub try_this: String,
    /// What that would save, as a share of the tasks' CPU time; absent where no price is known, or where it saves waiting, not CPU time.
    pub gain: Option<Range>,
}

/// Below these, nothing stands out.
const LEAST_SHARE_OF_SWITCHES: f64 = 0.2;
const LEAST_WAIT_PER_RUN: f64 = 0.5;
const LEAST_RUNNABLE_PER_CPU: f64 = 1.2;
const LEAST_WAKES: u64 = 100;
const LEAST_THROTTLED: f64 = 0.05;

/// What stands out, with the most switches concerned first.
pub fn advise(inputs: Inputs<'_>, bill: &Bill) -> Vec<Advice> {
    let tasks: Vec<&TaskRow> = inputs.tasks.iter().filter(|task| task.in_scope).collect();
    let switches: u64 = tasks.iter().map(|task| task.voluntary + task.involuntary).sum();
    if switches == 0 {
        return Vec::new();
    }
    let case = Case { inputs, bill, tasks, switches: switches as f64 };
    let mut found = Vec::new();
    found.extend(case.too_many_threads());
    found.extend(case.ping_pong());
    found.extend(case.handed_round());
    found.extend(case.throttled());
    found.extend(interrupts::on_the_busy_cpu(inputs, bill));
    found
}

struct Case<'a> {
    inputs: Inputs<'a>,
    bill: &'a Bill,
    tasks: Vec<&'a TaskRow>,
    switches: f64,
}

impl Case<'_> {
    /// A share of the bill: of the switches that would not be.
    fn gain(&self, switches: u64) -> Option<Range> {
        let share = self.bill.share?;
        let part = (switches as f64 / self.switches).min(1.0);
        Some(Range { low: 0.0, high: share.high * part })
    }

    fn cpus(&self) -> f64 {
        let online = self.inputs.header.host.cpus.iter().filter(|cpu| cpu.online).count();
        (online as f64).max(1.0)
    }

    fn name(&self, tid: u32) -> String {
        let named = self.inputs.tasks.iter().find(|task| task.tid == tid);
        named.map_or_else(|| format!("tid {tid}"), |task| format!("{} ({tid})", task.comm))
    }

    fn too_many_threads(&self) -> Option<Advice> {
        let involuntary: u64 = self.tasks.iter().map(|task| task.involuntary).sum();
        let run_ns = self.tasks.iter().map(|task| task.run_ns as f64).sum::<f64>();
        let wait_ns = self.tasks.iter().map(|task| task.wait_ns as f64).sum::<f64>();
        let often = involuntary as f64 > LEAST_SHARE_OF_SWITCHES * self.switches;
        let duration_ns = (self.inputs.header.duration_ns as f64).max(1.0);
        let runnable = (run_ns + wait_ns) / duration_ns;
        if !often || wait_ns < LEAST_WAIT_PER_RUN * run_ns || runnable < LEAST_RUNNABLE_PER_CPU * self.cpus()
        {
            return None;
        }
        let busy: HashSet<u32> =
            self.tasks.iter().filter(|task| task.run_ns > 0).map(|task| task.tid).collect();
        Some(Advice {
            what: "more runnable threads than CPUs".to_owned(),
            evidence: format!(
                "{:.1} threads were runnable at a time, {} took part, and there are {} CPUs; for every second they ran they waited \
                 {:.1} s, and {:.0} % of the switches took the CPU from somebody who could go on",
                runnable,
                busy.len(),
                self.cpus(),
                wait_ns / run_ns,
                100.0 * involuntary as f64 / self.switches
            ),
            try_this: format!(
                "as many worker threads as CPUs ({}), or longer slices: the class batch (chrt -b 0 COMMAND)",
                self.cpus()
            ),
            gain: self.gain(involuntary),
        })
    }

    /// Two tasks that wake each other on two CPUs.
    fn ping_pong(&self) -> Option<Advice> {
        let counts: HashMap<(u32, u32), &WakeRow> =
            self.inputs.wakes.iter().map(|wake| ((wake.waker_tid, wake.wakee_tid), wake)).collect();
        let pairs =
            self.inputs.wakes.iter().filter(|wake| wake.waker_tid < wake.wakee_tid).filter_map(|there| {
                let back = counts.get(&(there.wakee_tid, there.waker_tid))?;
                let both = there.count.min(back.count);
                let same = there.same_cpu? + back.same_cpu?;
                let across = (there.count + back.count).saturating_sub(same);
                let apart = 2 * across > there.count + back.count;
                (both >= LEAST_WAKES && apart).then_some((there, there.count + back.count, across))
            });
        let (pair, wakes, across) = pairs.max_by_key(|(_, _, across)| *across)?;
        if (wakes as f64) < LEAST_SHARE_OF_SWITCHES * self.switches {
            return None;
        }
        let (one, other) = (self.name(pair.waker_tid), self.name(pair.wakee_tid));
        Some(Advice {
            what: "two tasks wake each other across CPUs".to_owned(),
            evidence: format!("{one} and {other} woke each other {wakes} times, {across} of them on two CPUs"),
            try_this: "one CPU for both, if only one of them works at a time (taskset -c CPU), or fewer, larger messages between them"
                .to_owned(),
            // Waking another CPU costs more than switching on one; how much of it is saved, no price here says.
            gain: None,
        })
    }

    /// Threads of one process that wake one another, more than two of them.
    fn handed_round(&self) -> Option<Advice> {
        let pid: HashMap<u32, u32> = self.tasks.iter().map(|task| (task.tid, task.pid)).collect();
        let mut by_process: HashMap<u32, (u64, HashSet<u32>)> = HashMap::new();
        for wake in self.inputs.wakes {
            let (Some(waker), Some(wakee)) = (pid.get(&wake.waker_tid), pid.get(&wake.wakee_tid)) else {
                continue;
            };
            if waker == wakee {
                let (count, threads) = by_process.entry(*waker).or_default();
                *count += wake.count;
                threads.extend([wake.waker_tid, wake.wakee_tid]);
            }
        }
        let (pid, (count, threads)) =
            by_process.into_iter().max_by_key(|(pid, (count, _))| (*count, *pid))?;
        if threads.len() < 3 || (count as f64) < LEAST_SHARE_OF_SWITCHES * self.switches {
            return None;
        }
        Some(Advice {
            what: "a lock or a queue is handed round".to_owned(),
            evidence: format!(
                "{} threads of {} woke one another {count} times, {:.0} % of the switches",
                threads.len(),
                self.name(pid),
                100.0 * count as f64 / self.switches
            ),
            try_this:
                "shorter critical sections, a lock for each part of the data, or work handed over in batches"
                    .to_owned(),
            gain: self.gain(count),
        })
    }

    fn throttled(&self) -> Option<Advice> {
        let throttled = self.inputs.header.totals.throttled.as_ref()?;
        let share = throttled.throttled_periods as f64 / throttled.periods.max(1) as f64;
        (share >= LEAST_THROTTLED).then(|| Advice {
            what: "the control group's quota stops it".to_owned(),
            evidence: format!(
                "in {} of {} periods, for {:.1} s in all",
                throttled.throttled_periods,
                throttled.periods,
                throttled.throttled_ns as f64 / 1e9
            ),
            try_this:
                "a larger quota (cpu.max, or cpu.cfs_quota_us), or as many threads as the quota has CPUs"
                    .to_owned(),
            gain: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::bill;
    use swtch_topology::Host;
    use swtch_trace::model::{Header, Provenance, Scope, Throttled};

    fn header() -> Header {
        let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
        header.totals.switch_cost_ns = Some(100_000);
        header.totals.wakeups = Some(1000);
        header.duration_ns = 1_000_000;
        header
    }

    fn task(tid: u32, voluntary: u64, involuntary: u64, wait_ns: u64) -> TaskRow {
        TaskRow {
            tid,
            pid: 1,
            comm: "worker".into(),
            in_scope: true,
            voluntary,
            involuntary,
            run_ns: 1_000_000,
            wait_ns,
            switch_cost_ns: Some(10_000),
            ..TaskRow::default()
        }
    }

    fn advice(header: &Header, tasks: &[TaskRow], wakes: &[WakeRow]) -> Vec<Advice> {
        let inputs = Inputs {
            header,
            tasks,
            wakes,
            preemptions: &[],
            interrupts: &[],
            cpus: &[],
            model: None,
            price: None,
        };
        advise(inputs, &bill(inputs))
    }

    fn wake(waker_tid: u32, wakee_tid: u32, count: u64, same_cpu: u64) -> WakeRow {
        WakeRow { waker_tid, wakee_tid, count, same_cpu: Some(same_cpu) }
    }

    #[test]
    fn nothing_stands_out_where_nothing_does() {
        assert!(advice(&header(), &[task(1, 1000, 10, 0)], &[]).is_empty());
        assert!(advice(&header(), &[], &[]).is_empty());
    }

    #[test]
    fn too_many_threads_wait_and_are_preempted() {
        let found = advice(&header(), &[task(1, 10, 500, 3_000_000), task(2, 10, 500, 3_000_000)], &[]);
        assert_eq!(found.len(), 1);
        assert!(found[0].what.contains("more runnable threads"));
        assert!(found[0].evidence.contains("8.0 threads"), "{}", found[0].evidence);
        assert!(found[0].gain.unwrap().high > 0.0);
        // The same for much longer: they take turns, and the CPU has time for both.
        let mut long = header();
        long.duration_ns = 100_000_000;
        assert!(advice(&long, &[task(1, 10, 500, 3_000_000), task(2, 10, 500, 3_000_000)], &[]).is_empty());
    }

    #[test]
    fn ping_pong_is_seen_on_two_cpus_only() {
        let tasks = [task(1, 500, 0, 0), task(2, 500, 0, 0)];
        let found = advice(&header(), &tasks, &[wake(1, 2, 500, 10), wake(2, 1, 500, 10)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].evidence.contains("980 of them on two CPUs"), "{}", found[0].evidence);
        assert!(advice(&header(), &tasks, &[wake(1, 2, 500, 490), wake(2, 1, 500, 490)]).is_empty());
    }

    #[test]
    fn a_lock_that_goes_round_needs_three() {
        let tasks = [task(1, 500, 0, 0), task(2, 500, 0, 0), task(3, 500, 0, 0)];
        let found =
            advice(&header(), &tasks, &[wake(1, 2, 500, 500), wake(2, 3, 500, 500), wake(3, 1, 500, 500)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].evidence.starts_with("3 threads of worker (1)"), "{}", found[0].evidence);
    }

    #[test]
    fn throttling_is_named() {
        let mut header = header();
        header.totals.throttled =
            Some(Throttled { periods: 100, throttled_periods: 60, throttled_ns: 3_000_000_000 });
        let found = advice(&header, &[task(1, 10, 0, 0)], &[]);
        assert!(found[0].evidence.contains("60 of 100"), "{found:?}");
    }
}
