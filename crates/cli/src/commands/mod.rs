//! One file a command: a call into a library, and output.

pub(crate) mod book;
pub(crate) mod check;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod external;
mod guest_cpus;
pub(crate) mod import;
pub(crate) mod measure;
mod own_program;
pub(crate) mod probe;
pub(crate) mod record;
pub(crate) mod report;
pub(crate) mod sched;
pub(crate) mod schema;
pub(crate) mod serve;
pub(crate) mod shares;
pub(crate) mod simulate;
pub(crate) mod sweep;
pub(crate) mod top;
pub(crate) mod try_settings;
pub(crate) mod vm;
pub(crate) mod why;
