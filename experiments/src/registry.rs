//! The experiments, by name.

use crate::table::Table;
use crate::{all_mixes, estimation, guaranteed, mixes, r_fair, regions, ring, two_apps};
use anyhow::Result;

/// How experiments run; none of it changes a figure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads for those with much to compute.
    pub threads: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: std::thread::available_parallelism().map_or(1, usize::from) }
    }
}

/// Something published, and the function that computes it again.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// What it is called on the command line and in the document.
    pub name: &'static str,
    /// What it reproduces.
    pub about: &'static str,
    /// Computes its tables.
    pub run: fn(Options) -> Result<Vec<Table>>,
}

/// All of them, in the order of the document.
pub const EXPERIMENTS: [Experiment; 8] = [
    Experiment {
        name: "two-apps",
        about: "figures of Kim and Huh's slides that follow from the mathematics",
        run: two_apps::run,
    },
    Experiment { name: "mixes", about: "their diverse and similar mixes", run: mixes::run },
    Experiment { name: "all-mixes", about: "all 100,947 mixes of 23 applications", run: all_mixes::run },
    Experiment { name: "r-fair", about: "R%-fair over R, both variants", run: r_fair::run },
    Experiment {
        name: "guaranteed",
        about: "guaranteed fairness, interval by interval",
        run: guaranteed::run,
    },
    Experiment {
        name: "regions",
        about: "Li, Ding and Shen's regions, from a cache model",
        run: regions::run,
    },
    Experiment { name: "ring", about: "lmbench's ring of processes, from the same model", run: ring::run },
    Experiment {
        name: "estimation",
        about: "Kim and Huh's scheduler with sampling, rounds and swaps, simulated",
        run: estimation::run,
    },
];
