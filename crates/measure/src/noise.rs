//! What disturbs a batch, and which batches are left out for it.

use crate::batch::Batch;
use swtch_profile::vocabulary::Rejection;

/// A batch whose tasks were off the CPU for longer than this share is rejected.
const MOST_OFF_CPU_SHARE: f64 = 0.03;
/// A batch whose spin took longer than this multiple of the usual is rejected.
const MOST_SPIN_RATIO: f64 = 1.10;
/// A batch whose switches differ from the usual by more than this share is rejected.
const MOST_SWITCH_DEVIATION: f64 = 0.02;

/// What is usual for a condition: the medians over its batches, which a minority of rejected batches does not move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    /// Median of the spin over the whole run, ns.
    pub spin_ns: f64,
    /// Median of the switches per round, for tasks on one CPU whose method fixes the number.
    pub switches_per_round: Option<f64>,
    /// Whether the tasks are pinned.
    pub pinned: bool,
}

/// Whether and why `batch` is rejected. Neither reason looks at the figure itself: leaving out what is slow because it is slow
/// would only make the result look better.
pub(crate) fn rejection(batch: &Batch, usual: Usual) -> Option<Rejection> {
    let off = batch.off_cpu_share.unwrap_or(0.0).max(batch.baseline_off_cpu_share);
    if off > MOST_OFF_CPU_SHARE {
        Some(Rejection::ForeignCpuTime)
    } else if usual.pinned && batch.migrated {
        Some(Rejection::Migrated)
    } else if batch.spin_ns > usual.spin_ns * MOST_SPIN_RATIO {
        Some(Rejection::SlowClock)
    } else if usual.switches_per_round.is_some_and(|steady| miscounted(batch, steady)) {
        Some(Rejection::SwitchCount)
    } else {
        None
    }
}

fn miscounted(batch: &Batch, usual: f64) -> bool {
    // One stray switch in a short batch is a large share of it, and no disturbance.
    let tolerated = (MOST_SWITCH_DEVIATION * usual).max(1.5 / f64::from(batch.rounds.max(1)));
    (batch.switches_per_round() - usual).abs() > tolerated
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Usual = Usual { spin_ns: 10_000.0, switches_per_round: Some(2.0), pinned: true };

    fn clean() -> Batch {
        Batch {
            rounds: 1000,
            spin_ns: 10_000.0,
            voluntary_per_round: 2.0,
            off_cpu_share: Some(0.001),
            ..Batch::default()
        }
    }

    #[test]
    fn each_disturbance_is_named() {
        assert_eq!(rejection(&clean(), USUAL), None);
        let cases = [
            (Batch { off_cpu_share: Some(0.5), ..clean() }, Rejection::ForeignCpuTime),
            (Batch { baseline_off_cpu_share: 0.5, ..clean() }, Rejection::ForeignCpuTime),
            (Batch { spin_ns: 12_000.0, ..clean() }, Rejection::SlowClock),
            (Batch { migrated: true, ..clean() }, Rejection::Migrated),
            (Batch { voluntary_per_round: 1.7, ..clean() }, Rejection::SwitchCount),
        ];
        for (batch, reason) in cases {
            assert_eq!(rejection(&batch, USUAL), Some(reason));
        }
    }

    #[test]
    fn an_unpinned_task_may_migrate() {
        let batch = Batch { migrated: true, ..clean() };
        assert_eq!(rejection(&batch, Usual { pinned: false, ..USUAL }), None);
    }

    #[test]
    fn a_slow_figure_alone_spoils_nothing() {
        assert_eq!(rejection(&Batch { round_ns: 1e9, ..clean() }, USUAL), None);
    }
}
