//! Workers: the same bytes as one machine, whatever happens to them.

use super::*;
use crate::claims::{Claims, record_death};
use crate::merge::merge;
use crate::plan::DEFAULT_LEASE;
use crate::plan::tests::{folder, planned, planned_with};
use crate::status::{ShardState, gaps, status};
use std::fs;
use std::path::{Path, PathBuf};
use swtch_sim::sweep::{Request, sweep};

/// No run of these sweeps is a command.
fn never(_: &[String]) -> std::process::Command {
    unreachable!()
}

/// The table that one machine makes.
fn alone(folder: &Path) -> Vec<u8> {
    let (file, out) = (folder.join("grid.toml"), folder.join("alone.parquet"));
    let request = Request { file: &file, out: &out, profile: None, part: (1, 1), jobs: Some(2) };
    sweep(&request, &AtomicBool::new(false), &mut |_, _| ()).unwrap();
    fs::read(out).unwrap()
}

fn merged(opened: &Opened) -> Vec<u8> {
    let out = opened.directory.join("out.parquet");
    merge(opened, &out, false).unwrap();
    fs::read(out).unwrap()
}

fn opened(folder: &Path) -> Opened {
    planned(folder, "d").unwrap();
    Opened::open(&folder.join("d")).unwrap()
}

fn go_on(opened: &Opened) -> Worked {
    work(opened, &Only::default(), &never, &AtomicBool::new(false)).unwrap()
}

