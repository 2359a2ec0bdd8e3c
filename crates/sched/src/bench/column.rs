//! What ran under a scheduler: boots, and in each of them every load several times.

use super::load::Load;
use super::recorded::RecordedRun;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};
use swtch_stats::median;

/// The loads under one scheduler.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Its name, with options.
    pub scheduler: String,
    /// A digest of the programs, the loads and the guest's size: results of others are not mixed with these.
    pub identity: String,
    /// The guest's kernel.
    pub kernel: String,
    /// Its boots, in the order of their numbers.
    pub boots: Vec<Boot>,
}

/// The loads in one boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Boot {
    /// Which, from 0.
    #[serde(default)]
    pub number: usize,
    /// A digest of everything that the guest got, its kernel and all programs among them: the same gives the same figures.
    #[serde(default)]
    pub inputs: String,
    /// The loads, in their order in the table. They ran in an order of the boot's own.
    pub loads: Vec<LoadRuns>,
}

/// The runs of a load in one boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadRuns {
    /// Its name.
    pub load: String,
    /// The runs; none where it failed.
    pub runs: Vec<Run>,
    /// How it failed, where it did. The boot's other loads ran all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// One more run, with a recorder; in the first boot only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<RecordedRun>,
}

/// One run of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// From its start to its end, virtual.
    pub seconds: f64,
    /// Switches of its tasks because they waited for something.
    pub voluntary: u64,
    /// Those where they could have gone on.
    pub involuntary: u64,
    /// Its figures, in the load's order.
    pub metrics: Vec<f64>,
}

impl Run {
    /// Switches of both kinds.
    pub fn switches(&self) -> f64 {
        (self.voluntary + self.involuntary) as f64
    }
}

impl Column {
    /// Whether it has a boot.
    pub(super) fn has(&self, number: usize) -> bool {
        self.boots.iter().any(|boot| boot.number == number)
    }

    /// Whether it has all of `boots` boots.
    pub(super) fn is_whole(&self, boots: usize) -> bool {
        (0..boots).all(|number| self.has(number))
    }

    /// The runs of a load, boot by boot.
    pub fn boots_of<'a>(&'a self, load: &'a Load) -> impl Iterator<Item = &'a [Run]> {
        let of_boot = |boot: &'a Boot| boot.loads.iter().find(|one| one.load == load.name);
        self.boots.iter().filter_map(of_boot).map(|found| found.runs.as_slice())
    }

    /// The run of a load that was recorded.
    pub fn recorded(&self, load: &Load) -> Option<&RecordedRun> {
        let runs = self.boots.iter().flat_map(|boot| &boot.loads);
        runs.filter(|runs| runs.load == load.name).find_map(|runs| runs.recorded.as_ref())
    }

    /// How a load failed, in the first boot in which it did.
    pub fn failed(&self, load: &Load) -> Option<&str> {
        let runs = self.boots.iter().flat_map(|boot| &boot.loads);
        runs.filter(|runs| runs.load == load.name).find_map(|runs| runs.failed.as_deref())
    }

    /// All runs of a load.
    pub fn runs_of<'a>(&'a self, load: &'a Load) -> impl Iterator<Item = &'a Run> {
        self.boots_of(load).flatten()
    }

    /// A figure of each boot: the median of its runs. Runs of one boot are alike, so a boot is what is counted.
    pub fn medians_of_boots(&self, load: &Load, of: impl Fn(&Run) -> Option<f64>) -> Vec<f64> {
        let of_boot = |runs: &[Run]| {
            let values: Vec<f64> = runs.iter().filter_map(&of).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        self.boots_of(load).filter_map(of_boot).collect()
    }

    /// A digest of what all its guests got.
    pub fn inputs(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.boots.iter().for_each(|boot| boot.inputs.hash(&mut hasher));
        format!("{:016x}", hasher.finish())
    }
}
