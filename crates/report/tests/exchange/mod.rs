//! Traces in other programs' formats, read back.

mod decode;

use decode::{Field, double, fields, messages, number, text};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use std::path::Path;
use swtch_report::export::ExportOptions;
use swtch_report::perfetto::{self, Written};
use swtch_report::tables::{self, Form};
use swtch_trace::model::{Ended, Header, Provenance, Scope};
use swtch_trace::spans::{Span, SpanOwner, Spans};
use swtch_trace::tables::{IntervalRow, PrevState, StackRow, SwitchRow, TableSink, TaskRow};
use swtch_trace::{Trace, Writer};

const START_NS: u64 = 5_000_000_000_000;

fn task(tid: u32, pid: u32, comm: &str, first_ns: u64, last_ns: u64) -> TaskRow {
    TaskRow { tid, pid, parent_pid: Some(1), comm: comm.to_owned(), first_ns, last_ns, ..TaskRow::default() }
}

fn write(folder: &Path, switches: &[SwitchRow], tasks: &[TaskRow], intervals: &[IntervalRow]) -> Trace {
    let provenance = Provenance {
        started_monotonic_ns: START_NS,
        started_unix_ns: 1_700_000_000_000_000_000,
        ended: Ended::Complete,
        ..Provenance::default()
    };
    let mut header = Header::new(provenance, swtch_topology::Host::default(), Scope::Machine);
    header.duration_ns = 1_000_000_000;
    let mut writer = Writer::create(folder, &header).unwrap();
    writer.append_switches(switches).unwrap();
    writer.put(tasks).unwrap();
    writer.put(intervals).unwrap();
    writer.finish(&header).unwrap();
    Trace::open(folder).unwrap()
}

fn exported(trace: &Trace) -> (Written, Vec<u8>) {
    let mut bytes = Vec::new();
    let written = perfetto::write(trace, None, &mut bytes).unwrap();
    assert_eq!(written.bytes, bytes.len() as u64);
    (written, bytes)
}

/// Two tasks that wake each other on one CPU, and one that is preempted on another.
fn switches() -> Vec<SwitchRow> {
    let row = |at_ns, cpu, prev_tid, prev_state, next_tid| SwitchRow {
        at_ns,
        cpu,
        prev_tid,
        next_tid,
        prev_state,
        ..SwitchRow::default()
    };
    vec![
        SwitchRow { waited_ns: Some(40), waker_tid: Some(8), ..row(100, 0, 0, PrevState::Runnable, 7) },
        SwitchRow { waited_ns: Some(50), waker_tid: Some(7), ..row(200, 0, 7, PrevState::Sleeping, 8) },
        // By an interrupt: it waited, no task is named, and it did not leave to wait.
        SwitchRow { waited_ns: Some(60), ..row(300, 0, 8, PrevState::Uninterruptible, 7) },
        row(310, 1, 0, PrevState::Runnable, 9),
        row(400, 1, 9, PrevState::Runnable, 10),
        // Preempted before: it waits, and nothing wakes it.
        SwitchRow { waited_ns: Some(100), ..row(500, 1, 10, PrevState::Other, 9) },
        row(600, 0, 7, PrevState::Other, 0),
    ]
}

fn tasks() -> Vec<TaskRow> {
    vec![
        task(7, 7, "seven", 10, 600),
        task(8, 7, "ei,\"ght", 20, 300),
        task(9, 9, "nine", 310, 500),
        // The number is used twice: by a process that ended, then by a thread of 9.
        task(10, 10, "ten", 0, 300),
        task(10, 9, "again", 350, 900),
    ]
}

struct Switched {
    cpu: u64,
    at_ns: u64,
    prev: (String, u64),
    state: u64,
    next: (String, u64),
}

fn bundles(trace: &[u8]) -> Vec<(u64, Vec<Vec<Field>>)> {
    let packets = messages(&fields(trace), 1);
    let bundles = packets.iter().flat_map(|packet| messages(packet, 1));
    bundles.map(|bundle| (number(&bundle, 1), messages(&bundle, 2))).collect()
}

fn switched(trace: &[u8]) -> Vec<Switched> {
    let mut found = Vec::new();
    for (cpu, events) in bundles(trace) {
        for event in events {
            for switch in messages(&event, 4) {
                assert_eq!(number(&event, 2), number(&switch, 2), "the event is of the task that leaves");
                found.push(Switched {
                    cpu,
                    at_ns: number(&event, 1),
                    prev: (text(&switch, 1), number(&switch, 2)),
                    state: number(&switch, 4),
                    next: (text(&switch, 5), number(&switch, 6)),
                });
            }
        }
    }
    found
}

