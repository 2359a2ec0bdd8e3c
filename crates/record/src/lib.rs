//! Records what a workload does and what its context switches cost it.
//!
//! [`system`] reads the kernel's own counters of the whole machine and of a control group, against which every recording is
//! reconciled. [`sources`] are the ways to see the switches of single threads; [`sources::procfs`] is the one that needs no
//! privilege.
//!
//! ```
//! use std::path::Path;
//! use swtch_record::system::{Detail, Snapshot, difference};
//!
//! let earlier = Snapshot::read(Path::new("/"), None, Detail::Everything);
//! let later = Snapshot::read(Path::new("/"), None, Detail::Everything);
//! let between = difference(&earlier, &later);
//! match between.context_switches {
//!     Some(count) => println!("{count} context switches in {} ns", between.length_ns),
//!     None => println!("unavailable: {:?}", between.unavailable),
//! }
//! ```

pub mod import;
pub mod sources;
pub mod system;

mod clock;
mod error;
mod files;
pub mod live;
pub mod meter;
mod options;
pub mod plan;
mod session;
mod task_info;
mod working_set;
mod workload;

pub use error::RecordError;
pub use options::{Cost, Mode, Options, Target};
pub use session::{Observer, Progress, Recording, record};
