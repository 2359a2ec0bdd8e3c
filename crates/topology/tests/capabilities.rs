//! What `judge` makes of the machines under `fixtures/machines`.

use std::path::Path;

use swtch_topology::Host;
use swtch_topology::capability::{Capability, Probe, Probes, State, judge};

fn works() -> Probe {
    Probe { works: true, why: None }
}

fn fails(why: &str) -> Probe {
    Probe { works: false, why: Some(why.to_owned()) }
}

fn all_work() -> Probes {
    Probes {
        realtime: works(),
        pinning: works(),
        perf_events: works(),
        hardware_counters: works(),
        bpf: works(),
        switch_counts: works(),
    }
}

fn all_refused() -> Probes {
    let refused = || fails("Operation not permitted (os error 1)");
    Probes {
        realtime: refused(),
        pinning: works(),
        perf_events: refused(),
        hardware_counters: refused(),
        bpf: refused(),
        switch_counts: works(),
    }
}

fn rows(machine: &str, probes: &Probes) -> Vec<Capability> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(machine);
    judge(&Host::read(&root).unwrap(), probes)
}

fn row<'a>(rows: &'a [Capability], name: &str) -> &'a Capability {
    rows.iter().find(|row| row.name == name).unwrap()
}

fn enable<'a>(rows: &'a [Capability], name: &str) -> &'a str {
    row(rows, name).enable.as_deref().unwrap_or("nothing")
}

const MACHINES: [&str; 6] = [
    "laptop-hybrid",
    "server-2-sockets",
    "board-big-little",
    "container-v1-quota",
    "sandbox-gvisor",
    "vm-firecracker",
];

#[test]
fn every_machine_has_the_same_rows_and_each_loss_has_a_price() {
    let names = [
        "processors",
        "smt",
        "caches",
        "frequency-governor",
        "virtualisation",
        "kernel",
        "mitigations",
        "page-table-isolation",
        "sched-ext",
        "cpu-limit",
        "memory-limit",
        "pinning",
        "realtime-class",
        "switch-counts",
        "perf-events",
        "hardware-counters",
        "bpf",
    ];
    for machine in MACHINES {
        for probes in [all_work(), all_refused()] {
            let rows = rows(machine, &probes);
            assert_eq!(rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), names);
            for row in rows {
                assert_eq!(row.state == State::Ok, row.costs.is_none(), "{machine}: {row:?}");
                assert!(row.state != State::Ok || row.enable.is_none(), "{machine}: {row:?}");
                let backticks = row.enable.iter().flat_map(|text| text.matches('`')).count();
                assert!(backticks.is_multiple_of(2), "{machine}: {row:?}");
            }
        }
    }
}

#[test]
fn a_user_on_a_laptop_is_told_the_commands() {
    let rows = rows("laptop-hybrid", &all_refused());
    assert_eq!(row(&rows, "processors").finding, "8 CPUs, 4 performance + 4 efficiency");
    assert_eq!(
        row(&rows, "caches").finding,
        "L1d 48 KiB shared by 2-3, L2 1.2 MiB shared by 2-3, L3 18 MiB shared by 0-7"
    );
    assert_eq!(enable(&rows, "frequency-governor"), "`sudo cpupower frequency-set -g performance`");
    assert!(enable(&rows, "realtime-class").starts_with("`sudo setcap cap_sys_nice+ep $(command -v swtch)`"));
    assert_eq!(enable(&rows, "perf-events"), "`sudo sysctl kernel.perf_event_paranoid=1`");
    // Its kernel has drivers for the counters of both kinds of core, so the permission is what lacks.
    assert_eq!(enable(&rows, "hardware-counters"), "`sudo sysctl kernel.perf_event_paranoid=1`");
    assert!(enable(&rows, "bpf").starts_with("`sudo setcap cap_bpf,cap_perfmon+ep"));
    assert!(enable(&rows, "sched-ext").contains("CONFIG_SCHED_CLASS_EXT=y"));
    assert_eq!(row(&rows, "cpu-limit").finding, "no quota (cgroup v2)");
}

#[test]
fn a_server_under_a_quota() {
    let rows = rows("server-2-sockets", &all_work());
    let missing: Vec<(&str, State)> =
        rows.iter().filter(|row| row.state != State::Ok).map(|row| (row.name.as_str(), row.state)).collect();
    assert_eq!(missing, [("cpu-limit", State::Limited)]);
    assert_eq!(row(&rows, "processors").finding, "8 CPUs, 2 packages, 2 NUMA nodes");
    assert_eq!(
        row(&rows, "mitigations").finding,
        "6 active (the figures include them), 0 vulnerable, 1 not affected"
    );
    assert_eq!(
        row(&rows, "cpu-limit").finding,
        "1.5 CPUs: 150 ms in each 100 ms (cgroup v2, /sys/fs/cgroup/system.slice/swtch.service)"
    );
    assert_eq!(
        enable(&rows, "cpu-limit"),
        "`echo max | sudo tee /sys/fs/cgroup/system.slice/swtch.service/cpu.max`"
    );
    assert_eq!(row(&rows, "memory-limit").finding, "4 GiB by cgroup, 3.2 GiB available");
}

