use super::*;
use crate::growth::Growth;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::fmt::Debug;
use std::fs;
use swtch_columns::rules::merge_equal;
use swtch_columns::{GROUP_ROWS, Layout, TableError, TableFile, encode, encode_columns, signature};

/// Makes any row from numbers, one a column, by what the column says of itself. Of a row that merges, keys are few and sums have room.
fn row<R: Columns + DeserializeOwned>(numbers: &[u64], merges: bool) -> R {
    let mut object = serde_json::Map::new();
    for (index, column) in R::columns().iter().enumerate() {
        let number = numbers[index % numbers.len()].rotate_left(index as u32);
        let about = column.about();
        let number = match about.rule {
            "key" if merges => number % 3,
            _ if merges => number % (1 << 30),
            _ => number,
        };
        let value = match about.kind {
            _ if about.optional && number.is_multiple_of(3) => Json::Null,
            "u64" => json!(number),
            "u32" => json!(number as u32),
            "i32" => json!(number as i32),
            "bool" => json!(number.is_multiple_of(2)),
            "text" => json!(
                ["", "nginx: worker", "/system.slice/a.service", "\u{1f600}\n\0\""][number as usize % 4]
            ),
            "word" => json!(["runnable", "sleeping", "uninterruptible", "other"][number as usize % 4]),
            "cgroup" => json!(["unknown", "pod"][number as usize % 2]),
            "kind" => json!(["hard", "soft"][number as usize % 2]),
            "reason" => json!(["voluntary", "wake"][number as usize % 2]),
            "scheduling policy" => json!(["other", "fifo", "idle"][number as usize % 3]),
            "start of a wait" => json!(["woken", "preempted"][number as usize % 2]),
            "thing in front" => json!(["task", "idle", "interrupt"][number as usize % 3]),
            other => panic!("no value for {other}"),
        };
        object.insert(about.name.to_owned(), value);
    }
    serde_json::from_value(Json::Object(object)).unwrap()
}

fn written<R: Columns>(rows: &[R]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    encode(rows, file.as_file_mut()).unwrap();
    file
}

fn read<R: Columns>(path: &std::path::Path) -> Result<Vec<R>, TableError> {
    TableFile::open(path)?.rows()
}

fn round_trip<R: Columns + DeserializeOwned + PartialEq + Debug>(numbers: &[Vec<u64>]) {
    let rows: Vec<R> = numbers.iter().map(|numbers| row(numbers, false)).collect();
    assert_eq!(read::<R>(written(&rows).path()).unwrap(), rows);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_table_is_read_back_as_it_was_written(
        numbers in prop::collection::vec(prop::collection::vec(any::<u64>(), 1..12), 0..40)
    ) {
        round_trip::<SwitchRow>(&numbers);
        round_trip::<TaskRow>(&numbers);
        round_trip::<CpuRow>(&numbers);
        round_trip::<CgroupRow>(&numbers);
        round_trip::<WakeRow>(&numbers);
        round_trip::<PreemptionRow>(&numbers);
        round_trip::<InterruptRow>(&numbers);
        round_trip::<IntervalRow>(&numbers);
        round_trip::<HistogramRow>(&numbers);
    }
}

#[test]
fn the_ends_of_the_numbers_survive() {
    let ends: Vec<Vec<u64>> =
        [0, 1, u64::MAX, u64::MAX / 2, u64::MAX / 2 + 1].iter().map(|end| vec![*end]).collect();
    round_trip::<SwitchRow>(&ends);
    round_trip::<TaskRow>(&ends);
}

#[test]
fn large_tables_have_several_row_groups() {
    let rows: Vec<SwitchRow> = (0..GROUP_ROWS as u64 * 2 + 10)
        .map(|index| SwitchRow { at_ns: index, cpu: index as u32 % 3, ..SwitchRow::default() })
        .collect();
    let file = written(&rows);
    let mut table = TableFile::<SwitchRow>::open(file.path()).unwrap();
    let lengths: Vec<usize> =
        std::iter::from_fn(|| table.next_group().unwrap()).map(|rows| rows.len()).collect();
    assert_eq!(lengths, [GROUP_ROWS, GROUP_ROWS, 10]);
    assert_eq!(read::<SwitchRow>(file.path()).unwrap(), rows);
}

