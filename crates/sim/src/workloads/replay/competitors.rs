//! Tasks outside the recording's scope: they are not replayed as what they are, but keep the CPUs busy where the recorded tasks saw them.

use crate::assumption::Assumption;
use crate::program::Op;
use crate::workload::{TaskSpec, Workload};
use std::collections::{BTreeMap, BTreeSet};
use swtch_trace::tables::{SwitchRow, TaskRow};
use swtch_units::{CpuId, format_ns};

/// When tasks outside the scope had a CPU, by name and CPU, ns.
#[derive(Debug, Default)]
pub(super) struct Competitors {
    runs: BTreeMap<(String, u32), Vec<(u64, u64)>>,
    /// What each CPU went to, and when.
    last: BTreeMap<u32, (u64, u32)>,
}

impl Competitors {
    /// Takes the next row. `is_other` says which tasks are outside the scope.
    pub(super) fn row(
        &mut self,
        row: &SwitchRow,
        rows: &BTreeMap<u32, &TaskRow>,
        is_other: impl Fn(u32) -> bool,
    ) {
        let before = self.last.insert(row.cpu, (row.at_ns, row.next_tid));
        if !is_other(row.prev_tid) {
            return;
        }
        let from_ns = match before {
            // From the recorded task that left to the one that came: others had it all the time.
            Some((since_ns, tid)) if is_other(tid) => since_ns,
            // It came unseen. It was there at the latest when the one that comes began to wait.
            before => {
                let seen_ns = row.ran_ns.or(row.waited_ns).unwrap_or(0);
                row.at_ns.saturating_sub(seen_ns).max(before.map_or(0, |(since_ns, _)| since_ns))
            }
        };
        if row.at_ns > from_ns {
            let name = rows.get(&row.prev_tid).map_or("other", |task| task.comm.as_str());
            self.runs.entry((name.to_owned(), row.cpu)).or_default().push((from_ns, row.at_ns));
        }
    }

    /// The names of the tasks.
    pub(super) fn names(&self) -> BTreeSet<String> {
        self.runs.keys().map(|(name, cpu)| format!("{name}/cpu{cpu}")).collect()
    }

    /// Adds a task for each name and CPU, which runs only there and is not waited for, and says what is assumed of them.
    pub(super) fn add(
        self,
        workload: &mut Workload,
        is_away: impl Fn(&str) -> bool,
        process: u32,
        assumed: &mut Vec<Assumption>,
    ) {
        let mut busy_ns = 0;
        for ((comm, cpu), runs) in self.runs {
            let name = format!("{comm}/cpu{cpu}");
            if is_away(&name) {
                continue;
            }
            busy_ns += runs.iter().map(|(from_ns, to_ns)| to_ns - from_ns).sum::<u64>();
            let start_ns = runs.first().map_or(0, |run| run.0);
            let mut ops = Vec::with_capacity(2 * runs.len());
            let mut now_ns = start_ns;
            for (from_ns, to_ns) in runs {
                if from_ns > now_ns {
                    ops.push(Op::Sleep { ns: from_ns - now_ns });
                }
                ops.push(Op::Compute { work_ns: to_ns - from_ns });
                now_ns = to_ns;
            }
            let program = workload.add_program(ops);
            workload.tasks.push(TaskSpec {
                name,
                process: process + workload.tasks.len() as u32,
                program,
                allowed: vec![CpuId::new(cpu)],
                start_ns,
                background: true,
                ..TaskSpec::default()
            });
        }
        if busy_ns > 0 {
            assumed.push(Assumption::new(
                "other tasks",
                format!("{} on the CPUs where they were seen, at nice 0", format_ns(busy_ns as f64)),
                "only what ran before, between or in place of the recorded tasks is in the recording; more of it ran unseen",
            ));
        }
    }
}
