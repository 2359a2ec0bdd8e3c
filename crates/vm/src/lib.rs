//! Boots a kernel in QEMU, runs a command in it, and returns its output and its status.
//!
//! [`run`] takes a [`Spec`] and tells an [`Observer`](swtch_units::Observer) what happens, as [`Event`]s. Programs travel with their
//! libraries in an archive that the kernel unpacks. The guest's first process is the same program that calls [`run`]. It hands over to
//! [`guest::run`] when [`guest::is_first_process`] returns true. Guest and host speak in typed frames over a port of their own; the console
//! is the kernel's alone. [`Spec::deterministic`] counts instructions instead of time: the same run then gives the same switches and the
//! same times.
//!
//! Modules: `spec` (what to run), `arch` (on what kind of machine), `kernel` (which one), `debian` (apt), `packages` and `guest_program`
//! (programs for guests of another architecture), `file_closure` and `elf` (what travels), `cpio`, `initramfs` and `archives` (the guest's
//! first file system), `guest_paths`, `device_tree` (what the CPUs can do), `qemu` with `icount_barrier` and `qmp`, `kept_boot` (guests resume from one
//! that has booted), `session` with `console` and `tail`, `protocol`, `event`, `guest_result`
//! (files that come back), `kept_output` (what it prints, for a program that reads it), `error`.

#![forbid(unsafe_code)]

pub mod guest;

mod arch;
mod archives;
mod console;
mod cpio;
mod debian;
mod device_tree;
mod elf;
mod error;
mod event;
mod file_closure;
mod guest_paths;
mod guest_program;
mod guest_result;
mod icount_barrier;
mod initramfs;
mod kept_boot;
mod kept_output;
mod kernel;
mod packages;
mod protocol;
mod qemu;
mod qmp;
mod run;
mod session;
mod spec;
mod tail;

pub use arch::Arch;
pub use error::VmError;
pub use event::{Event, Outcome};
pub use guest_program::guest_program;
pub use kept_output::{KeptOutput, last_complaint};
pub use kernel::{AvailableKernel, ConfigDiff, Kernel, available_kernels, cache_folder, config_diff};
pub use protocol::{Exited, FrameError, Stream};
pub use qemu::{Accelerator, emulator_version, program_on_path};
pub use run::run;
pub use spec::Spec;
