//! What the user-space half of a scheduler sets, from a file.
//!
//! ```toml
//! flags = 6                          # SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING
//! [values]
//! slice_ns = 1_000_000
//! smt_enabled = false
//! nr_cpu_ids = "cpu count"           # of the simulated machine; or "3 * cpu count"
//! preferred_cpus = "cpus"            # 0, 1, 2, ... in an array of 64-bit numbers
//! dom_cpumasks = "cpu mask"          # all CPUs as bits
//! cpu_capacity = { each_cpu = 1024 } # the same for each CPU, in 64 bits; `bits = 32` for elements of 32 bits
//! "table[0]" = { each_cpu = "its number", bits = 16 } # or "cpu mask" or "cpu count", as above
//! weights = { list = [1, 2, 3], bits = 32 } # a plain list has elements of 64 bits
//! "domains[0].id" = 7                # a part of a variable, as in C
//! [[before]]                         # a SEC("syscall") program that runs before the scheduler starts
//! program = "enable_primary_cpu"
//! argument = [-1]                    # 32-bit numbers; or each_cpu = true: once for each CPU, with its number
//! [[after]]
//! program = "start_timer"
//! ```

use super::settings::{Element, Global, OfMachine, Program, Settings, elements};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Why a file of values is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValuesError {
    /// It is not of the form.
    #[error("{0}")]
    Form(#[from] toml::de::Error),
    /// A value is not understood.
    #[error(
        "the value of {name} is \"{text}\"; expected a number, a list, \"cpu count\", \"3 * cpu count\", \"cpus\" or \"cpu mask\""
    )]
    Value {
        /// The variable.
        name: String,
        /// What is there.
        text: String,
    },
    /// Elements of no width that C has.
    #[error("the elements of {name} have {bits} bits; expected 8, 16, 32 or 64")]
    Width {
        /// The variable.
        name: String,
        /// The width in the file.
        bits: u32,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    flags: Option<u64>,
    #[serde(default)]
    values: BTreeMap<String, Value>,
    #[serde(default)]
    before: Vec<Call>,
    #[serde(default)]
    after: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Truth(bool),
    Number(i64),
    List(Vec<i64>),
    Word(String),
    Each {
        each_cpu: EachCpu,
        #[serde(default = "widest")]
        bits: u32,
    },
    Narrow {
        list: Vec<i64>,
        bits: u32,
    },
}

/// What each CPU has.
#[derive(Deserialize)]
#[serde(untagged)]
enum EachCpu {
    Number(i64),
    Word(String),
}

fn widest() -> u32 {
    64
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    program: String,
    #[serde(default)]
    argument: Vec<i32>,
    #[serde(default)]
    each_cpu: bool,
}

impl Settings {
    /// What a file says, as the module describes it.
    ///
    /// # Errors
    /// When it is not of that form.
    pub fn from_toml(text: &str) -> Result<Self, ValuesError> {
        let file: File = toml::from_str(text)?;
        let mut settings = Self { flags: file.flags, ..Self::default() };
        for (name, value) in file.values {
            let list = |list: Vec<i64>, width| {
                Global::Bytes(elements(list.into_iter().map(|one| one as u64), width))
            };
            let width = |bits: u32| match bits {
                8 | 16 | 32 | 64 => Ok(bits as usize / 8),
                _ => Err(ValuesError::Width { name: name.clone(), bits }),
            };
            let global = match value {
                Value::Truth(truth) => Global::Number(u64::from(truth)),
                Value::Number(number) => Global::Number(number as u64),
                Value::List(values) => list(values, 8),
                Value::Narrow { list: values, bits } => list(values, width(bits)?),
                Value::Each { each_cpu, bits } => {
                    let element = match each_cpu {
                        EachCpu::Number(number) => Element::Number(number as u64),
                        EachCpu::Word(text) => match (text.as_str(), counts(&text)) {
                            ("its number", _) => Element::Cpu,
                            ("cpu mask", _) => Element::CpuMask,
                            (_, Some(times)) => Element::CpuCount(times),
                            _ => return Err(ValuesError::Value { name, text }),
                        },
                    };
                    Global::Machine(OfMachine::EachCpu(element, width(bits)?))
                }
                Value::Word(text) => Global::Machine(match (text.as_str(), counts(&text)) {
                    ("cpus", _) => OfMachine::EachCpu(Element::Cpu, 8),
                    ("cpu mask", _) => OfMachine::CpuMask,
                    (_, Some(times)) => OfMachine::CpuCount(times),
                    _ => return Err(ValuesError::Value { name, text }),
                }),
            };
            settings.globals.push((name, global));
        }
        settings.before = file.before.into_iter().map(Call::program).collect();
        settings.after = file.after.into_iter().map(Call::program).collect();
        Ok(settings)
    }
}

