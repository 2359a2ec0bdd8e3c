//! Causes besides the workload that are large enough to explain a Trace's figures. A reader has to know it before the figures.

use crate::bill::{Bill, Inputs, is_over};
use crate::front::Front;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use swtch_profile::Profile;
use swtch_profile::compare::different_machines;
use swtch_profile::model::Noise;
use swtch_topology::Host;
use swtch_trace::model::Origin;
use swtch_trace::tables::CpuRow;

/// Below this part of the CPUs' time, stolen time changes no answer: a cost that it could explain is as small itself.
const LEAST_STOLEN: f64 = 0.01;
/// Waits need an explanation only if they are at least this part of the tasks' CPU time.
const LEAST_WAIT_PER_RUN: f64 = 0.1;
/// Other programs that ran for this part of the CPUs' time, and were in front for this part of the waiting, spoil a recording.
const SPOILING: f64 = 0.5;
/// Stolen time that is at least this part of the waiting can be its cause.
const LEAST_STOLEN_OF_WAIT: f64 = 0.3;
/// A tick of the kernel's accounting on most machines, ns. The accounting cannot distinguish a shorter time from zero.
const TICK_NS: f64 = 10_000_000.0;

/// Something besides the workload that is large enough to explain a figure of a Trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Caveat {
    /// A command that was run once: another run may make many times as many switches.
    OneRun,
    /// The hypervisor took as much time from the tasks' CPUs as the bill charges to the switches. Time that is stolen within a switch
    /// counts as its cost.
    Stolen {
        /// Time stolen on the tasks' CPUs, ns.
        stolen_ns: f64,
        /// As a part of those CPUs' time.
        share: f64,
    },
    /// Software executed the instructions of the machine that was recorded: its times and costs are those of no hardware.
    EmulatedMachine,
    /// Most of the tasks' waiting was behind programs that were not recorded.
    OtherPrograms {
        /// What those ran, as a part of all CPUs' time, where that is known.
        ran: Option<f64>,
        /// Part of the waiting that was behind them.
        of_waits: f64,
        /// How long the tasks waited for a CPU, ns.
        wait_ns: f64,
    },
    /// The Profile that prices the Trace was measured on another machine, or under other settings.
    OtherMachine {
        /// What differs: `what: in the Profile -> in the Trace`.
        differences: Vec<String>,
    },
    /// Software executed the instructions of the machine that the Profile was measured on: its prices are those of no hardware.
    EmulatedProfile,
    /// The Profile was measured while other programs or the hypervisor took more of its CPUs' time than [`Self::DISTURBED`].
    DisturbedProfile {
        /// What they took, as a part of the measurement's time.
        share: f64,
    },
}

impl Caveat {
    /// Part of a measurement's time that others may take before its figures are called disturbed. A batch that they touch is rejected; with a
    /// tenth of the time taken, what they leave in the caches touches the others too.
    pub const DISTURBED: f64 = 0.1;

    /// Whether it makes the recording's figures those of something else. Then so much time was stolen, or other programs ran so much,
    /// that neither costs nor waits are the workload's own.
    pub fn spoils(&self) -> bool {
        match self {
            Self::Stolen { share, .. } => *share >= Self::DISTURBED,
            Self::OtherPrograms { ran, of_waits, .. } => *ran >= Some(SPOILING) && *of_waits > SPOILING,
            _ => false,
        }
    }
}

/// What a reader has to know before the figures, the most important first.
pub fn caveats(inputs: Inputs<'_>, bill: &Bill) -> Vec<Caveat> {
    let mut found = Vec::new();
    found.extend(inputs.trace.header.host.is_emulated().then_some(Caveat::EmulatedMachine));
    found.extend(stolen(inputs, bill));
    found.extend(other_programs(inputs));
    found.extend(profile(inputs));
    if is_over(inputs.trace.header) && inputs.trace.header.provenance.origin == Origin::Recorded {
        found.push(Caveat::OneRun);
    }
    found
}

fn stolen(inputs: Inputs<'_>, bill: &Bill) -> Option<Caveat> {
    let anywhere = inputs.trace.cpus.iter().all(|cpu| cpu.run_ns == 0);
    let rows: Vec<&CpuRow> = inputs.trace.cpus.iter().filter(|cpu| anywhere || cpu.run_ns > 0).collect();
    let stolen_ns: u64 = rows.iter().map(|cpu| cpu.steal_ns).sum::<Option<u64>>()?;
    let stolen_ns = stolen_ns as f64;
    let share = stolen_ns / (inputs.trace.header.duration_ns as f64 * rows.len() as f64).max(1.0);
    let wait_ns: f64 = inputs.trace.in_scope().map(|task| task.wait_ns as f64).sum();
    let explains_waits = wait_ns > 0.0 && stolen_ns >= LEAST_STOLEN_OF_WAIT * wait_ns;
    let explains = explains_waits || bill.direct_ns.is_some_and(|direct| stolen_ns >= direct.low);
    (explains && share >= LEAST_STOLEN && stolen_ns > TICK_NS).then_some(Caveat::Stolen { stolen_ns, share })
}

fn other_programs(inputs: Inputs<'_>) -> Option<Caveat> {
    let run_ns: f64 = inputs.trace.in_scope().map(|task| task.run_ns as f64).sum();
    let wait_ns: f64 = inputs.trace.in_scope().map(|task| task.wait_ns as f64).sum();
    let front = Front::of(inputs).filter(Front::mostly_others)?;
    let matters = wait_ns > TICK_NS && wait_ns >= LEAST_WAIT_PER_RUN * run_ns;
    matters.then_some(Caveat::OtherPrograms { ran: front.ran, of_waits: front.others, wait_ns })
}

