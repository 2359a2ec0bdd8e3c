use super::super::{CostSource, TopRow, Window, json, rates::Rates};
use super::*;
use proptest::prelude::*;
use swtch_cost::{CostModel, Range};

fn row<'a>(rows: &'a [TopRow], name: &str) -> &'a TopRow {
    rows.iter().find(|row| row.name == name).unwrap_or_else(|| panic!("no {name} in {rows:?}"))
}

#[test]
fn rates_are_differences_a_second() {
    let window = machine();
    let web = &row(&window.tasks, "web").rates;
    assert_eq!((web.voluntary_per_s, web.involuntary_per_s, web.switches_per_s()), (2000.0, 100.0, 2100.0));
    assert_eq!(web.cost_ns, Some(Range::exactly(1500.0)));
    assert!((web.cost_share.unwrap().low - 4200.0 * 1500.0 / 2e9).abs() < 1e-12);
    assert_eq!((web.cpu_share, web.wait_share), (0.21, Some(0.02)));
    assert_eq!((web.wakeups_per_s, web.migrations_per_s), (Some(2000.0), Some(200.0)));
    assert_eq!(row(&window.tasks, "short").rates.voluntary_per_s, 1.5, "what is new counts from nothing");
    let batch = row(&window.tasks, "batch").preempted_by.as_ref().unwrap();
    assert_eq!((batch[0].comm.as_str(), batch[0].per_s, batch[0].wait_share), ("web", 250.0, Some(0.05)));
    assert_eq!(batch.len(), 2);
    assert_eq!(row(&window.tasks, "web-worker").woken_by.as_ref().unwrap()[0].comm, "web");
    assert_eq!(
        row(&window.tasks, "web").preempted_by,
        Some(Vec::new()),
        "an empty list is not an unknown one"
    );
    let behind = row(&window.tasks, "web-worker").behind.as_ref().unwrap();
    let found: Vec<_> = behind.iter().map(|part| (part.name(), part.wait_share)).collect();
    assert_eq!(found, [("batch", 0.08), ("interrupts", 0.02)], "however the waits began");
    assert_eq!(row(&window.tasks, "short").behind, Some(Vec::new()), "nothing is not unknown");
    let totals = &window.totals;
    assert_eq!(window.cost_source, CostSource::InPlace);
    assert_eq!(totals.cost_share, Some(Range::exactly(16e6 / (2e9 * 4.0))));
    assert_eq!((totals.tasks, totals.active, totals.lost), (5, 5, 0));
    assert_eq!((totals.own_cpu_share, totals.pressure[0].1), (Some(0.004), 0.15));
    assert_eq!(window.cpus[1].shares.user, Some(0.4));
    assert_eq!(window.switches_per_s(), Some(3912.0));
}

#[test]
fn processes_and_groups_are_sums_and_their_quantile_is_a_bound() {
    let window = machine();
    let processes = window.processes();
    let web = row(&processes, "web");
    assert_eq!((web.pid, web.tasks, web.rates.switches_per_s()), (Some(200), 2, 3600.0));
    assert_eq!((web.rates.wait_p50_ns, web.rates.wait_p99_ns), (None, Some(180_201)));
    assert!((web.rates.cost_ns.unwrap().low - 1500.0).abs() < 1e-9);
    assert_eq!(web.preempted_by.as_ref().unwrap()[0].comm, "batch");
    let behind = &web.behind.as_ref().unwrap()[0];
    assert_eq!((behind.name(), (1e6 * behind.wait_share).round()), ("batch", 85_000.0), "of both its tasks");
    let groups = window.cgroups();
    assert_eq!(row(&groups, "/app.slice/200.service").rates, web.rates);
    let all = |rows: &[TopRow]| rows.iter().map(|row| row.rates.switches_per_s()).sum::<f64>();
    assert!((all(&groups) - all(&window.tasks)).abs() < 1e-6);
    assert!((all(&processes) - all(&window.tasks)).abs() < 1e-6);
}

