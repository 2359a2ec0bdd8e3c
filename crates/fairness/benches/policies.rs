//! What shares cost to compute. `cargo bench -p swtch-fairness --all-features`
#![allow(missing_docs)]

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use swtch_fairness::{Allocator, Cores, POLICIES, Policy};

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
        for name in POLICIES {
            let policy = Policy::from_name(name).unwrap();
            group.bench_function(BenchmarkId::new(name, applications), |bencher| {
                bencher.iter(|| allocator.allocate(cores, &speedups, &policy, &mut shares).unwrap());
            });
        }
    }
    group.finish();
}

criterion_group!(benches, policies);
criterion_main!(benches);
