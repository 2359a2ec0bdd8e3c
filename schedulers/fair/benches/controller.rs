//! What the controller takes of a CPU every 2 s, for 6 CPUs and 6 applications; the original took at most 0.17 ms.
#![allow(missing_docs, clippy::print_stderr)]

use criterion::{Criterion, criterion_group, criterion_main};
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapType, libbpf_sys::bpf_map_create_opts};
use scx_fair::{AppId, Apps, Controller, Counted, ORDER_BYTES, Usage, applications_at_most, give, usages};
use std::hint::black_box;
use std::process::{Child, Command};
use swtch_fairness::Policy;

const SPEEDUPS: [[f64; 2]; 6] = [[3.0, 2.0], [2.6, 2.1], [2.2, 1.6], [1.8, 1.5], [1.5, 1.3], [1.2, 1.1]];

/// What all have had when another interval is over.
fn pass(totals: &mut [(AppId, Usage)], kinds: usize) {
    for ((_, usage), speedups) in totals.iter_mut().zip(SPEEDUPS) {
        for (kind, speedup) in speedups[..kinds - 1].iter().chain(&[1.0]).enumerate() {
            usage.ran_ns[kind] += 600_000_000;
            usage.work[kind] += (6e8 * speedup) as u64;
        }
        usage.busy += 1;
        usage.weight += 100;
    }
}

/// An interval, on this many cores of every kind; with two kinds the first speedup counts.
fn interval(criterion: &mut Criterion, name: &str, counts: &[u32], policy: Policy) {
    let kinds = counts.len();
    let mut controller =
        Controller::new(counts, policy, Counted::by("a benchmark", kinds)).expect("a machine");
    let mut totals: Vec<(AppId, Usage)> =
        (0..SPEEDUPS.len() as AppId).map(|app| (app, Usage::default())).collect();
    criterion.bench_function(name, |bencher| {
        bencher.iter(|| {
            pass(&mut totals, kinds);
            black_box(controller.step(black_box(&totals), |_| None).expect("shares")[0].shares[0])
        });
    });
}

/// Maps like those of the BPF half (fair.bpf.c), on this kernel, which need not have sched_ext: what applications had, their orders, and what holds for all.
struct Maps {
    usages: MapHandle,
    orders: MapHandle,
    generals: MapHandle,
}

/// `struct general`.
const GENERAL_BYTES: u32 = 64;

impl Maps {
    fn new(apps: &[AppId]) -> libbpf_rs::Result<Self> {
        let options = bpf_map_create_opts { sz: size_of::<bpf_map_create_opts>() as _, ..Default::default() };
        let map = |kind, name, key_bytes, value_bytes, entries| {
            MapHandle::create(kind, Some(name), key_bytes, value_bytes, entries, &options)
        };
        let maps = Self {
            usages: map(MapType::LruHash, "usages", 8, Usage::BYTES as u32, applications_at_most(6))?,
            orders: map(MapType::Hash, "orders", 8, ORDER_BYTES as u32, 16384)?,
            generals: map(MapType::Array, "generals", 4, GENERAL_BYTES, 1)?,
        };
        for app in apps {
            maps.usages.update(&app.to_ne_bytes(), &[0; Usage::BYTES], MapFlags::ANY)?;
        }
        Ok(maps)
    }

    fn totals(&self) -> libbpf_rs::Result<Vec<(AppId, Usage)>> {
        Ok(usages(&self.usages)?.into_iter().filter(|(app, _)| Apps::Processes.is_there(*app)).collect())
    }

    fn give(&self, apps: &[AppId]) -> libbpf_rs::Result<()> {
        self.generals.update(&0_u32.to_ne_bytes(), &[1; GENERAL_BYTES as usize], MapFlags::ANY)?;
        let orders: Vec<_> = apps.iter().map(|app| (*app, [1; ORDER_BYTES])).collect();
        give(&self.orders, &orders)
    }
}

/// An interval with all that it asks of the kernel: which applications are there, what they had, and their orders.
fn with_maps(criterion: &mut Criterion) {
    let sleeping = || Command::new("sleep").arg("600").spawn();
    let mut children: Vec<Child> = SPEEDUPS.iter().map(|_| sleeping().expect("sleep")).collect();
    let apps: Vec<AppId> = children.iter().map(|child| AppId::from(child.id())).collect();
    match Maps::new(&apps) {
        Ok(maps) => {
            let policy = Policy::MinFair { min_fairness: 0.85 };
            let mut controller =
                Controller::new(&[2, 4], policy, Counted::by("a benchmark", 2)).expect("a machine");
            // Maps have no more than what they began with: nothing runs.
            let mut totals: Vec<(AppId, Usage)> = apps.iter().map(|app| (*app, Usage::default())).collect();
            criterion.bench_function(
                "controller with maps, 6 CPUs, 6 applications, one interval",
                |bencher| {
                    bencher.iter(|| {
                        assert_eq!(black_box(maps.totals().expect("usages")).len(), SPEEDUPS.len());
                        pass(&mut totals, 2);
                        black_box(controller.step(&totals, |_| None).expect("shares").len());
                        maps.give(&apps).expect("orders");
                    });
                },
            );
        }
        Err(error) => eprintln!("without maps: {error}; making them takes root"),
    }
    for child in &mut children {
        let _ = child.kill();
        let _ = child.wait();
    }
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

criterion_group!(benches, controller, with_maps);
criterion_main!(benches);
