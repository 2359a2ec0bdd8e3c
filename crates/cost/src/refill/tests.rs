use super::*;
use crate::model::miss_ns;
use proptest::prelude::*;

fn point(array_bytes: u64, work_ns: f64, refill_ns: f64) -> Refill {
    Refill { array_bytes, work_ns, refill_ns }
}

/// Level 2 of 1 MiB, level 3 of 16 MiB.
fn model() -> CostModel {
    let refills = vec![
        point(1 << 10, 500.0, 20.0),
        point(1 << 15, 1_500.0, 100.0),
        point(1 << 17, 5_000.0, 150.0),
        point(1 << 19, 30_000.0, 8_000.0),
        point(1 << 23, 300_000.0, 9_000.0),
        point(1 << 25, 1_200_000.0, 50_000.0),
        point(1 << 19, 200_000.0, 7_000.0),
    ];
    let mut model = CostModel {
        thread_switch_ns: None,
        process_switch_ns: None,
        least_sleep_ns: None,
        least_yield_ns: None,
        other_cpu_ns: None,
        refills,
        cache_bytes: Some(1 << 24),
        miss_ns: None,
        hand_over: None,
        measured_on: None,
    };
    model.refills.sort_by(|a, b| a.work_ns.total_cmp(&b.work_ns));
    model.miss_ns = miss_ns(&model.refills, 1 << 24);
    model
}

/// Ten slices of 100 µs, all in the program.
fn task(working_set_bytes: Option<u64>) -> TaskRow {
    TaskRow {
        in_scope: true,
        voluntary: 10,
        run_ns: 1_000_000,
        cold_switch_ins: Some(10),
        user_ns: Some(1_000_000),
        system_ns: Some(0),
        working_set_bytes,
        ..TaskRow::default()
    }
}

fn high(task: &TaskRow, others: &[&TaskRow]) -> (f64, IndirectFrom) {
    let model = model();
    let all: Vec<&TaskRow> = others.iter().copied().chain([task]).collect();
    let (range, from) = Refills::of(&model, &all, None).of_task(task).unwrap();
    assert_eq!(range.low, 0.0);
    (range.high, from)
}

#[test]
fn without_a_working_set_only_the_slice_bounds() {
    assert_eq!(high(&task(None), &[]), (10.0 * 8_000.0, IndirectFrom::SliceLength));
}

#[test]
fn small_memory_is_read_from_the_curve_at_the_next_size() {
    let small = task(Some(100_000));
    assert_eq!(high(&small, &[]), (10.0 * 150.0, IndirectFrom::WorkingSet));
    assert_eq!(high(&small, &[&task(Some(130_000))]), (10.0 * 150.0, IndirectFrom::WorkingSet));
}

/// A task with little memory that others displace loses at most all of it; the curve, of two equal arrays, knows nothing of that.
#[test]
fn others_with_more_memory_displace_all_of_it() {
    let small = task(Some(100_000));
    // The dearest line: 8,000 ns less the 20 that any switch costs, of 8,192 lines.
    let all_ns = 20.0 + (8_000.0 - 20.0) / 8_192.0 * 1_563.0;
    for other in [task(Some(1 << 30)), task(None)] {
        let (ns, from) = high(&small, &[&other]);
        assert!((ns - 10.0 * all_ns).abs() < 1e-6, "{ns}");
        assert_eq!(from, IndirectFrom::WorkingSet);
    }
    // One that hardly ran does not matter.
    let short = TaskRow { run_ns: 10_000, ..task(None) };
    assert_eq!(high(&small, &[&short]).0, 10.0 * 150.0);
}

#[test]
fn time_in_the_kernel_is_bounded_by_its_length_alone() {
    let half = TaskRow { user_ns: Some(500_000), system_ns: Some(500_000), ..task(Some(1 << 10)) };
    // 50 µs of each slice in the kernel: time enough for the array of 512 KiB.
    assert_eq!(high(&half, &[]), (10.0 * 8_000.0, IndirectFrom::SliceLength));
    let tenth = TaskRow { user_ns: Some(900_000), system_ns: Some(100_000), ..half.clone() };
    assert_eq!(high(&tenth, &[]), (10.0 * (20.0 + 150.0), IndirectFrom::WorkingSet));
    // The row does not say how the time divides into user and kernel time.
    let unknown = TaskRow { system_ns: None, ..half };
    assert_eq!(high(&unknown, &[]).1, IndirectFrom::SliceLength);
}

/// The least of the bounds counts, and a probe is one.
#[test]
fn a_probe_bounds_each_return() {
    let (model, task) = (model(), task(None));
    let found = |refill_high_ns| {
        let probed = ProbedRefill { refill_high_ns, ..ProbedRefill::default() };
        let (range, from) = Refills::of(&model, &[&task], Some(&probed)).of_task(&task).unwrap();
        (range.high, from)
    };
    assert_eq!(found(3_000.0), (10.0 * 3_000.0, IndirectFrom::Probe));
    assert_eq!(found(-5.0), (0.0, IndirectFrom::Probe));
    assert_eq!(found(9_000.0), (10.0 * 8_000.0, IndirectFrom::SliceLength));
}

#[test]
fn misses_bound_what_the_largest_cache_did_not_hold() {
    let model = model();
    // 200 µs and 7 µs over 8,192 lines.
    assert!((model.miss_ns.unwrap() - 207_000.0 / 8_192.0).abs() < 1e-9);
    // No array was larger than the cache: none says what its misses cost.
    assert_eq!(miss_ns(&model.refills, 1 << 26), None);
    let long = TaskRow { run_ns: 100_000_000, cache_misses: Some(1_000), ..task(None) };
    let (ns, from) = high(&long, &[]);
    assert!((ns - (10.0 * 9_000.0 + 1_000.0 * model.miss_ns.unwrap())).abs() < 1e-6, "{ns}");
    assert_eq!(from, IndirectFrom::CacheMisses);
    let many = TaskRow { cache_misses: Some(1 << 40), ..long };
    assert_eq!(high(&many, &[]), (10.0 * 50_000.0, IndirectFrom::SliceLength));
}

proptest! {
    #[test]
    fn more_memory_never_lowers_the_bound_and_no_bound_is_longer_than_the_run(
        bytes in 0_u64..1 << 32, more in 0_u64..1 << 32, run_ns in 0_u64..1 << 40, switches in 1_u64..1 << 20,
        cold_switch_ins in 0_u64..1 << 20, system in 0_u64..1 << 20, misses in proptest::option::of(0_u64..1 << 40),
        other in proptest::option::of(0_u64..1 << 32),
    ) {
        let with = |working_set_bytes| TaskRow {
            run_ns, voluntary: switches, cold_switch_ins: Some(cold_switch_ins), system_ns: Some(system),
            user_ns: Some(1 << 19), cache_misses: misses, ..task(working_set_bytes)
        };
        let other = task(other);
        let small = high(&with(Some(bytes)), &[&other]).0;
        prop_assert!(small <= high(&with(Some(bytes + more)), &[&other]).0);
        prop_assert!(small <= high(&with(None), &[&other]).0);
        prop_assert!(small <= run_ns as f64);
    }

    #[test]
    fn more_misses_never_lower_the_bound(misses in 0_u64..1 << 40, more in 0_u64..1 << 40, run_ns in 0_u64..1 << 40) {
        let with = |misses| TaskRow { run_ns, cache_misses: Some(misses), ..task(None) };
        prop_assert!(high(&with(misses), &[]).0 <= high(&with(misses + more), &[]).0);
    }
}
