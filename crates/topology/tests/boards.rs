//! Reads boards and servers of Arm and RISC-V from dumps that others made of real ones: `fixtures/boards`.

use std::fs;
use std::path::Path;
use swtch_topology::host::{CacheKind, CoreKind};
use swtch_topology::{Host, Placement};
use swtch_units::CpuId;

/// A machine whose files are those of a dump.
fn board(name: &str) -> Host {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/boards").join(format!("{name}.json"));
    let dump: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let has_place = |source: &str| source.contains("commit") || source.contains("issue");
    assert!(dump["source"].as_str().is_some_and(has_place), "{name} has no source");
    let root = tempfile::tempdir().unwrap();
    for (place, text) in dump["files"].as_object().unwrap() {
        let path = root.path().join(place);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text.as_str().unwrap()).unwrap();
    }
    Host::read(root.path()).unwrap()
}

/// The kinds of the CPUs, one letter each, in order.
fn kinds(host: &Host) -> String {
    let letter = |kind: CoreKind| match kind {
        CoreKind::Performance => 'P',
        CoreKind::Efficiency => 'E',
        CoreKind::Uniform => '-',
    };
    host.cpus.iter().map(|cpu| letter(cpu.kind)).collect()
}

#[test]
fn cores_have_the_names_that_people_know() {
    let model = |name: &str| board(name).cpu_model.unwrap();
    for (name, model_there) in [
        ("apple-m1", "Apple Icestorm (M1)"),
        ("armv7-board", "Cortex-A15"),
        ("graviton1", "Cortex-A72"),
        ("graviton3", "Neoverse-V1"),
        ("jetson-nano", "Cortex-A57"),
        ("nvidia-dgx-gb10", "Cortex-A725 and Cortex-X925"),
        ("raspberry-pi-4", "Cortex-A72"),
        ("raspberry-pi-5", "Cortex-A76"),
        ("snapdragon-8-gen-2", "Cortex-A510, Cortex-A715, Cortex-A710 and Cortex-X3"),
        ("spacemit-x60", "Spacemit(R) X60"),
        ("visionfive2", "sifive,u74-mc"),
    ] {
        assert_eq!(model(name), model_there);
    }
}

#[test]
fn a_workstation_of_ten_fast_and_ten_slow_cores() {
    let host = board("nvidia-dgx-gb10");
    assert_eq!((host.architecture.as_str(), host.cpus.len()), ("aarch64", 20));
    assert_eq!(kinds(&host), "EEEEEPPPPPEEEEEPPPPP");
    let capacities: Vec<u32> = host.cpus.iter().filter_map(|cpu| cpu.capacity).collect();
    assert_eq!((capacities[0], capacities[10], capacities[5], capacities[19]), (718, 731, 997, 1024));
    assert_eq!(host.frequency.driver.as_deref(), Some("cppc_cpufreq"));
    // Two clusters of ten with an L3 each, of different sizes.
    let last: Vec<(u64, usize)> = host
        .caches
        .iter()
        .filter(|cache| cache.level == 3)
        .map(|cache| (cache.bytes >> 20, cache.shared_by.len()))
        .collect();
    assert_eq!(last, [(8, 10), (16, 10)]);
    assert_eq!(host.pair_for(Placement::OtherCoreKind).unwrap().len(), 2);
}

#[test]
fn a_telephone_with_caches_of_no_size() {
    let host = board("snapdragon-8-gen-2");
    assert_eq!(kinds(&host), "EEEPPPPP");
    let capacities: Vec<u32> = host.cpus.iter().filter_map(|cpu| cpu.capacity).collect();
    assert_eq!(capacities, [280, 280, 280, 855, 855, 855, 855, 1024]);
    // Its device tree gives none: missing, and not zero.
    assert!(host.caches.is_empty() && host.last_level_cache_bytes().is_none());
}

#[test]
fn a_board_of_riscv() {
    let host = board("visionfive2");
    assert_eq!((host.architecture.as_str(), host.cpus.len()), ("riscv64", 4));
    assert_eq!(kinds(&host), "----");
    let levels: Vec<(u32, u64)> =
        host.data_caches_of(CpuId::new(0)).iter().map(|cache| (cache.level, cache.bytes >> 10)).collect();
    assert_eq!(levels, [(1, 32), (2, 2048)]);
    let shared = host.caches.iter().find(|cache| cache.kind == CacheKind::Unified).unwrap();
    assert_eq!(shared.shared_by, [0, 1, 2, 3]);
    // Its harts are numbered otherwise than its CPUs.
    assert_eq!(
        host.cpus.iter().map(|cpu| cpu.core).collect::<Vec<_>>(),
        [Some(3), Some(1), Some(2), Some(4)]
    );
}

#[test]
fn machines_of_which_only_the_cpus_are_known() {
    for (name, architecture, cpus) in [
        ("apple-m1", "aarch64", 1),
        ("graviton3", "aarch64", 1),
        ("spacemit-x60", "riscv64", 1),
        ("raspberry-pi-4", "aarch64", 4),
        ("raspberry-pi-5", "aarch64", 4),
        ("jetson-nano", "aarch64", 4),
    ] {
        let host = board(name);
        assert_eq!((host.architecture.as_str(), host.cpus.len()), (architecture, cpus), "{name}");
        assert!(host.caches.is_empty() && kinds(&host).chars().all(|kind| kind == '-'), "{name}");
    }
}
