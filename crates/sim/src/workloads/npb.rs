//! `npb`: the NAS Parallel Benchmarks as their threads' meetings.

use super::Tasks;
use super::build::{at_least_one, at_most, repeat, with_defaults};
use crate::error::SimError;
use crate::program::Op;
use crate::workload::{Barrier, Waiting, Workload};
use swtch_units::words;

/// The threads at which the run times in [`NpbProgram::facts`] were taken.
const SOURCE_THREADS: u64 = 200;
/// What a thread has of its core there. 200 threads on 57 cores are four on most, and the slowest thread is waited for; a quarter of 1024.
const SOURCE_SPEED: u64 = 256;

words! {
    /// A program of NPB 3.3.1, class A, in its OpenMP version. Its facts: how often all threads meet in a run, and the run time with 200
    /// threads under CFS on a Xeon Phi 31S1P, ns.
    ///
    /// Meetings are the ends of parallel regions and the barriers, as counted in runs of the programs. Run times are those of Jo et al.,
    /// FLSCHED (APSys 2017), figure 3.
    pub enum NpbProgram("program of NPB"): (u32, u64) {
        /// Block tri-diagonal solver.
        Bt = "bt" => (1_012 + 815, 12_480_000_000),
        /// Conjugate gradient.
        Cg = "cg" => (51 + 2_060, 218_000_000),
        /// Embarrassingly parallel.
        Ep = "ep" => (4, 781_000_000),
        /// Fourier transform.
        Ft = "ft" => (42, 638_000_000),
        /// Integer sort.
        Is = "is" => (15 + 22, 304_000_000),
        /// Multi-grid.
        Mg = "mg" => (321 + 141, 161_000_000),
        /// Scalar penta-diagonal solver.
        Sp = "sp" => (3_616 + 1_615, 12_265_000_000),
        /// Unstructured adaptive mesh.
        Ua = "ua" => (36_507 + 2_975, 10_093_000_000),
    }
}

with_defaults! {
    /// Threads that compute and meet, over and over: the work between two meetings is shared evenly among however many threads there are.
    ///
    /// What is not here: `is` allocates and sums tables whose size grows with the threads, which is why it takes minutes at 3,200.
    ///
    /// ```
    /// use swtch_sim::workloads::npb::{Npb, NpbProgram};
    ///
    /// let npb = Npb { program: NpbProgram::Cg, threads: 200, ..Npb::default() };
    /// // 218 ms / 2,111 meetings, of which a thread does a quarter of a core's.
    /// assert_eq!(npb.interval_work_ns(), 25_817);
    /// ```
    pub struct Npb {
        /// The program.
        pub program: NpbProgram = NpbProgram::Cg,
        /// Its threads.
        pub threads: u32 = 200,
        /// The part of the run that is simulated: fewer meetings, at the same rate.
        pub scale: f64 = 1.0,
        /// By how much the work of one thread between two meetings differs from another's at most, in per cent.
        pub imbalance_percent: u32 = 0,
        /// Meetings in a row that make one barrier. A runtime whose threads meet in a tree, a few at a time, needs one for each level, up
        /// and down again.
        pub rounds: u32 = 1,
        /// How threads wait: `spin-yield`, `spin` or `block`.
        pub waiting: Waiting = Waiting::SpinYield,
        /// Memory that a thread uses between switches, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 0,
    }
}

impl Npb {
    /// How often the threads meet.
    pub fn meetings(&self) -> u32 {
        let (all, _) = self.program.facts();
        (f64::from(all) * self.scale).ceil() as u32
    }

    /// Work of a thread between two meetings on average, ns; at least 1.
    pub fn interval_work_ns(&self) -> u64 {
        let (meetings, run_ns) = self.program.facts();
        let of_all_ns = run_ns * SOURCE_SPEED / 1024 * SOURCE_THREADS / u64::from(meetings);
        (of_all_ns / u64::from(self.threads.max(1))).max(1)
    }