#[test]
fn what_the_source_does_not_see_is_missing_and_not_zero() {
    let window = sampled();
    let web = row(&window.tasks, "web");
    assert_eq!(window.cost_source, CostSource::Unknown);
    let Rates { cost_share, cost_ns, wakeups_per_s, migrations_per_s, wait_max_ns, .. } = &web.rates;
    assert_eq!((*cost_share, *cost_ns, *wakeups_per_s), (None, None, None));
    assert_eq!((*migrations_per_s, *wait_max_ns), (None, None));
    assert_eq!((&web.preempted_by, &web.woken_by, &web.behind), (&None, &None, &None));
    let json = json(&window);
    assert!(json["tasks"][0]["rates"]["cost_share"].is_null());
    assert_eq!(json["unavailable"][0]["what"], "preemptions");
}

#[test]
fn a_profile_prices_what_was_not_measured() {
    let model = CostModel {
        thread_switch_ns: Some(Range { low: 1000.0, high: 1200.0 }),
        process_switch_ns: Some(Range { low: 2000.0, high: 2400.0 }),
        ..CostModel::default()
    };
    let unpriced = |voluntary| TaskRow { switch_cost_ns: None, ..task(200, 200, "web", voluntary, 0) };
    let (before, after) =
        (snapshot(1, "procfs", vec![unpriced(0)]), snapshot(2, "procfs", vec![unpriced(100)]));
    let window = Window::between(&before, &after, Some(&model));
    assert_eq!(window.cost_source, CostSource::Profile);
    assert_eq!(window.tasks[0].rates.cost_ns, Some(Range { low: 1000.0, high: 2400.0 }));
    let kinds = |row: TaskRow| TaskRow {
        process_switches: Some(row.voluntary / 2),
        thread_switches: Some(row.voluntary / 2),
        ..row
    };
    let (before, after) =
        (snapshot(1, "procfs", vec![kinds(unpriced(0))]), snapshot(2, "procfs", vec![kinds(unpriced(100))]));
    let window = Window::between(&before, &after, Some(&model));
    assert_eq!(window.tasks[0].rates.cost_ns, Some(Range { low: 1500.0, high: 1800.0 }));
}

#[test]
fn a_number_given_again_is_another_task() {
    let old = task(7, 7, "old", 900, 90);
    let new = TaskRow { first_ns: 5, ..task(7, 7, "new", 10, 0) };
    let before = snapshot(1, "bpf-events", vec![old.clone()]);
    let mut after = snapshot(2, "bpf-events", vec![TaskRow { voluntary: 901, ..old }, new]);
    after.tables.preemptions = vec![PreemptionRow { by_tid: 9, of_tid: 7, count: 4, ns: None }];
    let window = Window::between(&before, &after, None);
    let (old, new) = (row(&window.tasks, "old"), row(&window.tasks, "new"));
    assert_eq!((old.rates.voluntary_per_s, old.ended), (1.0, true));
    assert_eq!((new.rates.voluntary_per_s, new.ended), (10.0, false));
    assert_eq!(old.preempted_by.as_ref().unwrap().len(), 0);
    assert_eq!(new.preempted_by.as_ref().unwrap()[0].comm, "tid 9");
}

#[test]
fn processors_that_come_and_go_make_no_figures_up() {
    let (mut before, mut after) =
        (snapshot(1, "bpf-events", Vec::new()), snapshot(2, "bpf-events", Vec::new()));
    before.tables.cpus = vec![cpu(0, 1000, 500, 0, 500), cpu(1, 9000, 100, 0, 100)];
    after.tables.cpus = vec![cpu(0, 1500, 900, 0, 900), cpu(2, 50, 100_000, 0, 0)];
    let window = Window::between(&before, &after, None);
    let found: Vec<_> =
        window.cpus.iter().map(|cpu| (cpu.cpu, cpu.switches_per_s, cpu.shares.user)).collect();
    assert_eq!(found, [(0, Some(500.0), Some(0.5)), (2, Some(50.0), None)]);
    // A CPU that the system says nothing about has no idle time either.
    after.tables.cpus[0].user_ns = None;
    assert_eq!(Window::between(&before, &after, None).cpus[0].shares.idle, None);
}

