//! One batch: a stretch of switching rounds and the paired stretch of the baseline, in nanoseconds.

use crate::clock::Clock;
use crate::condition::{Condition, Method, Work};
use crate::launch::{FollowerSlot, LeaderSlot, Size};

/// What one batch measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Batch {
    /// When it began, CLOCK_MONOTONIC, ns.
    pub started_ns: u64,
    /// Rounds (round trips, laps, calls) in it.
    pub rounds: u32,
    /// Time of a round with switches, ns.
    pub round_ns: f64,
    /// Time of one baseline operation, ns; 0 for a reference, which has none.
    pub baseline_ns: f64,
    /// Baseline operations that a round contains.
    pub baseline_per_round: f64,
    /// Voluntary switches of all tasks per round, as counted.
    pub voluntary_per_round: f64,
    /// Involuntary switches of all tasks per round, as counted.
    pub involuntary_per_round: f64,
    /// Share of the switching stretch in which none of the tasks ran; only tasks on one processor never wait for each other.
    pub off_cpu_share: Option<f64>,
    /// Share of the baseline stretch in which its task did not run.
    pub baseline_off_cpu_share: f64,
    /// Time of a fixed spin just before, ns.
    pub spin_ns: f64,
    /// Whether the leader ended on another processor than it began on.
    pub migrated: bool,
}

impl Batch {
    pub(crate) fn new(
        condition: &Condition,
        size: Size,
        clock: Clock,
        leader: &LeaderSlot,
        followers: &FollowerSlot,
    ) -> Self {
        let rounds = f64::from(size.rounds);
        let switch_ns = clock.ns(leader.switch_ticks);
        let baseline_ns = clock.ns(leader.baseline_ticks);
        let yields = matches!(condition.work, Work::Switch { method: Method::Yield, .. });
        let one_cpu = condition.cpus.len() == 1;
        let off = |wall_ns: f64, cpu_ns: u64| if wall_ns > 0.0 { 1.0 - cpu_ns as f64 / wall_ns } else { 0.0 };
        Self {
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
            migrated: leader.cpu_before != leader.cpu_after,
        }
    }

    /// Switches of all tasks per round, as counted.
    pub(crate) fn switches_per_round(&self) -> f64 {
        self.voluntary_per_round + self.involuntary_per_round
    }

    /// Time of the baseline's share of a round, ns.
    pub(crate) fn baseline_per_round_ns(&self) -> f64 {
        self.baseline_ns * self.baseline_per_round
    }

    /// Time per switch with the baseline subtracted, ns: `(round - baseline) / switches`.
    pub(crate) fn net_ns(&self, switches_per_round: f64) -> f64 {
        (self.round_ns - self.baseline_per_round_ns()) / switches_per_round
    }
}
