//! Reads the machines under `fixtures/machines` and expects exactly what their files say.

use std::path::{Path, PathBuf};

use swtch_topology::host::{CacheKind, CoreKind, CpuQuota};
use swtch_topology::{Host, Placement, TopologyError};
use swtch_units::CpuId;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(name)
}

fn machine(name: &str) -> Host {
    Host::read(&folder(name)).unwrap()
}

/// The CPUs of each placement, in the order of `Placement::ALL`; or why there are none.
fn pairs(host: &Host) -> Vec<String> {
    Placement::ALL
        .iter()
        .map(|placement| match host.pair_for(*placement) {
            Ok(cpus) => cpus.iter().map(CpuId::to_string).collect::<Vec<_>>().join(" "),
            Err(why) => why,
        })
        .collect()
}

fn caches(host: &Host) -> Vec<(u32, CacheKind, u64, Vec<u32>)> {
    host.caches
        .iter()
        .map(|cache| (cache.level, cache.kind, cache.bytes >> 10, cache.shared_by.clone()))
        .collect()
}

#[test]
fn laptop_with_two_kinds_of_core() {
    let host = machine("laptop-hybrid");
    let kinds: Vec<CoreKind> = host.cpus.iter().map(|cpu| cpu.kind).collect();
    assert_eq!(kinds, [[CoreKind::Performance; 4], [CoreKind::Efficiency; 4]].concat());
    assert_eq!(host.cpu_model.as_deref(), Some("12th Gen Intel(R) Core(TM) i5-1235U"));
    assert_eq!(host.cpus[3].smt_siblings, [2, 3]);
    assert_eq!(host.frequency.governor.as_deref(), Some("powersave"));
    assert_eq!(host.frequency.boost, Some(true));
    assert_eq!(host.virtualisation, swtch_topology::host::Virtualisation::default());
    assert_eq!(host.kernel.preemption.as_deref(), Some("voluntary"));
    assert_eq!(
        host.kernel.preemption_source.as_deref(),
        Some("/boot/config-6.8.0-45-generic, the default, which may have been changed since")
    );
    assert_eq!(host.kernel.sched_ext, Some(false));
    assert_eq!((host.limits.effective_uid, host.limits.effective_capabilities), (1000, 0));
    assert_eq!(host.limits.cpu_quota, None);
    assert_eq!(host.limits.available_memory_bytes, Some(11_533_668 << 10));
    assert_eq!(
        host.same_cpu_by_kind(),
        [(CoreKind::Performance, CpuId::new(3)), (CoreKind::Efficiency, CpuId::new(7))]
    );
    assert_eq!(
        pairs(&host),
        [
            "3",
            "2 3",
            "6 7",
            "1 3",
            "all alike cores of a package share an L2 or an L3",
            "the machine has one package",
            "3 7",
            "",
        ]
    );
}

#[test]
fn server_with_two_sockets_under_a_quota() {
    let host = machine("server-2-sockets");
    assert_eq!(host.last_level_cache_bytes(), Some(22528 << 10));
    assert_eq!(
        caches(&host)[8..],
        [(3, CacheKind::Unified, 22528, vec![0, 1, 4, 5]), (3, CacheKind::Unified, 22528, vec![2, 3, 6, 7])]
    );
    assert_eq!(
        host.numa_nodes.iter().map(|node| node.cpus.clone()).collect::<Vec<_>>(),
        [[0, 1, 4, 5], [2, 3, 6, 7]]
    );
    assert_eq!(host.cpus[6].numa_node, Some(1));
    assert_eq!(host.cpus[6].package, Some(1));
    assert_eq!(host.kernel.preemption.as_deref(), Some("voluntary"));
    assert_eq!(host.kernel.preemption_source.as_deref(), Some("/sys/kernel/debug/sched/preempt"));
    assert_eq!(host.kernel.page_table_isolation, Some(true));
    assert_eq!((host.kernel.sched_ext, host.kernel.sched_ext_loaded.as_deref()), (Some(true), None));
    assert_eq!(
        host.limits.cpu_quota,
        Some(CpuQuota {
            quota_us: 150_000,
            period_us: 100_000,
            cgroup_version: 2,
            path: "/sys/fs/cgroup/system.slice/swtch.service".to_owned()
        })
    );
    assert_eq!(host.limits.memory_limit_bytes, Some(4 << 30));
    assert_eq!(host.limits.available_memory_bytes, Some((4 << 30) - (768 << 20)));
    assert_eq!(
        pairs(&host),
        [
            "7",
            "3 7",
            "no two cores share an L2",
            "6 7",
            "all alike cores of a package share an L2 or an L3",
            "5 7",
            "all cores are of one kind",
            "",
        ]
    );
}

