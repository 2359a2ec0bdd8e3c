//! The tables as they are at a time.

use super::distribution::Distribution;
use super::task::{CgroupName, TaskState};
use super::{Accumulator, Edge, History};
use crate::tables::{
    CLASS_BITS, CpuRow, HistogramRow, PreemptionRow, TASK_CLASS_BITS, Tables, TaskRow, WaitRow, WakeRow,
    merge_equal,
};
use rustc_hash::FxHashMap;
use swtch_units::CpuList;

/// Most tasks whose own histograms are kept in the table; the busiest ones.
const TASK_HISTOGRAMS: usize = 100;

impl Accumulator {
    /// Everything from the beginning to `now_ns` (CLOCK_MONOTONIC), as far as `history` reaches. Tasks that run then have run until then.
    /// `group_name` names a cgroup of which events gave a number.
    ///
    /// ```
    /// use swtch_trace::accumulate::{Accumulator, CacheGroups, History};
    /// let mut accumulator = Accumulator::new(0, CacheGroups::default(), false);
    /// assert!(accumulator.snapshot(1, History::Whole, &|_| None).tasks.is_empty());
    /// ```
    pub fn snapshot(
        &mut self,
        now_ns: u64,
        history: History,
        group_name: &dyn Fn(u64) -> Option<String>,
    ) -> Tables {
        self.arrive_until(now_ns);
        let mut tables = Tables {
            tasks: self.task_rows(now_ns, group_name),
            cpus: self.cpu_rows(),
            wakes: self.wake_rows(),
            preemptions: self.preemption_rows(),
            waits: self.wait_rows(),
            // Cgroups are sums of tasks, which the recording makes when the tasks are all there; interrupts are not of events.
            ..Tables::default()
        };
        match history {
            History::Whole => {
                // The intervals reach until now, also where nothing happened any more.
                self.intervals.at(now_ns.saturating_sub(1));
                tables.histograms = self.histogram_rows();
                tables.intervals = self.intervals.rows(now_ns);
                tables.interruptions = self.interruptions.rows();
            }
            History::Recent => self.forget_past(),
        }
        tables
    }

    /// Tasks by their number, those of the scope with their figures.
    pub(super) fn task_rows(
        &mut self,
        now_ns: u64,
        group_name: &dyn Fn(u64) -> Option<String>,
    ) -> Vec<TaskRow> {
        let measured = self.sums.costs > 0;
        let sees_spinning = self.sees_spinning;
        let row = |tid: u32, task: &mut TaskState, now_ns: Option<u64>| {
            let cgroup = task.group.as_ref().and_then(|group| match group {
                CgroupName::Path(path) => Some(path.clone()),
                CgroupName::Number(number) => group_name(*number),
            });
            if task.was_in_front {
                return TaskRow { cgroup, ..identity(tid, task) };
            }
            let known = |figure: u64| sees_spinning.then_some(figure);
            let (spinning, spinning_ns, yields) =
                (known(task.spinning), known(task.spinning_ns), known(task.yields));
            TaskRow { cgroup, spinning, spinning_ns, yields, ..row(tid, task, now_ns, measured) }
        };
        let mut tasks: Vec<TaskRow> =
            self.ended.iter_mut().map(|(tid, task)| row(*tid, task, None)).collect();
        let members = self.members.as_ref();
        let counts = |tid: u32| tid != 0 && members.is_none_or(|members| members.contains(&tid));
        tasks.extend(
            self.tasks
                .iter_mut()
                .filter(|(tid, task)| counts(**tid) && task.last_ns > 0)
                .map(|(tid, task)| row(*tid, task, Some(now_ns))),
        );
        tasks.extend(self.outsiders());
        tasks.sort_by_key(|row| (row.tid, row.first_ns));
        tasks
    }

    /// Tasks that do not count and are in other tables: they preempted, woke, were woken, or ran before a task that waited.
    fn outsiders(&self) -> Vec<TaskRow> {
        let mentioned =
            self.preemptions.keys().chain(self.wakes.keys()).flat_map(|(one, other)| [*one, *other]);
        let seen = self.tasks.iter().filter(|(_, task)| task.now.cpu.is_some()).map(|(tid, _)| *tid);
        let mut tids: Vec<u32> =
            mentioned.chain(seen).filter(|tid| *tid != 0 && !self.counts(*tid)).collect();
        tids.sort_unstable();
        tids.dedup();
        tids.into_iter().filter_map(|tid| Some(identity(tid, self.tasks.get(&tid)?))).collect()
    }

    pub(super) fn cpu_rows(&self) -> Vec<CpuRow> {
        let rows = self.cpus.iter().zip(0..).map(|(state, cpu)| CpuRow { cpu, ..state.row.clone() });
        rows.filter(|row| row.switches + row.idle_switches > 0).collect()
    }

    pub(super) fn wake_rows(&self) -> Vec<WakeRow> {
        edges(&self.wakes, |(waker_tid, wakee_tid), edge| WakeRow {
            waker_tid,
            wakee_tid,
            count: edge.count,
            same_cpu: Some(edge.ns),
        })
    }

    pub(super) fn preemption_rows(&self) -> Vec<PreemptionRow> {
        edges(&self.preemptions, |(by_tid, of_tid), edge| PreemptionRow {
            by_tid,
            of_tid,
            count: edge.count,
            ns: Some(edge.ns),
        })
    }

