//! `mix`: applications that run at speeds of their own on each kind of core.

use super::Tasks;
use super::build::{at_least_one, at_most, repeat, with_defaults};
use crate::error::SimError;
use crate::machine::{Machine, REFERENCE_SPEED};
use crate::program::Op;
use crate::workload::{Application, Workload};
use serde::{Deserialize, Serialize};

/// Work of a phase that is not told, ns.
const DEFAULT_WORK_NS: u64 = 1_000_000_000;

/// Applications on cores of several kinds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// The applications.
    pub applications: Vec<MixApplication>,
    /// Every application starts again when it ends, as when run times of first runs are compared under an even load. It is for runs
    /// that have a duration. Each run is a request, so that its time is reported.
    #[serde(default)]
    pub repeat: bool,
}

with_defaults! {
    /// One of them. Its speeds are those of [`phases`](Self::phases) in turn; without phases, its own.
    pub struct MixApplication {
        /// Its name.
        pub name: String = String::new(),
        /// Its tasks; each does all of the work.
        pub tasks: u32 = 1,
        /// Work per ns by kind of core, in the order of the machine's kinds, 1024 for the reference.
        pub speeds: Vec<u32> = Vec::new(),
        /// Instead, on a machine with two kinds: how many times as fast it is on the first as on the second.
        pub speedup: Option<f64> = None,
        /// Its work, ns at speed 1024.
        #[serde(deserialize_with = "crate::quantity::ns")]
        pub work_ns: u64 = DEFAULT_WORK_NS,
        /// Phases with speeds and work of their own, one after the other.
        pub phases: Vec<Phase> = Vec::new(),
        /// Its nice value.
        pub nice: i8 = 0,
        /// Memory that a task uses between switches, bytes.
        #[serde(deserialize_with = "crate::quantity::bytes")]
        pub working_set_bytes: u64 = 0,
    }
}

/// A part of an application's run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// As [`MixApplication::speeds`].
    #[serde(default)]
    pub speeds: Vec<u32>,
    /// As [`MixApplication::speedup`].
    #[serde(default)]
    pub speedup: Option<f64>,
    /// Work of the phase, ns at speed 1024.
    #[serde(deserialize_with = "crate::quantity::ns")]
    pub work_ns: u64,
}

impl Mix {
    /// The workload for this machine; every task is a process.
    ///
    /// # Errors
    /// When there is no application, or speeds do not fit the machine's kinds of core.
    pub fn build(&self, machine: &Machine) -> Result<Workload, SimError> {
        const NAME: &str = "mix";
        at_least_one(NAME, &[("the number of applications", self.applications.len() as u32)])?;
        at_most(NAME, self.applications.iter().map(|application| u64::from(application.tasks)).sum())?;
        let mut workload = Workload { name: NAME.to_owned(), ..Workload::default() };
        for application in &self.applications {
            at_least_one(NAME, &[(&format!("tasks of {}", application.name), application.tasks)])?;
            if !(-20..=19).contains(&application.nice) {
                let problem =
                    format!("nice of {} is {}; expected -20 to 19", application.name, application.nice);
                return Err(SimError::of_workload(NAME, problem));
            }
            let own = || Phase {
                speeds: application.speeds.clone(),
                speedup: application.speedup,
                work_ns: application.work_ns,
            };
            let phases = if application.phases.is_empty() { vec![own()] } else { application.phases.clone() };
            self.add(&mut workload, machine, application, &phases)?;
        }
        Ok(workload)
    }

    fn add(
        &self,
        workload: &mut Workload,
        machine: &Machine,
        application: &MixApplication,
        phases: &[Phase],
    ) -> Result<(), SimError> {
        let first = workload.applications.len() as u32;
        for phase in phases {
            let speeds = speeds(machine, phase).map_err(|problem| {
                SimError::of_workload("mix", format!("application {}: {problem}", application.name))
            })?;
            workload.applications.push(Application { name: application.name.clone(), speeds });
        }
        let mut ops = Vec::new();
        repeat(&mut ops, u32::from(!self.repeat), 0, |ops| {
            ops.push(Op::RequestBegins);
            for (phase, place) in phases.iter().zip(first..) {
                if phases.len() > 1 {
                    ops.push(Op::Become { application: place });
                }
                ops.push(Op::Compute { work_ns: phase.work_ns });
            }
            ops.push(Op::RequestEnds);
        });
        let program = workload.add_program(ops);
        for task in 0..application.tasks {
            let name = match application.tasks {
                1 => application.name.clone(),
                _ => format!("{}-{task}", application.name),
            };
            workload.add_task(name, program, Tasks::Processes, application.working_set_bytes);
            let spec = workload.tasks.last_mut().expect("just added");
            spec.application = Some(first);
            spec.nice = application.nice;
        }
        Ok(())
    }
}

