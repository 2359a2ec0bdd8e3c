use super::*;
use crate::model::{Provenance, Scope};
use crate::tables::{TableSink, TaskRow};
use crate::writer::Writer;
use std::fs;
use swtch_columns::{Columns, Layout};
use swtch_topology::Field;
use swtch_topology::Host;

/// A finished Trace with two tasks and five switches.
fn trace(place: &Path) -> PathBuf {
    let folder = place.join("run.swtch");
    let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
    let mut writer = Writer::create(&folder, &header).unwrap().with_segment_rows(3);
    writer.put(&[TaskRow::default(), TaskRow::default()]).unwrap();
    writer.append_switches(&vec![SwitchRow::default(); 5]).unwrap();
    header.provenance.ended = Ended::Complete;
    writer.finish(&header).unwrap();
    folder
}

fn change_header(folder: &Path, change: impl FnOnce(&mut Header)) {
    let mut header = files::read_header(folder).unwrap();
    change(&mut header);
    fs::write(folder.join(HEADER), serde_json::to_vec(&header).unwrap()).unwrap();
}

/// The error that opening or streaming ends with.
fn error(folder: &Path) -> TraceError {
    let error = match Trace::open(folder) {
        Err(error) => error,
        Ok(trace) => trace.switches().find_map(Result::err).unwrap(),
    };
    assert!(!error.to_string().contains('\n'), "{error}");
    error
}

#[test]
fn what_is_no_trace_is_told_apart() {
    let place = tempfile::tempdir().unwrap();
    let text = |folder: &Path| error(folder).to_string();
    assert!(text(Path::new("/nowhere/at/all")).starts_with("cannot read /nowhere/at/all"));
    assert!(text(place.path()).contains("is not a Trace: it has no header.json"));
    let folder = trace(place.path());
    assert!(text(&folder.join(HEADER)).contains("it is not a directory"));
    let contents = |contents: &str| {
        fs::write(folder.join(HEADER), contents).unwrap();
        text(&folder)
    };
    assert!(contents("").contains("damaged: EOF"));
    assert!(contents("[]").contains("schema 'none'"));
    assert!(contents("{\"schema\":\"a\\nb\"}").contains("schema 'ab'"));
    assert!(contents("{\"schema\":\"swtch/trace/4\"}").contains("another version of swtch"));
    for schema in ["swtch/trace/1", "swtch/trace/2", "swtch/trace/3"] {
        assert!(contents(&format!("{{\"schema\":\"{schema}\"}}")).contains("damaged: missing field"));
    }
    assert!(contents(&"[".repeat(100_000)).contains("recursion limit"));
}

#[test]
fn a_missing_file_is_damage_and_a_missing_table_is_empty() {
    let place = tempfile::tempdir().unwrap();
    let folder = trace(place.path());
    fs::remove_file(folder.join("switches-000002.parquet")).unwrap();
    let found = error(&folder).to_string();
    assert!(found.contains("switches-000002.parquet is damaged: it is missing"), "{found}");
    let read = Trace::open(&folder).unwrap();
    assert_eq!(read.switches().flatten().count(), 3, "what is there comes before the error");
    assert_eq!(read.switches().count(), 4, "nothing comes after it");

    change_header(&folder, |header| header.tables.clear());
    let read = Trace::open(&folder).unwrap();
    assert_eq!((read.tasks.len(), read.switch_rows(), read.switches().count()), (0, None, 0));
}

#[test]
fn counts_must_agree_unless_the_recorder_did_not_finish() {
    let place = tempfile::tempdir().unwrap();
    let folder = trace(place.path());
    let claim = |table: usize, rows: u64, ended: Ended| {
        change_header(&folder, |header| {
            header.tables[table].rows = rows;
            header.provenance.ended = ended;
        });
    };
    claim(0, 7, Ended::Complete);
    assert!(error(&folder).to_string().contains("it claims 7 rows of 'tasks', and the files have 2"));
    claim(0, 7, Ended::Recording);
    assert_eq!(Trace::open(&folder).unwrap().tasks.len(), 2);
    claim(0, 2, Ended::Complete);
    claim(1, 4, Ended::Complete);
    assert!(matches!(error(&folder), TraceError::Damaged { .. }));
    claim(1, 4, Ended::Recording);
    assert_eq!(Trace::open(&folder).unwrap().switches().flatten().count(), 5);
    claim(1, 6, Ended::Recording);
    assert!(
        matches!(error(&folder), TraceError::Damaged { .. }),
        "switches are written before they are counted"
    );
}

#[test]
fn a_header_cannot_lead_out_of_the_folder() {
    let place = tempfile::tempdir().unwrap();
    let folder = trace(place.path());
    for name in
        ["../tasks.parquet", "/etc/passwd", "cpus.parquet", "tasks-.parquet", "tasks-1/../x.parquet", ""]
    {
        change_header(&folder, |header| header.tables[0].files = vec![name.to_owned()]);
        let found = error(&folder).to_string();
        assert!(found.contains("names a file that table 'tasks' cannot have"), "{name}: {found}");
    }
}