#[test]
fn a_root_that_is_refused_the_real_time_class_lacks_a_share_of_its_group() {
    let rows = rows("server-2-sockets", &all_refused());
    assert!(enable(&rows, "realtime-class").contains("cpu.rt_runtime_us"));
}

#[test]
fn a_container_is_told_how_to_be_started() {
    let rows = rows("container-v1-quota", &all_refused());
    assert_eq!(row(&rows, "processors").finding, "4 CPUs; allowed: 2");
    assert!(enable(&rows, "processors").contains("--cpuset-cpus=0-3"));
    assert!(row(&rows, "cpu-limit").finding.starts_with("0.1 CPUs: 10 ms in each 100 ms"));
    assert!(row(&rows, "cpu-limit").costs.as_deref().unwrap().contains("10-fold"));
    assert!(enable(&rows, "cpu-limit").contains("without `--cpus`"));
    assert_eq!(row(&rows, "memory-limit").state, State::Limited);
    assert_eq!(enable(&rows, "realtime-class"), "`docker run --cap-add SYS_NICE --ulimit rtprio=99`");
    assert_eq!(enable(&rows, "bpf"), "`docker run --cap-add BPF --cap-add PERFMON`");
    assert_eq!(row(&rows, "kernel").enable, None);
}

#[test]
fn a_sandbox_is_not_told_to_use_linux_settings() {
    let mut probes = all_refused();
    probes.switch_counts = fails("getrusage reports a constant zero");
    let rows = rows("sandbox-gvisor", &probes);
    for name in ["realtime-class", "perf-events", "hardware-counters", "bpf", "sched-ext", "kernel"] {
        assert_eq!(row(&rows, name).enable, None, "{name}");
    }
    assert_eq!(row(&rows, "pinning").state, State::Limited);
    assert_eq!(row(&rows, "switch-counts").finding, "not counted: getrusage reports a constant zero");
}

#[test]
fn a_virtual_machine_needs_its_hypervisor_for_counters() {
    let mut probes = all_work();
    probes.hardware_counters = fails("No such file or directory (os error 2)");
    let rows = rows("vm-firecracker", &probes);
    assert!(enable(&rows, "hardware-counters").contains("virtual PMU"));
    assert_eq!(enable(&rows, "kernel"), "`mount -t debugfs none /sys/kernel/debug`");
    assert_eq!(row(&rows, "frequency-governor").state, State::Missing);
    assert_eq!(
        row(&rows, "caches").finding,
        "L1d 48 KiB, L2 1 MiB, L3 32 MiB shared by 0-1; lines of 64 B (as the hypervisor reports them)"
    );
}

#[test]
fn no_permission_is_advised_for_counters_that_are_not_there() {
    // To an ordinary user the kernel refuses software events too.
    let rows = rows("vm-firecracker", &all_refused());
    let counters = row(&rows, "hardware-counters");
    assert_eq!(counters.finding, "there are none: the hypervisor (kvm) gives this machine no counters");
    assert!(enable(&rows, "hardware-counters").contains("virtual PMU"), "{counters:?}");

    // On hardware nothing gives it some.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines/laptop-hybrid");
    let mut host = Host::read(&root).unwrap();
    assert_eq!(host.kernel.hardware_counters, Some(true));
    host.kernel.hardware_counters = Some(false);
    let rows = judge(&host, &all_refused());
    let counters = row(&rows, "hardware-counters");
    assert_eq!(counters.finding, "there are none: the kernel has no driver for counters of this CPU");
    assert_eq!(counters.enable, None);

    // Nor does a hypervisor that executes the instructions itself.
    host.virtualisation.hypervisor = Some("qemu".to_owned());
    host.cpu_model = Some("QEMU TCG CPU version 2.5+".to_owned());
    assert_eq!(row(&judge(&host, &all_refused()), "hardware-counters").enable, None);
}

#[test]
fn the_kernels_event_sources_say_whether_there_are_counters() {
    let of = |machine: &str| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(machine);
        Host::read(&root).unwrap().kernel.hardware_counters
    };
    let known = ["laptop-hybrid", "server-2-sockets", "board-big-little", "vm-firecracker"].map(of);
    assert_eq!(known, [Some(true), Some(true), Some(true), Some(false)]);
    assert_eq!(of("sandbox-gvisor"), None, "it lists no event sources");
}