#[test]
fn too_long_a_text_is_refused_and_the_longest_is_kept() {
    let task = |length| TaskRow { comm: "x".repeat(length), ..TaskRow::default() };
    let error = encode(&[task((1 << 16) + 1)], Vec::new()).unwrap_err();
    assert!(error.to_string().contains("column comm: a text has more than 65536 bytes"), "{error}");
    assert_eq!(read::<TaskRow>(written(&[task(1 << 16)]).path()).unwrap(), [task(1 << 16)]);
}

#[test]
fn a_full_disk_is_told_as_such() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        eprintln!("SKIP a_full_disk_is_told_as_such: there is no /dev/full");
        return;
    };
    let error = encode(&vec![SwitchRow::default(); 1000], full).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull, "{error}");
}

#[test]
fn a_file_of_another_table_is_told_apart() {
    let file = written(&[WakeRow::default()]);
    let error = read::<PreemptionRow>(file.path()).unwrap_err().to_string();
    assert!(error.contains("it does not have the columns of 'preemptions'"), "{error}");
    fs::write(file.path(), b"PAR1").unwrap();
    assert!(matches!(read::<WakeRow>(file.path()), Err(TableError::Damaged { .. })));
}

#[test]
fn what_is_no_file_is_not_opened() {
    let error = read::<WakeRow>(std::path::Path::new("/dev/null")).unwrap_err().to_string();
    assert!(error.contains("it is not a file"), "{error}");
}

/// The columns are the format: a change of them is a change of its version.
#[test]
fn the_columns_of_a_switch_are_what_they_were() {
    assert_eq!(
        signature(SCHEMA, &SwitchRow::columns()),
        "swtch/trace/3 switches at_ns:u64 cpu:u32 prev_tid:u32 next_tid:u32 prev_state:word ran_ns:u64? \
         waited_ns:u64? cost_ns:u32? waker_tid:u32? throttled:bool?"
    );
}

const STATES: [PrevState; 4] =
    [PrevState::Runnable, PrevState::Sleeping, PrevState::Uninterruptible, PrevState::Other];

fn of_every_state() -> Vec<SwitchRow> {
    let ran_ns = |state| (state != PrevState::Sleeping).then_some(7);
    STATES
        .map(|state| SwitchRow { ran_ns: ran_ns(state), prev_state: state, ..SwitchRow::default() })
        .to_vec()
}

/// A program that reads a Trace's file finds the words that every export has.
#[test]
fn a_state_is_a_word_in_the_file_too() {
    let reader = SerializedFileReader::new(written(&of_every_state()).reopen().unwrap()).unwrap();
    let found: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    let words: Vec<&str> = found.iter().map(|row| row.get_string(4).unwrap().as_str()).collect();
    assert_eq!(words, ["runnable", "sleeping", "uninterruptible", "other"]);
}

#[test]
fn switches_of_the_version_before_are_read_and_a_zero_is_unknown_there() {
    let rows = of_every_state();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let columns = SwitchRow::earlier().remove(1);
    assert!(
        signature(SCHEMA, &columns).contains("prev_state:state ran_ns:u64 waited_ns"),
        "{}",
        signature(SCHEMA, &columns)
    );
    encode_columns(columns, &rows, file.as_file_mut(), Layout::default()).unwrap();
    assert_eq!(read::<SwitchRow>(file.path()).unwrap(), rows);
}

#[test]
fn switches_of_the_second_version_do_not_say_what_a_quota_stopped() {
    let mut rows = of_every_state();
    let mut file = tempfile::NamedTempFile::new().unwrap();
    encode_columns(SwitchRow::earlier().remove(0), &rows, file.as_file_mut(), Layout::default()).unwrap();
    assert_eq!(read::<SwitchRow>(file.path()).unwrap(), rows);
    rows[0].throttled = Some(true);
    assert_eq!(read::<SwitchRow>(written(&rows).path()).unwrap(), rows);
}

#[test]
fn tasks_of_the_first_files_of_this_version_do_not_say_whether_they_waited_on_cpus() {
    let mut rows = vec![TaskRow { tid: 7, involuntary: 9, nice: Some(3), ..TaskRow::default() }];
    let mut file = tempfile::NamedTempFile::new().unwrap();
    encode_columns(TaskRow::earlier().remove(0), &rows, file.as_file_mut(), Layout::default()).unwrap();
    assert_eq!(read::<TaskRow>(file.path()).unwrap(), rows);
    (rows[0].spinning, rows[0].spinning_ns, rows[0].yields) = (Some(8), Some(7000), Some(2));
    assert_eq!(read::<TaskRow>(written(&rows).path()).unwrap(), rows);
}

