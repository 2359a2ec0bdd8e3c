//! The same on this machine: each run between two short measurements of what a switch costs there just then.
//!
//! A virtual machine's CPUs may be half as fast a minute later, so a Profile holds for its moment only. A run whose two measurements differ is left out, and
//! counted.

use super::{
    ACCURACY_SCHEMA, AccuracyDocument, AccuracyError, AccuracyRow, Errors, RealAndSimulated, Reference,
    Simulated, compared, errors, of_the_simulator, real_values, seconds_of, simulated, with_alone,
};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::collections::BTreeMap;
use std::time::Duration;
use swtch_measure::{Class, Method, Options, Preset, Tasks, measure};
use swtch_profile::Profile;
use swtch_sched::{Load, Policy, SchedError, SchedProgress, SearchPath, loads_named, run_load_here};
use swtch_stats::median;
use swtch_topology::Placement;
use swtch_units::{Observer, Silent};

/// Of one measurement. It has four conditions of switches, six of messages, and three of making tasks and of calls.
const FLANK: Duration = Duration::from_secs(4);
/// Measurements before and after a run may differ by as much: the aim of the table.
const ALIKE: f64 = 1.15;

/// What to run.
#[derive(Clone, Debug)]
pub struct HostJob {
    /// The loads.
    pub loads: Vec<Load>,
    /// The policies; the stock class, which comes first, is not among them.
    pub policies: Vec<Policy>,
    /// Counted runs of each load under each policy.
    pub runs: usize,
    /// Where programs are looked for.
    pub search_path: SearchPath,
}

/// A run that counts.
struct Pair {
    real: (f64, f64),
    simulated: (f64, f64),
}

/// Runs the loads on one CPU of this machine, each run with a simulation of its own, by the costs of the two measurements beside it.
///
/// # Errors
/// When a load fails, nothing can be measured, or the simulator refuses a load.
pub fn accuracy_on_host(
    job: &HostJob,
    observer: &mut dyn Observer<SchedProgress>,
) -> Result<AccuracyDocument, AccuracyError> {
    let _pinned = OneCpu::take()?;
    let mut document = AccuracyDocument {
        schema: ACCURACY_SCHEMA.to_owned(),
        swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: String::new(),
        cpus: 1,
        runs: job.runs,
        inputs: Vec::new(),
        errors: Errors::default(),
        rows: Vec::new(),
        missing: BTreeMap::new(),
    };
    let mut policies = vec![Policy::Stock];
    for policy in &job.policies {
        if matches!(policy, Policy::Scheduler { .. }) {
            let why =
                "it would schedule the whole machine; it is compared in a virtual machine, without --host";
            document.missing.insert(policy.to_string(), why.to_owned());
        } else if !policies.contains(policy) {
            policies.push(policy.clone());
        }
    }
    let loads: Vec<Load> = job.loads.iter().filter(|load| compared_here(load)).map(Load::longer).collect();
    if loads.is_empty() {
        let why = "none of these loads can be compared on a real machine; see swtch sched accuracy --help";
        return Err(SchedError::Wish(why.to_owned()).into());
    }
    let of = policies.len() * loads.len() * job.runs;
    let mut found: Vec<Vec<Option<Pair>>> = (0..policies.len() * loads.len()).map(|_| Vec::new()).collect();
    let mut rows: Vec<Option<AccuracyRow>> = vec![None; found.len()];
    // Round by round: what changes in the course of the table changes all rows alike.
    for round in 0..job.runs {
        for (place, load) in loads.iter().enumerate() {
            for (column, policy) in policies.iter().enumerate() {
                let slot = column * loads.len() + place;
                let done = round * found.len() + place * policies.len() + column;
                let next = format!("{} under {policy}", load.name);
                observer.event(&SchedProgress::Step { done, of, next });
                if observer.stop() {
                    return Err(SchedError::Interrupted.into());
                }
                let (row, pair) = one(job, load, policy, round as u64 + 1, &mut document)?;
                found[slot].push(pair);
                rows[slot] = row.or(rows[slot].take());
            }
        }
    }
    for (row, pairs) in rows.into_iter().zip(found) {
        let Some(row) = row else { continue };
        let kept: Vec<&Pair> = pairs.iter().flatten().collect();
        let left_out = pairs.len() - kept.len();
        if kept.is_empty() {
            let what = format!("{} under {}", row.load, row.policy);
            let why = format!("what a switch cost before and after it differed in all of {left_out} runs");
            document.missing.insert(what, why);
            continue;
        }
        document.rows.push(AccuracyRow {
            seconds: beside(&kept, |of| of.0),
            context_switches: beside(&kept, |of| of.1),
            runs: kept.len(),
            left_out,
            ..row
        });
    }
    document.errors = errors(&document.rows, Errors::default());
    Ok(document)
}

