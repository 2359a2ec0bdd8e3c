//! Times of refills, a whole number of periods apart: found by the periodogram of the gaps' ends, and fitted to them.

use std::f64::consts::TAU;

/// Below it a quota cannot be distinguished from taking turns with another program at the kernel's tick.
const SHORTEST_PERIOD_NS: f64 = 10e6;
/// Ends on a grid, before it is believed.
pub(super) const FEWEST: usize = 4;
/// The number of longest gaps that show the period.
const HEAVIEST: usize = 64;
/// Of the best period's strength, that a longer one must have.
const PEAK: f64 = 0.85;
/// Where others have the CPU at the refill, a spinner may come back this much later: a tick of 4 ms and a little.
pub(super) const LATE_NS: f64 = 4.5e6;
/// Points of the periodogram on each peak, which is as wide as one by the span.
const POINTS: f64 = 4.0;
/// Of the typical length: a longer gap weighs no more, so that one standstill of the machine does not decide.
const MOST_WEIGHT: f64 = 2.0;
/// Which quantile of the ends the grid goes through: they are late, and hardly ever early.
const EARLIEST: f64 = 0.05;
/// How far a line through two ends may be from the fitted period.
const NEAR_FITTED: f64 = 0.02;

/// A time in which a spinner did not run.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_field_names, reason = "names end in their unit")]
pub(super) struct Gap {
    pub start_ns: f64,
    pub end_ns: f64,
    /// What it weighs among others: its length, but for a very long one.
    pub weight_ns: f64,
}

impl Gap {
    pub(super) fn new(start_ns: f64, end_ns: f64) -> Self {
        Self { start_ns, end_ns, weight_ns: end_ns - start_ns }
    }

    pub(super) fn length_ns(self) -> f64 {
        self.end_ns - self.start_ns
    }
}

/// Refills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grid {
    pub first_ns: f64,
    pub period_ns: f64,
}

impl Grid {
    /// Of the refill that a time is soonest after.
    pub(super) fn number(self, time_ns: f64) -> i64 {
        ((time_ns - self.first_ns + self.early_ns()) / self.period_ns).floor() as i64
    }

    fn after_ns(self, time_ns: f64) -> f64 {
        time_ns - self.first_ns - self.number(time_ns) as f64 * self.period_ns
    }

    /// A time this much before a refill counts as the refill.
    pub(super) fn early_ns(self) -> f64 {
        (self.period_ns / 100.0).max(300_000.0)
    }

    /// So much after it.
    pub(super) fn late_ns(self) -> f64 {
        LATE_NS.min(self.period_ns / 4.0).max(self.early_ns())
    }

    /// Whether a gap ends with a refill.
    pub(super) fn has(self, gap: Gap) -> bool {
        self.after_ns(gap.end_ns) <= self.late_ns()
    }

    /// The refills within a gap that ends with one: the periods before them had used their quota up.
    pub(super) fn ended_by(self, gap: Gap) -> std::ops::RangeInclusive<i64> {
        let last = self.number(gap.end_ns);
        let first = ((gap.start_ns - self.first_ns) / self.period_ns).ceil() as i64;
        last.min(first)..=last
    }
}

/// The median of lengths, each weighing what it is long.
pub(super) fn typical_length_ns(gaps: &[Gap]) -> f64 {
    let mut lengths: Vec<f64> = gaps.iter().map(|gap| gap.length_ns()).collect();
    lengths.sort_by(f64::total_cmp);
    let half = lengths.iter().sum::<f64>() / 2.0;
    let mut so_far = 0.0;
    let middle = lengths.iter().find(|length| {
        so_far += **length;
        so_far >= half
    });
    middle.copied().unwrap_or(0.0)
}

/// The longest gaps, by their ends.
pub(super) fn longest(gaps: &[Gap], typical_ns: f64) -> Vec<Gap> {
    let most_ns = MOST_WEIGHT * typical_ns;
    let capped = |gap: &Gap| Gap { weight_ns: gap.length_ns().min(most_ns), ..*gap };
    let mut found: Vec<Gap> = gaps.iter().map(capped).collect();
    found.sort_by(|one, other| other.length_ns().total_cmp(&one.length_ns()));
    found.truncate(HEAVIEST);
    found.sort_by(|one, other| one.end_ns.total_cmp(&other.end_ns));
    found
}

/// By the periodogram of the ends (Mardia and Jupp, "Directional Statistics", 2000, 2.2: the resultant of their phases). The divisors of a
/// period are as strong as itself, so the longest strong one is taken.
pub(super) fn strongest_period_ns(gaps: &[Gap]) -> Option<f64> {
    if gaps.len() < FEWEST {
        return None;
    }
    let first_ns = gaps[0].end_ns;
    let span_ns = gaps[gaps.len() - 1].end_ns - first_ns;
    let last = (POINTS * span_ns / SHORTEST_PERIOD_NS) as u32;
    let strengths: Vec<f64> = (6..=last)
        .map(|step| {
            let angle = TAU * f64::from(step) / (POINTS * span_ns);
            let (mut real, mut imaginary) = (0.0, 0.0);
            for gap in gaps {
                let weight = gap.weight_ns * gap.weight_ns;
                let (sin, cos) = (angle * (gap.end_ns - first_ns)).sin_cos();
                real += weight * cos;
                imaginary += weight * sin;
            }
            f64::hypot(real, imaginary)
        })
        .collect();
    let enough = PEAK * strengths.iter().copied().fold(0.0, f64::max);
    let mut place = strengths.iter().position(|strength| *strength >= enough)?;
    while strengths.get(place + 1).is_some_and(|next| *next > strengths[place]) {
        place += 1;
    }
    Some(POINTS * span_ns / (place + 6) as f64)
}

