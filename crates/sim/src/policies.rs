//! The scheduling policies: a module each, and one table of their names, from which help, completions, errors and runs come.

mod asymmetric;
mod cfs;
mod eevdf;
mod fair_server;
mod fifo;
mod heap;
mod placement;
mod run_queues;
mod wake_affine;
mod weights;

pub use asymmetric::{Asymmetric, AsymmetricOptions, EstimationErrors};
pub use cfs::Cfs;
pub use eevdf::Eevdf;
pub use fifo::RealTime;
pub(crate) use weights::IDLE_WEIGHT;
pub use weights::weight_of;

use crate::error::SimError;
use crate::policy::Policy;
use crate::scx::{CompileOptions, FLSCHED, Object, ScxPolicy, Settings};
use std::ops::Range;
use std::path::Path;

/// What the path of a sched_ext scheduler's source ends in.
const SOURCE: &str = ".bpf.c";

/// A release of Linux: major and minor number.
pub type Release = (u32, u32);

/// A policy by name.
#[derive(Clone, Debug)]
pub struct PolicyRow {
    /// The name.
    pub name: &'static str,
    /// What it is, in one line.
    pub meaning: &'static str,
    /// The releases of Linux whose fair class it models: from the first, below the second. Empty if no kernel has it as its fair class.
    pub fair_class_of: Range<Release>,
}

/// Takes a policy of whichever type: what to do with it once it is made.
pub(crate) trait WithPolicy<R> {
    /// Does it.
    fn with<P: Policy>(self, policy: P) -> R;
}

/// The table: a name, what it is, the releases whose fair class it models, and how it is made from the text behind the colon.
macro_rules! policies {
    (|$name:ident, $given:ident| $($text:literal, $meaning:literal, $releases:expr => $make:expr;)+) => {
        const ROWS: &[PolicyRow] =
            &[$(PolicyRow { name: $text, meaning: $meaning, fair_class_of: $releases }),+];

        fn make<R, W: WithPolicy<R>>($name: &str, $given: Option<&str>, then: W) -> Result<Option<R>, SimError> {
            Ok(Some(match $name {
                $($text => then.with($make),)+
                _ => return Ok(None),
            }))
        }
    };
}

const NO_KERNEL: Range<Release> = (0, 0)..(0, 0);

policies! { |name, given|
    "eevdf", "the fair class of Linux 6.6 and later, by the rules of 6.18", (6, 6)..(7, 2)
        => slice(name, given, Eevdf::new, Eevdf::with_slice_ns)?;
    "eevdf-7.2", "the same with slices that end by a timer of their own (HRTICK), as in Linux 7.2", (7, 2)..(7, 3)
        => plain(name, given, Eevdf::since_7_2)?;
    "eevdf-7.3", "the same with less protection of slices, as since Linux 7.3", (7, 3)..(u32::MAX, 0)
        => plain(name, given, Eevdf::since_7_3)?;
    "cfs", "the fair class before 6.6, by the rules of 6.5", (5, 16)..(6, 6)
        => plain(name, given, Cfs::new)?;
    "cfs-2.6", "the same with the newly idle CPUs' restraint of kernels before 5.16, the nearest to 2.6.38", (2, 6)..(5, 16)
        => plain(name, given, Cfs::before_5_16)?;
    "fifo", "the real-time class SCHED_FIFO", NO_KERNEL => plain(name, given, RealTime::fifo)?;
    "rr", "the real-time class SCHED_RR", NO_KERNEL
        => slice(name, given, RealTime::round_robin, RealTime::with_slice_ns)?;
    "flsched", "FLSCHED, from the source that the kernel runs", NO_KERNEL => sched_ext(name, given)?;
}

/// All policies by name: those of kernels, then those for cores of several kinds.
pub fn policies() -> impl Iterator<Item = PolicyRow> {
    let asymmetric = swtch_fairness::POLICIES.iter();
    let asymmetric =
        asymmetric.map(|row| PolicyRow { name: row.name, meaning: row.meaning, fair_class_of: NO_KERNEL });
    ROWS.iter().cloned().chain(asymmetric)
}

/// The policy that models the fair class of a release of Linux.
pub fn fair_class_of(release: Release) -> Option<&'static str> {
    ROWS.iter().find(|row| row.fair_class_of.contains(&release)).map(|row| row.name)
}

/// The policies' names, for messages.
pub(crate) fn known() -> String {
    policies().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once(':').map_or((text, None), |(name, given)| (name, Some(given)))
}

/// Whether there may be a policy by this name; its parameters are only looked at when it is made.
pub(crate) fn is_policy(text: &str) -> bool {
    let (name, _) = split(text);
    name.ends_with(SOURCE) || policies().any(|row| row.name == name)
}

/// Whether a policy of this name is a sched_ext scheduler, whose own code is run.
pub(crate) fn is_sched_ext(text: &str) -> bool {
    let (name, _) = split(text);
    name == FLSCHED || name.ends_with(SOURCE)
}

/// Whether it is this project's own, which is measured as a whole.
pub(crate) fn is_own_sched_ext(text: &str) -> bool {
    split(text).0 == FLSCHED
}

