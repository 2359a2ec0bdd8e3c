//! Measures what a context switch costs on this machine.
//!
//! Two tasks hand the CPU to each other a known number of times, and the switches are counted. The same system calls by
//! one task, in a batch next to each, are subtracted. `docs/method.md` describes every step and its reason.
//!
//! Modules, in the order of a measurement: `options`, `probe` (what is permitted), `plan` and `condition` (what is measured), `run` (when),
//! `launch` (a fresh process), `kernels` and `traversal` (the inner loops), `batch`, `clock`, `machine_time`, `spin`, `small`
//! (a process to fork), `noise` (which batches are rejected), `kernel_threads` (what the kernel itself runs), `estimate`, `regions`, `profile`; `sys` wraps system calls.
//! `interrupt` disturbs another program at set rates, for `swtch probe`, and `perf` counts what it does.
//!
//! ```no_run
//! use swtch_measure::{Options, Preset, measure};
//! use swtch_units::Silent;
//!
//! let measurement = measure(&Options::preset(Preset::Quick), &mut Silent)?;
//! for row in &measurement.profile.direct {
//!     println!("{} between {}s: {:.0} ns", row.method, row.tasks, row.switch_cost_ns.median);
//! }
//! # Ok::<(), swtch_measure::MeasureError>(())
//! ```

mod batch;
mod clock;
mod condition;
mod estimate;
mod interrupt;
mod kernel_threads;
mod kernels;
mod launch;
mod machine_time;
mod noise;
mod options;
mod perf;
mod plan;
mod probe;
mod profile;
mod regions;
mod run;
mod small;
mod spin;
mod sys;
mod traversal;

use machine_time::Taken;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use swtch_profile::fields;
use swtch_profile::model::{Ended, Noise, Profile, Provenance, References, SCHEMA, Unavailable};
use swtch_profile::samples::Sample;
use swtch_stats::Rng;
use swtch_topology::{Host, TopologyError};
use swtch_units::Observer;

pub use condition::{Condition, Reference, Work};
pub use interrupt::{Block, InterruptError, Interrupter, Interruption, Treatment, Until};
pub use launch::LaunchError;
pub use options::{Options, OptionsError, Preset};
pub use probe::probe;
pub use run::Progress;
pub use swtch_profile::vocabulary::{Access, Class, Method, Tasks};
pub use traversal::{ELEMENT_BYTES, Pattern};

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// A request that cannot be met.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The machine's facts could not be read.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// Not one condition could be measured.
    #[error("nothing could be measured: {0}")]
    Nothing(String),
    /// Stopped before the first figure.
    #[error("interrupted before anything was measured")]
    Interrupted,
}

/// A Profile and the batches it comes from.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// The figures.
    pub profile: Profile,
    /// Every batch.
    pub samples: Vec<Sample>,
}

/// Time kept back from the limit for what comes after the last launch.
const CLOSING: Duration = Duration::from_millis(150);

/// Measures this machine. The call blocks for at most the time limit; `observer` follows it and can stop it.
///
/// # Errors
/// When an option cannot be met, or nothing could be measured on this machine. A single figure that could not be measured is not an error:
/// it is in the Profile's `unavailable`.
pub fn measure(
    options: &Options,
    observer: &mut dyn Observer<Progress>,
) -> Result<Measurement, MeasureError> {
    let started = Instant::now();
    let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    options.check(None)?;
    let host = Host::read(Path::new("/"))?;
    options.check(host.limits.available_memory_bytes)?;
    let probes = probe();
    let plan = plan::Plan::new(options, &host, &probes)?;
    let (clock, clock_facts) = clock::Clock::calibrated();
    let counted = probes.switch_counts.works;
    let cpus = plan.conditions.first().map(|planned| planned.condition.cpus.clone()).unwrap_or_default();
    let order_seed = options.order_seed.unwrap_or(started_unix_s);
    let before = Taken::now(&cpus);
    let watched = (options.time_limit() / kernel_threads::SHARE).min(kernel_threads::AT_MOST);
    let deadline = started + options.time_limit().saturating_sub(CLOSING + watched);
    let run = run::MeasureRun::new(&plan, options, clock, (started, deadline), counted, observer);
    let gathered = run.gather(&mut Rng::new(order_seed));
    let after = Taken::now(&cpus);
    let is_worth_it = gathered.ended != Ended::Interrupted && !gathered.conditions.is_empty();
    let kernel_threads = is_worth_it.then(|| kernel_threads::beside_a_busy_task(watched)).flatten();
    let mut profile = Profile {
        schema: SCHEMA.to_owned(),
        provenance: Provenance {
            source: "measured".to_owned(),
            swtch_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_unix_s,
            elapsed_s: started.elapsed().as_secs_f64(),
            preset: options.preset.name().to_owned(),
            precision: options.precision(),
            ended: gathered.ended,
            launches: gathered.launches,
            order_seed,
        },
        host,
        clock: clock_facts,
        direct: Vec::new(),
        total: Vec::new(),
        ring: Vec::new(),
        regions: Vec::new(),
        knees: Vec::new(),
        messages: Vec::new(),
        references: References::default(),
        noise: Noise::default(),
        unavailable: plan.unavailable,
        samples: None,
    };
    if let (false, Some(why)) = (counted, &probes.switch_counts.why) {
        profile.unavailable.push(Unavailable::new(fields::SWITCHES_COUNTED, why.clone()));
    }
    profile::fill(&mut profile, &gathered, counted);
    profile.noise.steal_share = after.steal_share_since(before);
    profile.noise.throttled_ns = after.throttled_ns_since(before);
    profile.noise.kernel_threads = kernel_threads;
    if gathered.conditions.is_empty() {
        return Err(nothing(gathered.ended, &profile.unavailable));
    }
    Ok(Measurement { profile, samples: profile::samples(&gathered) })
}

fn nothing(ended: Ended, unavailable: &[Unavailable]) -> MeasureError {
    if ended == Ended::Interrupted {
        return MeasureError::Interrupted;
    }
    let why: Vec<String> = unavailable.iter().map(|row| format!("{}: {}", row.field, row.reason)).collect();
    MeasureError::Nothing(why.join("; "))
}