#[test]
fn switches_are_ftrace_events_of_their_cpu() {
    let place = tempfile::tempdir().unwrap();
    let rows = switches();
    let (written, bytes) = exported(&write(&place.path().join("run.swtch"), &rows, &tasks(), &[]));
    let found = switched(&bytes);
    assert_eq!((written.switches, found.len()), (7, 7));
    for cpu in [0, 1] {
        let expected = rows.iter().filter(|row| u64::from(row.cpu) == cpu);
        let found = found.iter().filter(|switch| switch.cpu == cpu);
        for (row, switch) in expected.zip(found) {
            assert_eq!(switch.at_ns, START_NS + row.at_ns);
            assert_eq!((switch.prev.1, switch.next.1), (row.prev_tid.into(), row.next_tid.into()));
        }
    }
    let names: Vec<(&str, &str)> = found.iter().map(|s| (s.prev.0.as_str(), s.next.0.as_str())).collect();
    assert_eq!(names[..2], [("swapper/0", "seven"), ("seven", "ei,\"ght")]);
    // On CPU 1 at 400, number 10 is the second task of that number.
    assert_eq!(names[5], ("nine", "again"));
    let states: Vec<u64> = found.iter().map(|switch| switch.state).collect();
    // 7 ends in its last switch; 10 goes on after its switch, so it was only stopped.
    assert_eq!(states, [0, 1, 2, 0x10, 0, 0, 4]);
}

#[test]
fn wake_ups_stand_where_the_wait_began() {
    let place = tempfile::tempdir().unwrap();
    let (written, bytes) = exported(&write(&place.path().join("run.swtch"), &switches(), &tasks(), &[]));
    let events = bundles(&bytes).into_iter().flat_map(|(_, events)| events);
    let mut found = Vec::new();
    for event in events {
        for waking in messages(&event, 20) {
            let flags = event.iter().any(|field| field.number == 5).then(|| number(&event, 5));
            found.push((
                number(&event, 1) - START_NS,
                number(&event, 2),
                flags,
                number(&waking, 2),
                text(&waking, 1),
            ));
        }
    }
    assert_eq!(written.wakeups, 3);
    let seven = || "seven".to_owned();
    assert_eq!(
        found,
        [(60, 8, None, 7, seven()), (150, 7, None, 8, "ei,\"ght".to_owned()), (240, 0, Some(8), 7, seven())]
    );
}

/// Task 7 is woken at 1.0 ms on CPU 0, where 8 runs until 1.3 ms and 9 until 1.4 ms. It is preempted at 1.5 ms, and comes on CPU 1 at
/// 1.8 ms: it waited for CPU 0. A short wait has no slice.
#[test]
fn a_wait_is_a_slice_that_names_what_it_was_behind() {
    let place = tempfile::tempdir().unwrap();
    let row = |at_us: u64, cpu, prev_tid, next_tid, waited_us: u64| SwitchRow {
        at_ns: at_us * 1000,
        cpu,
        prev_tid,
        next_tid,
        prev_state: PrevState::Runnable,
        waited_ns: (waited_us > 0).then_some(waited_us * 1000),
        ..SwitchRow::default()
    };
    let rows = [
        SwitchRow { prev_state: PrevState::Sleeping, ..row(500, 0, 7, 8, 0) },
        row(1300, 0, 8, 9, 50),
        row(1400, 0, 9, 7, 400),
        row(1500, 0, 7, 9, 100),
        row(1800, 1, 0, 7, 300),
    ];
    let tasks = [7, 8, 9].map(|tid| task(tid, tid, &format!("task{tid}"), 0, 2_000_000));
    let (written, bytes) = exported(&write(&place.path().join("run.swtch"), &rows, &tasks, &[]));
    let packets = messages(&fields(&bytes), 1);
    let mut threads = Vec::new();
    let (mut begun, mut ended) = (Vec::new(), Vec::new());
    for packet in &packets {
        for descriptor in messages(packet, 60) {
            for thread in messages(&descriptor, 4) {
                threads.push((
                    number(&descriptor, 1),
                    number(&thread, 1),
                    number(&thread, 2),
                    text(&thread, 5),
                ));
            }
        }
        for slice in messages(packet, 11) {
            let at_us = (number(packet, 8) - START_NS) / 1000;
            let facts: Vec<String> = messages(&slice, 4)
                .iter()
                .map(|fact| format!("{}: {}", text(fact, 10), text(fact, 6)))
                .collect();
            match number(&slice, 9) {
                1 => begun.push((at_us, number(&slice, 11), text(&slice, 23), facts.join("; "))),
                2 => ended.push((at_us, number(&slice, 11))),
                _ => {}
            }
        }
    }
    let track = |tid: u64| 1 << 63 | tid << 32 | tid;
    assert_eq!(threads, [(track(7), 7, 7, "task7".to_owned()), (track(9), 9, 9, "task9".to_owned())]);
    let slice = |at_us, tid, name: &str, facts: &str| (at_us, track(tid), name.to_owned(), facts.to_owned());
    let expected = [
        slice(
            1000,
            7,
            "waits behind task8",
            "began: woken; behind 1: task8, 300 µs (75 %); behind 2: task9, 100 µs (25 %)",
        ),
        slice(1400, 9, "waits behind task7", "began: preempted; behind 1: task7, 100 µs (100 %)"),
        slice(1500, 7, "waits behind task9", "began: preempted; behind 1: task9, 300 µs (100 %)"),
    ];
    assert_eq!(begun, expected);
    assert_eq!(ended, [(1400, track(7)), (1500, track(9)), (1800, track(7))]);
    assert_eq!(written.waits, 3);
}

