//! Facts about the machine: CPUs, SMT, caches, NUMA, capacity, limits, virtualisation.
//!
//! [`Host`] is the facts as data, part of every Profile; [`Host::read`] reads them from sysfs and procfs under any root.
//! [`Placement`] picks the CPUs for a measurement. What [`capability`] makes of the facts is what `swtch doctor` prints.
//!
//! Modules: `read` puts together what `cpus`, `cpuinfo`, `arm_cores` (their names), `caches`, `numa`, `memory`, `frequency`, `kernel`, `preemption`, `virtualisation`,
//! `cgroups` and `limits` read through `files` into `host`; `placement`; `unavailable`; `error`.
//!
//! ```
//! use std::path::Path;
//! use swtch_topology::{Host, Placement};
//!
//! let host = Host::read(Path::new("../../fixtures/machines/server-2-sockets"))?;
//! assert_eq!(host.cpus.len(), 8);
//! assert!(host.pair_for(Placement::OtherPackage).is_ok());
//! # Ok::<(), swtch_topology::TopologyError>(())
//! ```

#![forbid(unsafe_code)]

pub mod capability;
pub mod host;

mod arm_cores;
mod caches;
mod cgroups;
mod cpuinfo;
mod cpus;
mod error;
mod files;
mod frequency;
mod kernel;
mod limits;
mod memory;
mod numa;
mod placement;
mod preemption;
mod read;
mod unavailable;
mod virtualisation;

pub use cgroups::{CpuGroup, cpu_groups};
pub use error::TopologyError;
pub use host::Host;
pub use placement::Placement;
pub use unavailable::{Field, Unavailable};
