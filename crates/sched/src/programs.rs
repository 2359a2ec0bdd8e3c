//! Loads that no package has, as programs: `swtch sched load NAME`, which the files in `loads/` start in a guest.

mod frames;
mod rt_app;
mod schbench;

pub use frames::Frames;
pub use rt_app::{RtApp, RtAppError};
pub use schbench::Schbench;

use std::hint::black_box;
use std::time::Duration;
use swtch_stats::{quantile_sorted, sorted};

/// Instructions of a round of [`compute`] on x86-64.
const INSTRUCTIONS_A_ROUND: u64 = 7;

/// The same work each time, whatever the clock says: about `us` microseconds in a guest that counts instructions.
fn compute(us: u64) {
    let mut state = 1_u64;
    for round in 0..us.saturating_mul(1_000) / INSTRUCTIONS_A_ROUND {
        state = black_box(state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(round));
    }
    black_box(state);
}

/// In whole microseconds: what these programs print.
fn micros(time: Duration) -> f64 {
    time.as_micros() as f64
}

/// The value that this share of all is at most.
fn at(times: &[f64], share: f64) -> f64 {
    if times.is_empty() { 0.0 } else { quantile_sorted(&sorted(times), share) }
}
