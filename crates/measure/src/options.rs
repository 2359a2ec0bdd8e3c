//! What the caller asks for.

use crate::traversal::ELEMENT_BYTES;
use std::time::Duration;
use swtch_profile::vocabulary::{Access, Class, Method};
use swtch_topology::Placement;

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

impl Preset {
    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Default => "default",
            Self::Full => "full",
        }
    }

    /// The time it may take.
    pub fn time_limit(self) -> Duration {
        match self {
            Self::Quick => Duration::from_secs(9),
            Self::Default => Duration::from_secs(86),
            Self::Full => Duration::from_secs(15 * 60),
        }
    }

    /// Half-width of the interval that ends a condition, as a fraction of the median.
    pub fn precision(self) -> f64 {
        match self {
            Self::Quick | Self::Default => 0.01,
            Self::Full => 0.005,
        }
    }

    /// Launches (fresh processes) each condition is spread over.
    pub(crate) fn launches(self) -> u32 {
        match self {
            Self::Quick => 6,
            Self::Default => 10,
            Self::Full => 20,
        }
    }

    /// Bound of the arrays when none is given: the quick run stays within 100 MB.
    pub(crate) fn max_array_bytes(self) -> u64 {
        match self {
            Self::Quick => 16 << 20,
            Self::Default | Self::Full => u64::MAX,
        }
    }
}

/// What to measure, and how well. `None` and empty mean "what the preset has".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// How thorough.
    pub preset: Preset,
    /// Methods of the direct cost.
    pub methods: Option<Vec<Method>>,
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

