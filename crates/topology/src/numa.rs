//! The NUMA nodes.

use crate::files::Files;
use crate::host::{Cpu, NumaNode};
use crate::memory::field_bytes;

const SYSFS: &str = "sys/devices/system/node";

/// Reads the nodes, and writes its node's number into each CPU.
pub(crate) fn read(files: &Files, cpus: &mut [Cpu]) -> Vec<NumaNode> {
    let nodes: Vec<NumaNode> = files
        .numbered(SYSFS, "node")
        .into_iter()
        .map(|id| NumaNode {
            id,
            // A node of memory only has an empty list.
            cpus: files.cpu_list(&format!("{SYSFS}/node{id}/cpulist")).unwrap_or_default(),
            memory_bytes: files
                .text(&format!("{SYSFS}/node{id}/meminfo"))
                .and_then(|text| field_bytes(&text, "MemTotal")),
        })
        .collect();
    for cpu in cpus {
        cpu.numa_node = nodes.iter().find(|node| node.cpus.contains(&cpu.id)).map(|node| node.id);
    }
    nodes
}
