//! Real texts, and texts that are none.

use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use swtch_trace::Trace;
use swtch_trace::model::Origin;
use swtch_trace::tables::TaskRow;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/imports").join(name);
    fs::read_to_string(path).unwrap()
}

fn imported(text: &[u8]) -> Result<(Imported, Trace, tempfile::TempDir), ImportError> {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("text.swtch");
    let imported = import(text, Path::new("text"), &folder)?;
    let trace = Trace::open(&folder).unwrap();
    assert_eq!(trace.header, Header { tables: trace.header.tables.clone(), ..imported.header.clone() });
    Ok((imported, trace, place))
}

fn occurrences(text: &str, word: &str) -> u64 {
    text.lines().filter(|line| line.contains(word)).count() as u64
}

#[test]
fn counts_are_those_of_the_text() {
    for (name, format) in [
        ("perf-script.txt", Format::PerfScript),
        ("ftrace.txt", Format::Ftrace),
        ("ftrace-tgid.txt", Format::Ftrace),
        ("trace-cmd.txt", Format::Ftrace),
    ] {
        let text = fixture(name);
        let (found, trace, _place) = imported(text.as_bytes()).unwrap();
        assert_eq!(found.format, format, "{name}");
        let counts = found.counts;
        assert_eq!((counts.malformed, counts.misplaced), (0, 0), "{name}");
        assert_eq!(counts.lines, text.lines().count() as u64, "{name}");
        assert_eq!(counts.switches, occurrences(&text, "sched_switch:"), "{name}");
        assert_eq!(counts.forks, occurrences(&text, "sched_process_fork:"), "{name}");
        assert_eq!(counts.exits, occurrences(&text, "sched_process_exit:"), "{name}");
        assert_eq!(counts.execs, occurrences(&text, "sched_process_exec:"), "{name}");
        let wakeups = occurrences(&text, "sched_waking:") + occurrences(&text, "sched_wakeup_new:");
        assert_eq!(counts.wakeups, wakeups, "{name}: no sched_wakeup without its sched_waking");
        assert_eq!(trace.switch_rows(), Some(counts.switches), "{name}");
        let rows: Vec<_> = trace.switches().collect::<Result<_, _>>().unwrap();
        assert!(rows.windows(2).all(|pair| pair[0].at_ns <= pair[1].at_ns), "{name}");
        let totals = &trace.header.totals;
        let switches = &totals.context_switches;
        // The text has no kernel counts: each switch is either from idle or from a task.
        let sum =
            [switches.voluntary, switches.involuntary, switches.idle].into_iter().flatten().sum::<u64>();
        assert_eq!(sum, counts.switches, "{name}");
        assert_eq!(totals.wakeups, Some(counts.wakeups), "{name}");
        assert_eq!(trace.header.provenance.origin, Origin::Imported);
        assert_eq!(trace.header.provenance.recorder, format.name());
        let nameless: Vec<_> = trace.tasks.iter().filter(|task| task.comm.starts_with("tid ")).collect();
        assert!(nameless.is_empty(), "{name}: {nameless:?}");
    }
}

#[test]
fn tasks_have_their_names_and_who_woke_them() {
    let (_, trace, _place) = imported(fixture("ftrace-tgid.txt").as_bytes()).unwrap();
    let bench: BTreeMap<u32, &TaskRow> =
        trace.tasks.iter().filter(|task| task.comm == "sched-pipe").map(|task| (task.tid, task)).collect();
    // The benchmark's process and its two threads, which the column TGID joins.
    assert_eq!(bench.len(), 3, "{:?}", trace.tasks);
    let pid = *bench.keys().next().unwrap();
    assert!(bench.values().all(|task| task.pid == pid), "{bench:?}");
    let most = trace.wakes.iter().max_by_key(|row| row.count).unwrap();
    assert!(bench.contains_key(&most.waker_tid) && bench.contains_key(&most.wakee_tid), "{most:?}");
    assert!(trace.tasks.iter().all(|task| task.migrations_across.is_none()), "caches are not known");
}

#[test]
fn the_same_run_in_both_forms_is_the_same_trace() {
    let text = fixture("trace-cmd.txt");
    let long: String = text
        .lines()
        .map(|line| match line.split_once("sched_switch:         ") {
            Some((ahead, body)) => {
                let (prev, next) = body.split_once(" ==> ").unwrap();
                let (prev, state) = prev.rsplit_once(' ').unwrap();
                let task = |text: &str, side: &str| {
                    let (name, prio) = text.rsplit_once(" [").unwrap();
                    let (comm, tid) = name.rsplit_once(':').unwrap();
                    let prio = prio.trim_end_matches(']');
                    format!("{side}_comm={comm} {side}_pid={tid} {side}_prio={prio}")
                };
                let (prev, next) = (task(prev, "prev"), task(next, "next"));
                format!("{ahead}sched_switch: {prev} prev_state={state} ==> {next}\n")
            }
            None => format!("{line}\n"),
        })
        .collect();
    assert_ne!(text, long);
    let (_, short, _one) = imported(text.as_bytes()).unwrap();
    let (_, long, _other) = imported(long.as_bytes()).unwrap();
    assert_eq!(short.tasks, long.tasks);
    let rows = |trace: &Trace| trace.switches().collect::<Result<Vec<_>, _>>().unwrap();
    assert_eq!(rows(&short), rows(&long));
}