/// A wish that cannot be met.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OptionsError {
    /// A size that holds no element.
    #[error("array size {bytes} B is smaller than one element ({ELEMENT_BYTES} B); give a size such as 64K")]
    SizeTooSmall {
        /// The size given.
        bytes: u64,
    },
    /// A bound below the first size of the sweep.
    #[error(
        "--max-array {bytes} B is below the sweep's first array ({SMALLEST_ARRAY_BYTES} B); give for example 8M"
    )]
    MaxArrayTooSmall {
        /// The bound given.
        bytes: u64,
    },
    /// Two arrays of this size do not fit.
    #[error(
        "two arrays of {size} need {needed} but {available} of memory is available; give a smaller size to --sizes \
         or --max-array"
    )]
    SizeTooLarge {
        /// The size given.
        size: swtch_units::Bytes,
        /// What that takes.
        needed: swtch_units::Bytes,
        /// What there is.
        available: swtch_units::Bytes,
    },
    /// A stride that is no multiple of an element.
    #[error("stride {bytes} B is not a multiple of the element ({ELEMENT_BYTES} B); give 8, 64, 4K ...")]
    StrideNotElements {
        /// The stride given.
        bytes: u64,
    },
    /// A stride that leaves the array at its first step.
    #[error(
        "stride {stride} is larger than an array of {size}, so nothing would be stepped over; give a smaller --strides \
         or larger --sizes"
    )]
    StrideTooLarge {
        /// The stride given.
        stride: swtch_units::Bytes,
        /// The smallest array asked for; without sizes, the largest of the sweep.
        size: swtch_units::Bytes,
    },
    /// A precision that is not between 0 and 1.
    #[error("precision {0} is not a fraction between 0.0001 and 0.5; give for example 1%")]
    Precision(f64),
    /// No time at all.
    #[error("a time limit of {0} s leaves no time to measure; give at least 1s")]
    TimeLimit(f64),
    /// More time than a clock can be asked to count, or than anyone waits.
    #[error("a time limit of {0} s is longer than a day; give for example 15 minutes")]
    TimeLimitTooLong(f64),
    /// The same word twice, or nothing, in a list.
    #[error("the list of {0} is empty; leave the option out to measure all of them")]
    Empty(&'static str),
    /// Method and tasks and placement exclude each other.
    #[error("nothing to measure: {0}")]
    Nothing(String),
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
    /// The first wish that cannot be met.
    pub fn check(&self, available_bytes: Option<u64>) -> Result<(), OptionsError> {
        let bytes = swtch_units::Bytes::new;
        self.check_lists()?;
        for size in self.sizes_bytes.iter().flatten().copied() {
            if size < ELEMENT_BYTES {
                return Err(OptionsError::SizeTooSmall { bytes: size });
            }
        }
        if let Some(bytes) = self.max_array_bytes.filter(|bytes| *bytes < SMALLEST_ARRAY_BYTES) {
            return Err(OptionsError::MaxArrayTooSmall { bytes });
        }
        for size in self.sizes_bytes.iter().flatten().chain(&self.max_array_bytes).copied() {
            let needed = size.saturating_mul(2);
            match available_bytes {
                Some(available) if needed > available && self.sizes_bytes.is_some() => {
                    return Err(OptionsError::SizeTooLarge {
                        size: bytes(size),
                        needed: bytes(needed),
                        available: bytes(available),
                    });
                }
                _ => {}
            }
        }
        for stride in self.strides_bytes.iter().flatten().copied() {
            if stride == 0 || !stride.is_multiple_of(ELEMENT_BYTES) {
                return Err(OptionsError::StrideNotElements { bytes: stride });
            }
            if let Some(size) = self.sizes_bytes.iter().flatten().min().filter(|size| stride > **size) {
                return Err(OptionsError::StrideTooLarge { stride: bytes(stride), size: bytes(*size) });
            }
        }
        if self.precision.is_some_and(|precision| !(0.0001..=0.5).contains(&precision)) {
            return Err(OptionsError::Precision(self.precision()));
        }
        match self.time_limit {
            Some(limit) if limit < Duration::from_millis(500) => {
                Err(OptionsError::TimeLimit(limit.as_secs_f64()))
            }
            Some(limit) if limit > LONGEST_TIME_LIMIT => {
                Err(OptionsError::TimeLimitTooLong(limit.as_secs_f64()))
            }
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
        lists.into_iter().find(|(_, empty)| *empty).map_or(Ok(()), |(name, _)| Err(OptionsError::Empty(name)))
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
        assert!(matches!(
            with(|o| o.sizes_bytes = Some(vec![0])),
            Err(OptionsError::SizeTooSmall { bytes: 0 })
        ));
        assert!(matches!(
            with(|o| o.sizes_bytes = Some(vec![1 << 40])),
            Err(OptionsError::SizeTooLarge { .. })
        ));
        assert!(matches!(
            with(|o| o.sizes_bytes = Some(vec![u64::MAX])),
            Err(OptionsError::SizeTooLarge { .. })
        ));
        assert!(matches!(
            with(|o| o.strides_bytes = Some(vec![12])),
            Err(OptionsError::StrideNotElements { bytes: 12 })
        ));
        assert!(matches!(
            with(|o| {
                o.sizes_bytes = Some(vec![1024, 4096]);
                o.strides_bytes = Some(vec![2048]);
            }),
            Err(OptionsError::StrideTooLarge { .. })
        ));
        assert!(matches!(with(|o| o.precision = Some(0.0)), Err(OptionsError::Precision(_))));
        assert!(matches!(with(|o| o.precision = Some(f64::NAN)), Err(OptionsError::Precision(_))));
        assert!(matches!(with(|o| o.time_limit = Some(Duration::ZERO)), Err(OptionsError::TimeLimit(_))));
        assert!(matches!(
            with(|o| o.max_array_bytes = Some(0)),
            Err(OptionsError::MaxArrayTooSmall { bytes: 0 })
        ));
        assert!(matches!(
            with(|o| o.time_limit = Some(Duration::MAX)),
            Err(OptionsError::TimeLimitTooLong(_))
        ));
        assert_eq!(with(|o| o.time_limit = Some(LONGEST_TIME_LIMIT)), Ok(()));
        assert!(matches!(with(|o| o.methods = Some(vec![])), Err(OptionsError::Empty("methods"))));
    }
}