#[test]
fn workers_at_once_make_every_run_once_and_the_same_bytes_as_one_machine() {
    let folder = folder();
    let opened = opened(folder.path());
    assert_eq!(gaps(&opened).unwrap().len(), opened.manifest.shards.len());
    let made: u64 = std::thread::scope(|scope| {
        let worker = |place| {
            let only = Only { shards: None, start: (place, 3) };
            work(&opened, &only, &never, &AtomicBool::new(false)).unwrap().runs
        };
        let threads: Vec<_> = (0..3).map(|place| scope.spawn(move || worker(place))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(made, 24);
    assert!(merged(&opened) == alone(folder.path()));
    assert!(gaps(&opened).unwrap().is_empty());
    assert_eq!(Claims::list(&opened.directory).unwrap().iter().count(), 0);
    let status = status(&opened).unwrap();
    assert_eq!((status.done, status.failed, status.claimed, status.cpu_left_s), (24, 0, 0, 0.0));
    assert!(status.cpu_s > 0.0 && status.shards.iter().all(|shard| shard.state == ShardState::Done));
}

#[test]
fn only_the_shards_that_are_named_are_made() {
    let folder = folder();
    let opened = opened(folder.path());
    let only = |shards: &[usize]| Only { shards: Some(shards.to_vec()), start: (0, 0) };
    let stop = AtomicBool::new(false);
    work(&opened, &only(&[1]), &never, &stop).unwrap();
    assert!(!gaps(&opened).unwrap().contains(&1));
    assert_eq!(gaps(&opened).unwrap().len(), opened.manifest.shards.len() - 1);
    let problem = work(&opened, &only(&[999]), &never, &stop).unwrap_err().to_string();
    assert!(problem.starts_with("there is no shard 999; the last one is "), "{problem}");
}

#[test]
fn a_worker_that_is_asked_to_end_leaves_what_it_made() {
    let folder = folder();
    let opened = opened(folder.path());
    let stop = AtomicBool::new(true);
    assert_eq!(
        work(&opened, &Only::default(), &never, &stop).unwrap(),
        Worked { left: true, ..Worked::default() }
    );
    // Parts that do not end where shards do, and that overlap, as workers leave them that end early or come late.
    let prepared = opened.manifest.prepare(&opened.directory).unwrap();
    for (first, last) in [(1, 2), (2, 9), (5, 6), (20, 23)] {
        let rows = (first..=last).map(|run| prepared.run(run, &mut || true).unwrap().unwrap()).collect();
        let receipt =
            Receipt { sweep: opened.manifest.identity.clone(), failed: 0, cpu_s: 0.1, host: "h".into() };
        parts::write(&opened.directory, Range { first, last }, rows, &receipt).unwrap();
    }
    let before = status(&opened).unwrap();
    assert_eq!(before.done, 13);
    assert_eq!(go_on(&opened), Worked { runs: 11, failed: 0, left: false });
    assert!(merged(&opened) == alone(folder.path()));
}

#[test]
fn a_table_so_far_has_what_is_there_and_is_replaced_by_the_whole() {
    let folder = folder();
    let opened = opened(folder.path());
    let out = opened.directory.join("out.parquet");
    let problem = merge(&opened, &out, false).unwrap_err().to_string();
    assert!(problem.starts_with("24 of 24 runs are missing"), "{problem}");
    work(&opened, &Only { shards: Some(vec![0]), start: (0, 0) }, &never, &AtomicBool::new(false)).unwrap();
    let some = merge(&opened, &out, true).unwrap();
    assert!((1..24).contains(&some.runs));
    go_on(&opened);
    assert!(merged(&opened) == alone(folder.path()));
    let other: PathBuf = folder.path().join("grid.toml");
    let problem = merge(&opened, &other, true).unwrap_err().to_string();
    assert!(problem.contains("not a table of a sweep"), "{problem}");
}

#[test]
fn a_claim_without_signs_of_life_lapses_and_one_of_a_process_that_is_gone_at_once() {
    let folder = folder();
    planned_with(folder.path(), "d", 1e-9, Duration::from_secs(1)).unwrap();
    let opened = Opened::open(&folder.path().join("d")).unwrap();
    let shards: Vec<Range> = opened.manifest.shards.iter().map(|shard| shard.range()).collect();
    let elsewhere = Owner { processes: "another machine".to_owned(), ..Owner::own() };
    let gone = Owner { began: 1, ..Owner::own() };
    Claim::take(&opened.directory, shards[0], 1, &elsewhere).unwrap().unwrap();
    Claim::take(&opened.directory, shards[1], 1, &gone).unwrap().unwrap();
    assert_eq!(status(&opened).unwrap().claimed, shards[0].len() + shards[1].len());
    assert_eq!(go_on(&opened).runs, 24);
    let deaths = status(&opened).unwrap().deaths;
    assert_eq!(deaths, 2);
    let cause = |range| claims::cause_of_death(&opened.directory, range, 1).unwrap();
    assert_eq!(cause(shards[0]), "no sign of life for 1 s");
    assert_eq!(cause(shards[1]), "its process is gone");
    assert!(merged(&opened) == alone(folder.path()));
}

#[test]
fn a_run_alone_whose_workers_died_is_a_row_with_the_reason() {
    let folder = folder();
    planned_with(folder.path(), "d", 1e9, DEFAULT_LEASE).unwrap();
    let opened = Opened::open(&folder.path().join("d")).unwrap();
    let shard = opened.manifest.shards[0].range();
    let alone = Range { first: shard.first, last: shard.first };
    let mut range = shard;
    loop {
        for attempt in 1..=3 {
            record_death(&opened.directory, range, attempt, "signal 9").unwrap();
        }
        let Some([first, _]) = range.halves() else { break };
        range = first;
    }
    assert_eq!(range, alone);
    assert_eq!(go_on(&opened), Worked { runs: 24, failed: 1, left: false });
    let out = opened.directory.join("out.parquet");
    let merged = merge(&opened, &out, false).unwrap();
    assert_eq!((merged.runs, merged.failed), (24, 1));
    assert!(merged.failures[0].ends_with(": its worker died 3 times (signal 9)"), "{:?}", merged.failures);
    assert_eq!(status(&opened).unwrap().failed, 1);
}

#[test]
fn a_damaged_or_foreign_part_is_named() {
    let folder = folder();
    let opened = opened(folder.path());
    go_on(&opened);
    let part = parts::path(&opened.directory, opened.state().unwrap().parts[0]);
    let whole = fs::read(&part).unwrap();
    fs::write(&part, &whole[..whole.len() / 2]).unwrap();
    let out = opened.directory.join("out.parquet");
    for problem in
        [status(&opened).unwrap_err().to_string(), merge(&opened, &out, false).unwrap_err().to_string()]
    {
        assert!(problem.starts_with(&part.display().to_string()) && problem.contains("damaged"), "{problem}");
    }
    assert!(!out.exists());
    fs::remove_file(&part).unwrap();
    assert!(go_on(&opened).runs > 0);
    merge(&opened, &out, false).unwrap();
}
