//! The CPUs of a guest that are those of a machine of the simulator.

use crate::output::WrongUsage;
use anyhow::Context;
use std::fs;
use std::path::Path;
use swtch_sim::machine::{REFERENCE_SPEED, named};
use swtch_sim::spec::Spec as SimSpec;
use swtch_topology::Host;
use swtch_vm::Spec;

/// Gives guests the CPUs of a machine, where one was named.
///
/// # Errors
/// When there is no such machine, or the specification with it cannot be read.
pub(crate) fn give_cpus(specs: &mut [Spec], machine: Option<&str>) -> anyhow::Result<()> {
    let Some(machine) = machine else { return Ok(()) };
    let capacities = capacities(machine)?;
    for spec in specs {
        spec.cpus = capacities.len() as u32;
        spec.capacities.clone_from(&capacities);
    }
    Ok(())
}

/// How much each CPU of a machine can do, of 1024, by the kernel's numbers of them.
fn capacities(machine: &str) -> anyhow::Result<Vec<u32>> {
    let host = Host::read(Path::new("/"))?;
    let machine = if Path::new(machine).is_file() {
        let text = fs::read_to_string(machine).with_context(|| format!("cannot read {machine}"))?;
        SimSpec::read(machine, &text)?.machine(&host)?
    } else {
        named(machine, &host).map_err(|error| WrongUsage(error.to_string()))?
    };
    let fastest = machine.types.iter().map(|kind| kind.speed).max().unwrap_or(REFERENCE_SPEED);
    let mut cpus = machine.cpus.clone();
    cpus.sort_by_key(|cpu| cpu.id);
    let of = |speed: u32| (u64::from(speed) * u64::from(REFERENCE_SPEED) / u64::from(fastest)) as u32;
    Ok(cpus.iter().map(|cpu| of(machine.types[cpu.core_type as usize].speed)).collect())
}