    /// The workload.
    ///
    /// # Errors
    /// When a figure is out of range.
    pub fn build(&self) -> Result<Workload, SimError> {
        let name = format!("npb-{}", self.program.name());
        at_least_one(&name, &[("threads", self.threads), ("rounds", self.rounds)])?;
        at_most(&name, u64::from(self.rounds))?;
        at_most(&name, u64::from(self.threads))?;
        if !(self.scale > 0.0 && self.scale <= 1_000.0) {
            let problem = format!("scale is {}; expected more than 0 and at most 1000", self.scale);
            return Err(SimError::of_workload(&name, problem));
        }
        if self.imbalance_percent > 100 {
            let problem = format!("imbalance_percent is {}; expected 0 to 100", self.imbalance_percent);
            return Err(SimError::of_workload(&name, problem));
        }
        let work_ns = self.interval_work_ns();
        let half_ns = work_ns * u64::from(self.imbalance_percent) / 200;
        let compute = match half_ns {
            0 => Op::Compute { work_ns },
            _ => Op::ComputeBetween { low_ns: work_ns - half_ns, high_ns: work_ns + half_ns },
        };
        let barriers = vec![Barrier { members: self.threads, waiting: self.waiting }];
        let mut workload = Workload { name, barriers, ..Workload::default() };
        let mut ops = Vec::new();
        repeat(&mut ops, self.meetings(), 0, |ops| {
            ops.push(compute);
            repeat(ops, self.rounds, 1, |ops| ops.push(Op::Barrier { barrier: 0 }));
        });
        let program = workload.add_program(ops);
        for thread in 0..self.threads {
            let name = format!("{}-{thread}", self.program.name());
            workload.add_task(name, program, Tasks::Threads, self.working_set_bytes);
        }
        Ok(workload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::tests::check;

    #[test]
    fn the_work_of_a_run_is_that_of_the_source_whatever_the_threads() {
        for program in NpbProgram::ALL {
            let (meetings, run_ns) = program.facts();
            for threads in [1, 200, 3_200] {
                let npb = Npb { program, threads, ..Npb::default() };
                check(&npb.build().unwrap());
                let work_ns = npb.interval_work_ns() * u64::from(meetings) * u64::from(threads);
                let expected_ns = run_ns * 50;
                // What rounding down takes is less than a ns an interval.
                assert!(work_ns <= expected_ns, "{program:?} {threads}");
                assert!(
                    expected_ns - work_ns <= u64::from(meetings) * (u64::from(threads) + 1),
                    "{program:?}"
                );
            }
        }
    }

    #[test]
    fn the_rates_are_those_that_were_measured() {
        let rate = |program: NpbProgram| {
            let (meetings, run_ns) = program.facts();
            f64::from(meetings) / (run_ns as f64 / 1e9)
        };
        for (program, per_s) in [(NpbProgram::Cg, 9_684.0), (NpbProgram::Ua, 3_912.0), (NpbProgram::Ep, 5.0)]
        {
            assert!((rate(program) - per_s).abs() < 1.0, "{program:?} {}", rate(program));
        }
    }

    #[test]
    fn scale_shortens_the_run_and_keeps_the_rate() {
        let whole = Npb::default();
        let part = Npb { scale: 0.1, ..Npb::default() };
        assert_eq!((whole.meetings(), part.meetings()), (2_111, 212));
        assert_eq!(whole.interval_work_ns(), part.interval_work_ns());
        assert!(Npb { scale: f64::NAN, ..Npb::default() }.build().is_err());
        let tree = Npb { rounds: 4, ..Npb::default() }.build().unwrap();
        assert_eq!(
            tree.programs[0].ops[1..3],
            [Op::Barrier { barrier: 0 }, Op::Loop { to: 1, times: 4, counter: 1 }]
        );
        let uneven = Npb { imbalance_percent: 10, ..Npb::default() }.build().unwrap();
        assert_eq!(uneven.programs[0].ops[0], Op::ComputeBetween { low_ns: 24_527, high_ns: 27_107 });
    }
}