/// A table of any rows that merge, at most one of a key.
fn any_rows<R: Row + DeserializeOwned>(numbers: &[Vec<u64>]) -> Vec<R> {
    let mut rows: Vec<R> = numbers.iter().map(|numbers| row(numbers, true)).collect();
    rows.sort_by(R::order);
    rows.dedup_by(|one, other| one.order(other).is_eq());
    rows
}

/// Histograms of all tasks and of single ones, in the classes of either layout.
fn any_histograms<const BITS: u32>(numbers: &[Vec<u64>]) -> Vec<HistogramRow> {
    let mut rows = Vec::new();
    for (index, numbers) in numbers.iter().enumerate() {
        let mut histogram = swtch_stats::Histogram::<BITS>::default();
        for number in numbers {
            histogram.add(number % 100_000);
        }
        let metric = ["wait", "slice"][index % 2];
        let of = ["all", "task 0", "task 1", "task 2"][index / 2 % 4];
        rows.extend(HistogramRow::of(metric, of, histogram.classes()));
    }
    merge_equal(rows)
}

/// Any tables, each with a layout of histograms.
fn any_tables() -> impl Strategy<Value = Tables> {
    let numbers = || prop::collection::vec(prop::collection::vec(any::<u64>(), 1..40), 0..9);
    (numbers(), numbers(), any::<bool>()).prop_map(|(rows, values, fine)| Tables {
        tasks: any_rows(&rows),
        cpus: any_rows(&rows),
        cgroups: any_rows(&rows),
        wakes: any_rows(&rows),
        preemptions: any_rows(&rows),
        waits: any_rows(&rows),
        interruptions: any_rows(&rows),
        interrupts: any_rows(&rows),
        intervals: any_rows(&rows),
        stacks: any_rows(&rows),
        histograms: if fine {
            any_histograms::<CLASS_BITS>(&values)
        } else {
            any_histograms::<TASK_CLASS_BITS>(&values)
        },
    })
}

proptest! {
    /// For a snapshot and whatever came after it.
    #[test]
    fn a_snapshot_and_the_difference_to_a_later_one_make_the_later_one(earlier in any_tables(), part in any_tables()) {
        let later = earlier.merge(&part);
        let growth = Growth::default();
        let delta = later.delta(&earlier, &growth);
        prop_assert_eq!(earlier.merge(&delta), later);
        prop_assert_eq!(growth.fell(), 0);
    }

    /// What a part does not know is not known of the whole, and never zero.
    #[test]
    fn a_cost_that_one_part_lacks_is_unknown(known in any::<u32>(), first in any::<bool>()) {
        let with = |switch_cost_ns| TaskRow { switch_cost_ns, voluntary: 1, ..TaskRow::default() };
        let tables = |row: TaskRow| Tables { tasks: vec![row], ..Tables::default() };
        let (one, other) = (tables(with(Some(known.into()))), tables(with(None)));
        let merged = if first { one.merge(&other) } else { other.merge(&one) };
        prop_assert_eq!((merged.tasks[0].switch_cost_ns, merged.tasks[0].voluntary), (None, 2));
    }
}

#[test]
fn a_counter_that_fell_is_counted_and_came_to_nothing() {
    let at = |run_ns, same_cpu| Tables {
        tasks: vec![TaskRow { run_ns, ..TaskRow::default() }],
        wakes: vec![WakeRow { same_cpu, ..WakeRow::default() }],
        ..Tables::default()
    };
    let growth = Growth::default();
    let delta = at(5, Some(1)).delta(&at(7, Some(2)), &growth);
    assert_eq!((delta.tasks[0].run_ns, delta.wakes[0].same_cpu, growth.fell()), (0, Some(0), 2));
}

/// `docs/columns.md` is made of what the tables say of their columns.
#[test]
fn the_page_of_the_columns_is_what_the_tables_say() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/columns.md");
    let page = reference();
    if std::env::var_os("SWTCH_WRITE_PAGES").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let why = "SWTCH_WRITE_PAGES=1 cargo test --lib columns writes it";
    assert!(fs::read_to_string(&path).unwrap_or_default() == page, "docs/columns.md is old: {why}\n{page}");
}