#[test]
fn processes_and_threads_have_their_names() {
    let place = tempfile::tempdir().unwrap();
    let (written, bytes) = exported(&write(&place.path().join("run.swtch"), &switches(), &tasks(), &[]));
    let packets = messages(&fields(&bytes), 1);
    let trees: Vec<Vec<Field>> = packets.iter().flat_map(|packet| messages(packet, 2)).collect();
    let processes: Vec<(u64, u64, String)> = trees
        .iter()
        .flat_map(|tree| messages(tree, 1))
        .map(|process| (number(&process, 1), number(&process, 2), text(&process, 3)))
        .collect();
    let named = |pid, name: &str| (pid, 1, name.to_owned());
    assert_eq!(processes, [named(7, "seven"), named(9, "nine"), named(10, "ten")]);
    let threads: Vec<(u64, u64, String)> = trees
        .iter()
        .flat_map(|tree| messages(tree, 2))
        .map(|thread| (number(&thread, 1), number(&thread, 3), text(&thread, 2)))
        .collect();
    assert_eq!((written.threads, threads.len()), (4, 4));
    assert!(threads.contains(&(8, 7, "ei,\"ght".to_owned())), "{threads:?}");
    // The second task of a number is announced when it comes.
    let events = bundles(&bytes).into_iter().flat_map(|(_, events)| events);
    let made: Vec<(u64, u64, u64)> = events
        .flat_map(|event| {
            let at_ns = number(&event, 1);
            messages(&event, 235).into_iter().map(move |task| (at_ns, number(&task, 1), number(&task, 3)))
        })
        .collect();
    assert_eq!(made, [(START_NS + 350, 10, 0x10000)]);
}

/// The number and name of every track that the packets describe.
fn tracks(packets: &[Vec<Field>]) -> Vec<(u64, String)> {
    let described = packets.iter().flat_map(|packet| messages(packet, 60));
    described.map(|track| (number(&track, 1), text(&track, 2))).collect()
}

#[test]
fn intervals_are_counters() {
    let place = tempfile::tempdir().unwrap();
    let row = |at_ns, voluntary, tasks| IntervalRow {
        at_ns,
        length_ns: 50_000_000,
        voluntary: Some(voluntary),
        tasks,
        ..IntervalRow::default()
    };
    let rows = [row(0, 10, Some(3)), row(50_000_000, 20, None), row(100_000_000, 0, Some(4))];
    let (written, bytes) = exported(&write(&place.path().join("run.swtch"), &[], &[], &rows));
    assert_eq!(written.counters, 2);
    let packets = messages(&fields(&bytes), 1);
    let tracks = tracks(&packets);
    assert_eq!(tracks, [(1, "switches: voluntary".to_owned()), (2, "threads".to_owned())]);
    let mut values = Vec::new();
    for packet in &packets {
        for event in messages(packet, 11) {
            assert_eq!((number(&event, 9), number(packet, 10)), (4, 1));
            values.push((number(&event, 11), number(packet, 8) - START_NS, double(&event, 44)));
        }
    }
    assert_eq!(
        values,
        [(1, 0, 200.0), (1, 50_000_000, 400.0), (1, 100_000_000, 0.0), (2, 0, 3.0), (2, 100_000_000, 4.0)]
    );
    // The clocks agree, and the day is known.
    let clocks: Vec<(u64, u64)> = packets
        .iter()
        .flat_map(|packet| messages(packet, 6))
        .flat_map(|snapshot| messages(&snapshot, 1))
        .map(|clock| (number(&clock, 1), number(&clock, 2)))
        .collect();
    assert_eq!(clocks, [(6, START_NS), (3, START_NS), (1, 1_700_000_000_000_000_000)]);
}