/// The files that a policy names: a sched_ext scheduler's source, and its values.
pub(crate) fn files(text: &str) -> Vec<String> {
    let (name, given) = split(text);
    let source = name.ends_with(SOURCE).then(|| name.to_owned());
    let pairs = given.filter(|_| is_sched_ext(text)).unwrap_or_default().split(',');
    let values = pairs.filter_map(|pair| pair.split_once('=')).filter(|(key, _)| key.trim() == VALUES);
    source.into_iter().chain(values.map(|(_, path)| path.trim().to_owned())).collect()
}

/// The policy with its files' paths counted from `directory`, which is empty or ends in a slash.
pub(crate) fn beside(text: &str, directory: &str) -> String {
    let place =
        |path: &str| if path.starts_with('/') { path.to_owned() } else { format!("{directory}{path}") };
    let (name, given) = split(text);
    let name = if name.ends_with(SOURCE) { place(name) } else { name.to_owned() };
    let Some(given) = given else { return name };
    if !is_sched_ext(text) {
        return text.to_owned();
    }
    let pairs = given.split(',').map(|pair| match pair.split_once('=') {
        Some((key, path)) if key.trim() == VALUES => format!("{VALUES}={}", place(path.trim())),
        _ => pair.to_owned(),
    });
    format!("{name}:{}", pairs.collect::<Vec<_>>().join(","))
}

/// Whether a policy of this name heeds cgroups.
pub(crate) fn has_cgroups(text: &str) -> bool {
    let (name, _) = split(text);
    ROWS.iter().any(|row| row.name == name && row.fair_class_of != NO_KERNEL)
}

/// Makes a policy by its name, and hands it to `then`.
///
/// # Errors
/// When there is no such policy or parameter, or its source cannot be compiled.
pub(crate) fn with_policy<R>(text: &str, then: impl WithPolicy<R>) -> Result<R, SimError> {
    let (name, given) = split(text);
    if name.ends_with(SOURCE) {
        return Ok(then.with(sched_ext(name, given)?));
    }
    if swtch_fairness::Policy::from_name(name).is_ok() {
        return Ok(then.with(Asymmetric::from_text(text)?));
    }
    let made = make(name, given, then)?;
    made.ok_or_else(|| SimError::unknown("policy", text, known()))
}

fn fault(policy: &str, problem: impl Into<String>) -> SimError {
    SimError::input(format!("policy {policy}"), problem)
}

/// A policy without parameters.
fn plain<P>(name: &str, given: Option<&str>, new: fn() -> P) -> Result<P, SimError> {
    match given {
        None => Ok(new()),
        Some(given) => Err(fault(name, format!("\"{given}\" is not a parameter of it; it has none"))),
    }
}

/// A policy whose only parameter is the length of a slice.
fn slice<P>(name: &str, given: Option<&str>, new: fn() -> P, of: fn(u64) -> P) -> Result<P, SimError> {
    let Some(given) = given else { return Ok(new()) };
    let ms = given.strip_prefix("slice-ms=").and_then(|value| value.parse::<f64>().ok());
    ms.filter(|ms| (0.001..=1e6).contains(ms)).map(|ms| of((ms * 1e6) as u64)).ok_or_else(|| {
        fault(
            name,
            format!("\"{given}\" is not a parameter of it; expected slice-ms=N, from 0.001 to 1000000"),
        )
    })
}

/// The parameter that names a file of values.
const VALUES: &str = "values";

/// A sched_ext scheduler by its name or path, with values for its variables.
fn sched_ext(name: &str, given: Option<&str>) -> Result<ScxPolicy, SimError> {
    let pairs = given.unwrap_or_default().split(',').filter(|pair| !pair.trim().is_empty());
    let pairs: Vec<(&str, &str)> = pairs
        .map(|pair| pair.split_once('=').map_or((pair.trim(), ""), |(key, value)| (key.trim(), value.trim())))
        .collect();
    // A file of values comes first, wherever it is named: the others are set after it.
    let mut settings = Settings::default();
    if let Some((_, path)) = pairs.iter().find(|(key, _)| *key == VALUES) {
        let text = std::fs::read_to_string(path)
            .map_err(|error| fault(name, format!("cannot read its values, {path}: {error}")))?;
        settings = Settings::from_toml(&text).map_err(|error| fault(name, format!("{path}: {error}")))?;
    }
    for (key, value) in pairs.into_iter().filter(|(key, _)| *key != VALUES) {
        let number = value.parse::<u64>();
        let number =
            number.map_err(|_| fault(name, format!("{key} is \"{value}\", expected a whole number")))?;
        settings = settings.number(key, number);
    }
    let object = match name {
        FLSCHED => Ok(Object::flsched()),
        path => {
            let options = CompileOptions { members: settings.members(), ..CompileOptions::default() };
            Object::compile(Path::new(path), &options)
        }
    };
    object
        .and_then(|object| ScxPolicy::new(&object, settings))
        .map_err(|error| fault(name, error.to_string()))
}
