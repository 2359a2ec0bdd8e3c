//! The machine of a specification.

use super::Fault;
use crate::machine::{CoreType, MOST_CPUS, Machine, MachineCpu, REFERENCE_SPEED, named};
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};
use std::fmt;
use std::ops::Range;
use swtch_topology::Host;
use swtch_units::CpuId;
use toml::Spanned;

/// A name, or a machine of one's own.
#[derive(Clone, Debug)]
pub(crate) enum MachineChoice {
    Named(String),
    Own(MachineTable),
}

/// `[machine]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MachineTable {
    #[serde(default = "own")]
    name: String,
    /// Kinds of core; without any, all are alike.
    #[serde(default)]
    types: Vec<TypeTable>,
    /// As [`Machine::smt_speed`].
    #[serde(default)]
    smt_speed: Vec<u32>,
    cpus: Vec<Spanned<CpusTable>>,
}

fn own() -> String {
    "own".to_owned()
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TypeTable {
    name: String,
    speed: Spanned<u32>,
}

/// CPUs that are alike and adjacent; they get the next numbers.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CpusTable {
    #[serde(rename = "type")]
    kind: Option<Spanned<String>>,
    count: u32,
    #[serde(default = "alone")]
    threads_per_core: u32,
    #[serde(default = "alone")]
    cores_per_l2: u32,
    /// Without it, all of these share one.
    cores_per_l3: Option<u32>,
    #[serde(default)]
    node: u32,
}

fn alone() -> u32 {
    1
}

impl<'de> Deserialize<'de> for MachineChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Choice;

        impl<'de> Visitor<'de> for Choice {
            type Value = MachineChoice;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a machine, or a table with its cpus")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<MachineChoice, E> {
                Ok(MachineChoice::Named(name.to_owned()))
            }

            fn visit_i64<E: Error>(self, cpus: i64) -> Result<MachineChoice, E> {
                Ok(MachineChoice::Named(cpus.to_string()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MachineChoice, A::Error> {
                MachineTable::deserialize(MapAccessDeserializer::new(map)).map(MachineChoice::Own)
            }
        }

        deserializer.deserialize_any(Choice)
    }
}

impl MachineChoice {
    pub(super) fn build(&self, host: &Host, at: &Range<usize>) -> Result<Machine, Fault> {
        match self {
            Self::Named(name) => named(name, host).map_err(|error| Fault::new(at.clone(), error.to_string())),
            Self::Own(table) => table.build(at),
        }
    }
}

impl MachineTable {
    fn build(&self, at: &Range<usize>) -> Result<Machine, Fault> {
        if let Some(kind) = self.types.iter().find(|kind| *kind.speed.get_ref() == 0) {
            return Err(Fault::new(
                kind.speed.span(),
                "speed is 0; expected at least 1, 1024 for the reference core",
            ));
        }
        let mut types: Vec<CoreType> = self
            .types
            .iter()
            .map(|kind| CoreType { name: kind.name.clone(), speed: *kind.speed.get_ref() })
            .collect();
        if types.is_empty() {
            types.push(CoreType { name: "core".to_owned(), speed: REFERENCE_SPEED });
        }
        let mut cpus = Vec::new();
        let mut next = Next::default();
        for group in &self.cpus {
            let fault = |problem: String| Fault::new(group.span(), problem);
            let table = group.get_ref();
            let core_type = match &table.kind {
                None => 0,
                Some(name) => {
                    types.iter().position(|kind| kind.name == *name.get_ref()).ok_or_else(|| {
                        let known: Vec<_> = types.iter().map(|kind| kind.name.as_str()).collect();
                        let problem = format!(
                            "there is no type \"{}\"; expected one of {}",
                            name.get_ref(),
                            known.join(", ")
                        );
                        Fault::new(name.span(), problem)
                    })?
                }
            };
            let least =
                [table.count, table.threads_per_core, table.cores_per_l2, table.cores_per_l3.unwrap_or(1)];
            if least.contains(&0) {
                return Err(fault("a number of CPUs, threads or cores is 0; expected at least 1".to_owned()));
            }
            if u64::from(next.id) + u64::from(table.count) > u64::from(MOST_CPUS) {
                return Err(fault(format!("more than {MOST_CPUS} CPUs")));
            }
            table.add(core_type as u32, &mut next, &mut cpus);
        }
        Machine::new(&self.name, types, cpus, self.smt_speed.clone())
            .ok_or_else(|| Fault::new(at.clone(), "expected at least one CPU, and speeds above 0"))
    }
}

/// The next numbers.
#[derive(Default)]
struct Next {
    id: u32,
    core: u32,
    l2: u32,
    l3: u32,
}

impl CpusTable {
    fn add(&self, core_type: u32, next: &mut Next, cpus: &mut Vec<MachineCpu>) {
        let cores = self.count.div_ceil(self.threads_per_core);
        let per_l3 = self.cores_per_l3.unwrap_or(cores);
        for place in 0..self.count {
            let core = place / self.threads_per_core;
            cpus.push(MachineCpu {
                id: CpuId::new(next.id + place),
                core_type,
                core: next.core + core,
                l2: next.l2 + core / self.cores_per_l2,
                l3: next.l3 + core / per_l3,
                node: self.node,
            });
        }
        next.id += self.count;
        next.core += cores;
        next.l2 += cores.div_ceil(self.cores_per_l2);
        next.l3 += cores.div_ceil(per_l3);
    }
}
