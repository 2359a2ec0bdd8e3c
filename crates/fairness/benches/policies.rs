//! What shares cost to compute. `cargo bench -p swtch-fairness`
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use swtch_fairness::{Allocator, CoreTypes, Cores, POLICIES, Policy};

/// Speedups from 1 to 4 in no order, the same in every run.
fn speedups(count: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        1.0 + 3.0 * (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(|_| next()).collect()
}

fn policies(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("allocate");
    for applications in [6_usize, 10_000] {
        let cores =
            Cores::new(applications as u32 / 3, applications as u32 - applications as u32 / 3).unwrap();
        let speedups = speedups(applications);
        let mut shares = vec![0.0; applications];
        let mut allocator = Allocator::with_capacity(applications);
        for name in POLICIES.map(|row| row.name) {
            let policy = Policy::from_name(name).unwrap();
            group.bench_function(BenchmarkId::new(name, applications), |bencher| {
                bencher.iter(|| allocator.allocate(cores, &speedups, &policy, &mut shares).unwrap());
            });
        }
    }
    group.finish();
}

/// Three kinds of cores: a sixth, a third and a half of them. The speeds of each application on them are the speedup, its root and 1.
fn kinds(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("core types");
    for applications in [6_usize, 100] {
        let fast = (applications / 6) as u32;
        let counts = vec![fast, 2 * fast, applications as u32 - 3 * fast];
        let speeds: Vec<Vec<f64>> =
            speedups(applications).into_iter().map(|speedup| vec![speedup, speedup.sqrt(), 1.0]).collect();
        group.bench_function(BenchmarkId::new("min-fair, three kinds", applications), |bencher| {
            bencher.iter(|| CoreTypes::new(counts.clone(), speeds.clone()).unwrap().min_fair(0.85).unwrap());
        });
    }
    group.finish();
}

criterion_group!(benches, policies, kinds);
criterion_main!(benches);