fn any_task() -> impl Strategy<Value = TaskRow> {
    let counts = (0_u64..5000, 0_u64..5000, 0_u64..1 << 40, prop::option::of(0_u64..1 << 40));
    (0_u32..6, 0_u64..3, counts, any::<bool>()).prop_map(
        |(tid, first_ns, (voluntary, involuntary, run_ns, cost), in_scope)| TaskRow {
            first_ns,
            in_scope,
            run_ns,
            switch_cost_ns: cost,
            ..task(tid, tid / 2, "any", voluntary, involuntary)
        },
    )
}

fn any_snapshot(at: std::ops::Range<u64>) -> impl Strategy<Value = Snapshot> {
    let totals =
        (prop::option::of(0_u64..9000), prop::option::of(0_u64..9000), prop::option::of(0_u64..9000));
    let cpus = prop::collection::vec((0_u32..5, 0_u64..9000, 0_u64..9000, 0_u64..9000), 0..5);
    (at, prop::collection::vec(any_task(), 0..12), totals, cpus).prop_map(|(at, tasks, totals, cpus)| {
        let mut later = snapshot(at, "bpf-events", tasks);
        later.header.totals.context_switches.voluntary = totals.0;
        later.header.totals.switch_cost_ns = totals.1;
        later.header.recorder.cpu_ns = totals.2;
        later.tables.cpus =
            cpus.into_iter().map(|(number, one, two, three)| cpu(number, one, two, three, one)).collect();
        later
    })
}

proptest! {
    /// Whatever ends, comes, begins again or gets another's number.
    #[test]
    fn nothing_is_ever_negative(before in any_snapshot(0..9), after in any_snapshot(0..9)) {
        let window = Window::between(&before, &after, None);
        let fine = |value: f64| value.is_finite() && value >= 0.0;
        let rows = window.tasks.iter().cloned().chain(window.processes()).chain(window.cgroups());
        for TopRow { rates, .. } in rows {
            prop_assert!([rates.voluntary_per_s, rates.involuntary_per_s, rates.cpu_share].into_iter().all(fine));
            let some = [rates.wait_share, rates.wakeups_per_s, rates.migrations_per_s, rates.cost_share.map(Range::middle)];
            prop_assert!(some.into_iter().flatten().all(fine));
            prop_assert!(rates.cost_ns.is_none_or(|cost| fine(cost.low) && cost.low <= cost.high));
        }
        let totals = &window.totals;
        let some = [totals.voluntary_per_s, totals.own_cpu_share, totals.cost_share.map(|share| share.low)];
        prop_assert!(some.into_iter().flatten().all(fine));
        for cpu in &window.cpus {
            let shares = [cpu.shares.user, cpu.shares.system, cpu.shares.idle, cpu.shares.steal];
            let sum = shares.into_iter().flatten().sum::<f64>();
            prop_assert!(shares.into_iter().flatten().all(fine) && sum < 1.0 + 1e-9);
        }
        prop_assert!(json(&window)["tasks"].is_array());
    }

    /// The windows of a task that lives on add up to its sums, wherever one window ends and the next begins.
    #[test]
    fn windows_of_one_task_add_up(steps in prop::collection::vec((1_u64..5, 0_u64..1000), 1..20)) {
        let (mut at, mut count, mut seen) = (1, 0, 0.0);
        let mut before = snapshot(at, "bpf-events", vec![task(5, 5, "one", 0, 0)]);
        for (seconds, more) in steps {
            at += seconds;
            count += more;
            let after = snapshot(at, "bpf-events", vec![task(5, 5, "one", count, 0)]);
            let window = Window::between(&before, &after, None);
            seen += window.tasks[0].rates.voluntary_per_s * window.length_ns as f64 / 1e9;
            before = after;
        }
        prop_assert!((seen - count as f64).abs() < 1e-6);
    }
}
