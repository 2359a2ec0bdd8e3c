//! The quota that timelines show is the one that was set: simulated ones, and ones recorded under real quotas in every language.
#![expect(clippy::unwrap_used, reason = "a test")]

use serde::Deserialize;
use swtch_faas::quota::{self, Interval};

#[derive(Deserialize)]
struct File {
    /// Of the quota.
    tolerance: f64,
    /// Of the period, where ends may be late by a tick.
    period_tolerance: Option<f64>,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    expected: Expected,
    #[serde(default)]
    others_cpus: f64,
    spinners: Vec<Vec<Interval>>,
}

#[derive(Deserialize)]
struct Expected {
    period_ns: Option<f64>,
    quota_ns: Option<f64>,
    cpus: f64,
    /// What the reason must have where no quota may come out.
    why: Option<String>,
    /// Wider than the file's: what this timeline can give. The interval must say so.
    tolerance: Option<f64>,
    /// Whether this timeline cannot show the quota. The reason must say so.
    #[serde(default)]
    missed: bool,
}

fn near(found: f64, expected: f64, tolerance: f64) -> bool {
    (found / expected - 1.0).abs() <= tolerance
}

/// What is wrong with what comes out.
fn fault(vector: &Vector, tolerance: f64, of_period: f64) -> Option<String> {
    let Expected { period_ns, quota_ns, cpus, why, tolerance: own, missed } = &vector.expected;
    let tolerance = own.unwrap_or(tolerance);
    let found = quota::infer(&vector.spinners).map(|found| found.with_others(vector.others_cpus));
    match (found, period_ns.zip(*quota_ns)) {
        (Ok(found), Some((period_ns, quota_ns))) => {
            let honest = own.is_none() || found.ci_high_ns - found.ci_low_ns > tolerance * quota_ns;
            let fine = near(found.period_ns, period_ns, of_period)
                && near(found.quota_ns, quota_ns, tolerance)
                && near(found.cpus(), *cpus, tolerance + of_period)
                && found.ci_low_ns <= found.quota_ns
                && found.quota_ns <= found.ci_high_ns
                && honest;
            (!fine).then(|| {
                format!(
                    "period {:+.3} %, quota {:+.3} % ({:+.3} to {:+.3})",
                    100.0 * (found.period_ns / period_ns - 1.0),
                    100.0 * (found.quota_ns / quota_ns - 1.0),
                    100.0 * (found.ci_low_ns / quota_ns - 1.0),
                    100.0 * (found.ci_high_ns / quota_ns - 1.0)
                )
            })
        }
        (Err(said), None) => {
            let fine = said.to_string().contains(why.as_deref().unwrap_or(""))
                && near(quota::received(&vector.spinners), *cpus, tolerance);
            (!fine)
                .then(|| format!("{said}; {} CPUs received, not {cpus}", quota::received(&vector.spinners)))
        }
        (Ok(found), None) => Some(format!("a quota that is not there: {found:?}")),
        (Err(said), Some(_)) => (!missed).then(|| said.to_string()),
    }
}

fn faults(file: &str) -> Vec<String> {
    let file: File = serde_json::from_str(file).unwrap();
    let of_period = file.period_tolerance.unwrap_or(file.tolerance);
    let of =
        |vector: &Vector| Some(format!("{}: {}", vector.name, fault(vector, file.tolerance, of_period)?));
    assert!(
        file.vectors.iter().filter(|one| one.expected.missed || one.expected.tolerance.is_some()).count()
            <= 4
    );
    file.vectors.iter().filter_map(of).collect()
}

#[test]
fn simulated_timelines_show_their_quota() {
    assert_eq!(faults(include_str!("gaps.json")), Vec::<String>::new());
}

#[test]
fn recorded_timelines_of_every_language_show_the_quota_they_were_under() {
    let file = include_str!("recorded.json");
    for language in ["python", "node", "go", "java", "rust"] {
        assert!(file.matches(&format!("\"{language}-")).count() >= 10, "{language}");
    }
    assert_eq!(faults(file), Vec::<String>::new());
}

/// A spinner that runs these ms of each period.
fn spinner(ran_ms: &[u64], period_ms: u64) -> Vec<Interval> {
    let interval = |(number, ran): (usize, &u64)| {
        let start = number as u64 * period_ms * 1_000_000;
        Interval::Charged([start, start + ran * 1_000_000, ran * 1_000_000])
    };
    ran_ms.iter().enumerate().map(interval).collect()
}

#[test]
fn bad_timelines_are_no_quota() {
    let why = |spinners: &[Vec<Interval>]| quota::infer(spinners).unwrap_err().to_string();
    assert!(why(&[]).contains("no gaps"));
    assert!(why(&[vec![]]).contains("no gaps"));
    assert!(why(&[vec![Interval::Seen([5, 1])]]).contains("not in order"));
    assert!(why(&[vec![Interval::Seen([0, u64::MAX])]]).contains("not in order"));
    let mut backwards = spinner(&[10; 10], 100);
    backwards.reverse();
    assert!(why(&[backwards]).contains("not in order"));
}

#[test]
fn the_interval_says_how_far_periods_differ() {
    let steady = quota::infer(&[spinner(&[25; 20], 100)]).unwrap();
    assert!(near(steady.ci_low_ns, 25e6, 1e-9) && near(steady.ci_high_ns, 25e6, 1e-9), "{steady:?}");
    // What one period overran, the next one pays: the mean is known well.
    let paid: Vec<u64> = (0..20).map(|number| if number % 2 == 0 { 24 } else { 26 }).collect();
    let paid = quota::infer(&[spinner(&paid, 100)]).unwrap();
    assert!(paid.ci_low_ns > 24.8e6 && paid.ci_high_ns < 25.2e6 && paid.ci_low_ns < 25e6, "{paid:?}");
    let drifting: Vec<u64> = (0..20).map(|number| 24 + number / 7).collect();
    let drifting = quota::infer(&[spinner(&drifting, 100)]).unwrap();
    assert!(
        drifting.ci_high_ns - drifting.ci_low_ns > 2.0 * (paid.ci_high_ns - paid.ci_low_ns),
        "{drifting:?}"
    );
    let others = steady.with_others(0.0025);
    assert!(near(others.quota_ns, 25.25e6, 1e-9) && near(others.ci_high_ns, 25.25e6, 1e-9), "{others:?}");
    // They may have run in other periods than these.
    assert!(near(others.ci_low_ns, 25e6, 1e-9), "{others:?}");
    // A burst is not in every period: it only widens the interval.
    let burst = steady.with_others(0.02);
    assert!(near(burst.quota_ns, 25e6, 1e-9) && near(burst.ci_high_ns, 27e6, 1e-9), "{burst:?}");
}

/// Others that switch much take a third of the time in pieces too short to see; the CPU clock tells. One that only counts ticks cannot.
#[test]
fn a_cpu_clock_is_believed_however_far_it_is_behind_unless_it_goes_in_steps() {
    let timeline = |cpu_ns: u64| -> Vec<Interval> {
        (0..20).map(|k| Interval::Charged([50_000_000 * k, 50_000_000 * k + 7_500_000, cpu_ns])).collect()
    };
    let fine = quota::infer(&[timeline(5_000_300)]).unwrap();
    assert!(near(fine.quota_ns, 5e6, 0.001), "{fine:?}");
    let of_ticks = quota::infer(&[timeline(4_000_000)]).unwrap();
    assert!(near(of_ticks.quota_ns, 7.5e6, 0.001), "{of_ticks:?}");
}
