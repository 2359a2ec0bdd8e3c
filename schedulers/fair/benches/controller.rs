//! What the controller takes of a CPU every 2 s, for 6 CPUs and 6 applications; the original took at most 0.17 ms.
#![allow(missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use scx_fair::{AppId, Controller, Counted, Usage};
use std::hint::black_box;
use swtch_fairness::{Cores, Policy};

fn controller(criterion: &mut Criterion) {
    let speedups = [3.0, 2.6, 2.2, 1.8, 1.5, 1.2];
    let policy = Policy::SimilarMinFair { min_fairness: 0.85, similarity: 0.2, published: false };
    let cores = Cores::new(2, 4).expect("a machine");
    let mut controller = Controller::new(cores, policy, Counted::by("a benchmark"));
    let mut totals: Vec<(AppId, Usage)> =
        (0..speedups.len() as AppId).map(|app| (app, Usage::default())).collect();
    criterion.bench_function("controller, 6 CPUs, 6 applications, one interval", |bencher| {
        bencher.iter(|| {
            for ((_, usage), speedup) in totals.iter_mut().zip(speedups) {
                usage.fast_ns += 700_000_000;
                usage.slow_ns += 1_300_000_000;
                usage.fast_work += (7e8 * speedup) as u64;
                usage.slow_work += 1_300_000_000;
                usage.busy += 1;
            }
            black_box(controller.step(black_box(&totals)).expect("shares")[0].share)
        });
    });
}

criterion_group!(benches, controller);
criterion_main!(benches);
