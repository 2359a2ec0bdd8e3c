//! What the caller asks for.

use crate::traversal::ELEMENT_BYTES;
use std::time::Duration;
use swtch_profile::vocabulary::{Access, Class, Method};
use swtch_topology::Placement;
use swtch_units::Bytes;

/// First array size of the sweep.
pub(crate) const SMALLEST_ARRAY_BYTES: u64 = 1 << 10;
/// Longest time limit. A mistyped unit should not run for a year, and a deadline beyond the clock's range does not exist.
const LONGEST_TIME_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// How thorough a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// At most 10 s and 100 MB: c1 of every method, a coarse sweep of sizes.
    Quick,
    /// At most 90 s: every method on every placement, sizes to four times the last-level cache.
    #[default]
    Default,
    /// At most 15 minutes: every stride and access at every size, narrower intervals.
    Full,
}

/// What sets a preset apart.
struct PresetFacts {
    name: &'static str,
    time_limit_s: u64,
    precision: f64,
    launches: u32,
    max_array_bytes: u64,
}

impl Preset {
    fn facts(self) -> PresetFacts {
        let facts = |name, time_limit_s, precision, launches, max_array_bytes| PresetFacts {
            name,
            time_limit_s,
            precision,
            launches,
            max_array_bytes,
        };
        match self {
            Self::Quick => facts("quick", 9, 0.01, 6, 16 << 20),
            Self::Default => facts("default", 86, 0.01, 10, u64::MAX),
            Self::Full => facts("full", 15 * 60, 0.005, 20, u64::MAX),
        }
    }

    /// The name in files.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// The time it may take.
    pub fn time_limit(self) -> Duration {
        Duration::from_secs(self.facts().time_limit_s)
    }

    /// Half-width of the interval that ends a condition, as a fraction of the median.
    pub fn precision(self) -> f64 {
        self.facts().precision
    }

    /// Launches (fresh processes) each condition is spread over.
    pub(crate) fn launches(self) -> u32 {
        self.facts().launches
    }

    /// Bound of the arrays when none is given: the quick run stays within 100 MB.
    pub(crate) fn max_array_bytes(self) -> u64 {
        self.facts().max_array_bytes
    }
}

/// What to measure, and how well. `None` and empty mean "what the preset has".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// How thorough.
    pub preset: Preset,
    /// Methods of the direct cost.
    pub methods: Option<Vec<Method>>,
    /// Messages, forks and threads too, although methods were chosen.
    pub with_calls: bool,
    /// Array sizes of the total cost, bytes.
    pub sizes_bytes: Option<Vec<u64>>,
    /// Strides of the total cost, bytes.
    pub strides_bytes: Option<Vec<u64>>,
    /// Accesses of the total cost.
    pub accesses: Option<Vec<Access>>,
    /// Where the tasks run.
    pub placements: Option<Vec<Placement>>,
    /// Scheduling classes.
    pub classes: Option<Vec<Class>>,
    /// Half-width of the 95 % interval of the median that ends a condition, as a fraction.
    pub precision: Option<f64>,
    /// When to stop whatever is left.
    pub time_limit: Option<Duration>,
    /// Largest array, bytes.
    pub max_array_bytes: Option<u64>,
    /// Seed of the random order of conditions; drawn from the time when absent.
    pub order_seed: Option<u64>,
}

/// A request that cannot be met: which, why, and what to give instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OptionsError(pub(crate) String);

impl OptionsError {
    /// A time limit that leaves no time to measure.
    pub fn time_limit(seconds: f64) -> Self {
        Self(format!("a time limit of {seconds} s leaves no time to measure; give at least 1s"))
    }

    /// A stride that leaves the array at its first step. `size` is the smallest array asked for; without sizes, the largest of the sweep.
    pub(crate) fn stride_too_large(stride: u64, size: u64) -> Self {
        let (stride, size) = (Bytes::new(stride), Bytes::new(size));
        Self(format!(
            "stride {stride} is larger than an array of {size}, so it would have no effect; give a smaller --strides \
             or larger --sizes"
        ))
    }
}

impl Options {
    /// The preset's options.
    pub fn preset(preset: Preset) -> Self {
        Self { preset, ..Self::default() }
    }

    /// Whether anything about the arrays of the total cost was asked for.
    pub(crate) fn asks_for_arrays(&self) -> bool {
        self.sizes_bytes.is_some()
            || self.strides_bytes.is_some()
            || self.accesses.is_some()
            || self.max_array_bytes.is_some()
    }

    pub(crate) fn precision(&self) -> f64 {
        self.precision.unwrap_or_else(|| self.preset.precision())
    }

    pub(crate) fn time_limit(&self) -> Duration {
        self.time_limit.unwrap_or_else(|| self.preset.time_limit())
    }