#[test]
fn board_with_big_and_little_cores_and_one_off() {
    let host = machine("board-big-little");
    assert_eq!(host.architecture, "aarch64");
    assert_eq!(host.cpu_model.as_deref(), Some("Cortex-A55 and Cortex-A76"));
    assert_eq!(host.cpus.len(), 8);
    assert!(!host.cpus[3].online);
    assert_eq!(
        (host.cpus[3].core, host.cpus[3].capacity, host.cpus[3].kind),
        (None, None, CoreKind::Uniform)
    );
    assert_eq!((host.cpus[2].capacity, host.cpus[2].kind), (Some(530), CoreKind::Efficiency));
    assert_eq!((host.cpus[4].capacity, host.cpus[4].kind), (Some(1024), CoreKind::Performance));
    assert_eq!(host.limits.allowed_cpus, [0, 1, 2, 4, 5, 6, 7]);
    assert_eq!(host.limits.realtime_priority_limit, Some(99));
    assert_eq!(host.limits.unprivileged_bpf_disabled, None);
    assert_eq!(host.virtualisation.hypervisor, None);
    assert_eq!(host.kernel.preemption.as_deref(), Some("full"));
    let levels: Vec<(u32, u64)> =
        host.data_caches_of(CpuId::new(7)).iter().map(|cache| (cache.level, cache.bytes >> 10)).collect();
    assert_eq!(levels, [(1, 64), (2, 512), (3, 3072)]);
    assert!(host.data_caches_of(CpuId::new(3)).is_empty());
    assert_eq!(
        pairs(&host),
        [
            "7",
            "each core runs one thread (SMT is absent or off)",
            "no two cores share an L2",
            "6 7",
            "all alike cores of a package share an L2 or an L3",
            "the machine has one package",
            "2 7",
            "",
        ]
    );
}

#[test]
fn container_with_a_tenth_of_one_processor() {
    let host = machine("container-v1-quota");
    assert_eq!(host.virtualisation.hypervisor.as_deref(), Some("amazon"));
    assert_eq!(host.virtualisation.container.as_deref(), Some("docker"));
    assert_eq!(host.limits.allowed_cpus, [2]);
    assert_eq!(host.limits.cgroup_versions, [1]);
    let quota = host.limits.cpu_quota.clone().unwrap();
    assert!((quota.cpus() - 0.1).abs() < 1e-12);
    assert_eq!((quota.cgroup_version, quota.path.as_str()), (1, "/sys/fs/cgroup/cpu,cpuacct"));
    assert_eq!(host.limits.memory_limit_bytes, Some(256 << 20));
    assert_eq!(host.limits.available_memory_bytes, Some((256 - 100 + 20) << 20));
    assert_eq!(host.kernel.preemption, None);
    let only = "only one CPU is allowed (cpuset or affinity)";
    assert_eq!(pairs(&host), ["2", only, only, only, only, only, only, ""]);
}

/// QEMU gives an Arm CPU the numbers of the real one, and its device tree no sizes of caches.
#[test]
fn emulated_arm_guest_that_tells_it() {
    let host = machine("vm-arm64");
    assert_eq!(host.architecture, "aarch64");
    assert_eq!(host.cpu_model.as_deref(), Some("QEMU TCG CPU, Neoverse-N1"));
    assert!(host.is_emulated());
    assert_eq!(host.virtualisation.hypervisor.as_deref(), Some("qemu"));
    assert!(host.caches.is_empty(), "they have levels and no sizes: {:?}", host.caches);
    assert_eq!(host.cpus.iter().map(|cpu| cpu.core).collect::<Vec<_>>(), [Some(0), Some(1)]);
    assert!(!machine("board-big-little").is_emulated());
}