/// Task 9 runs from 310 and loses CPU 1 to task 10 from 400 to 500. A slow span lies over both, and another span of that name overlaps
/// it.
#[test]
fn spans_are_slices_and_slow_ones_have_their_parts() {
    let place = tempfile::tempdir().unwrap();
    let trace = write(&place.path().join("run.swtch"), &switches(), &tasks(), &[]);
    let span = |id: &str, begin_ns, end_ns| Span {
        name: "pay".to_owned(),
        id: Some(id.to_owned()),
        owner: SpanOwner::Thread(9),
        begin_ns,
        end_ns,
    };
    let spans = Spans {
        spans: vec![span("slow", 320, 520), span("over", 510, 530), span("next", 540, 550)],
        ..Spans::default()
    };
    let mut bytes = Vec::new();
    let written = perfetto::write(&trace, Some((&spans, 0.3)), &mut bytes).unwrap();
    assert_eq!(written.spans, 3);
    let packets = messages(&fields(&bytes), 1);
    let events = packets.iter().flat_map(|packet| {
        let at_ns = packet.iter().find(|field| field.number == 8).map(|field| field.value - START_NS);
        messages(packet, 11).into_iter().map(move |event| (at_ns.unwrap(), event))
    });
    let events: Vec<(u64, u64, u64, String)> = events
        .map(|(at_ns, event)| (number(&event, 11) - (1 << 32), at_ns, number(&event, 9), text(&event, 23)))
        .collect();
    let expected = [
        (0, 320, 1, "pay"),
        (0, 320, 1, "on CPU"),
        (0, 400, 2, ""),
        (0, 400, 1, "run queue: again"),
        (0, 500, 2, ""),
        (0, 500, 1, "on CPU"),
        (0, 520, 2, ""),
        (0, 520, 2, ""),
        (1, 510, 1, "pay"),
        (1, 530, 2, ""),
        (0, 540, 1, "pay"),
        (0, 550, 2, ""),
    ];
    assert_eq!(events, expected.map(|(track, at_ns, kind, name)| (track, at_ns, kind, name.to_owned())));
    let spans = |number: u64| ((1 << 32) + number, "spans: pay".to_owned());
    assert_eq!(tracks(&packets), [spans(0), spans(1)]);
}

/// What is held back does not grow with the number of switches: the largest packet is as large for many as for few.
#[test]
fn many_switches_are_streamed_in_order() {
    const COUNT: u64 = 200_000;
    let place = tempfile::tempdir().unwrap();
    let rows: Vec<SwitchRow> = (0..COUNT)
        .map(|index| SwitchRow {
            at_ns: index * 1000,
            cpu: (index % 3) as u32,
            prev_tid: 7 + (index / 3 % 2) as u32,
            next_tid: 8 - (index / 3 % 2) as u32,
            ..SwitchRow::default()
        })
        .collect();
    let (written, bytes) = exported(&write(&place.path().join("run.swtch"), &rows, &tasks(), &[]));
    assert_eq!(written.switches, COUNT);
    let largest = fields(&bytes).iter().map(|field| field.bytes.len()).max().unwrap();
    assert!(largest < 1 << 20, "{largest}");
    let found = switched(&bytes);
    assert_eq!(found.len() as u64, COUNT);
    for cpu in 0..3 {
        let times: Vec<u64> = found.iter().filter(|s| s.cpu == cpu).map(|s| s.at_ns - START_NS).collect();
        let expected: Vec<u64> =
            (0..COUNT).filter(|index| index % 3 == cpu).map(|index| index * 1000).collect();
        assert_eq!(times, expected);
    }
}

#[test]
fn a_parquet_file_has_the_rows_and_words_for_states() {
    let place = tempfile::tempdir().unwrap();
    let rows = switches();
    let trace = write(&place.path().join("run.swtch"), &rows, &tasks(), &[]);
    let mut bytes = Vec::new();
    assert_eq!(tables::write(&trace, "switches", Form::Parquet, &mut bytes).unwrap(), 7);
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let found: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
    assert_eq!(found.len(), rows.len());
    for (row, found) in rows.iter().zip(&found) {
        assert_eq!(found.get_long(0).unwrap(), row.at_ns as i64);
        assert_eq!(found.get_long(2).unwrap(), i64::from(row.prev_tid));
        assert_eq!(found.get_string(4).unwrap(), row.prev_state.name());
        assert_eq!(found.get_long(6).ok(), row.waited_ns.map(|ns| ns as i64));
    }
    let mut bytes = Vec::new();
    assert_eq!(tables::write(&trace, "tasks", Form::Parquet, &mut bytes).unwrap(), 5);
    let reader = SerializedFileReader::new(bytes::Bytes::from(bytes)).unwrap();
    let second = reader.get_row_iter(None).unwrap().nth(1).unwrap().unwrap();
    assert_eq!(second.get_string(3).unwrap(), "ei,\"ght");
    assert!(!second.get_bool(5).unwrap());
}

