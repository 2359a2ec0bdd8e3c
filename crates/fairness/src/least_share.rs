//! Shares that keep a task on both kinds of core.

/// Keeps shares between `least` and 1 - `least` and their sum at `budget`, as far as possible. A task whose speedup is sampled must go
/// on running on both kinds of core. Allocates nothing.
///
/// ```
/// let mut shares = [1.0, 1.0, 0.0, 0.0];
/// swtch_fairness::keep_least(&mut shares, 0.1, 2.0);
/// assert_eq!(shares, [0.9, 0.9, 0.1, 0.1]);
/// ```
pub fn keep_least(shares: &mut [f64], least: f64, budget: f64) {
    keep_least_of(shares, |_| 1.0, least, budget);
}

/// The same where each has so much CPU time, by its place: the sum of shares times CPU times is kept.
pub fn keep_least_of(shares: &mut [f64], cpus: impl Fn(usize) -> f64, least: f64, budget: f64) {
    for share in shares.iter_mut() {
        *share = share.clamp(least, 1.0 - least);
    }
    let sum = |shares: &[f64], of: &dyn Fn(f64) -> f64| -> f64 {
        shares.iter().enumerate().map(|(place, share)| of(*share) * cpus(place)).sum()
    };
    for _ in 0..shares.len() {
        let excess = sum(shares, &|share| share) - budget;
        let movable = |share: f64| if excess > 0.0 { share - least } else { 1.0 - least - share };
        let room = sum(shares, &movable);
        if excess.abs() < 1e-9 || room <= 0.0 {
            return;
        }
        let part = (excess.abs() / room).min(1.0) * excess.signum();
        for share in shares.iter_mut() {
            *share -= movable(*share) * part;
        }
    }
}