#[test]
fn sandbox_that_imitates_linux() {
    let host = machine("sandbox-gvisor");
    assert!(host.virtualisation.gvisor);
    assert_eq!(host.kernel.release, "4.4.0");
    assert_eq!(host.kernel.version, "#1 SMP Sun Jan 10 15:06:54 PST 2016");
    assert_eq!(host.kernel.page_table_isolation, None);
    assert_eq!(host.limits.allowed_cpus, [0, 1]);
    assert_eq!(host.limits.perf_event_paranoid, None);
    assert_eq!(host.limits.realtime_priority_limit, None);
    assert_eq!(host.last_level_cache_bytes(), None);
    assert!(host.limits.cgroup_versions.is_empty());
    let caches = "the machine does not describe its caches";
    let packages = "the machine does not say which package a CPU belongs to";
    assert_eq!(
        pairs(&host),
        [
            "1",
            "the machine does not say which CPUs share a core",
            caches,
            caches,
            packages,
            packages,
            "all cores are of one kind",
            "",
        ]
    );
}

#[test]
fn virtual_machine_without_firmware_tables() {
    let host = machine("vm-firecracker");
    assert_eq!(host.architecture, "x86_64");
    assert_eq!(host.virtualisation.hypervisor.as_deref(), Some("kvm"));
    assert_eq!(host.virtualisation.container, None);
    assert_eq!(
        caches(&host),
        [
            (1, CacheKind::Data, 48, vec![0]),
            (1, CacheKind::Data, 48, vec![1]),
            (1, CacheKind::Instruction, 32, vec![0]),
            (1, CacheKind::Instruction, 32, vec![1]),
            (2, CacheKind::Unified, 1024, vec![0]),
            (2, CacheKind::Unified, 1024, vec![1]),
            (3, CacheKind::Unified, 32768, vec![0, 1]),
        ]
    );
    assert_eq!((host.caches[0].line_bytes, host.caches[0].ways), (Some(64), Some(12)));
    assert_eq!(host.kernel.preemption, None);
    assert_eq!(host.limits.cgroup_versions, [1, 2]);
    assert_eq!((host.limits.cpu_quota.clone(), host.limits.memory_limit_bytes), (None, None));
    assert_eq!(host.limits.available_memory_bytes, Some(24_183_968 << 10));
    assert_eq!(host.limits.effective_capabilities, 0x1ff_feff_ffff);
    assert_eq!(
        pairs(&host),
        [
            "1",
            "each core runs one thread (SMT is absent or off)",
            "no two cores share an L2",
            "0 1",
            "all alike cores of a package share an L2 or an L3",
            "the machine has one package",
            "all cores are of one kind",
            "",
        ]
    );
}

#[test]
fn no_processor_list_is_an_error_that_names_the_files() {
    let root = tempfile::tempdir().unwrap();
    let error = Host::read(root.path()).unwrap_err();
    assert!(matches!(error, TopologyError::NoProcessors { .. }));
    let message = error.to_string();
    assert!(
        message.contains("sys/devices/system/cpu/online") && message.contains("proc/cpuinfo"),
        "{message}"
    );
}

#[test]
fn a_malformed_processor_list_is_an_error_that_shows_it() {
    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("sys/devices/system/cpu/online");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    for text in ["zero\n", "", "3-1"] {
        std::fs::write(&file, text).unwrap();
        let message = Host::read(root.path()).unwrap_err().to_string();
        assert!(message.contains("expected a list of CPUs such as 0-3,8"), "{message}");
        assert!(message.contains(&format!("found '{}'", text.trim())), "{message}");
    }
}

#[test]
fn cpuinfo_stands_in_for_a_missing_list() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("proc")).unwrap();
    std::fs::write(root.path().join("proc/cpuinfo"), "processor\t: 0\nprocessor\t: 70\n").unwrap();
    let host = Host::read(root.path()).unwrap();
    assert_eq!(host.limits.allowed_cpus, [0, 70]);
    assert_eq!(host.pair_for(Placement::SameCpu), Ok(vec![CpuId::new(70)]));
}

#[test]
fn this_machine_can_be_read() {
    let host = Host::read(Path::new("/")).unwrap();
    assert!(!host.architecture.is_empty());
    assert!(!host.limits.allowed_cpus.is_empty());
    assert_eq!(host.pair_for(Placement::SameCpu).map(|cpus| cpus.len()), Ok(1));
}

#[test]
fn a_host_survives_json() {
    for name in ["laptop-hybrid", "server-2-sockets", "board-big-little", "sandbox-gvisor"] {
        let host = machine(name);
        let text = serde_json::to_string(&host).unwrap();
        assert_eq!(serde_json::from_str::<Host>(&text).unwrap(), host);
    }
}
