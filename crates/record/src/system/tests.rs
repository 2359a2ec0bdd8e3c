//! Fixture texts of each file, machines whose CPUs come and go, and this machine.

use super::*;
use crate::clock::NS_PER_SECOND;
use proptest::prelude::*;
use std::fs;
use swtch_trace::model::Throttled;

const TICK_NS: u64 = 10_000_000;

/// A tree of files under a temporary root.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    root
}

const STAT: &str = "cpu  70 8 89 400 6 0 10 94 0 0\ncpu0 30 8 36 250 1 0 1 42 0 0\ncpu2 40 0 53 150 5 0 9 52 0 0\n\
    intr 489983 0 0 1\nctxt 1005760\nbtime 1795258416\nprocesses 12934\nprocs_running 3\nprocs_blocked 0\n";

const INTERRUPTS: &str = "           CPU0       CPU2       \n\
 24:          1          0  IO-APIC   5-edge      ACPI:Ged\n\
 25:          0          0  IO-APIC   8-edge    \n\
 38:          0       8308 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0, other\n\
LOC:     103473     127495   Local timer interrupts\n\
ERR:          3\n";

fn rows<'a>(unavailable: &'a [Unavailable], what: &str) -> Vec<&'a str> {
    unavailable.iter().filter(|row| row.field.as_str() == what).map(|row| row.reason.as_str()).collect()
}

#[test]
fn cpu_times_by_number_of_the_cpu() {
    let stat = stat::parse(STAT, TICK_NS);
    assert_eq!(stat.cpus.keys().copied().collect::<Vec<_>>(), [0, 2], "CPU 1 is off");
    let cpu = stat.cpus[&0];
    assert_eq!(cpu.user, Some(38 * TICK_NS), "niced programs are programs");
    assert_eq!((cpu.idle, cpu.steal), (Some(250 * TICK_NS), Some(42 * TICK_NS)));
    assert_eq!(
        (stat.context_switches, stat.interrupts_total, stat.forks),
        (Some(1_005_760), Some(489_983), Some(12_934))
    );
    assert_eq!((stat.procs_running, stat.procs_blocked), (Some(3), Some(0)));
    // Before Linux 2.6.11 there was no stolen time.
    let old = stat::parse("cpu  1 2 3 4 5\n", TICK_NS).total;
    assert_eq!((old.iowait, old.irq, old.steal), (Some(5 * TICK_NS), None, None));
}

#[test]
fn interrupts_by_line_with_names() {
    let table = counter_table::parse(INTERRUPTS).unwrap();
    assert_eq!(table.cpus, [0, 2]);
    let row = |line: &str| table.rows.iter().find(|row| row.line == line).unwrap();
    assert_eq!((row("24").name.as_str(), row("25").name.as_str()), ("ACPI:Ged", ""));
    assert_eq!(row("38").name, "virtio2-input.0, other");
    assert_eq!(
        (row("LOC").name.as_str(), &row("LOC").counts[..]),
        ("Local timer interrupts", &[103_473, 127_495][..])
    );
    assert_eq!((row("ERR").machine, row("ERR").counts.len()), (Some(3), 0));

    let arm = "           CPU0\n 11:     123     GICv3  27 Level     arch_timer\nIPI0:     7       Rescheduling interrupts\n\
        Err:          0\n";
    let arm = counter_table::parse(arm).unwrap();
    assert_eq!(arm.rows[0].name, "arch_timer");
    assert_eq!((arm.rows[1].line.as_str(), arm.rows[1].total()), ("IPI0", 7));
    assert_eq!(arm.rows[2].machine, Some(0), "one CPU does not make it that CPU's");

    let soft = counter_table::parse("  CPU0 CPU1\n HI: 0 0\n TIMER: 13595 19616\n BAD: x 1\n").unwrap();
    assert_eq!(soft.rows.len(), 2, "a malformed line is passed over");
    assert_eq!(soft.rows[1].total(), 33_211);
}

#[test]
fn pressure_has_one_half_or_two() {
    let io = "some avg10=1.17 avg60=0.71 avg300=0.47 total=6300846\nfull avg10=1.12 avg60=0.66 avg300=0.43 total=12\n";
    let halves = |text: &str| {
        let Pressure { some_ns, full_ns, .. } = pressure::parse("io", text);
        (some_ns, full_ns)
    };
    assert_eq!(halves(io), (Some(6_300_846_000), Some(12_000)));
    assert_eq!(halves("full avg10=0.00 total=5\n"), (None, Some(5000)));
    assert_eq!(halves("some total=x\nfullest total=1"), (None, None));
    let mut unavailable = Vec::new();
    let text = Ok("some avg10=0 total=5\nfull avg10=0 total=0\n".to_owned());
    let cpu = pressure::judged("cpu", text, &mut unavailable).unwrap();
    assert_eq!((cpu.resource.as_str(), cpu.some_ns, cpu.full_ns), ("cpu", Some(5000), None));
    assert_eq!(rows(&unavailable, "pressure.cpu.full").len(), 1);
}

