use super::*;
use crate::model::{Ended, Provenance, Scope};
use crate::reader::Trace;
use crate::tables::{CpuRow, TaskRow};
use swtch_topology::Host;

fn header() -> Header {
    Header::new(Provenance::default(), Host::default(), Scope::Machine)
}

fn complete() -> Header {
    let mut header = header();
    header.provenance.ended = Ended::Complete;
    header
}

fn switches(range: std::ops::Range<u64>) -> Vec<SwitchRow> {
    range.map(|at_ns| SwitchRow { at_ns, next_tid: at_ns as u32 + 1, ..SwitchRow::default() }).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn switches_in(folder: &Path) -> Vec<SwitchRow> {
    Trace::open(folder).unwrap().switches().map(Result::unwrap).collect()
}

/// What a reader finds that comes just after the recorder was killed.
fn copied(folder: &Path) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in names(folder) {
        fs::copy(folder.join(&name), copy.path().join(&name)).unwrap();
    }
    copy
}

#[test]
fn a_whole_trace_is_read_back() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap().with_segment_rows(10);
    writer.put(&[TaskRow { tid: 1, comm: "first".to_owned(), ..TaskRow::default() }]).unwrap();
    writer.append_switches(&switches(0..25)).unwrap();
    let tasks = [TaskRow { tid: 2, comm: "second".to_owned(), ..TaskRow::default() }];
    writer.put(&tasks).unwrap();
    writer.put::<CpuRow>(&[]).unwrap();
    let mut last = complete();
    last.duration_ns = 77;
    writer.finish(&last).unwrap();

    let trace = Trace::open(&folder).unwrap();
    assert_eq!((trace.header.duration_ns, trace.is_unfinished()), (77, false));
    assert_eq!((trace.tasks.as_slice(), trace.cpus.len(), trace.wakes.len()), (&tasks[..], 0, 0));
    assert_eq!(trace.switch_rows(), Some(25));
    assert_eq!(switches_in(&folder), switches(0..25));
    assert_eq!(
        names(&folder),
        [
            "cpus.parquet",
            "header.json",
            "switches-000001.parquet",
            "switches-000002.parquet",
            "switches-000003.parquet",
            "tasks.parquet"
        ]
    );
    assert_eq!(names(place.path()), ["run.swtch"]);
}

#[test]
fn a_killed_recording_can_be_read_after_every_step() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap().with_segment_rows(16);
    assert_eq!(switches_in(copied(&folder).path()), []);
    let mut appended = 0;
    let mut flushed = 0;
    for step in 1..40 {
        let count = step % 7;
        writer.append_switches(&switches(appended..appended + count)).unwrap();
        appended += count;
        if step % 3 == 0 {
            writer.flush().unwrap();
            flushed = appended;
        }
        if step % 5 == 0 {
            // The tables are newer than the header until it is saved.
            writer.put(&vec![TaskRow::default(); step as usize]).unwrap();
        }
        if step % 10 == 0 {
            writer.save(&header()).unwrap();
        }
        let copy = copied(&folder);
        let read = switches_in(copy.path());
        assert!(read.len() as u64 >= flushed && read == switches(0..read.len() as u64), "{step}");
        assert!(Trace::open(copy.path()).unwrap().is_unfinished());
    }
    drop(writer);
    assert!(switches_in(&folder).len() as u64 >= flushed);
}

#[test]
fn a_segment_whose_header_was_not_written_any_more_is_read_as_far_as_it_is_known() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap().with_segment_rows(100);
    writer.append_switches(&switches(0..10)).unwrap();
    writer.flush().unwrap();
    let older = fs::read(folder.join(HEADER)).unwrap();
    writer.append_switches(&switches(10..20)).unwrap();
    writer.flush().unwrap();
    fs::write(folder.join(HEADER), older).unwrap();
    assert_eq!(switches_in(&folder), switches(0..20));
}

#[test]
fn a_quiet_machine_gets_few_files() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap();
    for step in 0..50 {
        writer.append_switches(&switches(step * 3..step * 3 + 3)).unwrap();
        writer.flush().unwrap();
    }
    assert_eq!(names(&folder), ["header.json", "switches-000001.parquet"]);
    assert_eq!(switches_in(&folder), switches(0..150));
}

