//! Each application's share of the fast cores: the fair policies for machines with fast and slow cores, and the metrics of their fairness.
//!
//! Sources: Kim and Huh, "Fairness-oriented OS scheduling support for multicore systems" (ICS 2016) and "Exploring the design space of fair
//! scheduling supports for asymmetric multicore systems" (IEEE Transactions on Computers 67(8), 2018); Kwon et al. (ISCA 2011) and Li et al.
//! (SC 2007) for the policies they are compared with; Van Craeynest et al. (PACT 2013) for equal slowdown.
//!
//! `s` is an application's speedup, instructions per second on a fast core over those on a slow one; below 1 it counts as 1. A share `phi` is
//! the fraction of an application's own CPU time that it spends on fast cores. Its performance `P` is what it gets done, divided by what it
//! would get done if all shared alike (`max-fair`). Applications may have weights and several threads: then max-fair is what each is entitled to
//! by its weight ([`Cores::entitle`]).
//!
//! Modules: `cores` and `core_types` (machines), `demand` (weights and threads), `policy`, `allocate` (speedups to shares), `least_share`, `linear` (linear programs),
//! `similar_kinds`, `guaranteed`, `metrics`, `solution`, `error`.
//!
//! ```
//! use swtch_fairness::{Allocator, Cores, Ddof, Metrics, Policy, performance};
//!
//! let cores = Cores::new(1, 2)?;
//! let speedups = [3.0, 2.9, 1.5];
//! let mut shares = [0.0; 3];
//! Allocator::new().allocate(cores, &speedups, &Policy::MinFair { min_fairness: 0.85 }, &mut shares)?;
//! let mut achieved = [0.0; 3];
//! performance(cores, &speedups, &shares, &mut achieved);
//! let metrics = Metrics::of(&achieved, Ddof::One);
//! assert!((metrics.min_fairness - 0.85).abs() < 1e-9);
//! assert!((metrics.throughput - 1.087_293).abs() < 1e-6);
//! # Ok::<(), swtch_fairness::FairnessError>(())
//! ```
#![forbid(unsafe_code)]

mod allocate;
mod core_types;
mod cores;
mod demand;
mod error;
mod guaranteed;
mod least_share;
mod linear;
mod metrics;
mod policy;
mod similar_kinds;
mod solution;

pub use allocate::Allocator;
pub use core_types::{CoreTypes, TypedShares};
pub use cores::{Cores, performance};
pub use demand::{Demand, Entitled, performance_of};
pub use error::FairnessError;
pub use guaranteed::{Guaranteed, Interval};
pub use least_share::{keep_least, keep_least_of};
pub use metrics::{Ddof, Metrics};
pub use policy::{POLICIES, Parameters, Policy, PolicyRow, Variant};
pub use solution::Solution;
