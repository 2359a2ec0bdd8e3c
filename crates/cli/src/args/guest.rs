//! Arguments of what runs in virtual machines of its own.

use super::size;
use crate::output::WrongUsage;
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::{Path, PathBuf};
use swtch_vm::{Arch, Spec};

/// The virtual machine, but for its CPUs: their default is each command's own.
#[derive(Debug, Args)]
pub(crate) struct GuestArgs {
    /// Memory of the virtual machine
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "1G")]
    pub(crate) memory: u64,
    /// Kernel of the virtual machine: an image (vmlinuz, bzImage), or a version of Debian's, e.g. 7.2
    #[arg(long, value_name = "KERNEL")]
    pub(crate) kernel: Option<PathBuf>,
}

impl GuestArgs {
    pub(crate) fn memory_mib(&self) -> u64 {
        self.memory >> 20
    }

    /// The machine that runs `program`.
    pub(crate) fn spec(&self, cpus: u32, program: &Path) -> Result<Spec, WrongUsage> {
        let spec = Spec {
            cpus,
            memory_mib: self.memory_mib(),
            kernel: self.kernel.clone(),
            ..Spec::new(vec![program.into()])
        };
        spec.check().map_err(|error| WrongUsage(error.to_string()))?;
        Ok(spec)
    }
}

/// One of the architectures that guests may be of.
pub(crate) fn arch() -> impl TypedValueParser<Value = Arch> {
    PossibleValuesParser::new(Arch::ALL.map(Arch::name)).try_map(|name| Arch::named(&name).ok_or("not one"))
}
