//! What the controller takes of a CPU every 2 s, for 6 CPUs and 6 applications; the original took at most 0.17 ms.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use scx_fair::{AppId, Controller, Counted, Usage};
use std::hint::black_box;
use swtch_fairness::Policy;

const SPEEDUPS: [[f64; 2]; 6] = [[3.0, 2.0], [2.6, 2.1], [2.2, 1.6], [1.8, 1.5], [1.5, 1.3], [1.2, 1.1]];

/// An interval, on this many cores of every kind; with two kinds the first speedup counts.
fn interval(criterion: &mut Criterion, name: &str, counts: &[u32], policy: Policy) {
    let kinds = counts.len();
    let mut controller =
        Controller::new(counts, policy, Counted::by("a benchmark", kinds)).expect("a machine");
    let mut totals: Vec<(AppId, Usage)> =
        (0..SPEEDUPS.len() as AppId).map(|app| (app, Usage::default())).collect();
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            for ((_, usage), speedups) in totals.iter_mut().zip(SPEEDUPS) {
                for (kind, speedup) in speedups[..kinds - 1].iter().chain(&[1.0]).enumerate() {
                    usage.ran_ns[kind] += 600_000_000;
                    usage.work[kind] += (6e8 * speedup) as u64;
                }
                usage.busy += 1;
                usage.weight += 100;
            }
            black_box(controller.step(black_box(&totals), |_| None).expect("shares")[0].shares[0])
        });
    });
}

fn controller(criterion: &mut Criterion) {
    let similar = Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published: false };
    interval(criterion, "controller, 6 CPUs, 6 applications, one interval", &[2, 4], similar);
    let min_fair = Policy::MinFair { min_fairness: 0.85 };
    interval(
        criterion,
        "controller, 6 CPUs of three kinds, 6 applications, one interval",
        &[1, 2, 3],
        min_fair,
    );
}

criterion_group!(benches, controller);
criterion_main!(benches);
