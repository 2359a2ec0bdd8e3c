//! The same speedup, or the same slowdown, for all.

use super::Ranked;
use crate::cores::gain;
use crate::demand::Entitled;

/// `phi = Phi (1/e) / sum(1/e)`: every application runs at the same multiple of its speed on a slow core. An application that would need more
/// than all of its time has all of it. The others share the rest by the same rule. Source: Kim and Huh (ICS 2016), section 3.
pub(super) fn speedup(
    order: &[Ranked],
    speedups: &[f64],
    entitled: &[Entitled],
    budget: f64,
    inverse: &mut Vec<f64>,
    shares: &mut [f64],
) {
    sum_inverse_gains(order, speedups, entitled, inverse);
    let mut left = budget;
    // The applications that gain least need most, so they are the first to have all of their time.
    let mut full = 0;
    while full < inverse.len() {
        let (place, gain) = from_last(order, speedups, inverse.len(), full);
        if left / (gain * inverse[inverse.len() - 1 - full]) <= 1.0 {
            break;
        }
        shares[place] = 1.0;
        left -= entitled[place].cpus;
        full += 1;
    }
    if let Some(sum) = inverse.len().checked_sub(1 + full).map(|last| inverse[last]) {
        for other in full..inverse.len() {
            let (place, gain) = from_last(order, speedups, inverse.len(), other);
            shares[place] = (left / (gain * sum)).clamp(0.0, 1.0);
        }
        left = 0.0;
    }
    spread(order, inverse.len(), left, entitled, shares);
}

/// `phi = (m s - 1) / e` with `m = (Phi + sum(1/e)) / sum(s/e)`. Every application runs at the same fraction of its speed on a fast core. An
/// application that is faster than that on slow cores alone stays there. Source: Van Craeynest et al. (PACT 2013), in the notation of Kim and
/// Huh.
pub(super) fn slowdown(
    order: &[Ranked],
    speedups: &[f64],
    entitled: &[Entitled],
    budget: f64,
    inverse: &mut Vec<f64>,
    shares: &mut [f64],
) {
    sum_inverse_gains(order, speedups, entitled, inverse);
    let count = inverse.len();
    // s/e is 1/e + 1.
    let fraction = |slow: usize, cpus: f64| {
        let sum = inverse[count - 1 - slow];
        (budget + sum) / (sum + cpus)
    };
    // CPU time of those that use fast cores.
    let mut cpus: f64 = order[..count].iter().map(|ranked| entitled[ranked.index as usize].cpus).sum();
    let mut slow = 0;
    while slow < count {
        let (place, gain) = from_last(order, speedups, count, slow);
        if fraction(slow, cpus) * (1.0 + gain) >= 1.0 {
            break;
        }
        shares[place] = 0.0;
        cpus -= entitled[place].cpus;
        slow += 1;
    }
    let mut left = budget;
    if slow < count {
        let fraction = fraction(slow, cpus);
        for other in slow..count {
            let (place, gain) = from_last(order, speedups, count, other);
            shares[place] = ((fraction * (1.0 + gain) - 1.0) / gain).clamp(0.0, 1.0);
            left -= shares[place] * entitled[place].cpus;
        }
    }
    spread(order, count, left.max(0.0), entitled, shares);
}

/// Sums of CPU time times 1/e from the first of the order on, for as many as gain at all. The small terms come first, so that they are not lost.
fn sum_inverse_gains(order: &[Ranked], speedups: &[f64], entitled: &[Entitled], inverse: &mut Vec<f64>) {
    inverse.clear();
    let gains = order.iter().map(|ranked| (gain(speedups[ranked.index as usize]), ranked.index as usize));
    let mut sum = 0.0;
    inverse.extend(gains.take_while(|(gain, _)| *gain > 0.0).map(|(gain, index)| {
        sum += entitled[index].cpus / gain;
        sum
    }));
}

/// Whose share, and its gain, counted from the last that gains.
fn from_last(order: &[Ranked], speedups: &[f64], count: usize, from_last: usize) -> (usize, f64) {
    let index = order[count - 1 - from_last].index as usize;
    (index, gain(speedups[index]))
}

/// What is left goes evenly to those who gain nothing: they have the same speed anywhere.
fn spread(order: &[Ranked], gaining: usize, left: f64, entitled: &[Entitled], shares: &mut [f64]) {
    let others = &order[gaining..];
    let cpus: f64 = others.iter().map(|ranked| entitled[ranked.index as usize].cpus).sum();
    for ranked in others {
        shares[ranked.index as usize] = (left / cpus).clamp(0.0, 1.0);
    }
}