/// The speeds of a phase on each kind of core, or what is wrong with them.
pub(crate) fn speeds(machine: &Machine, phase: &Phase) -> Result<Vec<u32>, String> {
    let kinds = machine.types.len();
    match (phase.speedup, phase.speeds.len()) {
        (None, 0) => Ok(machine.types.iter().map(|kind| kind.speed).collect()),
        (Some(_), 1..) => Err("both speeds and speedup are given; expected one of them".to_owned()),
        (None, given) if given != kinds => {
            Err(format!("{given} speeds; expected {kinds}, one for each kind of core of {}", machine.name))
        }
        (None, _) if phase.speeds.contains(&0) => Err("a speed is 0; expected at least 1".to_owned()),
        (None, _) => Ok(phase.speeds.clone()),
        (Some(_), 0) if kinds != 2 => Err(format!(
            "a speedup is between two kinds of core, and {} has {kinds}; expected speeds",
            machine.name
        )),
        // Also refuses what is not a number.
        (Some(speedup), _) if !(0.01..=1024.0).contains(&speedup) => {
            Err(format!("speedup is {speedup}; expected 0.01 to 1024"))
        }
        (Some(speedup), _) => {
            Ok(vec![REFERENCE_SPEED, (f64::from(REFERENCE_SPEED) / speedup).round().max(1.0) as u32])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::named;
    use crate::workloads::tests::check;
    use swtch_topology::Host;

    fn application(name: &str) -> MixApplication {
        MixApplication { name: name.to_owned(), ..MixApplication::default() }
    }

    fn built(applications: Vec<MixApplication>, repeat: bool) -> Result<Workload, SimError> {
        Mix { applications, repeat }.build(&named("2f4s", &Host::default()).unwrap())
    }

    #[test]
    fn speeds_come_from_speedups_lists_or_the_machine() {
        let apps = vec![
            MixApplication { speedup: Some(2.0), ..application("a") },
            MixApplication { speeds: vec![900, 300], tasks: 2, ..application("b") },
            application("c"),
        ];
        let workload = built(apps, false).unwrap();
        check(&workload);
        let speeds: Vec<_> = workload.applications.iter().map(|each| each.speeds.clone()).collect();
        assert_eq!(speeds, [[1024, 512], [900, 300], [1024, 293]]);
        let tasks: Vec<_> =
            workload.tasks.iter().map(|task| (task.name.as_str(), task.application)).collect();
        assert_eq!(tasks, [("a", Some(0)), ("b-0", Some(1)), ("b-1", Some(1)), ("c", Some(2))]);
    }

    #[test]
    fn phases_change_the_speeds_in_turn() {
        let phase = |speedup, work_ns| Phase { speeds: Vec::new(), speedup: Some(speedup), work_ns };
        let apps = vec![MixApplication { phases: vec![phase(2.0, 10), phase(4.0, 20)], ..application("a") }];
        let workload = built(apps, true).unwrap();
        check(&workload);
        let ops = &workload.programs[0].ops;
        assert_eq!(ops[3..5], [Op::Become { application: 1 }, Op::Compute { work_ns: 20 }]);
        assert_eq!(ops.last(), Some(&Op::Loop { to: 0, times: 0, counter: 0 }));
    }

    #[test]
    fn speeds_that_do_not_fit_are_refused() {
        let problem = |application| built(vec![application], false).unwrap_err().to_string();
        assert!(
            problem(MixApplication { speeds: vec![1], ..application("a") }).contains("1 speeds; expected 2")
        );
        assert!(problem(MixApplication { speedup: Some(f64::NAN), ..application("a") }).contains("NaN"));
        let both = MixApplication { speedup: Some(2.0), speeds: vec![2, 1], ..application("a") };
        assert!(problem(both).contains("both"));
        assert!(problem(MixApplication { nice: -21, ..application("a") }).contains("nice of a is -21"));
        assert!(built(Vec::new(), false).is_err());
    }
}