/// One run between two measurements; no pair where these differ.
fn one(
    job: &HostJob,
    load: &Load,
    policy: &Policy,
    seed: u64,
    document: &mut AccuracyDocument,
) -> Result<(Option<AccuracyRow>, Option<Pair>), AccuracyError> {
    let Some(workload) = compared(load) else { return Ok((None, None)) };
    let before = flank(seed)?;
    let alone = match &workload.alone {
        Some(name) => {
            let alone = loads_named(std::slice::from_ref(name))?;
            alone
                .first()
                .map(|load| run_load_here(&Policy::Stock, &load.longer(), &job.search_path))
                .transpose()?
        }
        None => None,
    };
    let run = run_load_here(policy, load, &job.search_path)?;
    let after = flank(seed)?;
    document.kernel.clone_from(&before.host.kernel.release);
    let simulated_policy = match of_the_simulator(policy, &before) {
        Ok(name) => name,
        Err(why) => {
            document.missing.insert(policy.to_string(), why);
            return Ok((None, None));
        }
    };
    let nothing = RealAndSimulated { real: 0.0, real_low: 0.0, real_high: 0.0, simulated: 0.0 };
    let row = AccuracyRow {
        load: load.name.clone(),
        policy: policy.to_string(),
        reference: Reference::Host,
        work: alone.map_or_else(|| workload.work.clone(), |run| with_alone(workload, run.seconds)),
        simulated_policy,
        seconds: nothing,
        context_switches: nothing,
        latencies: Vec::new(),
        runs: 0,
        left_out: 0,
    };
    let pair = match (cost_ns(&before), cost_ns(&after)) {
        (Some(one), Some(other)) if one.max(other) <= ALIKE * one.min(other) => {
            let by = [&before, &after].map(|profile| simulated(&row, "1", seed, profile));
            let [first, second] = by;
            let (first, second) = (first?, second?);
            let middle = |of: fn(&Simulated) -> f64| f64::midpoint(of(&first), of(&second));
            let middle = (middle(|run| run.seconds), middle(|run| run.context_switches));
            Some(Pair { real: (seconds_of(&run, load, workload), run.switches()), simulated: middle })
        }
        _ => None,
    };
    Ok((Some(row), pair))
}

/// Whether a load has work enough for a real machine. What a step of a program takes is known in a virtual machine only: there it is its instructions.
fn compared_here(load: &Load) -> bool {
    compared(load).is_some_and(|simulated| simulated.longer.is_some())
}

/// What a switch, a message and a fork cost now, on the CPU that this process may use.
fn flank(seed: u64) -> Result<Profile, AccuracyError> {
    let options = Options {
        methods: Some(vec![Method::Pipe]),
        with_calls: true,
        placements: Some(vec![Placement::SameCpu]),
        classes: Some(vec![Class::Normal, Class::Fifo]),
        time_limit: Some(FLANK),
        order_seed: Some(seed),
        ..Options::preset(Preset::Quick)
    };
    Ok(measure(&options, &mut Silent)?.profile)
}

/// A switch with its message, ns.
fn cost_ns(profile: &Profile) -> Option<f64> {
    let row = profile.direct_cost(Method::Pipe, Tasks::Thread, Placement::SameCpu, Class::Normal)?;
    Some(row.switch_cost_ns.median + row.baseline_ns)
}

fn beside(pairs: &[&Pair], of: impl Fn((f64, f64)) -> f64) -> RealAndSimulated {
    let real: Vec<f64> = pairs.iter().map(|pair| of(pair.real)).collect();
    let simulated: Vec<f64> = pairs.iter().map(|pair| of(pair.simulated)).collect();
    RealAndSimulated { simulated: median(&simulated), ..real_values(&real) }
}

/// This thread, and what it starts, on one CPU until the end.
struct OneCpu(CpuSet);

impl OneCpu {
    /// The last one that it may use.
    fn take() -> Result<Self, AccuracyError> {
        let failed = |errno: rustix::io::Errno| AccuracyError::Io {
            what: "this process run on one CPU".to_owned(),
            source: errno.into(),
        };
        let before = sched_getaffinity(None).map_err(failed)?;
        let mut one = CpuSet::new();
        if let Some(cpu) = (0..CpuSet::MAX_CPU).rev().find(|cpu| before.is_set(*cpu)) {
            one.set(cpu);
        }
        sched_setaffinity(None, &one).map_err(failed)?;
        Ok(Self(before))
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_are_kept_are_what_a_row_is_of() {
        let pair =
            |real: f64, simulated: f64| Pair { real: (real, 10.0 * real), simulated: (simulated, 3.0) };
        let pairs = [pair(1.0, 1.1), pair(3.0, 2.0), pair(2.0, 2.2)];
        let kept: Vec<&Pair> = pairs.iter().collect();
        let seconds = beside(&kept, |of| of.0);
        assert_eq!(
            (seconds.real, seconds.simulated, seconds.real_low, seconds.real_high),
            (2.0, 2.0, 1.0, 3.0)
        );
        assert_eq!(beside(&kept, |of| of.1).real, 20.0);
    }

    #[test]
    fn this_process_gets_its_cpus_back() {
        let count = || sched_getaffinity(None).unwrap().count();
        let before = count();
        {
            let _one = OneCpu::take().unwrap();
            assert_eq!(count(), 1);
        }
        assert_eq!(count(), before);
    }

    #[test]
    fn loads_that_lend_their_figure_are_no_rows() {
        let all = swtch_sched::loads();
        let rows: Vec<&str> =
            all.iter().filter(|load| compared_here(load)).map(|load| load.name.as_str()).collect();
        assert!(rows.contains(&"crowd-4") && !rows.contains(&"crowd-1") && rows.len() >= 12, "{rows:?}");
        assert!(!rows.contains(&"schbench-2"), "{rows:?}");
    }
}