#[test]
fn switches_that_arrive_out_of_order_are_sorted_within_a_segment() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap();
    let mut rows = switches(0..9);
    rows.reverse();
    writer.append_switches(&rows).unwrap();
    writer.finish(&complete()).unwrap();
    assert_eq!(switches_in(&folder), switches(0..9));
}

#[test]
fn an_older_trace_is_replaced_whole() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut older = Writer::create(&folder, &header()).unwrap();
    older.append_switches(&switches(0..9)).unwrap();
    older.finish(&complete()).unwrap();
    // What a recorder leaves that is killed in the middle of a write.
    fs::write(folder.join(".swtch-Ab12Cd"), "half a table").unwrap();
    assert_eq!(switches_in(&folder), switches(0..9));
    let newer = Writer::create(&folder, &header()).unwrap();
    assert_eq!(
        (names(&folder), names(place.path())),
        (vec![HEADER.to_owned()], vec!["run.swtch".to_owned()])
    );
    newer.finish(&complete()).unwrap();
    assert_eq!(switches_in(&folder), []);
}

#[test]
fn a_symbolic_link_stays_one() {
    let place = tempfile::tempdir().unwrap();
    let (folder, link) = (place.path().join("run.swtch"), place.path().join("latest.swtch"));
    Writer::create(&folder, &header()).unwrap().finish(&complete()).unwrap();
    std::os::unix::fs::symlink("run.swtch", &link).unwrap();
    Writer::create(&link, &header()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(Trace::open(&folder).unwrap().is_unfinished());
}

#[test]
fn what_is_no_trace_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let message = |path: &Path| {
        let error = Writer::create(path, &header()).unwrap_err();
        let message = error.to_string();
        assert!(matches!(error, TraceError::Occupied { .. }) && !message.contains('\n'), "{message}");
        message
    };
    let file = place.path().join("file");
    fs::write(&file, "precious").unwrap();
    assert!(message(&file).contains("not a directory"));
    assert_eq!(fs::read_to_string(&file).unwrap(), "precious");

    let folder = place.path().join("directory");
    fs::create_dir(&folder).unwrap();
    assert!(message(&folder).contains("no header.json"));
    fs::write(folder.join(HEADER), "{\"schema\":\"other/1\"}").unwrap();
    assert!(message(&folder).contains("not a Trace's"));

    let trace = place.path().join("run.swtch");
    Writer::create(&trace, &header()).unwrap().finish(&complete()).unwrap();
    fs::write(trace.join("notes.txt"), "precious").unwrap();
    assert!(message(&trace).contains("notes.txt"));
    assert_eq!(names(&trace), [HEADER, "notes.txt"]);
    assert!(!Trace::open(&trace).unwrap().is_unfinished());
    assert_eq!(names(place.path()), ["directory", "file", "run.swtch"]);
}

#[test]
fn an_older_trace_survives_when_the_new_one_cannot_be_made() {
    let place = tempfile::tempdir().unwrap();
    // A name so long that nothing can be made next to it: fails for root too, unlike a directory without write permission.
    let folder = place.path().join("n".repeat(253));
    let short = place.path().join("short");
    Writer::create(&short, &header()).unwrap().finish(&complete()).unwrap();
    fs::rename(&short, &folder).unwrap();
    let error = Writer::create(&folder, &header()).unwrap_err();
    assert!(matches!(error, TraceError::Create { .. }), "{error}");
    assert!(!Trace::open(&folder).unwrap().is_unfinished());
    assert_eq!(names(place.path()).len(), 1);

    let below_a_file = folder.join(HEADER).join("run.swtch");
    assert!(matches!(Writer::create(&below_a_file, &header()), Err(TraceError::Create { .. })));
    assert!(matches!(
        Writer::create(Path::new("/nowhere/run.swtch"), &header()),
        Err(TraceError::Create { .. })
    ));
}

