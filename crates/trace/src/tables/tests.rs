use super::*;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};
use std::fmt::Debug;
use std::fs;
use swtch_columns::{GROUP_ROWS, Layout, TableError, TableFile, encode, encode_columns, signature};

/// Makes any row from numbers, one a column, by what the column says of itself.
fn row<R: Columns + DeserializeOwned>(numbers: &[u64]) -> R {
    let mut object = serde_json::Map::new();
    for (index, column) in R::columns().iter().enumerate() {
        let number = numbers[index % numbers.len()].rotate_left(index as u32);
        let about = column.about();
        let value = match about.kind {
            _ if about.optional && number.is_multiple_of(3) => Json::Null,
            "u64" => json!(number),
            "u32" => json!(number as u32),
            "bool" => json!(number.is_multiple_of(2)),
            "text" => json!(
                ["", "nginx: worker", "/system.slice/a.service", "\u{1f600}\n\0\""][number as usize % 4]
            ),
            "word" => json!(["runnable", "sleeping", "uninterruptible", "other"][number as usize % 4]),
            "kind" => json!(["hard", "soft"][number as usize % 2]),
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
    let rows: Vec<R> = numbers.iter().map(|numbers| row(numbers)).collect();
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
    let error = encode(&[task(4097)], Vec::new()).unwrap_err();
    assert!(error.to_string().contains("column comm: a text has more than 4096 bytes"), "{error}");
    assert_eq!(read::<TaskRow>(written(&[task(4096)]).path()).unwrap(), [task(4096)]);
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
        "swtch/trace/1 switches at_ns:u64 cpu:u32 prev_tid:u32 next_tid:u32 prev_state:word ran_ns:u64? \
         waited_ns:u64? cost_ns:u32? waker_tid:u32?"
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

/// Whoever reads the file of a Trace with other programs finds the words that every export has.
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
    let columns = SwitchRow::earlier().remove(0);
    assert!(signature(SCHEMA, &columns).contains("prev_state:state ran_ns:u64 waited_ns"), "{}", signature(SCHEMA, &columns));
    encode_columns(columns, &rows, file.as_file_mut(), Layout::default()).unwrap();
    assert_eq!(read::<SwitchRow>(file.path()).unwrap(), rows);
}