    /// Checks what does not depend on the machine, and sizes against `available_bytes` of memory.
    ///
    /// # Errors
    /// The first request that cannot be met.
    pub fn check(&self, available_bytes: Option<u64>) -> Result<(), OptionsError> {
        let refuse = |why: String| Err(OptionsError(why));
        self.check_lists()?;
        let sizes = || self.sizes_bytes.iter().flatten().copied();
        if let Some(size) = sizes().find(|size| *size < ELEMENT_BYTES) {
            return refuse(format!(
                "array size {size} B is smaller than one element ({ELEMENT_BYTES} B); give a size such as 64K"
            ));
        }
        if let Some(bytes) = self.max_array_bytes.filter(|bytes| *bytes < SMALLEST_ARRAY_BYTES) {
            return refuse(format!(
                "--max-array {bytes} B is below the sweep's first array ({SMALLEST_ARRAY_BYTES} B); give for example 8M"
            ));
        }
        // Where only the bound is given, the sweep stays within the memory by itself.
        let available = available_bytes.filter(|_| self.sizes_bytes.is_some()).unwrap_or(u64::MAX);
        if let Some(size) =
            sizes().chain(self.max_array_bytes).find(|size| size.saturating_mul(2) > available)
        {
            return refuse(format!(
                "two arrays of {} need {} but {} of memory is available; give a smaller size to --sizes or --max-array",
                Bytes::new(size),
                Bytes::new(size.saturating_mul(2)),
                Bytes::new(available)
            ));
        }
        for stride in self.strides_bytes.iter().flatten().copied() {
            if stride == 0 || !stride.is_multiple_of(ELEMENT_BYTES) {
                return refuse(format!(
                    "stride {stride} B is not a multiple of the element ({ELEMENT_BYTES} B); give 8, 64, 4K ..."
                ));
            }
            if let Some(size) = sizes().min().filter(|size| stride > *size) {
                return Err(OptionsError::stride_too_large(stride, size));
            }
        }
        let precision = self.precision();
        if !(0.0001..=0.5).contains(&precision) {
            return refuse(format!(
                "precision {precision} is not a fraction between 0.0001 and 0.5; give for example 1%"
            ));
        }
        match self.time_limit {
            Some(limit) if limit < Duration::from_millis(500) => {
                Err(OptionsError::time_limit(limit.as_secs_f64()))
            }
            Some(limit) if limit > LONGEST_TIME_LIMIT => refuse(format!(
                "a time limit of {} s is longer than a day; give for example 15 minutes",
                limit.as_secs_f64()
            )),
            _ => Ok(()),
        }
    }

    fn check_lists(&self) -> Result<(), OptionsError> {
        let lists = [
            ("methods", self.methods.as_ref().is_some_and(Vec::is_empty)),
            ("sizes", self.sizes_bytes.as_ref().is_some_and(Vec::is_empty)),
            ("strides", self.strides_bytes.as_ref().is_some_and(Vec::is_empty)),
            ("accesses", self.accesses.as_ref().is_some_and(Vec::is_empty)),
            ("placements", self.placements.as_ref().is_some_and(Vec::is_empty)),
            ("classes", self.classes.as_ref().is_some_and(Vec::is_empty)),
        ];
        match lists.into_iter().find(|(_, empty)| *empty) {
            None => Ok(()),
            Some((name, _)) => Err(OptionsError(format!(
                "the list of {name} is empty; leave the option out to measure all of them"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(change: impl FnOnce(&mut Options)) -> Result<(), OptionsError> {
        let mut options = Options::default();
        change(&mut options);
        options.check(Some(1 << 30))
    }

    #[test]
    fn what_cannot_be_met_is_named() {
        assert_eq!(with(|_| {}), Ok(()));
        let problem = |change: fn(&mut Options)| with(change).unwrap_err().to_string();
        assert!(problem(|o| o.sizes_bytes = Some(vec![0])).starts_with("array size 0 B is smaller"));
        let too_large = "two arrays of 1 TiB need 2 TiB but 1 GiB of memory is available";
        assert!(problem(|o| o.sizes_bytes = Some(vec![1 << 40])).starts_with(too_large));
        assert!(problem(|o| o.sizes_bytes = Some(vec![u64::MAX])).contains("but 1 GiB of memory"));
        assert!(problem(|o| o.strides_bytes = Some(vec![12])).starts_with("stride 12 B is not a multiple"));
        let strides = problem(|o| {
            o.sizes_bytes = Some(vec![1024, 4096]);
            o.strides_bytes = Some(vec![2048]);
        });
        assert!(strides.starts_with("stride 2 KiB is larger than an array of 1 KiB"), "{strides}");
        assert!(problem(|o| o.precision = Some(0.0)).starts_with("precision 0 is not a fraction"));
        assert!(problem(|o| o.precision = Some(f64::NAN)).starts_with("precision NaN is not"));
        assert!(problem(|o| o.time_limit = Some(Duration::ZERO)).contains("leaves no time to measure"));
        assert!(problem(|o| o.max_array_bytes = Some(0)).starts_with("--max-array 0 B is below"));
        assert!(problem(|o| o.time_limit = Some(Duration::MAX)).contains("longer than a day"));
        assert_eq!(with(|o| o.time_limit = Some(LONGEST_TIME_LIMIT)), Ok(()));
        assert!(problem(|o| o.methods = Some(vec![])).starts_with("the list of methods is empty"));
        assert_eq!(with(|o| o.max_array_bytes = Some(1 << 40)), Ok(()));
    }
}
