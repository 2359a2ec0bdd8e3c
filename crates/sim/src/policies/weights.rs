//! Weights of nice values.

/// `sched_prio_to_weight`, Linux 6.18, kernel/sched/core.c: each nice level is some 10 % of CPU time.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904, 3906, 3121,
    2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87, 70, 56, 45, 36, 29,
    23, 18, 15,
];

/// The weight of `SCHED_IDLE` (`WEIGHT_IDLEPRIO`, Linux 6.18, kernel/sched/sched.h).
pub(crate) const IDLE_WEIGHT: u32 = 3;

/// The weight of a nice value, 1024 for 0; values outside -20 to 19 count as the nearest.
///
/// ```
/// assert_eq!([-20, 0, 19].map(swtch_sim::policies::weight_of), [88761, 1024, 15]);
/// ```
pub fn weight_of(nice: i8) -> u32 {
    WEIGHTS[(i32::from(nice) + 20).clamp(0, 39) as usize]
}