fn profile(inputs: Inputs<'_>) -> Vec<Caveat> {
    let Some(measured_on) = inputs.model.and_then(|model| model.measured_on.as_ref()) else {
        return Vec::new();
    };
    let here = &inputs.trace.header.host;
    let mut found = of_measurement(&measured_on.host, &measured_on.noise);
    // Of an emulated machine everything that was recorded is called emulated, its prices too.
    found.retain(|one| !(here.is_emulated() && *one == Caveat::EmulatedProfile));
    if inputs.trace.header.provenance.origin == Origin::Recorded {
        let differences = different_machines(&measured_on.host, here);
        if !differences.is_empty() {
            found.push(Caveat::OtherMachine { differences });
        }
    }
    found
}

/// What a reader has to know before the figures of a Profile, the most important first.
pub fn profile_caveats(profile: &Profile) -> Vec<Caveat> {
    of_measurement(&profile.host, &profile.noise)
}

fn of_measurement(host: &Host, noise: &Noise) -> Vec<Caveat> {
    let share = noise.taken_share();
    let disturbed = (share >= Caveat::DISTURBED).then_some(Caveat::DisturbedProfile { share });
    host.is_emulated().then_some(Caveat::EmulatedProfile).into_iter().chain(disturbed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bill::bill;
    use crate::model::{CostModel, MeasuredOn};
    use swtch_trace::Tables;
    use swtch_trace::model::Provenance;
    use swtch_trace::model::{Ended, Header, Scope};
    use swtch_trace::tables::TaskRow;

    /// A command that ran for a second on one of two CPUs, 100 ms of it in switches.
    fn found(steal_ns: u64, model: Option<&CostModel>, change: impl Fn(&mut Header)) -> Vec<Caveat> {
        let scope = Scope::Command { command: vec!["work".into()], pid: 1 };
        let mut header = Header::new(Provenance::default(), Host::default(), scope);
        header.provenance.ended = Ended::Duration;
        header.duration_ns = 1_000_000_000;
        header.totals.switch_cost_ns = Some(100_000_000);
        change(&mut header);
        let cpu =
            |cpu, run_ns, steal_ns| CpuRow { cpu, run_ns, steal_ns: Some(steal_ns), ..CpuRow::default() };
        let tasks = [TaskRow {
            in_scope: true,
            voluntary: 100,
            run_ns: 500_000_000,
            switch_cost_ns: Some(100_000_000),
            ..TaskRow::default()
        }];
        let tables = Tables {
            tasks: tasks.to_vec(),
            cpus: vec![cpu(0, 500_000_000, steal_ns), cpu(1, 0, 900_000_000)],
            ..Tables::default()
        };
        let inputs = Inputs { trace: tables.view(&header), model, price: None };
        caveats(inputs, &bill(inputs))
    }

    #[test]
    fn steal_is_named_when_it_could_be_the_whole_cost_and_on_the_tasks_cpus_only() {
        let stolen = Caveat::Stolen { stolen_ns: 120_000_000.0, share: 0.12 };
        assert_eq!(found(120_000_000, None, |_| ()), [stolen]);
        assert_eq!(found(90_000_000, None, |_| ()), [], "less than the switches took");
        // In proportion to a small cost, but too little to matter.
        assert_eq!(found(9_000_000, None, |header| header.totals.switch_cost_ns = Some(1)), []);
    }

    #[test]
    fn a_run_that_is_over_is_called_one_run() {
        assert_eq!(found(0, None, |header| header.exit_status = Some(0)), [Caveat::OneRun]);
        assert_eq!(found(0, None, |_| ()), [], "it goes on");
    }

    #[test]
    fn a_profile_of_another_state_is_named_with_what_differs() {
        let model = |kernel: &str, foreign: f64| {
            let mut host = Host::default();
            host.kernel.release = kernel.to_owned();
            let noise = Noise { foreign_share: Some(foreign), ..Noise::default() };
            CostModel { measured_on: Some(MeasuredOn { host, noise }), ..CostModel::default() }
        };
        let here = |header: &mut Header| header.host.kernel.release = "6.12".to_owned();
        let other = Caveat::OtherMachine { differences: vec!["kernel: 6.1 -> 6.12".to_owned()] };
        assert_eq!(found(0, Some(&model("6.1", 0.0)), here), [other]);
        assert_eq!(found(0, Some(&model("6.12", 0.02)), here), []);
        assert_eq!(found(0, Some(&model("6.12", 0.4)), here), [Caveat::DisturbedProfile { share: 0.4 }]);
    }

    #[test]
    fn times_of_an_emulated_machine_are_called_those_of_no_hardware() {
        let emulated = Host { cpu_model: Some("QEMU TCG CPU version 2.5+".to_owned()), ..Host::default() };
        let measured_on = MeasuredOn { host: emulated.clone(), noise: Noise::default() };
        let model = CostModel { measured_on: Some(measured_on), ..CostModel::default() };
        // Recorded there, whether priced by a Profile of it or not: once.
        let there = |header: &mut Header| header.host = emulated.clone();
        assert_eq!(found(0, None, there), [Caveat::EmulatedMachine]);
        assert_eq!(found(0, Some(&model), there), [Caveat::EmulatedMachine]);
        // Recorded on hardware, and priced by it.
        let here = found(0, Some(&model), |header| header.host.cpu_model = Some("EPYC".to_owned()));
        assert!(
            matches!(&here[..], [Caveat::EmulatedProfile, Caveat::OtherMachine { .. }]),
            "the emulation is the graver difference: {here:?}"
        );
    }
}
