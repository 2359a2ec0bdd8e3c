//! The experiments, by name.

use crate::table::Table;
use crate::{all_mixes, estimation, guaranteed, hackbench, mixes, npb, r_fair, regions, ring, two_apps};
use anyhow::Result;

/// How experiments run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads for those with much to compute.
    pub threads: usize,
    /// Those that simulate for many seconds do a small part of it only, which says nothing about what was published.
    pub small: bool,
}

impl Default for Options {
    /// A thread for each CPU; everything.
    fn default() -> Self {
        Self { threads: std::thread::available_parallelism().map_or(1, usize::from), small: false }
    }
}

/// Something published, and the function that computes it again.
#[derive(Clone, Copy, Debug)]
pub struct Experiment {
    /// What it is called on the command line and in the document.
    pub name: &'static str,
    /// What it reproduces.
    pub about: &'static str,
    /// It takes too long for every test run: tests compute its small version, and not what the document has.
    pub long: bool,
    /// Computes its tables.
    pub run: fn(Options) -> Result<Vec<Table>>,
}

/// All of them, in the order of the document.
pub const EXPERIMENTS: [Experiment; 12] = [
    Experiment {
        name: "two-apps",
        about: "figures of Kim and Huh's slides that follow from the mathematics",
        long: false,
        run: two_apps::run,
    },
    Experiment { name: "mixes", about: "their diverse and similar mixes", long: false, run: mixes::run },
    Experiment {
        name: "all-mixes",
        about: "all 100,947 mixes of 23 applications",
        long: false,
        run: all_mixes::run,
    },
    Experiment { name: "r-fair", about: "R%-fair over R, both variants", long: false, run: r_fair::run },
    Experiment {
        name: "guaranteed",
        about: "guaranteed fairness, interval by interval",
        long: false,
        run: guaranteed::run,
    },
    Experiment {
        name: "regions",
        about: "Li, Ding and Shen's regions, from a cache model",
        long: false,
        run: regions::run,
    },
    Experiment {
        name: "ring",
        about: "lmbench's ring of processes, from the same model",
        long: false,
        run: ring::run,
    },
    Experiment {
        name: "estimation",
        about: "Kim and Huh's scheduler with sampling, rounds and swaps, simulated",
        long: false,
        run: estimation::run,
    },
    Experiment {
        name: "npb",
        about: "FLSCHED's figures 1 and 3: NPB with more threads than CPUs, simulated",
        long: true,
        run: npb::run,
    },
    Experiment {
        name: "spin",
        about: "FLSCHED's shares of spinlocks under NPB, simulated",
        long: true,
        run: npb::spin,
    },
    Experiment {
        name: "hackbench",
        about: "FLSCHED's figures 2 and 4, simulated",
        long: true,
        run: hackbench::run,
    },
    Experiment {
        name: "hooks",
        about: "FLSCHED's table of hooks under hackbench, simulated",
        long: true,
        run: hackbench::hooks,
    },
];
