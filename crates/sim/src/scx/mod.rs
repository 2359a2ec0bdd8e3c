//! Runs a sched_ext scheduler's source, compiled natively, as a policy of the simulator.
//!
//! The same `.bpf.c` that a kernel loads is compiled with this directory's own headers (`include/`). The simulated machine provides the
//! kernel's functions. They follow the rules of the sched_ext core of Linux 6.12 to 7.3 (kernel/sched/ext.c, ext_idle.c). Parts of the
//! core that a simulation does not need are left out. They are cgroups other than the root, core scheduling, CPU hotplug,
//! sub-schedulers, and scheduling classes above. A function that is missing stops a source from compiling; none does nothing silently,
//! but for `bpf_printk`, dumps and frequencies.
//!
//! The scheduler's code runs natively in this process, without the kernel's verifier: it is to be trusted as any program is. A callback
//! that does not return is ended after a number of steps (`guard.rs`). A scheduler that forgets tasks is named, as by the kernel's
//! watchdog.
//!
//! ```
//! use swtch_sim::scx::{Object, ScxPolicy, Settings};
//!
//! let settings = Settings::default().number("slice_ns", 10_000_000);
//! let policy = ScxPolicy::new(&Object::flsched(), settings)?;
//! assert_eq!(swtch_sim::policy::Policy::name(&policy), "flsched");
//! # Ok::<(), swtch_sim::scx::ScxError>(())
//! ```
#![allow(unsafe_code)]

mod abi;
mod arena;
mod block_sizes;
mod cgroup;
mod compile;
mod core;
mod division;
mod dsq;
mod error;
mod guard;
mod idle;
mod idle_choice;
mod instructions;
mod kept;
mod kfuncs;
mod loader;
mod map_scan;
mod maps;
mod object;
mod package;
mod policy;
mod queueing;
mod rule;
mod running;
mod settings;
mod timers;
mod values;

#[cfg(test)]
mod tests;

pub use compile::CompileOptions;
pub use error::ScxError;
pub use object::Object;
pub use policy::ScxPolicy;
pub use settings::Settings;
pub use values::ValuesError;

/// FLSCHED, whose source is part of the simulator, as it calls itself.
pub(crate) const FLSCHED: &str = "flsched";
/// FLSCHED as build.rs has compiled it.
const FLSCHED_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/flsched.so"));
