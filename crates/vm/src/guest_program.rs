//! The `swtch` that is a guest's first process: this program where the guest is of this machine's kind, else one that was built for it.

use crate::arch::Arch;
use crate::elf;
use crate::error::VmError;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names the directory with the programs for guests of another architecture, instead of the usual ones.
const VARIABLE: &str = "SWTCH_GUEST_PROGRAMS";
const PROGRAM: &str = "swtch";

/// The `swtch` for guests of this kind; schedulers for them are next to it. `own` is this program.
///
/// # Errors
/// [`VmError::NoGuestProgram`] says where it was searched for, [`VmError::WrongMachine`] that the one there is for another kind.
pub fn guest_program(arch: Arch, own: &Path) -> Result<PathBuf, VmError> {
    if arch.is_native() {
        return Ok(own.to_owned());
    }
    let named = env::var_os(VARIABLE).filter(|value| !value.is_empty());
    let folders = folders(arch, own, named);
    let Some(program) = folders.iter().map(|folder| folder.join(PROGRAM)).find(|path| path.is_file()) else {
        let looked = folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ");
        return Err(VmError::NoGuestProgram { arch, looked });
    };
    elf::check_machine(&program, arch, || {
        format!("set {VARIABLE} to the directory bin of swtch-VERSION-{}-linux.tar.gz", arch.facts().rust)
    })?;
    Ok(program)
}

/// Where programs for this kind of machine are: next to this program, where packages may put them, and where `make dist` does.
fn folders(arch: Arch, own: &Path, named: Option<OsString>) -> Vec<PathBuf> {
    if let Some(named) = named {
        return vec![named.into()];
    }
    let (beside, name) = (own.parent().unwrap_or(Path::new("/")), arch.facts().rust);
    let above = beside.parent().unwrap_or(Path::new("/"));
    vec![beside.join(name), above.join("lib/swtch").join(name), above.join("dist").join(name)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_searched_for_beside_this_program_or_where_the_variable_says() {
        let own = Path::new("/usr/bin/swtch");
        assert_eq!(
            folders(Arch::Arm64, own, None),
            ["/usr/bin/aarch64", "/usr/lib/swtch/aarch64", "/usr/dist/aarch64"].map(PathBuf::from)
        );
        assert_eq!(folders(Arch::Arm64, own, Some("/x".into())), [PathBuf::from("/x")]);
    }

    #[test]
    fn a_guest_of_this_machines_kind_runs_this_program() {
        let own = env::current_exe().unwrap();
        let arch = Arch::default();
        if arch.is_native() {
            assert_eq!(guest_program(arch, &own).unwrap(), own);
        }
        let foreign = Arch::ALL.into_iter().find(|arch| !arch.is_native()).unwrap();
        let error = guest_program(foreign, Path::new("/nowhere/swtch")).unwrap_err().to_string();
        assert!(
            error.contains("/nowhere") && error.contains(VARIABLE) || env::var_os(VARIABLE).is_some(),
            "{error}"
        );
    }
}
