//! Sweeps over many processes and machines that share nothing but a directory.
//!
//! [`plan`] writes a directory: a manifest with the hashes of every input, and the runs cut into shards of some seconds. [`work`] takes shards
//! until none is left, from any number of machines. The files in the directory are the only truth: engines such as Dask or SLURM start
//! workers, and rows never pass through them. A simulation is deterministic, so a shard that is run twice gives the same rows twice, and
//! no lock is needed for correctness. Claims only keep workers from doing the same work.
//!
//! Modules: `range` (runs of consecutive numbers), `manifest`, `plan` with `predict` and `trials` (what a run will cost), `owner` (whose process holds a
//! claim), `claims` and `lease` (which process works on what, and whether it still does), `parts` (rows, a Parquet file for each shard),
//! `state` (the runs that are done and left, from the names of files alone), `heartbeat`, `worker`, `command` (a run that is a program), `supervise` (restarts workers, and
//! records how they died), `slurm` (job arrays), `status`, `merge`, `policy_map` (which policy does best where), `array` (lists as SLURM writes
//! them), `error`.
#![forbid(unsafe_code)]

mod array;
mod claims;
mod command;
mod error;
mod heartbeat;
mod lease;
mod manifest;
mod merge;
mod owner;
mod parts;
mod plan;
mod policy_map;
mod predict;
mod range;
pub mod slurm;
mod state;
mod status;
mod supervise;
mod trials;
mod worker;

pub use array::{array, parse_array};
pub use command::Start;
pub use error::Error;
pub use heartbeat::HUNG;
pub use manifest::{Manifest, Shard};
pub use merge::{Merged, merge};
pub use plan::{DEFAULT_LEASE, PlanRequest, Planned, plan};
pub use policy_map::{MapCell, MapFigure, PolicyMap, SeedRange};
pub use range::Range;
pub use state::Opened;
pub use status::{ShardState, ShardStatus, Status, gaps, status};
pub use supervise::{Supervised, supervise};
pub use trials::trials;
pub use worker::{Only, Worked, work};
