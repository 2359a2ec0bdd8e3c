use super::*;
use proptest::prelude::*;

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        (prop::collection::vec(any::<String>(), 0..4), any::<u32>())
            .prop_map(|(command, pid)| Scope::Command { command, pid }),
        prop::collection::vec(any::<u32>(), 0..4).prop_map(|pids| Scope::Processes { pids }),
        any::<String>().prop_map(|path| Scope::Cgroup { path }),
        Just(Scope::Machine),
    ]
}

fn ended() -> impl Strategy<Value = Ended> {
    use Ended::{Complete, DiskFull, Duration, Failed, Interrupted, Recording, TargetGone};
    prop::sample::select(vec![Recording, Complete, Duration, Interrupted, DiskFull, TargetGone, Failed])
}

proptest! {
    #[test]
    fn a_header_is_read_back_as_it_was_written(
        scope in scope(),
        ended in ended(),
        number in any::<Option<u64>>(),
        count in any::<u64>(),
        text in any::<String>(),
        exit_status in any::<Option<i32>>(),
    ) {
        let provenance = Provenance { ended, why: text.clone(), started_unix_ns: count, ..Provenance::default() };
        let mut header = Header::new(provenance, Host::default(), scope);
        header.exit_status = exit_status;
        header.totals.context_switches.voluntary = number;
        header.totals.throttled =
            number.map(|number| Throttled { periods: number, throttled_periods: count, throttled_ns: 0 });
        header.totals.pressure =
            vec![Pressure { resource: text.clone(), some_ns: number, full_ns: None }];
        header.lost = vec![Lost { cpu: number.map(|number| number as u32), events: count, what: text.clone() }];
        header.sources.insert(text.clone(), text.clone());
        header.unavailable = vec![Unavailable::new(text.clone(), text.clone())];
        header.tables = vec![Table { name: text.clone(), rows: count, files: vec![text] }];
        let json = serde_json::to_string(&header).unwrap();
        prop_assert_eq!(serde_json::from_str::<Header>(&json).unwrap(), header);
    }
}

#[test]
fn names_in_the_file_are_kebab_case() {
    let json = serde_json::to_value((Ended::DiskFull, Origin::Simulated, Scope::Processes { pids: vec![7] }));
    let expected = serde_json::json!(["disk-full", "simulated", { "kind": "processes", "pids": [7] }]);
    assert_eq!(json.unwrap(), expected);
}

#[test]
fn a_recording_says_that_its_recorder_did_not_finish() {
    assert_eq!(Ended::default().to_string(), "its recorder did not finish");
}

#[test]
fn counts_are_reconciled_over_their_whole_range() {
    let row = |counted, kernel| Reconciliation { counted, kernel, ..Reconciliation::default() };
    assert_eq!((row(3, 0).difference(), row(3, 0).share()), (3, None));
    assert_eq!(row(0, u64::MAX).difference(), i64::MIN);
    assert_eq!(row(u64::MAX, 0).difference(), i64::MAX);
    assert_eq!(row(u64::MAX, u64::MAX - 1).difference(), 1);
}
