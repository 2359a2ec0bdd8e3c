//! Every byte of every file changed, every length cut: an error or other values, never a panic, never much memory or time.

use std::fs;
use std::path::Path;
use swtch_topology::Host;
use swtch_trace::check::check;
use swtch_trace::model::{Ended, Header, Provenance, Scope};
use swtch_trace::tables::{
    CgroupRow, CpuRow, HistogramRow, InterruptRow, IntervalRow, PreemptionRow, Row, SwitchRow, TableSink,
    TaskRow, WakeRow,
};
use swtch_trace::{Trace, TraceError, Writer};

/// A finished Trace with one small table, or with switches when there are no rows.
fn trace<R: Row>(folder: &Path, rows: &[R]) {
    let mut header = Header::new(Provenance::default(), Host::default(), Scope::Machine);
    let mut writer = Writer::create(folder, &header).unwrap();
    if rows.is_empty() {
        let row = |index: u64| SwitchRow {
            at_ns: index * index,
            cpu: index as u32 % 2,
            waited_ns: (index.is_multiple_of(3)).then_some(index),
            ..SwitchRow::default()
        };
        writer.append_switches(&(0..100).map(row).collect::<Vec<_>>()).unwrap();
    } else {
        writer.put(rows).unwrap();
    }
    header.provenance.ended = Ended::Complete;
    writer.finish(&header).unwrap();
}

/// Reads everything; the error it ends with.
fn read_all(folder: &Path) -> Result<(), TraceError> {
    let trace = Trace::open_unchecked(folder)?;
    // Figures that cannot be true may come out of it: the checks have to bear them.
    drop(check(trace.view()));
    trace.switches().try_for_each(|row| row.map(drop))
}

/// Every way of damaging `file` in `directory`; how many were found out.
fn damage(folder: &Path, file: &str) -> usize {
    let path = folder.join(file);
    let whole = fs::read(&path).unwrap();
    let mut found = 0;
    let mut attempt = |contents: &[u8]| {
        fs::write(&path, contents).unwrap();
        if let Err(error) = read_all(folder) {
            let message = error.to_string();
            assert!(!message.contains('\n') && message.contains(folder.to_str().unwrap()), "{message}");
            found += 1;
        }
    };
    for length in 0..whole.len() {
        attempt(&whole[..length]);
    }
    for index in 0..whole.len() {
        // One bit and all bits: the one makes counts a little wrong, the other very wrong.
        for pattern in [1 << (index % 8), 0xff] {
            let mut changed = whole.clone();
            changed[index] ^= pattern;
            attempt(&changed);
        }
    }
    fs::write(&path, &whole).unwrap();
    read_all(folder).unwrap();
    found
}

/// Most memory the process ever asked for, in kB.
fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmPeak:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn check_table<R: Row>(table: &str, rows: &[R]) {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    trace(&folder, rows);
    let file = if rows.is_empty() { "switches-000001.parquet" } else { table };
    let length = fs::metadata(folder.join(file)).unwrap().len() as usize;
    let before_kb = peak_kb();
    let found = damage(&folder, file);
    // A cut is always found out: the end of a Parquet file is its index.
    assert!(found >= length, "{table}: {found} of {}", length * 3);
    let grown_kb = peak_kb() - before_kb;
    assert!(grown_kb < 1 << 20, "{table}: {grown_kb} kB");
}

#[test]
fn damaged_switches() {
    check_table::<TaskRow>("switches", &[]);
}

#[test]
fn damaged_tasks() {
    let task = |tid: u32| TaskRow {
        tid,
        comm: format!("worker {tid}"),
        cgroup: (tid.is_multiple_of(2)).then(|| "/system.slice".to_owned()),
        kernel_thread: tid == 2,
        in_scope: true,
        cold_switch_ins: Some(3),
        run_ns: 1 << tid,
        wait_max_ns: (tid.is_multiple_of(3)).then_some(5),
        ..TaskRow::default()
    };
    check_table("tasks.parquet", &(1..20).map(task).collect::<Vec<_>>());
}

#[test]
fn damaged_small_tables() {
    check_table("cpus.parquet", &[CpuRow::default(), CpuRow { cpu: 1, run_ns: 9, ..CpuRow::default() }]);
    check_table("cgroups.parquet", &[CgroupRow { path: "/a".to_owned(), ..CgroupRow::default() }]);
    check_table("wakes.parquet", &[WakeRow::default(), WakeRow { same_cpu: Some(3), ..WakeRow::default() }]);
    check_table("preemptions.parquet", &[PreemptionRow { ns: Some(7), ..PreemptionRow::default() }]);
    check_table("interrupts.parquet", &[InterruptRow { line: "24".to_owned(), ..InterruptRow::default() }]);
    check_table("intervals.parquet", &[IntervalRow { forks: Some(2), ..IntervalRow::default() }]);
    check_table(
        "histograms.parquet",
        &[HistogramRow { metric: "wait".to_owned(), ..HistogramRow::default() }],
    );
}

#[test]
fn damaged_header() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("run.swtch");
    trace(&folder, &[WakeRow::default()]);
    let length = fs::metadata(folder.join("header.json")).unwrap().len() as usize;
    // All cuts but that of the last line break.
    assert!(damage(&folder, "header.json") >= length - 1);
}