#[test]
fn tables_of_later_versions_are_passed_over() {
    let place = tempfile::tempdir().unwrap();
    let folder = trace(place.path());
    change_header(&folder, |header| {
        header.tables.push(Table {
            name: "locks".to_owned(),
            rows: 1,
            files: vec!["locks.parquet".to_owned()],
        });
    });
    assert_eq!(Trace::open(&folder).unwrap().tasks.len(), 2);
}

#[test]
fn a_trace_with_a_figure_that_cannot_be_true_is_refused_and_can_still_be_looked_into() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
    (header.duration_ns, header.provenance.ended) = (12_000_000_000, Ended::Complete);
    let mut writer = Writer::create(&folder, &header).unwrap();
    let row = TaskRow { tid: 7, in_scope: true, voluntary: (1 << 32) + 475, ..TaskRow::default() };
    writer.put(&[row]).unwrap();
    writer.finish(&header).unwrap();
    let found = error(&folder);
    assert!(matches!(found, TraceError::Impossible { .. }), "{found}");
    assert!(
        found.to_string().contains("tasks.voluntary of tid 7 (): 4294967771 is more than all that"),
        "{found}"
    );
    assert_eq!(Trace::open_unchecked(&folder).unwrap().tasks[0].voluntary, (1 << 32) + 475);
}

/// Writes a complete Trace of these tasks.
fn write_tasks(folder: &Path, tasks: &[TaskRow]) {
    let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
    let mut writer = Writer::create(folder, &header).unwrap();
    writer.put(tasks).unwrap();
    header.provenance.ended = Ended::Complete;
    writer.finish(&header).unwrap();
}

/// A Trace of version 1, with names that have changed since.
#[test]
fn a_trace_of_the_version_before_is_read() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let tasks = [TaskRow { tid: 7, in_scope: true, cold_switch_ins: Some(3), ..TaskRow::default() }];
    write_tasks(&folder, &tasks);
    // The name and the version as that version wrote them.
    let file = fs::File::create(folder.join("tasks.parquet")).unwrap();
    let old =
        TaskRow::earlier().into_iter().find(|all| all.iter().any(|one| one.about().name == "displaced"));
    swtch_columns::encode_columns(old.unwrap(), &tasks, file, Layout::default()).unwrap();
    change_header(&folder, |header| {
        header.schema = "swtch/trace/1".to_owned();
        header.sources.insert("tasks.displaced".to_owned(), "bpf".to_owned());
        header.miss(Field::from("tasks.displaced".to_owned()), "no room");
    });
    let text = fs::read(folder.join("tasks.parquet")).unwrap();
    assert!(String::from_utf8_lossy(&text).contains("displaced"));
    let trace = Trace::open(&folder).unwrap();
    assert_eq!((trace.tasks.as_slice(), trace.header.schema.as_str()), (&tasks[..], "swtch/trace/3"));
    assert_eq!(trace.header.sources["tasks.cold_switch_ins"], "bpf");
    assert_eq!(trace.header.unavailable[0].field.as_str(), "tasks.cold_switch_ins");
}

/// The second version has no table of waits, and its tasks have neither nice values nor policies.
#[test]
fn a_trace_of_the_second_version_is_read() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let tasks = [TaskRow { tid: 7, in_scope: true, cold_switch_ins: Some(3), ..TaskRow::default() }];
    write_tasks(&folder, &tasks);
    let file = fs::File::create(folder.join("tasks.parquet")).unwrap();
    let second = TaskRow::earlier().remove(1);
    assert!(second.iter().all(|column| !["nice", "policy", "displaced"].contains(&column.about().name)));
    swtch_columns::encode_columns(second, &tasks, file, Layout::default()).unwrap();
    change_header(&folder, |header| header.schema = "swtch/trace/2".to_owned());
    let trace = Trace::open(&folder).unwrap();
    assert_eq!((trace.tasks.as_slice(), trace.header.schema.as_str()), (&tasks[..], "swtch/trace/3"));
    assert!(trace.waits.is_empty());
}

/// The recordings that are kept were written by version 1.
#[test]
fn the_recordings_of_version_1_have_their_figures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/machine.swtch");
    let header = fs::read_to_string(folder.join(HEADER)).unwrap();
    assert!(header.contains("\"swtch/trace/1\""));
    let trace = Trace::open(&folder).unwrap();
    let cold = trace.tasks.iter().filter(|task| task.in_scope).map(|task| task.cold_switch_ins);
    assert!(cold.clone().all(|count| count.is_some()) && cold.flatten().sum::<u64>() > 0);
}
