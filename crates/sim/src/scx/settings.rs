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
}

/// A program that user space runs (`SEC("syscall")`).
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) name: String,
    pub(super) argument: Vec<u8>,
    pub(super) cpu: u32,
}

impl Settings {
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
        self.before.push(Program { name: program.to_owned(), argument, cpu });
        self
    }

    /// Runs a program with an argument once the scheduler has started, on the CPU of a number.
    #[must_use]
    pub fn run_after(mut self, program: &str, argument: Vec<u8>, cpu: u32) -> Self {
        self.after.push(Program { name: program.to_owned(), argument, cpu });
        self
    }
}