    /// What waits were behind, the longest first; tasks with one number are one.
    pub(super) fn wait_rows(&self) -> Vec<WaitRow> {
        let living = self.tasks.iter().map(|(tid, task)| (*tid, task));
        let tasks = self.ended.iter().map(|(tid, task)| (*tid, task)).chain(living);
        let rows = tasks.flat_map(|(of_tid, task)| task.behind.iter().map(move |charge| (of_tid, charge)));
        let mut rows = merge_equal(
            rows.map(|(of_tid, charge)| {
                let (behind, program) = self.programs.words(charge.front);
                WaitRow {
                    of_tid,
                    began: charge.began,
                    behind,
                    program: program.to_owned(),
                    waits: charge.waits,
                    ns: charge.ns,
                }
            })
            .collect(),
        );
        rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
        rows
    }

    fn histogram_rows(&self) -> Vec<HistogramRow> {
        let mut rows = Vec::new();
        let mut put = |metric: &str, of: &str, distribution: &Distribution| {
            rows.extend(HistogramRow::of(metric, of, distribution.table::<CLASS_BITS>()));
        };
        put("wait", "all", &self.all_waits);
        put("slice", "all", &self.all_slices);
        put("cost", "kind thread", &self.thread_costs);
        put("cost", "kind process", &self.process_costs);
        put("cost", "kind idle", &self.idle_costs);
        put("cost", "kind interrupted", &self.interrupted_costs);
        let mut busiest: Vec<(u32, &TaskState)> = self
            .tasks
            .iter()
            .chain(self.ended.iter().map(|(tid, task)| (tid, task)))
            .map(|(tid, task)| (*tid, task))
            .filter(|(_, task)| task.slices.count() > 0)
            .collect();
        busiest.sort_by_key(|(tid, task)| (std::cmp::Reverse(task.slices.count()), *tid));
        for (tid, task) in busiest.into_iter().take(TASK_HISTOGRAMS) {
            let of = format!("task {tid}");
            rows.extend(HistogramRow::of("wait", &of, task.waits.table::<TASK_CLASS_BITS>()));
            rows.extend(HistogramRow::of("slice", &of, task.slices.table::<TASK_CLASS_BITS>()));
        }
        rows
    }
}

/// Rows of a table of pairs, the most frequent first.
fn edges<R>(edges: &FxHashMap<(u32, u32), Edge>, row: impl Fn((u32, u32), Edge) -> R) -> Vec<R> {
    let mut sorted: Vec<((u32, u32), Edge)> = edges
        .iter()
        .filter(|(_, edge)| edge.count > 0 || edge.ns > 0)
        .map(|(pair, edge)| (*pair, *edge))
        .collect();
    sorted.sort_by_key(|(pair, edge)| (std::cmp::Reverse(edge.count), *pair));
    sorted.into_iter().map(|(pair, edge)| row(pair, edge)).collect()
}

/// Which task it is, without what it did. One that was gone before it could be named has a number only.
fn identity(tid: u32, task: &TaskState) -> TaskRow {
    TaskRow {
        tid,
        pid: task.pid.unwrap_or(tid),
        parent_pid: task.parent_pid,
        comm: if task.comm.is_empty() { format!("tid {tid}") } else { task.comm.clone() },
        kernel_thread: task.kernel_thread,
        policy: task.scheduling.policy,
        nice: task.scheduling.nice,
        realtime_priority: task.scheduling.realtime_priority,
        cpus_allowed: task.scheduling.cpus.as_ref().map(CpuList::to_string),
        first_ns: task.first_ns,
        last_ns: task.last_ns,
        ..TaskRow::default()
    }
}

fn row(tid: u32, task: &mut TaskState, now_ns: Option<u64>, measured: bool) -> TaskRow {
    let [wait_p50_ns, wait_p90_ns, wait_p99_ns] = task.waits.quantiles_ns([0.5, 0.9, 0.99]);
    let [slice_p50_ns] = task.slices.quantiles_ns([0.5]);
    let running_ns =
        now_ns.zip(task.now.running_since_ns).map_or(0, |(now, since)| now.saturating_sub(since));
    let switches = task.switches.voluntary() + task.switches.involuntary();
    TaskRow {
        in_scope: true,
        voluntary: task.switches.voluntary(),
        involuntary: task.switches.involuntary(),
        wakeups: task.wakeups,
        run_ns: task.slices.total_ns() + running_ns,
        wait_ns: task.waits.total_ns(),
        waits: task.waits.count(),
        idle_elsewhere_ns: task.cpu_set.is_watched().then_some(task.idle_elsewhere_ns),
        wait_p50_ns,
        wait_p90_ns,
        wait_p99_ns,
        wait_max_ns: task.waits.max_ns(),
        slice_p50_ns,
        slice_max_ns: task.slices.max_ns(),
        migrations_same_l2: Some(task.migrations.same_l2),
        migrations_same_l3: Some(task.migrations.same_l3),
        migrations_across: Some(task.migrations.across),
        cold_switch_ins: Some(task.cold_switch_ins),
        // Switches whose cost was not measured leave the sum unknown; where there was none, it is nothing.
        switch_cost_ns: (task.costs > 0 || (measured && switches == 0)).then_some(task.cost_ns),
        process_switches: Some(task.process_switches),
        thread_switches: Some(task.thread_switches),
        ..identity(tid, task)
    }
}
