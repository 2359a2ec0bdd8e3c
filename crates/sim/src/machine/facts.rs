//! A simulated machine as the facts of a host, so that its Traces are read as others are, and replayed on the like of it.

use super::{Machine, MachineCpu};
use swtch_topology::Host;
use swtch_topology::host::{self, Cache, CacheKind, CoreKind, NumaNode};
use swtch_trace::accumulate::CacheGroups;

/// The facts.
pub(crate) fn host(machine: &Machine) -> Host {
    let fastest = machine.types.iter().map(|kind| kind.speed).max().unwrap_or(1).max(1);
    let capacity = |cpu: &MachineCpu| machine.types[cpu.core_type as usize].speed * 1024 / fastest;
    let kind = |cpu: &MachineCpu| match (machine.types.len(), machine.types[cpu.core_type as usize].speed) {
        (0 | 1, _) => CoreKind::Uniform,
        (_, speed) if speed == fastest => CoreKind::Performance,
        _ => CoreKind::Efficiency,
    };
    let mut cpus: Vec<host::Cpu> = machine
        .cpus
        .iter()
        .enumerate()
        .map(|(place, cpu)| host::Cpu {
            id: cpu.id.get(),
            online: true,
            core: Some(cpu.core),
            package: Some(cpu.node),
            smt_siblings: machine.cpus[machine.core(place)].iter().map(|cpu| cpu.id.get()).collect(),
            numa_node: Some(cpu.node),
            capacity: Some(capacity(cpu)),
            kind: kind(cpu),
            ..host::Cpu::default()
        })
        .collect();
    cpus.sort_by_key(|cpu| cpu.id);
    let mut caches = domains(machine, 2, |cpu| cpu.l2);
    caches.extend(domains(machine, 3, |cpu| cpu.l3));
    let mut numa_nodes: Vec<NumaNode> = Vec::new();
    for cpu in &machine.cpus {
        match numa_nodes.last_mut().filter(|node| node.id == cpu.node) {
            Some(node) => node.cpus.push(cpu.id.get()),
            None => numa_nodes.push(NumaNode { id: cpu.node, cpus: vec![cpu.id.get()], memory_bytes: None }),
        }
    }
    Host {
        architecture: "simulated".to_owned(),
        cpu_model: Some(machine.name.clone()),
        cpus,
        caches,
        numa_nodes,
        ..Host::default()
    }
}

/// The caches of a level, whose CPUs lie side by side.
fn domains(machine: &Machine, level: u32, of: impl Fn(&MachineCpu) -> u32) -> Vec<Cache> {
    let mut caches: Vec<Cache> = Vec::new();
    let mut last = None;
    for cpu in &machine.cpus {
        if last.replace(of(cpu)) != Some(of(cpu)) {
            let kind = CacheKind::Unified;
            caches.push(Cache { level, kind, bytes: 0, line_bytes: None, ways: None, shared_by: Vec::new() });
        }
        caches.last_mut().expect("just pushed").shared_by.push(cpu.id.get());
    }
    caches
}

/// Which CPUs share caches, by the kernel's numbers.
pub(crate) fn cache_groups(machine: &Machine) -> CacheGroups {
    let most = machine.cpus.iter().map(|cpu| cpu.id.get() as usize + 1).max().unwrap_or(0);
    let mut groups = CacheGroups { l2: vec![u32::MAX; most], l3: vec![u32::MAX; most] };
    for cpu in &machine.cpus {
        groups.l2[cpu.id.get() as usize] = cpu.l2;
        groups.l3[cpu.id.get() as usize] = cpu.l3;
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::named;

    #[test]
    fn a_machine_comes_back_from_its_facts() {
        for name in ["2f4s", "odroid-xu3", "200"] {
            let machine = named(name, &Host::default()).unwrap();
            let again = named("host", &host(&machine)).unwrap();
            assert_eq!(again.cpus.len(), machine.cpus.len());
            let kind =
                |of: &Machine, id| of.types[of.cpus[of.place_of(id).unwrap()].core_type as usize].speed;
            // Domains may come in another order; their distances stay.
            let distance = |of: &Machine, a, b| of.distance(of.place_of(a).unwrap(), of.place_of(b).unwrap());
            for a in machine.cpus.iter().map(|cpu| cpu.id) {
                assert_eq!(kind(&again, a), kind(&machine, a), "{name}");
                for b in machine.cpus.iter().map(|cpu| cpu.id) {
                    assert_eq!(distance(&again, a, b), distance(&machine, a, b), "{name}: {a}, {b}");
                }
            }
        }
    }
}