#[test]
fn rows_that_cannot_be_written_are_kept_or_counted() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap().with_segment_rows(10);
    writer.append_switches(&switches(0..13)).unwrap();
    // A directory in the place of the second segment: the renaming fails as on a disk without inodes.
    let obstacle = folder.join("switches-000002.parquet");
    fs::create_dir(&obstacle).unwrap();
    assert!(matches!(writer.append_switches(&switches(13..25)), Err(TraceError::Write { .. })));
    assert_eq!(switches_in(&folder), switches(0..10));
    assert_eq!(names(&folder), [HEADER, "switches-000001.parquet", "switches-000002.parquet"]);

    fs::remove_dir(&obstacle).unwrap();
    writer.flush().unwrap();
    assert_eq!(switches_in(&folder), switches(0..25));

    fs::create_dir(folder.join("switches-000004.parquet")).unwrap();
    writer.append_switches(&switches(25..31)).unwrap();
    assert!(writer.append_switches(&switches(31..41)).is_err());
    assert_eq!(writer.abandon_unwritten(), 11, "all but the 25 on the disk and the five of segment 3");
    writer.finish(&complete()).unwrap();
    assert_eq!(switches_in(&folder).len(), 30);
}

#[test]
fn a_table_that_cannot_be_written_keeps_its_older_rows() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut writer = Writer::create(&folder, &header()).unwrap();
    let older = [TaskRow { comm: "older".to_owned(), ..TaskRow::default() }];
    writer.put(&older).unwrap();
    let error = writer.put(&[TaskRow { comm: "x".repeat(70_000), ..TaskRow::default() }]).unwrap_err();
    assert!(!error.is_disk_full() && error.to_string().contains("more than 65536 bytes"), "{error}");
    assert_eq!(names(&folder), [HEADER, "tasks.parquet"]);
    writer.finish(&complete()).unwrap();
    assert_eq!(Trace::open(&folder).unwrap().tasks, older);
}

#[test]
fn a_second_recorder_of_the_same_name_gets_none_of_the_firsts_rows() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let mut first = Writer::create(&folder, &header()).unwrap();
    let second = Writer::create(&folder, &header()).unwrap();
    first.append_switches(&switches(0..3)).unwrap();
    assert!(matches!(first.flush(), Err(TraceError::Replaced { .. })));
    assert!(matches!(first.finish(&complete()), Err(TraceError::Replaced { .. })));
    second.finish(&complete()).unwrap();
    assert_eq!(switches_in(&folder), []);
}

#[test]
fn a_refused_trace_goes_beside_its_place_and_the_older_one_stays() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    Writer::create(&folder, &header()).unwrap().finish(&complete()).unwrap();
    for name in ["run-refused.swtch", "run-refused-2.swtch"] {
        let mut writer = Writer::create_aside(&folder, &header()).unwrap();
        writer.append_switches(&switches(0..3)).unwrap();
        let kept = writer.finish_refused(&complete()).unwrap();
        assert_eq!(kept.file_name().unwrap(), name);
        assert_eq!(switches_in(&kept).len(), 3);
    }
    assert_eq!(switches_in(&folder).len(), 0);
    assert_eq!(names(place.path()), ["run-refused-2.swtch", "run-refused.swtch", "run.swtch"]);
}

#[test]
fn a_trace_that_is_there_is_lost_only_by_force_and_to_a_whole_one() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let write = |folder: &Path, rows| {
        let mut writer = Writer::create(folder, &header()).unwrap();
        writer.append_switches(&switches(0..rows)).unwrap();
        writer.finish(&complete()).unwrap();
    };
    assert_eq!(Destination::free(&folder).unwrap(), Destination::named(&folder, false).unwrap());
    write(&folder, 3);
    assert_eq!(Destination::free(&folder).unwrap().folder, place.path().join("run-2.swtch"));
    let refused = Destination::named(&folder, false).unwrap_err();
    assert!(
        refused.to_string().contains("--force") && matches!(refused, TraceError::Occupied { .. }),
        "{refused}"
    );
    let forced = Destination::named(&folder, true).unwrap();
    write(&forced.folder, 5);
    assert_eq!(switches_in(&folder).len(), 3, "until the new one is whole");
    assert_eq!(forced.take().unwrap(), folder);
    assert_eq!((switches_in(&folder).len(), names(place.path()).len()), (5, 1));
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    assert!(matches!(Destination::named(&folder, true), Err(TraceError::Occupied { .. })));
}
