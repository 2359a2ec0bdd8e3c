//! The caches, from `cpuN/cache/indexM`. Every CPU lists the caches it can reach, so a shared one appears many times.

use std::collections::BTreeMap;

use crate::files::Files;
use crate::host::{Cache, CacheKind, Cpu};

/// Reads the caches of the CPUs, one entry for each physical cache, by level, kind and first CPU.
///
/// Two entries are one cache when they have level, kind and sharing CPUs in common. `id` would not do, as many kernels
/// (Arm, virtual machines) do not give it. A cache without a size (device trees often omit it) is left out.
pub(crate) fn read(files: &Files, cpus: &[Cpu]) -> Vec<Cache> {
    let mut found: BTreeMap<(u32, CacheKind, Vec<u32>), Cache> = BTreeMap::new();
    for cpu in cpus {
        let directory = format!("sys/devices/system/cpu/cpu{}/cache", cpu.id);
        for index in files.numbered(&directory, "index") {
            if let Some(cache) = read_one(files, &format!("{directory}/index{index}"), cpu.id) {
                let key = (cache.level, cache.kind, cache.shared_by.clone());
                found.entry(key).or_insert(cache);
            }
        }
    }
    found.into_values().collect()
}

fn read_one(files: &Files, directory: &str, cpu: u32) -> Option<Cache> {
    let path = |name: &str| format!("{directory}/{name}");
    let kind = match files.text(&path("type"))?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    let shared_by = files.cpu_list(&path("shared_cpu_list")).filter(|list| !list.is_empty());
    Some(Cache {
        level: files.number(&path("level"))?,
        kind,
        bytes: parse_size(&files.text(&path("size"))?)?,
        // Zero stands for "not known" in both files.
        line_bytes: files.number(&path("coherency_line_size")).filter(|bytes| *bytes > 0),
        ways: files.number(&path("ways_of_associativity")).filter(|ways| *ways > 0),
        shared_by: shared_by.unwrap_or_else(|| vec![cpu]),
    })
}

/// `48K` in bytes. The kernel writes whole KiB (drivers/base/cacheinfo.c, Linux 6.18); some simulators write M.
fn parse_size(text: &str) -> Option<u64> {
    text.parse::<swtch_units::Bytes>().ok().map(swtch_units::Bytes::get).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::parse_size;
    use proptest::prelude::*;

    #[test]
    fn sizes() {
        assert_eq!(parse_size("48K"), Some(48 << 10));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("0K"), None);
        assert_eq!(parse_size(""), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_size_or_none(text in "\\PC{0,30}") {
            let _ = parse_size(&text);
        }
    }
}