/// How many times the number of CPUs: `cpu count`, `3 * cpu count`.
fn counts(text: &str) -> Option<u64> {
    let times = text.strip_suffix("cpu count")?.trim_end();
    if times.is_empty() { Some(1) } else { times.strip_suffix('*')?.trim_end().parse().ok() }
}

impl Call {
    fn program(self) -> Program {
        let argument = self.argument.into_iter().flat_map(i32::to_ne_bytes).collect();
        Program { name: self.program, argument, cpu: 0, each_cpu: self.each_cpu }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_the_file_and_of_the_machine() {
        let text = "flags = 6\n[values]\na = true\nb = -1\nc = [1, 2]\nd = { list = [7], bits = 32 }\ne = \"cpu count\"\n\
                    f = \"cpus\"\ng = \"cpu mask\"\nh = { each_cpu = 1024, bits = 32 }\ni = { each_cpu = \"its number\", bits = 16 }\n\
                    j = { each_cpu = \"3 * cpu count\", bits = 8 }\nk = { each_cpu = \"cpu mask\", bits = 32 }\n[[after]]\nprogram = \"go\"\nargument = [-1]\n";
        let settings = Settings::from_toml(text).unwrap();
        let of = |name: &str, size| {
            let (_, value) = settings.globals.iter().find(|(other, _)| other == name).unwrap();
            value.bytes(size, &[0, 1, 66])
        };
        assert_eq!((of("a", 1), of("b", 4)), (Some(vec![1]), Some(vec![255; 4])));
        assert_eq!((of("c", 16).unwrap().len(), of("c", 8), of("d", 8)), (16, None, Some(vec![7, 0, 0, 0])));
        assert_eq!((of("e", 2), of("f", 64).unwrap().len()), (Some(vec![3, 0]), 24));
        assert_eq!(of("g", 16).unwrap(), [3_u64.to_le_bytes(), 4_u64.to_le_bytes()].concat());
        assert_eq!(of("h", 12).unwrap(), 1024_u32.to_le_bytes().repeat(3));
        assert_eq!(of("i", 8).unwrap(), [0, 0, 1, 0, 66, 0]);
        assert_eq!((of("j", 3).unwrap(), of("k", 12).unwrap()), (vec![9; 3], 3_u32.to_le_bytes().repeat(3)));
        assert_eq!((settings.flags, settings.after[0].argument.as_slice()), (Some(6), &[255; 4][..]));
        let error = |text: &str| Settings::from_toml(text).map(|_| ()).unwrap_err().to_string();
        assert!(error("[values]\na = \"all\"").contains("the value of a is \"all\""));
        assert!(error("[values]\na = \"x * cpu count\"").contains("the value of a is \"x * cpu count\""));
        assert!(error("[values]\na = { each_cpu = \"all\" }").contains("the value of a is \"all\""));
        assert!(error("[values]\na = { each_cpu = 1, bits = 7 }").contains("the elements of a have 7 bits"));
        assert!(error("vlaues = 1").contains("vlaues"));
    }
}
