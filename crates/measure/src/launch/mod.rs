//! One launch: a fresh process measures one condition for a few batches and leaves them in shared memory.
//!
//! Fresh processes redraw the placement of pages, pipes and stacks; what one process happens to get is not the machine.

mod region;
mod worker;

use crate::batch::Batch;
use crate::clock::Clock;
use crate::condition::{Condition, Work};
use crate::sys::{self, Forked, Pipe};
use region::{FollowerSlot, LeaderSlot, Region, Stage};
use rustix::fd::AsFd;
use swtch_profile::vocabulary::HandOff;

pub(crate) use region::Size;

/// Why a launch gave nothing (or less than it should).
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum LaunchError {
    /// A system call failed before the measuring began.
    #[error("{doing} failed: {why}")]
    SetUp {
        /// What was being done.
        doing: &'static str,
        /// The kernel's text.
        why: String,
        /// The kernel's error number, which distinguishes a lack of permission from a lack of memory.
        error: i32,
    },
    /// The worker ended in the middle.
    #[error("the measuring process ended while {doing} (wait status {status:#x})")]
    Died {
        /// What was being done.
        doing: &'static str,
        /// As `waitpid` returns it.
        status: i32,
    },
    /// The guard ended it.
    #[error("no end within {guard_s} s: ended by the guard (a starved task, or a CPU that was taken away)")]
    Hung {
        /// The guard's time.
        guard_s: u32,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Runs one launch and returns its batches. `stop` is asked twenty times a second whether to give up.
pub(crate) fn launch(
    condition: &Condition,
    size: Size,
    clock: Clock,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Vec<Batch>, LaunchError> {
    let followers = match condition.work {
        Work::Switch { count, .. } => count as usize - 1,
        Work::Messages { .. } => usize::from(condition.cpus.len() > 1),
        Work::Reference(_) => 0,
    };
    let region =
        Region::new(size.batches as usize, followers).map_err(|error| set_up(Stage::MappingArray, error))?;
    // The worker holds the writing end and never writes: the reading end closes when it is gone.
    let life = Pipe::new().map_err(|error| set_up(Stage::MakingPipes, error))?;
    let parent = rustix::process::getpid().as_raw_nonzero().get();
    let pid = match sys::fork().map_err(|error| set_up(Stage::Starting, error))? {
        Forked::Child => worker::run(condition, size, clock, &region, parent),
        Forked::Parent(pid) => pid,
    };
    drop(life.write);
    let began = std::time::Instant::now();
    let mut interrupted = false;
    let mut hung = false;
    while !sys::wait_readable(life.read.as_fd(), 50) {
        interrupted = stop();
        hung = began.elapsed().as_secs() > u64::from(size.guard_s) + 1;
        if interrupted || hung {
            break;
        }
    }
    let status = sys::kill_group_and_wait(pid, interrupted || hung);
    if interrupted {
        return Err(LaunchError::Interrupted);
    }
    let batches: Vec<Batch> = region
        .finished()
        .map(|(leader, followers)| batch(condition, size, clock, &leader, &followers))
        .collect();
    match judge(status, hung, size.guard_s, &region) {
        Some(error) => Err(error),
        None => Ok(batches),
    }
}

/// The times of a batch, in nanoseconds and by the round.
fn batch(
    condition: &Condition,
    size: Size,
    clock: Clock,
    leader: &LeaderSlot,
    followers: &FollowerSlot,
) -> Batch {
    let rounds = f64::from(size.rounds);
    let switch_ns = clock.ns(leader.switch_ticks);
    let baseline_ns = clock.ns(leader.baseline_ticks);
    let yields =
        matches!(condition.work, Work::Switch { method, .. } if method.facts().hand_off == HandOff::Yield);
    let one_cpu = condition.cpus.len() == 1;
    let off = |wall_ns: f64, cpu_ns: u64| if wall_ns > 0.0 { 1.0 - cpu_ns as f64 / wall_ns } else { 0.0 };
    Batch {
        started_ns: leader.started_ns,
        rounds: size.rounds,
        round_ns: switch_ns / rounds,
        baseline_ns: baseline_ns / rounds,
        baseline_per_round: if yields {
            (rounds + leader.follower_yields as f64) / rounds
        } else {
            condition.baseline_operations_per_round()
        },
        voluntary_per_round: (leader.voluntary + followers.voluntary) as f64 / rounds,
        involuntary_per_round: (leader.involuntary + followers.involuntary) as f64 / rounds,
        off_cpu_share: one_cpu.then(|| off(switch_ns, leader.switch_cpu_ns + followers.cpu_ns)),
        baseline_off_cpu_share: off(baseline_ns, leader.baseline_cpu_ns),
        spin_ns: clock.ns(leader.spin_ticks),
        write_share: (leader.write_ticks > 0)
            .then(|| leader.write_ticks as f64 / (leader.write_ticks + leader.read_ticks) as f64),
        migrated: leader.cpu_before != leader.cpu_after,
    }
}

fn set_up(stage: Stage, error: i32) -> LaunchError {
    LaunchError::SetUp { doing: stage.doing(), why: sys::error_text(error), error }
}

fn judge(status: i32, hung: bool, guard_s: u32, region: &Region) -> Option<LaunchError> {
    let ended_by = |signal| libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == signal;
    if status == 0 {
        None
    } else if region.error() != 0 {
        Some(set_up(region.stage(), region.error()))
    } else if hung || ended_by(libc::SIGALRM) || ended_by(libc::SIGXCPU) {
        Some(LaunchError::Hung { guard_s })
    } else {
        Some(LaunchError::Died { doing: region.stage().doing(), status })
    }
}

#[cfg(test)]
mod tests;
