//! Any file of a machine may hold anything: reading, choosing CPUs and judging never panic.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use swtch_topology::capability::{Probe, Probes, judge};
use swtch_topology::{Host, Placement};

fn files_under(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() { files_under(&path, found) } else { found.push(path) }
    }
}

/// What a machine's files are likely to hold after a mistake, and what they never hold.
fn contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..64),
        "[-0-9,kKmM max]{0,24}".prop_map(String::into_bytes),
        Just(b"18446744073709551615".to_vec()),
        Just(b"-1\n".to_vec()),
        Just(b"0-300\n".to_vec()),
        Just(Vec::new()),
    ]
}

fn use_it(root: &Path) {
    let Ok(host) = Host::read(root) else { return };
    for placement in Placement::ALL {
        let _ = host.pair_for(placement);
    }
    let _ = (host.same_cpu_by_kind(), host.last_level_cache_bytes());
    let works = Probe { works: true, why: None };
    let fails = Probe { works: false, why: None };
    for probe in [works, fails] {
        let probes = Probes {
            realtime: probe.clone(),
            pinning: probe.clone(),
            perf_events: probe.clone(),
            hardware_counters: probe.clone(),
            bpf: probe.clone(),
            switch_counts: probe,
        };
        let _ = judge(&host, &probes);
    }
}

/// One machine of each test, with every file replaced in turn.
fn replace_each(machine: &str, bytes: &[u8]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines").join(machine);
    let copy = tempfile::tempdir().unwrap();
    let mut files = Vec::new();
    files_under(&source, &mut files);
    for file in &files {
        let target = copy.path().join(file.strip_prefix(&source).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(file, target).unwrap();
    }
    for file in &files {
        let target = copy.path().join(file.strip_prefix(&source).unwrap());
        fs::write(&target, bytes).unwrap();
        use_it(copy.path());
        fs::copy(file, &target).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn of_a_container(bytes in contents()) {
        replace_each("container-v1-quota", &bytes);
    }

    #[test]
    fn of_a_sandbox(bytes in contents()) {
        replace_each("sandbox-gvisor", &bytes);
    }

    #[test]
    fn of_a_board(bytes in contents()) {
        replace_each("board-big-little", &bytes);
    }
}