#[test]
fn what_is_not_there_is_said() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    let header = Header::new(Provenance::default(), swtch_topology::Host::default(), Scope::Machine);
    Writer::create(&folder, &header).unwrap().finish(&header).unwrap();
    let trace = Trace::open(&folder).unwrap();
    let error = tables::write(&trace, "switches", Form::Csv, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("no table 'switches'"), "{error}");
    let error = tables::write(&trace, "chairs", Form::Csv, Vec::new()).unwrap_err();
    assert!(error.to_string().contains("the tables are switches, tasks"), "{error}");
    let (written, _) = exported(&trace);
    assert!(written.left_out[0].contains("single switches"), "{:?}", written.left_out);
}

/// The recording with stacks, `fixtures/traces/stacks.swtch`.
fn with_stacks() -> Trace {
    Trace::open(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/traces/stacks.swtch")).unwrap()
}

#[test]
fn stacks_are_nested_slices_of_their_task() {
    let trace = with_stacks();
    let (written, bytes) = exported(&trace);
    let packets = messages(&fields(&bytes), 1);
    let tracks = tracks(&packets);
    let (producer, _) = tracks.iter().find(|(_, name)| name.starts_with("producer: time off")).unwrap();
    let mut numbers: Vec<u64> = tracks.iter().map(|(uuid, _)| *uuid).collect();
    numbers.dedup();
    assert_eq!(numbers.len(), tracks.len(), "a number for each track");
    let (mut open, mut slices, mut outermost_ns, mut pushing_ns) = (Vec::<(String, u64)>::new(), 0, 0, 0);
    let mut last_ns = 0;
    for packet in &packets {
        for event in messages(packet, 11).iter().filter(|event| number(event, 11) == *producer) {
            let at_ns = number(packet, 8);
            assert!(at_ns >= last_ns, "in the order of their times");
            last_ns = at_ns;
            if number(event, 9) == 1 {
                slices += 1;
                let sums: Vec<String> = messages(event, 4).iter().map(|sum| text(sum, 10)).collect();
                assert_eq!(sums, ["off_cpu_ns", "wait_ns", "switches"]);
                open.push((text(event, 23), at_ns));
            } else {
                let (name, begin_ns) = open.pop().unwrap();
                outermost_ns += if open.is_empty() { at_ns - begin_ns } else { 0 };
                pushing_ns += if name == "queue_push" { at_ns - begin_ns } else { 0 };
            }
        }
    }
    assert!(open.is_empty() && slices > 10 && written.slices > slices, "{slices} of {}", written.slices);
    let rows = trace.stacks.iter().filter(|row| row.task == "producer" && row.reason.name() != "wake");
    let sum = |rows: &mut dyn Iterator<Item = &StackRow>| rows.map(|row| row.off_cpu_ns).sum::<u64>();
    assert_eq!(outermost_ns, sum(&mut rows.clone()));
    assert_eq!(pushing_ns, sum(&mut rows.filter(|row| row.frames.contains(";queue_push;"))));
    assert!(pushing_ns > 1_000_000, "{pushing_ns}");
    assert!(written.left_out.iter().any(|what| what == "stacks of wake-ups"), "{:?}", written.left_out);
}

#[test]
fn a_file_of_gzip_is_read_by_gzip() {
    let trace = with_stacks();
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("run.pb.gz");
    let pprof = swtch_report::export::Exporter::named("pprof").unwrap();
    (pprof.write)(&trace, &ExportOptions::default(), &mut std::fs::File::create(&file).unwrap()).unwrap();
    // It checks the length and the check sum.
    let unpacked = std::process::Command::new("gzip").arg("-dc").arg(&file).output().unwrap();
    assert!(unpacked.status.success(), "{}", String::from_utf8_lossy(&unpacked.stderr));
    let texts = fields(&unpacked.stdout).into_iter().filter(|field| field.number == 6);
    let texts: Vec<String> = texts.map(|field| String::from_utf8(field.bytes).unwrap()).collect();
    assert!(texts[0].is_empty() && texts.iter().any(|text| text == "queue_push"), "{texts:?}");
}