/// The grid of about that period that the most gaps end with, long ones above all; its period by least squares.
pub(super) fn fitted(gaps: &[Gap], period_ns: f64) -> Option<Grid> {
    let span_ns = gaps.last()?.end_ns - gaps.first()?.end_ns;
    // The strongest frequency is known to a quarter of its peak's width.
    let trials = (-10..=10)
        .map(|trial| period_ns * (1.0 + f64::from(trial) / 10.0 * period_ns / (POINTS * span_ns)))
        .map(|trial| densest(gaps, trial));
    // The first of those that are alike.
    let (_, mut grid) = trials.reduce(|best, next| if next.0 > best.0 { next } else { best })?;
    for _ in 0..2 {
        let near: Vec<(f64, Gap)> = gaps
            .iter()
            .filter(|gap| grid.has(**gap))
            .map(|gap| (grid.number(gap.end_ns) as f64, *gap))
            .collect();
        let mut numbers: Vec<f64> = near.iter().map(|one| one.0).collect();
        numbers.dedup();
        if numbers.len() < FEWEST {
            return None;
        }
        let weighted = |of: &dyn Fn(f64, Gap) -> f64| {
            near.iter().map(|one| one.1.length_ns() * of(one.0, one.1)).sum::<f64>()
        };
        let total = weighted(&|_, _| 1.0);
        let mean_number = weighted(&|number, _| number) / total;
        let mean_end = weighted(&|_, gap| gap.end_ns) / total;
        let across = weighted(&|number, _| (number - mean_number).powi(2));
        let along = weighted(&|number, gap| (number - mean_number) * (gap.end_ns - mean_end));
        grid = densest(gaps, along / across).1;
    }
    Some(through_earliest(gaps, grid))
}

/// The line through two ends that is a low quantile of all on the grid (Koenker and Bassett, "Regression quantiles", Econometrica 46 (1978)).
/// A refill comes at its time, and a spinner comes back at once or when others leave it the CPU.
fn through_earliest(gaps: &[Gap], grid: Grid) -> Grid {
    let near = gaps.iter().filter(|gap| grid.has(**gap));
    let near: Vec<(f64, f64)> = near.map(|gap| (grid.number(gap.end_ns) as f64, gap.end_ns)).collect();
    let loss = |line: Grid| -> f64 {
        let of = |(number, end_ns): &(f64, f64)| {
            let late_ns = end_ns - line.first_ns - number * line.period_ns;
            if late_ns >= 0.0 { EARLIEST * late_ns } else { (EARLIEST - 1.0) * late_ns }
        };
        near.iter().map(of).sum()
    };
    let mut best: Option<(f64, Grid)> = None;
    for (place, (number, end_ns)) in near.iter().enumerate() {
        for (later, later_ns) in near[place + 1..].iter().filter(|other| other.0 > *number) {
            let period_ns = (later_ns - end_ns) / (later - number);
            let line = Grid { first_ns: end_ns - number * period_ns, period_ns };
            let found = loss(line);
            let fits = (period_ns / grid.period_ns - 1.0).abs() <= NEAR_FITTED;
            if fits && best.is_none_or(|(least, _)| found < least) {
                best = Some((found, line));
            }
        }
    }
    best.map_or(grid, |(_, line)| line)
}

/// Of the grids with that period the one that most gaps end with, and the lengths of those.
fn densest(gaps: &[Gap], period_ns: f64) -> (f64, Grid) {
    let first_ns = gaps[0].end_ns;
    let phase = |gap: &Gap| ((gap.end_ns - first_ns).rem_euclid(period_ns), gap.length_ns());
    let mut phases: Vec<(f64, f64)> = gaps.iter().map(phase).collect();
    phases.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
    let window_ns = Grid { first_ns, period_ns }.late_ns();
    let (mut best, mut inside, mut upper) = ((0.0, phases[0].0), 0.0, 0);
    for (lower, (phase_ns, length_ns)) in phases.iter().enumerate() {
        while upper < lower + phases.len() {
            let (round_again, place) = (upper / phases.len(), upper % phases.len());
            if phases[place].0 + round_again as f64 * period_ns > phase_ns + window_ns {
                break;
            }
            inside += phases[place].1;
            upper += 1;
        }
        if inside > best.0 {
            best = (inside, *phase_ns);
        }
        inside -= length_ns;
    }
    (best.0, Grid { first_ns: first_ns + best.1, period_ns })
}

/// Of the gaps' lengths, those of gaps that end with a refill.
pub(super) fn aligned_share(gaps: &[Gap], grid: Grid) -> f64 {
    let length = |gap: &Gap| gap.length_ns();
    let aligned: f64 = gaps.iter().filter(|gap| grid.has(**gap)).map(length).sum();
    aligned / gaps.iter().map(length).sum::<f64>()
}

/// How likely at least k of n independent things happen.
pub(super) fn tail(n: usize, least: usize, chance: f64) -> f64 {
    let mut term = (1.0 - chance).powi(n as i32);
    let mut below = 0.0;
    for k in 0..least {
        below += term;
        term *= (n - k) as f64 / (k + 1) as f64 * chance / (1.0 - chance);
    }
    (1.0 - below).max(0.0)
}