#[test]
fn control_groups_of_both_versions() {
    let one = cpu_stat::parse("nr_periods 7\nnr_throttled 3\nthrottled_time 123456789\nnr_bursts 0\n");
    let throttled = Throttled { periods: 7, throttled_periods: 3, throttled_ns: 123_456_789 };
    assert_eq!((one.throttling, one.usage_ns), (Some(throttled), None));
    let two = cpu_stat::parse(
        "usage_usec 823\nuser_usec 714\nsystem_usec 108\nnr_periods 7\nnr_throttled 3\nthrottled_usec 12\n",
    );
    assert_eq!(two.throttling, Some(Throttled { throttled_ns: 12_000, ..throttled }));
    assert_eq!(two.usage_ns, Some(823_000));
    assert_eq!(cpu_stat::parse("usage_usec 823\n").throttling, None, "the controller is off");
}

/// What gVisor shows (its fs/proc): every counter a constant zero, and no interrupts.
const SANDBOX: &str = "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1795258416\n\
    processes 0\nprocs_running 0\nprocs_blocked 0\nsoftirq 0\n";

#[test]
fn zeros_that_cannot_be_are_unavailable_with_a_reason() {
    let root = tree(&[("proc/stat", SANDBOX)]);
    let snapshot = Snapshot::read(root.path(), None, Detail::Everything);
    assert_eq!((snapshot.context_switches, snapshot.interrupts_total, snapshot.forks), (None, None, None));
    assert_eq!((snapshot.procs_running, snapshot.procs_blocked), (None, Some(0)));
    assert_eq!((snapshot.total, snapshot.cpus.len()), (CpuTime::default(), 0));
    for what in ["machine.context_switches", "machine.interrupts", "machine.forks", "machine.cpu_ns"] {
        let [why] = rows(&snapshot.unavailable, what)[..] else { panic!("{what}") };
        assert!(why.contains("zero") && why.contains("does not count"), "{why}");
    }
    for what in ["interrupts", "softirqs", "pressure.cpu", "pressure.irq"] {
        let [why] = rows(&snapshot.unavailable, what)[..] else { panic!("{what}") };
        assert!(why.contains("/proc/") && why.contains("No such file"), "{why}");
    }
    let between = difference(&snapshot, &snapshot);
    assert_eq!((between.context_switches, between.interrupts), (None, None));
    assert_eq!(between.unavailable.len(), snapshot.unavailable.len(), "each reason once");
}

#[test]
fn time_in_interrupts_that_nobody_took_is_unavailable() {
    let root = tree(&[("proc/stat", STAT)]);
    let snapshot = Snapshot::read(root.path(), None, Detail::Totals);
    assert_eq!((snapshot.total.irq, snapshot.cpus[&0].irq), (None, None));
    assert_eq!(snapshot.total.softirq, Some(10 * clock::tick_ns()));
    assert_eq!(rows(&snapshot.unavailable, "cpu.irq_ns").len(), 1);
    let few = tree(&[("proc/stat", &STAT.replace("489983", "4899"))]);
    assert_eq!(Snapshot::read(few.path(), None, Detail::Totals).total.irq, Some(0));
}

#[test]
fn cpus_come_and_go() {
    let earlier = tree(&[("proc/stat", STAT), ("proc/interrupts", INTERRUPTS)]);
    let stat = "cpu  80 8 89 390 6 0 10 94 0 0\ncpu0 35 8 36 249 1 0 1 42 0 0\ncpu3 1 0 0 9 0 0 0 0 0 0\n\
        intr 490000 0\nctxt 1005800\nprocesses 12940\nprocs_running 2\nprocs_blocked 1\n";
    let interrupts = "  CPU0       CPU3\n 24:    6    100  IO-APIC   5-edge      ACPI:Ged\n\
        LOC:     103500     11   Local timer interrupts\n 50:   4    5  PCI-MSI  1-edge      new\nERR:    4\n";
    let later = tree(&[("proc/stat", stat), ("proc/interrupts", interrupts)]);
    let [earlier, later] = [earlier, later].map(|root| Snapshot::read(root.path(), None, Detail::Everything));
    let between = difference(&earlier, &later);

    assert_eq!(between.cpus.keys().copied().collect::<Vec<_>>(), [0]);
    assert_eq!(between.cpus[&0].user, Some(5 * clock::tick_ns()));
    assert_eq!(between.cpus[&0].idle, Some(0), "idle time that went back is nothing");
    assert_eq!(between.total.idle, Some(0));
    assert_eq!(
        (between.context_switches, between.interrupts_total, between.forks),
        (Some(40), Some(17), Some(6))
    );
    assert_eq!((between.procs_running, between.procs_blocked), (Some(2), Some(1)));
    let table = between.interrupts.unwrap();
    assert_eq!(table.cpus, [0]);
    let counts: Vec<(&str, u64)> = table.rows.iter().map(|row| (row.line.as_str(), row.total())).collect();
    assert_eq!(counts, [("24", 5), ("LOC", 27), ("50", 4), ("ERR", 1)]);
    for what in ["cpu.2", "cpu.3", "interrupts.25", "interrupts.38"] {
        assert_eq!(rows(&between.unavailable, what).len(), 1, "{what}");
    }
}

