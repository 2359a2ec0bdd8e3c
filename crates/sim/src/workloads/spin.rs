//! `spin`: tasks that only compute.

use super::Tasks;
use super::build::{at_least_one, at_most, repeat, with_defaults};
use crate::error::SimError;
use crate::program::Op;
use crate::workload::Workload;

with_defaults! {
    /// Tasks that only compute: what shares and slices are seen by.
    pub struct Spin {
        /// How many.
        pub tasks: u32 = 8,
        /// Work of each, ns; 0: without end, for runs that have a duration.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub work_ns: u64 = 1_000_000_000,
        /// Nice values, given to the tasks in turn; empty: all 0.
        pub nice: Vec<i8> = Vec::new(),
        /// Memory that a task uses between switches, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 0,
        /// Whether a task of the program makes the others and waits for them, as a shell does; else they are there from the start.
        pub from_start: bool = false,
    }
}

impl Spin {
    /// The workload; every task is a process.
    ///
    /// # Errors
    /// When there is no task, there are too many, or a nice value is not -20 to 19.
    pub fn build(&self) -> Result<Workload, SimError> {
        const NAME: &str = "spin";
        at_least_one(NAME, &[("tasks", self.tasks)])?;
        at_most(NAME, u64::from(self.tasks))?;
        if let Some(nice) = self.nice.iter().find(|nice| !(-20..=19).contains(*nice)) {
            return Err(SimError::of_workload(NAME, format!("nice is {nice}; expected -20 to 19")));
        }
        let mut workload = Workload { name: NAME.to_owned(), ..Workload::default() };
        let mut ops = Vec::new();
        let endless = self.work_ns == 0;
        // Without an end there still are steps, of a second each.
        let work_ns = if endless { 1_000_000_000 } else { self.work_ns };
        repeat(&mut ops, u32::from(!endless), 0, |ops| ops.push(Op::Compute { work_ns }));
        let program = workload.add_program(ops);
        for task in 0..self.tasks {
            workload.add_task(format!("spin-{task}"), program, Tasks::Processes, self.working_set_bytes);
        }
        for (task, nice) in workload.tasks.iter_mut().zip(self.nice.iter().cycle()) {
            task.nice = *nice;
        }
        if self.from_start {
            workload.templates = std::mem::take(&mut workload.tasks);
            let forks = (0..self.tasks).map(|template| Op::Fork { template });
            let ops = forks.chain([Op::WaitChildren]).collect();
            workload.add_maker(NAME, ops, Tasks::Processes, self.working_set_bytes);
        }
        Ok(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tests::{balance, check, under_fifo};

    #[test]
    fn nice_values_go_round_and_work_is_each_tasks_own() {
        let workload = Spin { tasks: 3, work_ns: 5, nice: vec![0, 19], ..Spin::default() }.build().unwrap();
        check(&workload);
        assert_eq!(workload.tasks.iter().map(|task| task.nice).collect::<Vec<_>>(), [0, 19, 0]);
        assert_eq!(balance(&workload).work_ns, 15);
        assert!(
            Spin { nice: vec![20], ..Spin::default() }
                .build()
                .unwrap_err()
                .to_string()
                .contains("nice is 20")
        );
    }

    #[test]
    fn a_task_can_make_the_others_and_wait_for_them() {
        let there = Spin { tasks: 3, work_ns: 5_000_000, ..Spin::default() };
        let workload = Spin { from_start: true, ..there.clone() }.build().unwrap();
        check(&workload);
        assert_eq!((workload.tasks.len(), workload.templates.len()), (1, 3));
        let (made, there) = (under_fifo(workload), under_fifo(there.build().unwrap()));
        // The one that makes them sleeps until they have ended, and ends.
        assert_eq!(made.stats.voluntary, there.stats.voluntary + 2);
    }

    #[test]
    fn no_work_is_work_without_end() {
        let workload = Spin { work_ns: 0, ..Spin::default() }.build().unwrap();
        assert_eq!(workload.programs[0].ops.last(), Some(&Op::Loop { to: 0, times: 0, counter: 0 }));
    }
}