#[test]
fn damage_is_counted_and_said() {
    let text = fixture("ftrace.txt");
    let mut damaged: Vec<u8> = b"CPU:1 [LOST 12 EVENTS]\n".to_vec();
    for (line, number) in text.lines().zip(0..) {
        // Every tenth event is cut off within its words.
        let cut = number > 20 && number % 10 == 0;
        damaged.extend(line.as_bytes().iter().take(if cut { 90 } else { usize::MAX }));
        damaged.push(b'\n');
    }
    damaged.extend(vec![b'x'; 200_000]);
    let (found, trace, _place) = imported(&damaged).unwrap();
    assert!(found.counts.malformed >= 2 && found.counts.switches > 50, "{:?}", found.counts);
    let unavailable = &trace.header.unavailable;
    let said = unavailable.iter().find(|row| row.field.as_str() == "switches").unwrap();
    assert!(said.reason.contains(&format!("{} of ", found.counts.malformed)), "{said:?}");
    assert_eq!(trace.header.lost[0].events, 12);
    assert_eq!(trace.cpus.iter().find(|row| row.cpu == 1).unwrap().lost, 12);
}

#[test]
fn a_time_far_off_is_damage_and_does_not_stretch_the_trace() {
    let line =
        |seconds: &str| format!("a 1 [000] {seconds}.5: sched:sched_switch: a:1 [120] S ==> b:2 [120]\n");
    let (found, trace, _place) =
        imported([line("7"), line("8000000000"), line("8")].concat().as_bytes()).unwrap();
    assert_eq!((found.counts.switches, found.counts.malformed), (2, 1));
    assert_eq!(trace.header.duration_ns, 1_000_000_000);
}

#[test]
fn recordings_and_other_files_are_told_from_texts() {
    let refused = |bytes: &[u8]| imported(bytes).unwrap_err().to_string();
    assert!(refused(b"PERFILE2\x68\0\0\0").contains("perf script -i text > TEXT"));
    assert!(refused(b"\x17\x08Dtracing7\0").contains("trace-cmd report -i text > TEXT"));
    assert!(refused(&[0x1f, 0x8b, 8, 0]).contains("zcat"));
    assert!(refused(b"").contains("no sched_switch event in its 0 lines"));
    assert!(refused(b"hello\nworld\n").contains("2 lines (2 could not be parsed)"));
    let wake = "a 1 [000] 7.5: sched:sched_waking: comm=b pid=2 prio=120 target_cpu=000\n";
    assert!(refused(wake.as_bytes()).contains("no sched_switch"));
}

#[test]
fn what_was_there_stays_until_the_new_one_is_whole() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("text.swtch");
    import(fixture("ftrace.txt").as_bytes(), Path::new("text"), &folder).unwrap();
    let before = fs::read(folder.join("header.json")).unwrap();
    assert!(import(&b"nothing\n"[..], Path::new("text"), &folder).is_err());
    assert_eq!(fs::read(folder.join("header.json")).unwrap(), before);
    let names: Vec<_> = fs::read_dir(place.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["text.swtch"], "nothing is left beside it");
    import(fixture("perf-script.txt").as_bytes(), Path::new("text"), &folder).unwrap();
    assert_eq!(Trace::open(&folder).unwrap().header.provenance.recorder, "perf-script");
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    let error = import(fixture("ftrace.txt").as_bytes(), Path::new("text"), &folder).unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = imported(&bytes);
    }

    /// Lines that nearly are right: real ones with pieces cut out and others put in.
    #[test]
    fn no_damage_is_too_strange(
        cuts in proptest::collection::vec((0_usize..40_000, 0_usize..60, ".{0,12}"), 1..40),
        name in prop_oneof![Just("perf-script.txt"), Just("trace-cmd.txt"), Just("ftrace-tgid.txt")],
    ) {
        let mut text = fixture(name).into_bytes();
        for (at, length, with) in cuts {
            let from = at.min(text.len());
            let to = (from + length).min(text.len());
            text.splice(from..to, with.into_bytes());
        }
        if let Ok((found, trace, _place)) = imported(&text) {
            let missing = found.counts.switches - trace.switch_rows().unwrap();
            prop_assert!(missing <= found.counts.misplaced);
        }
    }
}
