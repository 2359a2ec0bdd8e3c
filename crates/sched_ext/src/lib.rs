//! sched_ext as user space sees it. The kernel gives its [`Status`], and the [`ExitInfo`] when a scheduler ends.
//! swtch's schedulers print [`SchedulerEvent`]s, one JSON object a line.
//!
//! Both sides use these types: the schedulers, which are GPL-2.0-only programs, and `swtch sched`, which starts them and links none of
//! their code. So this crate may depend only on crates that are under the MIT licence, too.
//!
//! Modules: `status`, `event` (what our schedulers report), `exit` (why one ended).
#![forbid(unsafe_code)]

mod event;
mod exit;
mod status;

pub use event::{CpuCounters, EndCause, SchedulerEvent, Verified};
pub use exit::ExitInfo;
pub use status::{DIRECTORY, Holder, Refusal, Status};
