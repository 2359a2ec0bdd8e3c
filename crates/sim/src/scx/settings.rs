//! What the user-space half of a scheduler sets.

/// What a scheduler gets before it starts: values of its global variables, and programs that are run once.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(super) globals: Vec<(String, Global)>,
    pub(super) flags: Option<u64>,
    pub(super) before: Vec<Program>,
    pub(super) after: Vec<Program>,
}

/// The value of a global variable.
#[derive(Clone, Debug)]
pub(super) enum Global {
    /// As wide as the variable.
    Number(u64),
    Bytes(Vec<u8>),
    /// Known once there is a machine.
    Machine(OfMachine),
}

/// A value that a machine gives.
#[derive(Clone, Debug)]
pub(super) enum OfMachine {
    /// A multiple of the number of CPUs, as wide as the variable.
    CpuCount(u64),
    /// An element for each CPU, in an array; the number of bytes of one.
    EachCpu(Element, usize),
    /// The CPUs as bits.
    CpuMask,
}

/// What a CPU has in an array.
#[derive(Clone, Debug)]
pub(super) enum Element {
    /// Its number.
    Cpu,
    Number(u64),
    /// A multiple of the number of CPUs.
    CpuCount(u64),
    /// All CPUs up to 63 as bits.
    CpuMask,
}

impl Global {
    /// The bytes of a variable of this size on a machine with these CPUs; nothing where it does not fit.
    pub(super) fn bytes(&self, size: usize, cpus: &[u32]) -> Option<Vec<u8>> {
        let number =
            |number: u64| matches!(size, 1 | 2 | 4 | 8).then(|| number.to_le_bytes()[..size].to_vec());
        let bytes = match self {
            Self::Number(value) => number(*value)?,
            Self::Bytes(bytes) => bytes.clone(),
            Self::Machine(OfMachine::CpuCount(times)) => number(times.saturating_mul(cpus.len() as u64))?,
            Self::Machine(OfMachine::EachCpu(element, width)) => {
                let alike = match element {
                    Element::Cpu => None,
                    Element::Number(value) => Some(*value),
                    Element::CpuCount(times) => Some(times.saturating_mul(cpus.len() as u64)),
                    Element::CpuMask => mask(cpus).first().copied(),
                };
                elements(cpus.iter().map(|cpu| alike.unwrap_or(u64::from(*cpu))), *width)
            }
            Self::Machine(OfMachine::CpuMask) => elements(mask(cpus).into_iter(), 8),
        };
        (bytes.len() <= size).then_some(bytes)
    }
}

/// CPUs as the bits of words.
fn mask(cpus: &[u32]) -> Vec<u64> {
    let mut words = vec![0; cpus.iter().max().map_or(0, |most| *most as usize / 64 + 1)];
    for cpu in cpus {
        words[*cpu as usize / 64] |= 1 << (cpu % 64);
    }
    words
}

/// Numbers, each in this number of bytes.
pub(super) fn elements(values: impl Iterator<Item = u64>, width: usize) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes().into_iter().take(width)).collect()
}

/// A program that user space runs (`SEC("syscall")`).
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) argument: Vec<u8>,
    pub(super) cpu: u32,
    /// Run once for each CPU, with its number as the argument.
    pub(super) each_cpu: bool,
}

/// Whether a name is that of a part of a variable: `topo_config.nr_cpus`, `domains[0].id`.
pub(super) fn is_part(name: &str) -> bool {
    name.contains(['.', '['])
}

impl Settings {
    /// The parts of variables among what is set ([`CompileOptions::members`](super::CompileOptions::members)).
    pub fn members(&self) -> Vec<String> {
        self.globals.iter().map(|(name, _)| name).filter(|name| is_part(name)).cloned().collect()
    }

    /// Sets a variable that is a number or a truth value.
    #[must_use]
    pub fn number(mut self, name: &str, value: u64) -> Self {
        self.globals.push((name.to_owned(), Global::Number(value)));
        self
    }

    /// Sets the first bytes of a variable, such as an array's.
    #[must_use]
    pub fn bytes(mut self, name: &str, value: Vec<u8>) -> Self {
        self.globals.push((name.to_owned(), Global::Bytes(value)));
        self
    }

    /// Sets the first elements of an array of 64-bit numbers.
    #[must_use]
    pub fn numbers(self, name: &str, values: &[u64]) -> Self {
        self.bytes(name, values.iter().flat_map(|value| value.to_ne_bytes()).collect())
    }

    /// Sets the flags of the scheduler (`SCX_OPS_*`) instead of those in its source.
    #[must_use]
    pub fn flags(mut self, flags: u64) -> Self {
        self.flags = Some(flags);
        self
    }

    /// Runs a program with an argument before the scheduler starts, on the CPU of a number.
    #[must_use]
    pub fn run_before(mut self, program: &str, argument: Vec<u8>, cpu: u32) -> Self {
        self.before.push(Program { name: program.to_owned(), argument, cpu, each_cpu: false });
        self
    }

    /// Runs a program with an argument once the scheduler has started, on the CPU of a number.
    #[must_use]
    pub fn run_after(mut self, program: &str, argument: Vec<u8>, cpu: u32) -> Self {
        self.after.push(Program { name: program.to_owned(), argument, cpu, each_cpu: false });
        self
    }
}