#[test]
fn counters_of_32_bits_wrap_and_new_devices_begin_again() {
    let at = |count: u64| {
        let text = format!("  CPU0\n 24:   {count}  IO-APIC   5-edge      disk\n");
        let interrupts = counter_table::parse(&text);
        Snapshot { interrupts, ..Snapshot::default() }
    };
    let growth = |earlier, later| difference(&at(earlier), &at(later)).interrupts.unwrap().rows[0].total();
    assert_eq!(growth(10, 15), 5);
    assert_eq!(growth((1 << 32) - 3, 4), 7, "wrapped");
    assert_eq!(growth(1000, 4), 4, "another device");
    assert_eq!(growth(1000, 990), 0, "it fell");
    let far = u64::from(u32::MAX) - 5;
    assert_eq!(growth(far, far - 1), 0, "it fell, and not by four thousand million less one");
    assert_eq!(difference(&at(far), &at(far - 1)).fell, 1);
}

#[test]
fn a_total_that_fell_is_no_difference() {
    let at = |ctxt| Snapshot { context_switches: Some(ctxt), ..Snapshot::default() };
    let between = difference(&at(100), &at(90));
    assert_eq!(between.context_switches, None);
    assert_eq!(rows(&between.unavailable, "machine.context_switches").len(), 1);
    assert_eq!(between.fell, 1);
}

const MOUNTS: &str = "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
    33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
    34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

#[test]
fn a_group_by_folder_by_path_and_of_a_process() {
    let root = tree(&[
        ("proc/self/mountinfo", MOUNTS),
        ("proc/12/cgroup", "5:memory:/m\n4:cpu,cpuacct:/web\n0::/web\n"),
        ("sys/fs/cgroup/cpu,cpuacct/web/cgroup.procs", "12\n"),
        ("sys/fs/cgroup/cpu,cpuacct/web/cpu.stat", "nr_periods 2\nnr_throttled 1\nthrottled_time 5\n"),
        ("sys/fs/cgroup/cpu,cpuacct/web/cpuacct.usage", "900\n"),
        ("sys/fs/cgroup/unified/web/cgroup.procs", ""),
        ("sys/fs/cgroup/unified/web/cgroup.controllers", ""),
        ("sys/fs/cgroup/unified/web/cpu.stat", "usage_usec 3\nuser_usec 2\nsystem_usec 1\n"),
        ("sys/fs/cgroup/unified/web/cpu.pressure", "some total=1\nfull total=0\n"),
    ]);
    let by_path = Cgroup::locate(root.path(), "/web").unwrap();
    assert_eq!((by_path.version, by_path.folder.as_str()), (1, "/sys/fs/cgroup/cpu,cpuacct/web"));
    assert_eq!(Cgroup::of_process(root.path(), 12).unwrap(), by_path);
    let two = Cgroup::locate(root.path(), "/sys/fs/cgroup/unified/web/").unwrap();
    assert_eq!((two.version, two.cpuacct_folder.as_ref()), (2, None));

    let read = |group| Snapshot::read(root.path(), Some(group), Detail::Totals);
    let counters = read(&by_path).cgroup.unwrap();
    assert_eq!(counters.usage_ns, Some(900));
    assert_eq!(counters.throttling.unwrap().throttled_ns, 5);
    assert_eq!(rows(&read(&by_path).unavailable, "cgroup.cpu_pressure").len(), 1);
    let counters = read(&two).cgroup.unwrap();
    assert_eq!((counters.usage_ns, counters.throttling), (Some(3000), None));
    let pressure = counters.cpu_pressure.unwrap();
    assert_eq!((pressure.some_ns, pressure.full_ns), (Some(1000), Some(0)));

    let error = Cgroup::locate(root.path(), "/nothing").unwrap_err().to_string();
    assert!(error.contains("/sys/fs/cgroup/unified/nothing") && !error.contains('\n'), "{error}");
    assert!(Cgroup::of_process(root.path(), 13).unwrap_err().to_string().contains("proc/13/cgroup"));
}

/// cpu and cpuacct have a hierarchy each. A group's time is in the group with the same tasks, and not in that of the same path.
#[test]
fn a_groups_time_is_in_the_group_with_the_same_tasks() {
    let mounts = "31 23 0:27 / /cg/cpu rw - cgroup cgroup rw,cpu\n32 23 0:28 / /cg/acct rw - cgroup cgroup rw,cpuacct\n";
    let root = tree(&[
        ("proc/self/mountinfo", mounts),
        ("cg/cpu/cgroup.procs", "1\n"),
        ("cg/cpu/tasks", "1\n"),
        ("cg/cpu/web/cgroup.procs", "2\n"),
        ("cg/cpu/web/cpu.stat", "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n"),
        ("cg/cpu/web/tasks", "2\n3\n"),
        ("cg/cpu/db/cgroup.procs", "4\n"),
        ("cg/cpu/db/cpu.stat", ""),
        ("cg/cpu/db/tasks", "4\n"),
        ("cg/acct/tasks", "1\n"),
        ("cg/acct/web/tasks", "4\n3\n"),
        ("cg/acct/web/cpuacct.usage", "1\n"),
        ("cg/acct/mine/tasks", "2\n"),
        ("cg/acct/mine/cpuacct.usage", "2\n"),
    ]);
    let account = |name: &str| Cgroup::locate(root.path(), name).unwrap().cpuacct_folder;
    assert_eq!((account("/web"), account("/db")), (None, None));
    fs::write(root.path().join("cg/acct/web/tasks"), "4\n").unwrap();
    fs::write(root.path().join("cg/acct/mine/tasks"), "2\n3\n").unwrap();
    assert_eq!(account("/web").as_deref(), Some("/cg/acct/mine"));
    assert_eq!(account("/cg/cpu/db").as_deref(), Some("/cg/acct/web"));
}

#[test]
fn a_removed_group_and_an_empty_machine_are_no_error() {
    let root = tree(&[]);
    let group = Cgroup { version: 2, folder: "/sys/fs/cgroup/gone".to_owned(), cpuacct_folder: None };
    let snapshot = Snapshot::read(root.path(), Some(&group), Detail::Everything);
    assert_eq!(snapshot.cgroup, Some(CgroupCounters::default()));
    for what in ["machine", "cgroup.throttling", "cgroup.usage_ns"] {
        assert_eq!(rows(&snapshot.unavailable, what).len(), 1, "{what}");
    }
}

#[test]
fn this_machine_counts_on() {
    let root = Path::new("/");
    let earlier = Snapshot::read(root, None, Detail::Everything);
    for _ in 0..50 {
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let later = Snapshot::read(root, None, Detail::Everything);
    let between = difference(&earlier, &later);
    assert!(between.length_ns >= 100_000_000 && between.length_ns < 600 * NS_PER_SECOND);
    let Some(switches) = between.context_switches else {
        eprintln!("SKIP this_machine_counts_on: {:?}", between.unavailable);
        return;
    };
    assert!(switches >= 50, "{switches}");
    for missing in [between.interrupts.is_none(), between.softirqs.is_none(), between.pressure.is_empty()] {
        assert!(!missing || !between.unavailable.is_empty());
    }
    assert!(between.cpus.len() <= later.cpus.len());
}

proptest! {
    #[test]
    fn any_text_does_not_panic(text in "(?s).{0,300}") {
        let _ = (stat::parse(&text, TICK_NS), counter_table::parse(&text), pressure::parse("cpu", &text));
        let _ = cpu_stat::parse(&text);
    }

    #[test]
    fn nearly_right_text_does_not_panic(
        one in "(cpu[0-9]{0,3}|ctxt|intr|some|nr_periods|  CPU0  CPU1|24:|LOC:|total=)?[ 0-9\\n:a-zA-Z=]{0,120}",
        other in "(  CPU0  CPU2\n)?( 24: [0-9]{0,25}  [0-9]{0,25} a  b\n|LOC: [0-9]{0,25}  [0-9]{0,25}\n|ERR: [0-9]{0,25}\n){0,5}",
    ) {
        let snapshot = |stat: &str, table: &str| {
            let mut rows = Vec::new();
            let stat = stat::judged(Ok(stat.to_owned()), TICK_NS, &mut rows);
            let interrupts = counter_table::judged("interrupts", Ok(table.to_owned()), &mut rows);
            Snapshot { total: stat.total, cpus: stat.cpus, interrupts, ..Snapshot::default() }
        };
        let _ = difference(&snapshot(&one, &other), &snapshot(&other, &one));
        let _ = difference(&snapshot(STAT, INTERRUPTS), &snapshot(&one, &other));
        let _ = difference(&snapshot(&one, &other), &snapshot(STAT, INTERRUPTS));
        let _ = (pressure::parse("cpu", &one), cpu_stat::parse(&one));
    }
}
